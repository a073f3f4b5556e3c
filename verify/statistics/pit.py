"""Probability integral transforms of emitted tokens under the target's law, and what a pass of them is worth.

If a token x is drawn from P, then F(x-) + V P(x), with V uniform and F the running mass of P in any fixed order of the
tokens, is uniform on [0, 1), given all that came before. So the transforms of all tokens of all outputs are independent
uniforms, and one goodness-of-fit test pools every prompt. The order decides what is seen: by the target's probability
it sees laws that are too sharp or too flat, by the ratio P / Q it sees laws that lean to the drafter.

But: where EOS ends an output the number of tokens depends on the tokens, and the test takes it as fixed.

Source: Rosenblatt 1952 (the transform); Massart 1990 (the Dvoretzky-Kiefer-Wolfowitz bound with its constant).
"""

import math
from collections.abc import Sequence

import torch
from scipy import stats

from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.evidence import OrderTest


def transform(law: TensorLaw, token: int, scores: torch.Tensor, uniform: float) -> float:
    """The transform of one token, ids ordered by decreasing `scores` (shape (size,)); equal scores are one bin.

    `uniform` in [0, 1) is the randomisation inside the token's bin. The token must have positive mass.
    """
    before = float(law.probabilities[scores > scores[token]].sum())
    bin_mass = float(law.probabilities[scores == scores[token]].sum())
    return min(1.0, before + uniform * bin_mass)


def ratio_scores(law: TensorLaw, draft_law: TensorLaw) -> torch.Tensor:
    """P / Q per id; infinite where Q is 0 and P is not."""
    return (law.probabilities / draft_law.probabilities.to(law.probabilities)).nan_to_num(nan=0.0, posinf=math.inf)


def uniformity(transforms: Sequence[float], order: str) -> OrderTest:
    """Kolmogorov-Smirnov test that the transforms are uniform on [0, 1]; p-value 1 for no transforms."""
    if not len(transforms):
        return OrderTest(order, 0.0, 1.0)
    result = stats.kstest(transforms, "uniform")
    return OrderTest(order, float(result.statistic), float(result.pvalue))


def detectable_deviation(tokens: int, alpha: float, power: float = 0.99) -> float:
    """The Kolmogorov distance that a test of level `alpha` on so many tokens sees with probability at least `power`.

    By the DKW bound the empirical distance is within sqrt(ln(2 / (1 - power)) / 2n) of the true one with probability
    `power`, and the test refutes at sqrt(ln(2 / alpha) / 2n) at the latest. A value of 1 or more says that nothing
    would be seen for certain; infinite for no tokens.
    """
    if not tokens:
        return math.inf
    return math.sqrt(math.log(2 / alpha) / (2 * tokens)) + math.sqrt(math.log(2 / (1 - power)) / (2 * tokens))


def acceptance_margin(trials: int, alpha: float) -> float:
    """How far measured acceptance may be from the mean of its known probabilities, two-sided at level `alpha`.

    Azuma-Hoeffding for differences in an interval of length 1: sqrt(ln(2 / alpha) / 2n). A margin of 1 or more
    refutes nothing; infinite for no trials.
    """
    return math.sqrt(math.log(2 / alpha) / (2 * trials)) if trials else math.inf
