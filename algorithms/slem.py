"""SLEM, string-level exact match (after Algorithm 2 of Timor et al. 2502.05202).

The draft is a text. Encoded with the target's tokenizer it gives candidates; the target draws its own token at each
position and the step goes on while draw and candidate agree. Every emitted token is a draw from the target's law given
the target's own committed ids, so the law is exact for *any* candidates that do not depend on these draws.

Claims: SLEM-1, SLEM-4, SLEM-6.
Departs from the paper: the committed ids are never re-encoded (re-encoding them is lossy even for an injective
tokenizer, claim SLEM-2); candidates are cut to what the length limit can use, the draft is not, since one target token
may need many draft tokens.
"""

from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Protocol

from draftproof.algorithms.decoding import State, Step, Trial, check_lookahead
from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Choose, Laws, Program
from draftproof.algorithms.retokenization import candidates, continuation


@dataclass(frozen=True, slots=True)
class Proposal:
    """A drafted text, and whether the drafter ended it with its end-of-text id."""

    text: str
    ended: bool = False


class TextDrafter(Protocol):
    """Something that proposes how a text goes on."""

    def propose(self, text: str, lookahead: int) -> Program[Proposal]:
        """The program that drafts about `lookahead` tokens after `text`."""
        ...


@dataclass(frozen=True)
class ModelDrafter:
    """A language model as a text drafter: encode, draft tokens, decode."""

    model: LanguageModel
    tokenizer: Tokenizer

    def propose(self, text: str, lookahead: int) -> Program[Proposal]:
        """Drafts up to `lookahead` tokens; ends early at EOS or where the model has nothing to propose."""
        context = self.tokenizer.start + self.tokenizer.encode(text)
        drafted: tuple[int, ...] = ()
        while len(drafted) < lookahead:
            [law] = yield Laws(self.model, context + drafted)
            if law.empty:
                break
            token = yield Choose(law)
            if token in self.model.eos:
                return Proposal(continuation(self.tokenizer, context, drafted), ended=True)
            drafted += (token,)
        return Proposal(continuation(self.tokenizer, context, drafted))


@dataclass(frozen=True)
class Slem:
    """Emits tokens of the target's law for any text drafter."""

    target: LanguageModel
    tokenizer: Tokenizer
    drafter: TextDrafter
    lookahead: int
    name: str = "slem"

    def __post_init__(self) -> None:
        """Raises DecoderError for a lookahead below 1."""
        check_lookahead(self.lookahead)

    def step(self, state: State) -> Program[Step]:
        """Drafts a text and matches the target's own draws against its tokens."""
        context = self.context(state)
        offered = yield from self.offer(context, state)
        laws = yield Laws(self.target, context, offered)
        emitted: list[int] = []
        trials: list[Trial] = []
        for law, candidate in zip(laws, (*offered, None), strict=True):
            token = yield Choose(law)
            if candidate is None:  # the bonus token
                emitted.append(token)
                break
            agreed = self.agree(token, candidate)
            emitted.append(token if agreed is None else agreed)
            trials.append(Trial(agreed is not None, partial(_mass, law, candidate)))
            if agreed is None:
                break
        return Step(tuple(emitted), len(offered), tuple(trials))

    def context(self, state: State) -> tuple[int, ...]:
        """The ids that laws are conditioned on: the committed ones, as they were emitted."""
        return state.tokens

    def offer(self, context: tuple[int, ...], state: State) -> Program[tuple[int, ...]]:
        """The candidates: target ids of the drafted text, an EOS where the drafter ended it."""
        count = state.lookahead(self.lookahead)
        if not count:
            return ()
        proposal = yield from self.drafter.propose(self.tokenizer.decode(context), self.lookahead)
        offered = candidates(self.tokenizer, context, proposal.text)
        if proposal.ended and self.target.eos:
            offered += (min(self.target.eos),)
        # A tokenizer may know ids that the model lacks: candidates end there.
        known = tuple(takewhile(lambda token: token < self.target.size, offered))
        return known[: state.remaining - 1]

    def agree(self, token: int, candidate: int) -> int | None:
        """The id to commit where the target's draw agrees with the candidate; None where they differ."""
        return token if token == candidate else None


def _mass(law: Law, token: int) -> Mass:
    return law[token]
