"""A tokenizer over a short list of strings: greedy longest match, small enough to reason about by hand.

Non-injective in two ways on demand: two ids with one string, and a normaliser applied before matching.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ToyTokenizer:
    """Greedy longest match over `strings`; id i stands for `strings[i]`, None marks an end-of-text id.

    Of several ids with one string the lowest is the canonical one. Characters that start no token are dropped.
    """

    strings: tuple[str | None, ...]
    normalise: Callable[[str], str] = str

    @property
    def size(self) -> int:
        """Number of token ids."""
        return len(self.strings)

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end a text."""
        return frozenset(token for token, string in enumerate(self.strings) if string is None)

    @property
    def start(self) -> tuple[int, ...]:
        """Nothing: a toy model's context may be empty."""
        return ()

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of the longest matches, from left to right."""
        rest = self.normalise(text)
        ids: list[int] = []
        while rest:
            matches = [token for token, string in enumerate(self.strings) if string and rest.startswith(string)]
            if not matches:
                rest = rest[1:]
                continue
            best = max(matches, key=lambda token: (len(self.strings[token] or ""), -token))
            ids.append(best)
            rest = rest[len(self.strings[best] or "") :]
        return tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The strings of the ids, joined; end-of-text ids decode to nothing."""
        return "".join(self.strings[token] or "" for token in ids)

    def token_bytes(self, token: int) -> bytes | None:
        """The UTF-8 bytes of a token's string; None for end-of-text ids and ids outside the list."""
        string = self.strings[token] if 0 <= token < self.size else None
        return None if string is None else string.encode()
