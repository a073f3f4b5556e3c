"""Speculative sampling (Chen et al. 2302.01318, Algorithm 2; Leviathan et al. 2211.17192, Algorithm 1).

The drafter proposes tokens one after another, one target pass scores them all, and a coin per drafted token decides how
many are kept, so that the committed tokens have exactly the target's law.

Notation: `target_law` is q in Chen et al., p in Leviathan et al. and in Timor et al. (2502.05202); `draft_law` is p in
Chen et al., q in the others; `lookahead` is K in Chen et al., gamma in Leviathan et al., i in Timor et al.
Claims: SS-1, SS-2, SS-3, SS-4, SS-6.
Departs from the papers: drafting also stops at EOS, at an id that the target does not have (union.py), and where the
drafter has nothing to propose; each is a function of the drafted prefix, so no law changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from draftproof.algorithms.decoding import DecoderError, State, Step, Trial, check_lookahead
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, mass_in

Drafted = tuple[tuple[int, ...], tuple[Law, ...]]
"""Drafted tokens and the laws they were drawn from."""


@dataclass(frozen=True)
class SpeculativeSampling:
    """Emits tokens of the target's law for any drafter, any lookahead >= 1.

    The methods below are the rules of the algorithm, one each; verify/controls changes one at a time.
    """

    target: LanguageModel
    drafter: LanguageModel
    lookahead: int
    name: str = "speculative-sampling"

    def __post_init__(self) -> None:
        """Raises DecoderError for a lookahead below 1, or a drafter that lacks a part of the target's ids."""
        check_lookahead(self.lookahead)
        if self.drafter.size < self.target.size:
            raise DecoderError(
                f"{self.name}: the drafter has {self.drafter.size} ids, the target {self.target.size}; "
                "models with different vocabularies need tli, union, slem or slrs"
            )

    def step(self, state: State) -> Program[Step]:
        """Drafts, scores in one target pass, verifies; emits between 1 and lookahead + 1 tokens."""
        context = self.context(state)
        drafted, draft_laws = yield from self.draft(context, state.lookahead(self.lookahead))
        known = tuple(token for token in drafted if token < self.target.size)
        target_laws = yield from self.score(context, known)
        return (yield from self.verify(context, drafted, draft_laws, target_laws))

    def context(self, state: State) -> tuple[int, ...]:
        """The ids that laws are conditioned on: the committed ones."""
        return state.tokens

    def draft(self, context: tuple[int, ...], count: int) -> Program[Drafted]:
        """Draws up to `count` tokens from the drafter, one after another."""
        drafted: tuple[int, ...] = ()
        laws: tuple[Law, ...] = ()
        while len(drafted) < count:
            [law] = yield Laws(self.drafter, context + drafted)
            if law.empty:
                break
            token = yield from self.propose(law)
            drafted, laws = drafted + (token,), laws + (self.declare(law),)
            if self.stops(token, law):
                break
        return drafted, laws

    def propose(self, draft_law: Law) -> Program[int]:
        """Draws a drafted token from the draft law."""
        token: int = yield Choose(draft_law)
        return token

    def declare(self, draft_law: Law) -> Law:
        """The law that verification takes the token for a draw from: the one it was drawn from."""
        return draft_law

    def stops(self, token: int, draft_law: Law) -> bool:
        """Whether drafting ends with this token: nothing after EOS, or after an id the target lacks, can be kept."""
        return token >= self.target.size or token in self.target.eos

    def score(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> Program[Sequence[Law]]:
        """The target's laws after the context and after each drafted token, in one pass."""
        target_laws: Sequence[Law] = yield Laws(self.target, context, drafted)
        return target_laws

    def verify(
        self,
        context: tuple[int, ...],
        drafted: tuple[int, ...],
        draft_laws: Sequence[Law],
        target_laws: Sequence[Law],
    ) -> Program[Step]:
        """Keeps drafted tokens up to the first failed coin, then adds a recovered or a bonus token."""
        accepted = yield from self.toss(self.ratios(drafted, draft_laws, target_laws))
        if accepted < len(drafted):
            last = yield from self.recover(accepted, drafted, draft_laws, target_laws)
        else:
            last = yield from self.bonus(target_laws)
        tested = zip(target_laws, draft_laws[: accepted + 1], strict=False)
        trials = tuple(
            Trial(position < accepted, partial(target_law.overlap, draft_law))
            for position, (target_law, draft_law) in enumerate(tested)
        )
        emitted = drafted[:accepted] + (last,)
        return Step(emitted, len(drafted), trials, self.remember(context, drafted, accepted, emitted))

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """min(1, P(x) / Q(x)) for each drafted token, both at its own position."""
        return tuple(
            target_law.acceptance(token, draft_law[token])
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )

    def toss(self, ratios: tuple[Mass, ...]) -> Program[int]:
        """How many drafted tokens are kept: a coin for each, until the first that fails."""
        accepted: int = yield Accept(ratios)
        return accepted

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """Draws the recovered token from the residual at the position of the rejected token, `drafted[position]`."""
        token: int = yield ChooseResidual(target_laws[position], mass_in(draft_laws[position]))
        return token

    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        """Draws the bonus token from the target's law after all drafted tokens."""
        token: int = yield Choose(target_laws[-1])
        return token

    def remember(
        self, context: tuple[int, ...], drafted: tuple[int, ...], accepted: int, emitted: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """What the next step conditions on besides the committed ids: nothing."""
        return None
