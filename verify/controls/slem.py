"""Controls of SLEM: variants V2 and V4, look-alike C8."""

from collections.abc import Callable

from draftproof.algorithms.decoding import Decoder, State
from draftproof.algorithms.requests import Program
from draftproof.algorithms.slem import Slem
from draftproof.verify.controls.control import Control
from draftproof.verify.settings import Setting


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


class NonsenseSlem(Slem):
    """C8: candidates that no drafter would offer."""

    def offer(self, context: tuple[int, ...], state: State) -> Program[tuple[int, ...]]:
        """Ids that depend on nothing but how many are committed."""
        count = state.lookahead(self.lookahead)
        return tuple((7 * len(context) + 3 * place) % self.target.size for place in range(count))
        yield  # never reached: makes this a program


def _built(kind: type[Slem], name: str) -> Callable[[Setting], Decoder]:
    return lambda s: kind(s.target, s.target_tokenizer, s.text_drafter, s.lookahead, name)


CONTROLS = (
    Control(
        "slem-reencoding",
        "V2",
        "slem",
        True,
        "the target's context is re-encoded from text between steps",
        "variant of Timor et al. 2502.05202, Algorithm 2; claim SLEM-2",
        _built(ReencodingSlem, "slem-reencoding"),
    ),
    Control(
        "slem-keeps-candidate",
        "V4",
        "slem",
        True,
        "strings are compared and the candidate's ids are kept",
        "variant of Timor et al. 2502.05202, Algorithm 2; claim SLEM-3",
        _built(CandidateKeepingSlem, "slem-keeps-candidate"),
        vocabularies=("two-ids-one-string", "twins-on-both-sides"),
    ),
    Control(
        "slem-nonsense",
        "C8",
        "slem",
        False,
        "the candidates are nonsense that has nothing to do with the text",
        "claim SLEM-1",
        _built(NonsenseSlem, "slem-nonsense"),
    ),
)
