"""The exact law of one step of speculative sampling as floats compute it.

Idea: a sampler in floats is a function of finitely many equally likely coins. Its laws are stored floats, its ratios
and residuals are floats that torch computes here just as it would there, and each of its draws compares coins with
floats. Counting the coins that lead to each token gives the law of the emitted token as rationals, with nothing left to
estimate.

The sampler: draw x by inversion of the draft's running sums; accept it where coin < min(1, P(x) / Q(x)); else draw by
inversion of the running sums of the residual, which is max(0, P - Q) divided by its sum. Where the residual has no mass
in floats the recovered token is drawn from P (claim SS-4), never from 0 / 0.

Notation: P is the target's stored law, Q the draft's.
Claims: SS-1, SS-4, SS-5.
But: algorithms/drivers.py draws the residual by a rejection loop in float64, which is more exact than any of this; and
a GPU may add running sums in another order, so hand in the tensors of the device that is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from draftproof.algorithms.laws import LawError
from draftproof.verify.numerics.arithmetic import Arithmetic, name_of
from draftproof.verify.numerics.rationals import Rationals, exactly, total_variation

PARTS = ("storing the target's law", "totals that are not 1", "ratio", "residual", "running sums", "coins")
"""Where a deviation comes from, in the order in which the idealisations are given up."""


@dataclass(frozen=True)
class OneStep:
    """The law of one emitted token. `kept` is the mass of each token drafted and accepted, `recovered` a law.

    `empty_residual` says that the residual has no mass in floats, so that `recovered` is the target's law.
    """

    kept: Rationals
    recovered: Rationals
    empty_residual: bool

    @property
    def acceptance(self) -> Fraction:
        """The probability that the drafted token is accepted."""
        return self.kept.total

    @property
    def fallback(self) -> Fraction:
        """The probability that a residual is asked for which has no mass: what 0 / 0 would have met (claim SS-4)."""
        return 1 - self.acceptance if self.empty_residual else Fraction(0)

    @property
    def law(self) -> Rationals:
        """The law of the emitted token. Its entries sum to exactly 1."""
        return self.kept + self.recovered.scaled(1 - self.acceptance)


@dataclass(frozen=True)
class Deviation:
    """How far one step is from the declared law, in total variation, and what each part adds.

    `parts` has one value per name of PARTS: the total variation between the laws before and after that idealisation is
    given up. By the triangle inequality they sum to at least `total`.
    """

    total: Fraction
    parts: tuple[Fraction, ...]
    step: OneStep


def one_step(target: torch.Tensor, draft: torch.Tensor, arithmetic: Arithmetic) -> OneStep:
    """The law of the emitted token, in floats.

    `target` and `draft` are P and Q as stored, shape (size,), in `arithmetic.dtype`, summing to about 1.
    Raises LawError for other shapes, another dtype, no mass, or masses that are negative, NaN or infinite.
    """
    return _steps(target, draft, arithmetic)[-1]


def deviation(declared: torch.Tensor, target: torch.Tensor, draft: torch.Tensor, arithmetic: Arithmetic) -> Deviation:
    """The total variation between one step in floats and the declared law, and its parts.

    `declared` is the target's law in the precision that is declared: its floats are taken as rationals and normalised
    exactly. Raises LawError as `one_step` does.
    """
    ideal = exactly(declared).normalised()
    if len(ideal) != len(target):
        raise LawError(f"the declared law has {len(ideal)} ids, the target's {len(target)}")
    steps = _steps(target, draft, arithmetic)
    laws = [ideal, exactly(target).normalised(), *(step.law for step in steps)]
    parts = tuple(total_variation(before, after) for before, after in pairwise(laws))
    return Deviation(total_variation(ideal, laws[-1]), parts, steps[-1])


def _steps(target: torch.Tensor, draft: torch.Tensor, arithmetic: Arithmetic) -> list[OneStep]:
    """The step in real arithmetic on the stored laws, then with one more of its computations in floats each time."""
    _check(target, draft, arithmetic)
    exact_target, exact_draft = exactly(target), exactly(draft)
    ratio = torch.where(draft > 0, target / draft, (target > 0).to(target)).clamp_max(1)
    excess = (target - draft).clamp_min(0)
    total = excess.sum()
    empty = not bool(total > 0)
    residual = target if empty else excess / total

    exact_excess = exact_target.excess(exact_draft)
    exact_empty = not exact_excess.total
    exact_residual = (exact_target if exact_empty else exact_excess).normalised()
    drafted = exact_draft.scaled(1 / exact_draft.total)
    kept = exact_target.minimum(exact_draft).scaled(1 / exact_draft.total)
    kept_by_ratio = drafted * exactly(ratio)

    def drawn(law: torch.Tensor, bits: int | None) -> Rationals:
        return by_inversion(law, arithmetic, bits)

    bits = arithmetic.coin_bits
    return [
        OneStep(kept, exact_residual, exact_empty),
        OneStep(kept_by_ratio, exact_residual, exact_empty),
        OneStep(kept_by_ratio, exactly(residual).normalised(), empty),
        OneStep(drawn(draft, None) * exactly(ratio), drawn(residual, None), empty),
        OneStep(drawn(draft, bits) * coins_below(ratio, bits), drawn(residual, bits), empty),
    ]


def by_inversion(weights: torch.Tensor, arithmetic: Arithmetic, coin_bits: int | None) -> Rationals:
    """The law of the first id whose running sum exceeds a coin; `coin_bits` None takes a real uniform in [0, 1).

    A coin that no running sum exceeds takes the last id of positive weight. Raises LawError where there is no weight.
    """
    if not bool((weights > 0).any()):
        raise LawError("no draw: the law is empty")
    # The first id whose running sum exceeds a coin is also the first whose largest sum so far does; a parallel scan on
    # a device need not be monotone.
    reached = weights.cumsum(0, dtype=arithmetic.sums).cummax(0).values
    reached = reached / reached[-1] if arithmetic.rescaled else reached.clamp_max(1)
    below = exactly(reached) if coin_bits is None else coins_below(reached, coin_bits)
    masses = np.diff(below.numerators, prepend=0)
    masses[int(weights.nonzero()[-1])] += below.denominator - int(below.numerators[-1])
    return Rationals(masses, below.denominator)


def coins_below(thresholds: torch.Tensor, coin_bits: int) -> Rationals:
    """For each threshold in [0, 1] the probability that a coin of `coin_bits` bits lies strictly below it."""
    floats = thresholds.detach().to("cpu", torch.float64).numpy()
    # Exact: scaling by a power of two and rounding up a float64 of at most 53 bits lose nothing.
    counts = np.ceil(np.ldexp(floats, coin_bits)).astype(np.int64).astype(object)
    return Rationals(counts, 1 << coin_bits)


def _check(target: torch.Tensor, draft: torch.Tensor, arithmetic: Arithmetic) -> None:
    for law in (target, draft):
        if law.ndim != 1 or law.shape != target.shape:
            raise LawError(f"laws of one shape (size,) are needed, not {tuple(target.shape)} and {tuple(draft.shape)}")
        if law.dtype != arithmetic.dtype:
            raise LawError(f"a law is stored in {name_of(law.dtype)}, not in {name_of(arithmetic.dtype)}")
        if not bool((law > 0).any()):
            raise LawError("a law without mass has no step")
