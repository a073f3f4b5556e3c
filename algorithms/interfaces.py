"""What a decoder needs from models, tokenizers and decoders: three small protocols.

Everything that makes one model differ from another (caches, devices, an exact table, a mask) stands behind
`LanguageModel`, so that no decoder is ever written twice.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from draftproof.algorithms.laws import Law

Query = tuple[tuple[int, ...], tuple[int, ...]]
"""A context and the tokens drafted after it."""


@runtime_checkable
class LanguageModel(Protocol):
    """Next-token laws over the ids 0..size-1.

    A target's laws are never empty. A drafter may answer with an empty law where it has nothing to propose.
    """

    @property
    def size(self) -> int:
        """Number of token ids; laws have mass only on 0..size-1."""
        ...

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end an output; may be empty, then only the length limit ends it."""
        ...

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """For each query the laws after its context and after each of its drafted tokens, as one batch.

        Laws are a function of the ids alone: the same context has the same law in every call (floats: up to rounding).
        """
        ...


class WrappedModel:
    """The base of a model around another of the same ids: it passes `size` and `eos` on, and leaves `laws` to do."""

    model: LanguageModel

    @property
    def size(self) -> int:
        """Number of token ids."""
        return self.model.size

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end an output."""
        return self.model.eos


@runtime_checkable
class Tokenizer(Protocol):
    """A map between text and ids. `decode(encode(text)) == text` is *not* assumed: that is what is audited."""

    @property
    def size(self) -> int:
        """Number of token ids."""
        ...

    @property
    def eos(self) -> frozenset[int]:
        """Ids that end a text. They decode to nothing."""
        ...

    @property
    def start(self) -> tuple[int, ...]:
        """Ids that the model expects before any text (a BOS, say)."""
        ...

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of a text, without special tokens."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special tokens decode to nothing."""
        ...

    def token_bytes(self, token: int) -> bytes | None:
        """The bytes a token stands for inside a text, markers decoded; None for special, unknown or unused ids."""
        ...
