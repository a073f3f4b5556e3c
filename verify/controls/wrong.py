"""Wrong decoders: each method below is the one rule that differs from the decoder it inherits from."""

from collections.abc import Sequence

from draftproof.algorithms.decoding import State
from draftproof.algorithms.laws import Law
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.slem import Slem
from draftproof.algorithms.speculative_sampling import SpeculativeSampling


class ArgmaxDraft(SpeculativeSampling):
    """Mutant 1: the token is not drawn from the law that is declared."""

    def propose(self, draft_law: Law) -> Program[int]:
        """The likeliest draft token."""
        return draft_law.argmax()
        yield  # never reached: makes this a program


class ResidualIsTarget(SpeculativeSampling):
    """Mutant 5: the residual is forgotten."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the target's law."""
        token: int = yield Choose(target_laws[position])
        return token


class RejectedStays(SpeculativeSampling):
    """Mutant 10: the cache is not rolled back over the rejected token."""

    def context(self, state: State) -> tuple[int, ...]:
        """What the cache holds."""
        return state.memory if isinstance(state.memory, tuple) else state.tokens

    def remember(
        self, context: tuple[int, ...], drafted: tuple[int, ...], accepted: int, emitted: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The old cache with the drafted tokens up to and including the rejected one."""
        return context + (drafted[: accepted + 1] if accepted < len(drafted) else emitted)


class ReencodingSlem(Slem):
    """Variant V2: the target sees what its tokenizer makes of the committed text, not the ids it committed."""

    def context(self, state: State) -> tuple[int, ...]:
        """The committed text, encoded anew behind the prompt's start ids."""
        start = self.tokenizer.start
        return start + self.tokenizer.encode(self.tokenizer.decode(state.tokens))


class CandidateKeepingSlem(Slem):
    """Variant V4: equal strings count as agreement, whatever their ids."""

    def agree(self, token: int, candidate: int) -> int | None:
        """The candidate's id where the strings agree."""
        return candidate if self.tokenizer.decode((token,)) == self.tokenizer.decode((candidate,)) else None
