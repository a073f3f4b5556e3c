"""Prompt lookup: a drafter without a model, which proposes what followed the last occurrence of the text's ending."""

from dataclasses import dataclass

from draftproof.algorithms.requests import Program
from draftproof.algorithms.slem import Proposal


@dataclass(frozen=True)
class PromptLookup:
    """Looks for the longest ending of the text, of `least` to `most` characters, that occurred before.

    Of several occurrences the last is taken. It proposes `characters` characters per drafted token asked for; where the
    copy would run past the end of the text it stops there.
    """

    most: int = 24
    least: int = 4
    characters: int = 4

    def propose(self, text: str, lookahead: int) -> Program[Proposal]:
        """The proposal; it asks for nothing, since it needs no model and no coin."""
        for length in range(min(self.most, len(text) - 1), self.least - 1, -1):
            found = text.rfind(text[-length:], 0, len(text) - 1)
            if found >= 0:
                start = found + length
                return Proposal(text[start : start + self.characters * lookahead])
        return Proposal("")
        yield  # never reached: makes this a program
