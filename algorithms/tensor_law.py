"""Laws in floats: what the sample driver works with, on any device.

Claims: SS-3, SS-4, SS-6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

import torch

from draftproof.algorithms.laws import IdMap, Law, LawError


class TensorLaw:
    """A law as a one-dimensional tensor of probabilities on any device (float64 on CPU, at least float32 elsewhere)."""

    def __init__(self, probabilities: torch.Tensor) -> None:
        """`probabilities` has shape (size,), is not checked, and must not be changed afterwards."""
        self.probabilities = probabilities

    @classmethod
    def checked(cls, weights: torch.Tensor) -> TensorLaw:
        """The law proportional to `weights`, shape (size,); empty where they are all zero.

        Raises LawError where a weight is negative, NaN or infinite.
        """
        total = weights.sum()
        if not bool(torch.isfinite(total)) or bool((weights < 0).any()):
            raise LawError("a law has a negative, NaN or infinite mass")
        return cls(weights / total if float(total) > 0 else torch.zeros_like(weights))

    @property
    def size(self) -> int:
        """Number of ids."""
        return int(self.probabilities.shape[0])

    @cached_property
    def cumulative(self) -> torch.Tensor:
        """Running sums of the probabilities in float64, shape (size,), for draws by inversion.

        In float32 a mass below 2^-25 behind half of the total would never be drawn.
        """
        return self.probabilities.cumsum(0, dtype=torch.float64)

    @cached_property
    def empty(self) -> bool:
        """Whether there is no mass to draw from."""
        return not bool((self.probabilities > 0).any())

    def __getitem__(self, token: int) -> float:
        """The mass of a token; 0 for ids outside 0..size-1."""
        return float(self.probabilities[token]) if 0 <= token < self.size else 0.0

    def __repr__(self) -> str:
        return f"TensorLaw(size={self.size}, device={self.probabilities.device}, argmax={self.argmax()})"

    def support(self) -> tuple[int, ...]:
        """The ids of positive mass, ascending."""
        return tuple(self.probabilities.nonzero().flatten().tolist())

    def items(self) -> Iterable[tuple[int, float]]:
        """Ids of positive mass with their masses, ids ascending."""
        ids = self.probabilities.nonzero().flatten()
        return zip(ids.tolist(), self.probabilities[ids].tolist(), strict=True)

    def argmax(self) -> int:
        """The id of the largest mass; ties break to the lowest id."""
        return int((self.probabilities == self.probabilities.max()).nonzero()[0])

    def ranked(self, count: int) -> tuple[int, ...]:
        """The `count` ids of largest positive mass, largest first, ties to the lowest id."""
        # topk does not say which of equal entries it takes: take its threshold only, then fill up from the lowest id.
        threshold = self.probabilities.topk(min(count, self.size)).values[-1]
        candidates = (self.probabilities >= threshold).logical_and(self.probabilities > 0).nonzero().flatten()
        order = self.probabilities[candidates].sort(descending=True, stable=True).indices
        return tuple(candidates[order][:count].tolist())

    def power(self, exponent: float) -> TensorLaw:
        """The law proportional to P(x)**exponent, computed by logarithms."""
        logs = self.probabilities.log()
        return self.checked(((logs - logs.max()) * exponent).exp())

    def quantile(self, uniform: float) -> int:
        """The first id whose running sum of masses exceeds `uniform`, in [0, 1), scaled by their rounded total."""
        if self.empty:
            raise LawError("no draw: the law is empty")
        level = self.cumulative[-1] * uniform
        if not bool(torch.isfinite(level)):
            raise LawError("no draw: the law has a mass that is NaN or infinite")
        token = int(torch.searchsorted(self.cumulative, level, right=True))
        if token < self.size and self[token] > 0:
            return token
        # The product may round up to the total itself; and a parallel scan (CUDA) need not be monotone, so that an id
        # of mass 0 can be hit. Then the last id of positive mass before it, or the first of all.
        support = self.probabilities.nonzero().flatten()
        return int(support[max(0, int((support < token).sum()) - 1)])

    def acceptance(self, token: int, draft_mass: float) -> float:
        """min(1, P(token) / draft_mass); 1 where draft_mass is 0 and P(token) is not."""
        ratio = self[token] / draft_mass if draft_mass else float(self[token] > 0)
        if ratio != ratio:  # min would take NaN for 1
            raise LawError(f"the acceptance of {token} is no number: a law has a mass that is NaN")
        return min(1.0, ratio)

    def overlap(self, other: Law) -> float:
        """The sum of minima of the two laws."""
        return float(torch.minimum(self.probabilities, self._dense(other)).sum())

    def residual(self, other: Law) -> TensorLaw:
        """The normalised positive part of `self - other`; empty where there is none."""
        return self.checked((self.probabilities - self._dense(other)).clamp_min(0))

    def restrict(self, ids: Collection[int]) -> TensorLaw:
        """The law given that the id is one of `ids`; empty where they have no mass."""
        index = ids.domain if isinstance(ids, IdMap) else torch.tensor(tuple(ids), dtype=torch.long)
        index = index.to(self.probabilities.device)
        kept = torch.zeros_like(self.probabilities)
        kept[index] = self.probabilities[index]
        return self.checked(kept)

    def weighted(self, weights: Mapping[int, float]) -> TensorLaw:
        """The law of this size proportional to `weights`; empty where they are all zero."""
        if any(not 0 <= token < self.size for token in weights):
            raise LawError(f"a law on ids 0..{self.size - 1} has mass elsewhere")
        dense = torch.zeros_like(self.probabilities)
        dense[list(weights)] = torch.tensor(list(weights.values()), dtype=torch.float64).to(dense)
        return self.checked(dense)

    def reweighted(self, factors: Mapping[int, float]) -> TensorLaw:
        """The law proportional to P(x) * factors[x], ids without a factor keeping theirs: 1."""
        ids = [token for token in factors if 0 <= token < self.size]
        scaled = self.probabilities.clone()
        scaled[ids] *= torch.tensor([float(factors[token]) for token in ids], dtype=torch.float64).to(scaled)
        return self.checked(scaled)

    def pushforward(self, id_map: IdMap) -> TensorLaw:
        """The law of `id_map[x]`; masses of merged ids are summed."""
        device = self.probabilities.device
        mapped = self.probabilities[id_map.domain.to(device)]
        if int((mapped > 0).sum()) != int((self.probabilities > 0).sum()):
            raise KeyError(f"ids of positive mass have no image: {sorted(set(self.support()) - set(id_map))[:5]}")
        sums = torch.zeros(id_map.size, dtype=self.probabilities.dtype, device=device)
        sums.index_add_(0, id_map.image.to(device), mapped)
        return TensorLaw(sums)

    def _dense(self, other: Law) -> torch.Tensor:
        if isinstance(other, TensorLaw):
            dense = torch.zeros_like(self.probabilities)
            common = min(self.size, other.size)
            dense[:common] = other.probabilities[:common]
            return dense
        masses = [float(other[token]) for token in range(self.size)]
        return torch.tensor(masses, dtype=torch.float64).to(self.probabilities)
