"""The union-vocabulary baseline (after Algorithm 1 of Timor et al. 2502.05202).

Both laws are extended by 0 to the union of the vocabularies; what follows is speculative sampling, in which a drafted
id that the target lacks is always rejected.

Claims: UNION-1.
Departs from the paper: drafting stops at a drafted id that the target lacks, since nothing after it can be accepted.
"""

from dataclasses import dataclass

from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.laws import Law
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tli import MappedDrafter
from draftproof.algorithms.vocabulary import Vocabularies


@dataclass(frozen=True)
class UnionDrafter(MappedDrafter):
    """A drafter over the union: ids the target lacks come after the target's own."""

    @property
    def size(self) -> int:
        """Number of ids of the union."""
        return self.vocabularies.union.size

    def image(self, law: Law) -> Law:
        """The draft law on the union's ids."""
        return law.pushforward(self.vocabularies.union)


def union(
    target: LanguageModel,
    target_tokenizer: Tokenizer,
    drafter: LanguageModel,
    draft_tokenizer: Tokenizer,
    lookahead: int,
) -> SpeculativeSampling:
    """The decoder. Raises DecoderError for a lookahead below 1."""
    vocabularies = Vocabularies(target_tokenizer, draft_tokenizer, target.size, drafter.size)
    return SpeculativeSampling(target, UnionDrafter(drafter, vocabularies), lookahead, name="union")
