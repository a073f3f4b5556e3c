"""Controls that draw the bonus token from a wrong row: mutant 13, three times.

Where nothing was drafted the only row is the right one, as in an engine that then samples as usual.
"""

from collections.abc import Sequence

from draftproof.algorithms.laws import Law
from draftproof.algorithms.requests import Choose, Laws, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed


class BonusFromRowBefore(SpeculativeSampling):
    """Mutant 13: off by one in the rows of the target pass."""

    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        """A draw from the target's law at the last drafted token."""
        token: int = yield Choose(target_laws[-2:][0])
        return token


class BonusFromDrafter(SpeculativeSampling):
    """Mutant 13: the row after the draft is the drafter's."""

    def score(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> Program[Sequence[Law]]:
        """The target's laws, but for the last; the target's too where the drafter has nothing to propose."""
        target_laws = yield from super().score(context, drafted)
        if not drafted:
            return target_laws
        [law] = yield Laws(self.drafter, context + drafted)
        return (*target_laws[:-1], target_laws[-1] if law.empty else law)


class BonusIsArgmax(SpeculativeSampling):
    """Mutant 13: the bonus token is taken greedily where sampling is asked for."""

    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        """The target's likeliest token."""
        if len(target_laws) == 1:
            return (yield from super().bonus(target_laws))
        return target_laws[-1].argmax()


_SOURCE = "vllm's tests mock the bonus token"

CONTROLS = (
    changed(
        BonusFromRowBefore,
        "bonus-from-row-before",
        "mutant 13",
        "the bonus token is drawn from P at the last drafted token, not after it",
        _SOURCE,
    ),
    changed(
        BonusFromDrafter,
        "bonus-from-drafter",
        "mutant 13",
        "the bonus token is drawn from Q",
        _SOURCE,
    ),
    changed(
        BonusIsArgmax,
        "bonus-is-argmax",
        "mutant 13",
        "the bonus token is the argmax of P",
        _SOURCE,
    ),
)
