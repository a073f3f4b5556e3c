"""Token-level intersection (after Algorithm 4 of Timor et al. 2502.05202).

The drafter's law is restricted to the tokens that both vocabularies share and renormalised; what follows is speculative
sampling with that law. The difference stands behind `LanguageModel`, so the decoder's text is speculative sampling's.

Notation: Q' = Q given the intersection, mapped to target ids, masses of merged ids summed.
Claims: TLI-1, TLI-2, TLI-3, TLI-4.
Departs from the paper: where the shared tokens have no mass the draft ends there; with nothing drafted the token is
drawn from the target's law.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.algorithms.interfaces import LanguageModel, Query, Tokenizer
from draftproof.algorithms.laws import Law
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.vocabulary import Vocabularies


@dataclass(frozen=True)
class MappedDrafter:
    """A drafter over the target's ids: contexts go through the vocabularies, laws through `image`."""

    model: LanguageModel
    vocabularies: Vocabularies

    @property
    def size(self) -> int:
        """Number of ids of the mapped laws."""
        return self.vocabularies.target_size

    @property
    def eos(self) -> frozenset[int]:
        """The target's end-of-text ids."""
        return self.vocabularies.target.eos

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The mapped laws after each query's context and each of its drafted tokens."""
        contexts = [
            self.vocabularies.drafter_context(context + drafted[:count])
            for context, drafted in queries
            for count in range(len(drafted) + 1)
        ]
        mapped = iter([self.image(law) for [law] in self.model.laws([(context, ()) for context in contexts])])
        return [[next(mapped) for _ in range(len(drafted) + 1)] for _, drafted in queries]

    def image(self, law: Law) -> Law:
        """Q': the draft law given the shared tokens, on target ids; empty where they have no mass."""
        return law.restrict(self.vocabularies.shared).pushforward(self.vocabularies.shared)


def tli(
    target: LanguageModel,
    target_tokenizer: Tokenizer,
    drafter: LanguageModel,
    draft_tokenizer: Tokenizer,
    lookahead: int,
) -> SpeculativeSampling:
    """The decoder. Raises DecoderError for an empty intersection or a lookahead below 1."""
    vocabularies = Vocabularies(target_tokenizer, draft_tokenizer, target.size, drafter.size)
    vocabularies.check_intersection("tli")
    return SpeculativeSampling(target, MappedDrafter(drafter, vocabularies), lookahead, name="tli")
