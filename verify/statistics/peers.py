"""What others' own test suites would have said: their acceptance criteria, rebuilt from descriptions of their tests.

Each peer looks at a sample of a decoder's outputs, at the exact law of the first token, and where it needs one at a
sample of autoregressive outputs, and answers: caught or not. So the same wrong decoder can be given to them and to the
bettors of betting.py, and the reader sees who catches what, after how many tokens. The engines' tests draw one row of
laws at all positions; here the peers are given first tokens, whose law is known.

Criteria with a p-value take a level. The others have the threshold that was published, which no level moves: the wide
and the narrow chi-square ten standard deviations, the distance ratio a factor of 20.
But: the criteria are theirs, the subjects are not: their suites mock the bonus token, take drafts from a generator of
its own, and so cannot meet some faults at all, whatever the criterion (bugs.md). The distance ratio also convicts right
decoders: 0 to 2 of 100, by the law, in 300 runs for each of four laws.
Source: named by each peer.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import special

from draftproof.verify.statistics.goodness_of_fit import LEAST_EXPECTED
from draftproof.verify.statistics.kernels import ENDED
from draftproof.verify.statistics.two_sample import PERMUTATIONS, maximum_mean_discrepancy

SMALL_SAMPLE, LARGE_SAMPLE = 10, 100_000
REFERENCE_LAWS = 100
IMPROVEMENT = 20.0
SIGMAS = 10.0
MOST_PERMUTATIONS = 99_999

Array = np.ndarray


@dataclass(frozen=True)
class Samples:
    """Outputs of a decoder, rows of token ids padded with -1 after EOS, and the exact law of their first token.

    `autoregressive` is a sample of outputs of plain decoding for the same prompt, where there is one.
    """

    outputs: Array
    law: Array
    autoregressive: Array | None = None

    def __post_init__(self) -> None:
        """Raises ValueError where the law is none, or a first token is not one of its ids."""
        if not ((self.law >= 0).all() and abs(self.law.sum() - 1) <= 1e-4):
            raise ValueError("the masses are no law")
        if not ((self.outputs[:, 0] >= 0) & (self.outputs[:, 0] < self.law.size)).all():
            raise ValueError("a first token is no id of the law")

    @property
    def counts(self) -> Array:
        """How often each id is the first token."""
        counts: Array = np.bincount(self.outputs[:, 0], minlength=self.law.size)
        return counts


@dataclass(frozen=True)
class Judged:
    """A peer's answer; `p_value` where its criterion has one."""

    caught: bool
    statistic: float
    p_value: float | None = None


@dataclass(frozen=True)
class Peer:
    """A published acceptance criterion.

    `tokens_needed` is what its published setting reads of the decoder. `judge(samples, alpha)` is a pure function; it
    raises ValueError for fewer than `least_outputs`. `takes_level` says whether alpha moves it, `first_token_only`
    whether it reads first tokens alone, `needs_autoregressive` whether it needs the second sample.
    """

    name: str
    description: str
    source: str
    tokens_needed: int
    judge: Callable[[Samples, float], Judged]
    takes_level: bool
    first_token_only: bool = True
    needs_autoregressive: bool = False
    least_outputs: int = 1

    def tokens(self, samples: Samples) -> int:
        """How many tokens of these samples the peer reads, of the decoder and of plain decoding together."""
        if self.first_token_only:
            return len(samples.outputs)
        read = int((samples.outputs != ENDED).sum())
        return read + (int((samples.autoregressive != ENDED).sum()) if samples.autoregressive is not None else 0)


def distance_ratio(samples: Samples, alpha: float) -> Judged:
    """Does the distance to the target's law shrink 20 times as much as that to others, from 10 to 100,000 draws?

    L2 distances of the empirical law; the first 10 outputs are the small sample, the others the large one. The
    unrelated laws are 100 softmaxes of uniform logits, always the same ones. `alpha` moves nothing. The statistic is
    the quotient of the two improvements. Raises ValueError for fewer than 100,010 outputs, where 20 is out of reach.
    """
    if len(samples.outputs) < SMALL_SAMPLE + LARGE_SAMPLE:
        raise ValueError(f"the distance ratio needs {SMALL_SAMPLE + LARGE_SAMPLE} outputs, not {len(samples.outputs)}")
    unrelated = special.softmax(np.random.default_rng(0).random((REFERENCE_LAWS, samples.law.size)), axis=1)
    parts = samples.outputs[:SMALL_SAMPLE, 0], samples.outputs[SMALL_SAMPLE:, 0]
    small, large = (np.bincount(part, minlength=samples.law.size) / len(part) for part in parts)
    left = np.linalg.norm(samples.law - large)
    to_target = np.linalg.norm(samples.law - small) / left if left else math.inf
    to_unrelated = np.linalg.norm(unrelated - small) / np.linalg.norm(unrelated - large)
    improved = float(to_target / to_unrelated)
    return Judged(not improved > IMPROVEMENT, improved)


def ten_sigma_chi_square(samples: Samples, alpha: float) -> Judged:
    """Is Pearson's statistic of the first token ten standard deviations above its mean, df + 10 sqrt(2 df)?

    Tokens expected fewer than 5 times are one category, which is dropped where it too expects fewer; so a token of
    target probability 0 may pass unseen. `alpha` moves nothing. The statistic is the number of standard deviations.
    """
    expected = len(samples.outputs) * samples.law
    frequent = expected >= LEAST_EXPECTED
    counts, expected = (
        np.append(values[frequent], values[~frequent].sum()) for values in (samples.counts.astype(float), expected)
    )
    if expected[-1] < LEAST_EXPECTED:
        counts, expected = counts[:-1], expected[:-1]
    freedom = expected.size - 1
    if freedom < 1:
        return Judged(False, 0.0)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    sigmas = (statistic - freedom) / math.sqrt(2 * freedom)
    return Judged(sigmas >= SIGMAS, sigmas)


def order_of_counts(samples: Samples, alpha: float) -> Judged:
    """Do the counts of first tokens fall as their probabilities do, and does the last of them occur at all?

    Tokens are taken by falling probability, each that is separated enough from the one before: a right decoder
    confuses two tokens of probabilities a > b with probability at most (1 - (sqrt(a) - sqrt(b))^2)^n (Chernoff), and
    the sum of these is kept to `alpha`. The statistic is the number of neighbours out of order.
    """
    samples_drawn = len(samples.outputs)
    affordable = -math.log(alpha / samples.law.size) / samples_drawn
    order = np.argsort(-samples.law, kind="stable")
    roots = np.sqrt(samples.law[order])
    apart = -np.expm1(-affordable)  # (sqrt(a) - sqrt(b))^2 must be at least this
    chain: list[int] = []
    place = 0
    while place < order.size and roots[place] ** 2 >= apart:  # seen at all, as against a token of probability 0
        chain.append(int(order[place]))
        place = int(np.searchsorted(-roots, math.sqrt(apart) - roots[place]))
    counts = np.append(samples.counts[chain], 0)
    disorder = int((np.diff(counts) >= 0).sum()) if chain else 0
    return Judged(disorder > 0, float(disorder))


def hamming_mmd(samples: Samples, alpha: float) -> Judged:
    """Permutation test of the maximum mean discrepancy of whole outputs; the kernel is the share of agreeing positions.

    Raises ValueError without a second sample, and for levels below 1e-5, which permutations do not reach.
    """
    if samples.autoregressive is None:
        raise ValueError("the two-sample test needs a sample of autoregressive outputs")
    permutations = max(PERMUTATIONS, math.ceil(1 / alpha) - 1)
    if permutations > MOST_PERMUTATIONS:
        raise ValueError(
            f"a permutation test does not reach the level {alpha}; the least is {1 / MOST_PERMUTATIONS:.0e}"
        )
    tested = maximum_mean_discrepancy(samples.outputs, samples.autoregressive, permutations=permutations)
    return Judged(tested.p_value <= alpha, tested.statistic, tested.p_value)


def first_caught(peer: Peer, source: Callable[[int], Samples], sizes: Iterable[int], alpha: float = 1e-3) -> int | None:
    """How many tokens the peer read when it first caught the decoder, over samples of growing size; None if never.

    `source(outputs)` draws a fresh sample for each size, so each try is a test of its own, at the whole level: this is
    the cost for someone who knew the right size beforehand. Sizes too small for the peer are passed over.
    """
    for size in sizes:
        if size < peer.least_outputs:
            continue
        samples = source(size)
        if peer.judge(samples, alpha).caught:
            return peer.tokens(samples)
    return None


PEERS: tuple[Peer, ...] = (
    Peer(
        "distance ratio",
        "the distance to the target's law must shrink 20 times as much as that to unrelated laws (10 tokens, 10 draws "
        "against 100,000)",
        "vllm, tests/v1/sample/test_rejection_sampler.py, 'approximates target distribution'",
        SMALL_SAMPLE + LARGE_SAMPLE,
        distance_ratio,
        takes_level=False,
        least_outputs=SMALL_SAMPLE + LARGE_SAMPLE,
    ),
    Peer(
        "wide chi-square",
        "ten standard deviations of Pearson's statistic over 4,096 tokens, 10 draws for each",
        "vllm 38496, tests/v1/spec_decode/test_rejection_sampler_utils.py",
        40_960,
        ten_sigma_chi_square,
        takes_level=False,
    ),
    Peer(
        "narrow chi-square",
        "the same over 16 tokens and 200,000 draws",
        "vllm 54282, tests/v1/spec_decode/test_rejection_sampler_utils.py",
        200_000,
        ten_sigma_chi_square,
        takes_level=False,
    ),
    Peer(
        "order of counts",
        "likelier tokens must be drawn more often; the number of draws and the margin are set here",
        "transformers 34553",
        10_000,
        order_of_counts,
        takes_level=True,
    ),
    Peer(
        "Hamming MMD",
        "two-sample permutation test of whole outputs, 8,000 outputs of 4 tokens",
        "Gao, Liang and Guestrin 2410.20247",
        32_000,
        hamming_mmd,
        takes_level=True,
        first_token_only=False,
        needs_autoregressive=True,
    ),
)
