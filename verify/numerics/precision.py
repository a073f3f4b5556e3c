"""Models in another dtype: the same logits, their laws stored in fewer bits.

The difference between dtypes stands behind `LanguageModel`, so that decoders are the same text in every precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from draftproof.algorithms.interfaces import LanguageModel, Query, WrappedModel
from draftproof.algorithms.laws import Law
from draftproof.algorithms.tensor_law import TensorLaw


@dataclass(frozen=True)
class InPrecision(WrappedModel):
    """A model whose laws are stored in a dtype: each probability is the nearest float of it, and none is rescaled."""

    model: LanguageModel
    dtype: torch.dtype

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The stored laws. Raises TypeError for laws that are no tensors: fractions have no dtype."""
        return [[stored(law, self.dtype) for law in laws] for laws in self.model.laws(queries)]


def stored(law: Law, dtype: torch.dtype) -> TensorLaw:
    """The law with each probability rounded to the nearest float of a dtype. Raises TypeError for laws in fractions."""
    if not isinstance(law, TensorLaw):
        raise TypeError(f"a law in floats is needed, not {type(law).__name__}")
    return TensorLaw(law.probabilities.to(dtype))
