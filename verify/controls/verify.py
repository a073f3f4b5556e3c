"""Controls that score the draft by other rows, or count the accepted tokens by another rule: mutants 7, 8, 12, 14.

A support mask on the bonus row alone (smoke.py) is mutant 7 with another processor.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.processors import Temperature
from draftproof.algorithms.requests import Accept, Laws, Program, Together
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed, declared


class BonusOnlyProcessed(SpeculativeSampling):
    """Mutant 7: the declared processors reach the bonus row, while ratio and residual use the model's own law."""

    def __post_init__(self) -> None:
        """Raises DecoderError where no processors are declared: there is nothing to forget then."""
        super().__post_init__()
        declared(self.name, self.target)

    def score(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> Program[Sequence[Law]]:
        """The unprocessed laws, but for the last."""
        unprocessed = declared(self.name, self.target).model
        whole, asked = yield Together((Laws(unprocessed, context, drafted), Laws(self.target, context, drafted)))
        return (*whole[:-1], asked[-1])


class AcceptsArgmax(SpeculativeSampling):
    """Mutant 8: greedy verification where sampling is asked for."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1 for the target's likeliest token, 0 for others."""
        return tuple(int(token == law.argmax()) for token, law in zip(drafted, target_laws, strict=False))


class OneCoinPerStep(SpeculativeSampling):
    """Mutant 12: all tests of a step use one coin u.

    The first n tokens are kept iff u lies below each of their ratios, that is below their minimum m_n, so with
    probability m_n. Independent coins of probabilities m_n / m_(n-1) keep them with the same probability, the product;
    the number kept, which is all that the coins decide, has therefore the same law.
    """

    def toss(self, ratios: tuple[Mass, ...]) -> Program[int]:
        """Coins of the successive quotients of the running minimum."""
        least = tuple(accumulate(ratios, min))
        quotients = (after / before if before else before for before, after in pairwise(least))
        accepted: int = yield Accept((*least[:1], *quotients))
        return accepted


class CountWithoutPrefix(SpeculativeSampling):
    """Mutant 14: the coins that succeed are counted, wherever they stand."""

    def toss(self, ratios: tuple[Mass, ...]) -> Program[int]:
        """The number of coins that succeed, those after a failure included."""
        accepted = 0
        for ratio in ratios:
            accepted += yield Accept((ratio,))
        return accepted


CONTROLS = (
    changed(
        BonusOnlyProcessed,
        "verified-at-temperature-1",
        "mutant 7",
        "ratio and residual use the target at temperature 1, only the bonus token has the asked temperature",
        "vllm 9834",
        processors=(Temperature(0.5),),
    ),
    changed(
        AcceptsArgmax,
        "accepts-argmax",
        "mutant 8",
        "a drafted token is accepted iff it is the argmax of P",
        "sglang 39253",
    ),
    changed(
        OneCoinPerStep,
        "one-coin-per-step",
        "mutant 12",
        "all drafted tokens of a step are tested with one coin",
        "flashinfer 425",
    ),
    changed(
        CountWithoutPrefix,
        "count-without-prefix",
        "mutant 14",
        "the accepted count is the number of coins that succeed anywhere, not up to the first failure",
        "vllm 10604",
    ),
)
