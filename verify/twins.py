"""A drafter in whose vocabulary every string stands twice: what mutant 15 needs, on any pair.

Id x + V means what id x means, for V ids, and has a quarter of the mass. Real vocabularies have such twins too (a byte
token and a letter, tokens that differ in a marker only), but too few of them for a small sample to meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import torch

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel, Query, Tokenizer
from draftproof.algorithms.laws import Law
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.settings import Setting

TWIN = 0.25
"""The twin's share of a token's mass."""


@dataclass(frozen=True)
class TwinnedModel:
    """The model over twice the ids; an id that ends a text keeps its whole mass."""

    model: LanguageModel

    @property
    def size(self) -> int:
        """Number of ids."""
        return 2 * self.model.size

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end an output."""
        return self.model.eos

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The laws after the contexts that the ids mean, each mass shared with the twin."""
        meant: list[Query] = [(self._meaning(context), self._meaning(drafted)) for context, drafted in queries]
        return [[self._shared(law) for law in laws] for laws in self.model.laws(meant)]

    def _meaning(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(token % self.model.size for token in ids)

    def _shared(self, law: Law) -> Law:
        size = self.model.size
        if isinstance(law, TensorLaw):
            twins = law.probabilities * TWIN
            twins[list(self.eos)] = 0
            return TensorLaw(torch.cat([law.probabilities - twins, twins]))
        masses: dict[int, Fraction] = {}
        for token, mass in law.items():
            twin = mass * Fraction(0 if token in self.eos else TWIN)
            masses |= {token: mass - twin, token + size: twin}
        return ExactLaw(masses, self.size)


@dataclass(frozen=True)
class TwinnedTokenizer:
    """The tokenizer over twice the ids; it never encodes with a twin."""

    tokenizer: Tokenizer

    @property
    def size(self) -> int:
        """Number of ids."""
        return 2 * self.tokenizer.size

    @property
    def eos(self) -> frozenset[int]:
        """Ids that end a text."""
        return self.tokenizer.eos

    @property
    def start(self) -> tuple[int, ...]:
        """Ids before any text."""
        return self.tokenizer.start

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of a text."""
        return self.tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode([token % self.tokenizer.size for token in ids])

    def token_bytes(self, token: int) -> bytes | None:
        """The bytes of a token; an id that ends a text has no twin."""
        meant = token % self.tokenizer.size
        return None if token != meant and meant in self.eos else self.tokenizer.token_bytes(meant)


def with_twins(setting: Setting) -> Setting:
    """The setting with a twinned drafter."""
    if setting.drafter.size != setting.draft_tokenizer.size:
        raise ValueError("a drafter gets twins only where model and tokenizer have the same number of ids")
    return replace(
        setting,
        name=f"{setting.name}, every draft token twice",
        drafter=TwinnedModel(setting.drafter),
        draft_tokenizer=TwinnedTokenizer(setting.draft_tokenizer),
    )
