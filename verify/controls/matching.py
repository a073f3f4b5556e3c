"""Look-alikes that treat the draft as a guess: C1 and C2. Exact for any proposal, whatever law it was drawn from."""

from collections.abc import Sequence
from functools import partial

from draftproof.algorithms.decoding import Step, Trial
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed


class TargetDrawMatch(SpeculativeSampling):
    """C1: every emitted token is the target's own draw; the draft only decides how long the step lasts."""

    def verify(
        self,
        context: tuple[int, ...],
        drafted: tuple[int, ...],
        draft_laws: Sequence[Law],
        target_laws: Sequence[Law],
    ) -> Program[Step]:
        """Draws from the target at each position until a draw differs from the drafted token."""
        emitted: tuple[int, ...] = ()
        trials: tuple[Trial, ...] = ()
        for position, law in enumerate(target_laws):
            token = yield Choose(law)
            emitted += (token,)
            if position == len(drafted):
                break
            trials += (Trial(token == drafted[position], partial(_coincidence, law, draft_laws[position])),)
            if token != drafted[position]:
                break
        return Step(emitted, len(drafted), trials)


def _coincidence(target_law: Law, draft_law: Law) -> Mass:
    """The probability that independent draws from both laws are equal: sum of P Q."""
    return sum(target_law[token] * draft_law[token] for token in draft_law.support())


class OneHotRatio(SpeculativeSampling):
    """C2: the proposal is treated as certain, which is exact for any proposal."""

    def verify(
        self,
        context: tuple[int, ...],
        drafted: tuple[int, ...],
        draft_laws: Sequence[Law],
        target_laws: Sequence[Law],
    ) -> Program[Step]:
        """Accepts x with probability P(x), else draws from P without x."""
        accepted = yield Accept(tuple(law[token] for law, token in zip(target_laws, drafted, strict=False)))
        law = target_laws[accepted]
        if accepted < len(drafted):
            law = law.restrict(tuple(token for token in law.support() if token != drafted[accepted]))
        last = yield Choose(law)
        tested = list(zip(target_laws, drafted[: accepted + 1], strict=False))
        trials = tuple(
            Trial(position < accepted, partial(law.__getitem__, token)) for position, (law, token) in enumerate(tested)
        )
        return Step((*drafted[:accepted], last), len(drafted), trials)


CONTROLS = (
    changed(
        TargetDrawMatch,
        "target-draw-match",
        "C1",
        "accepts iff the drafted token equals the target's own draw, and emits that draw",
        "Timor et al. 2502.05202, Algorithm 2, on ids",
        wrong=False,
    ),
    changed(
        OneHotRatio,
        "one-hot-ratio",
        "C2",
        "accepts x with probability P(x), else draws from P without x",
        "prompt lookup, whose draft law is one-hot",
        wrong=False,
    ),
)
