"""Laws: probability distributions over token ids, exact or in floats, behind one protocol.

Decoders use only the protocol, so the same text runs on fractions, on tensors of any device and (in proofs/) on solver
terms. The *empty* law has no mass at all: it is what a restriction to nothing, the residual of equal laws, and a
drafter with nothing to propose have in common.

Notation: `law[token]` is P(token); `overlap` is sum_x min(P(x), Q(x)); `residual` is (P - Q)+ normalised
(Chen et al. 2302.01318, Algorithm 2; Leviathan et al. 2211.17192, Algorithm 1).
Claims: SS-3, SS-4, SS-6.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import torch

Mass = Any
"""A number of the law's own kind: Fraction, float, or a solver term."""


class LawError(ValueError):
    """A law is not a probability distribution; the message says where and why."""


class IdMap(Mapping[int, int]):
    """A map from ids to ids 0..size-1, with its index tensors at hand; several ids may share an image."""

    def __init__(self, pairs: Mapping[int, int], size: int) -> None:
        """`pairs` maps id to id. Raises ValueError where an image is outside 0..size-1."""
        self._pairs = dict(sorted(pairs.items()))
        self.size = size
        if any(not 0 <= image < size for image in self._pairs.values()):
            raise ValueError(f"an id map into 0..{size - 1} has an image outside of it")

    def __getitem__(self, token: int) -> int:
        return self._pairs[token]

    def __iter__(self) -> Iterator[int]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    @cached_property
    def domain(self) -> torch.Tensor:
        """The mapped ids, ascending, as an index tensor."""
        return torch.tensor(tuple(self._pairs), dtype=torch.long)

    @cached_property
    def image(self) -> torch.Tensor:
        """Their images, in the same order."""
        return torch.tensor(tuple(self._pairs.values()), dtype=torch.long)


class Law(Protocol):
    """A probability distribution over the ids 0..size-1, or the empty law."""

    @property
    def size(self) -> int:
        """Number of ids."""
        ...

    @property
    def empty(self) -> bool:
        """Whether there is no mass to draw from."""
        ...

    def __getitem__(self, token: int) -> Mass:
        """The mass of a token; 0 for ids outside 0..size-1."""
        ...

    def support(self) -> tuple[int, ...]:
        """The ids of positive mass, ascending."""
        ...

    def items(self) -> Iterable[tuple[int, Mass]]:
        """Ids of positive mass with their masses, ids ascending."""
        ...

    def argmax(self) -> int:
        """The id of the largest mass; ties break to the lowest id."""
        ...

    def ranked(self, count: int) -> tuple[int, ...]:
        """The `count` ids of largest positive mass (fewer if there are fewer), largest first, ties to the lowest id."""
        ...

    def power(self, exponent: float) -> Law:
        """The law proportional to P(x)**exponent: temperature 1 / exponent.

        Raises LawError where the law's kind of number cannot hold the result.
        """
        ...

    def quantile(self, uniform: float) -> int:
        """The draw by inversion: the first id whose running sum of masses exceeds `uniform`, in [0, 1).

        An id of mass 0 is never returned, whatever the uniform (claim SS-3).
        """
        ...

    def acceptance(self, token: int, draft_mass: Mass) -> Mass:
        """min(1, P(token) / draft_mass), the probability to accept a drafted token.

        Where draft_mass is 0 it is 1 or 0 as P(token) is positive or 0: nothing outside the support is ever accepted.

        No epsilon is added to the denominator: that would be lossy (claim SS-9).
        """
        ...

    def overlap(self, other: Law) -> Mass:
        """The sum of minima of the two laws: the acceptance rate (claim SS-6)."""
        ...

    def residual(self, other: Law) -> Law:
        """The normalised positive part of `self - other`; empty where there is none."""
        ...

    def restrict(self, ids: Collection[int]) -> Law:
        """The law given that the id is one of `ids` (an IdMap stands for its domain), renormalised.

        Empty where they have no mass.
        """
        ...

    def pushforward(self, id_map: IdMap) -> Law:
        """The law of `id_map[x]` on ids 0..id_map.size-1; masses of merged ids are summed.

        Raises KeyError where an id of positive mass has no image.
        """
        ...


class ExactLaw:
    """A law in fractions. Zero masses are not kept."""

    __slots__ = ("_masses", "size")

    def __init__(self, masses: Mapping[int, Fraction], size: int) -> None:
        """`masses` must be non-negative, on ids 0..size-1, and sum to 1 (or be all zero: the empty law).

        Raises LawError otherwise.
        """
        self._masses = {token: mass for token, mass in sorted(masses.items()) if mass != 0}
        self.size = size
        if any(mass < 0 for mass in self._masses.values()):
            raise LawError(f"a law has a negative mass: {self._masses}")
        if any(not 0 <= token < size for token in self._masses):
            raise LawError(f"a law on ids 0..{size - 1} has mass elsewhere: {sorted(self._masses)}")
        if self._masses and sum(self._masses.values()) != 1:
            raise LawError(f"the masses of a law sum to {sum(self._masses.values())}, not to 1")

    @classmethod
    def normalised(cls, masses: Mapping[int, Fraction], size: int) -> ExactLaw:
        """The law proportional to non-negative `masses`; empty where they are all zero."""
        total = sum(masses.values(), Fraction(0))
        return cls({token: mass / total for token, mass in masses.items()} if total else {}, size)

    @property
    def empty(self) -> bool:
        """Whether there is no mass to draw from."""
        return not self._masses

    def __getitem__(self, token: int) -> Fraction:
        """The mass of a token; 0 for ids outside 0..size-1."""
        return self._masses.get(token, Fraction(0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactLaw) and self.size == other.size and self._masses == other._masses

    def __hash__(self) -> int:
        return hash((self.size, tuple(self._masses.items())))

    def __repr__(self) -> str:
        return f"ExactLaw({{{', '.join(f'{t}: {m}' for t, m in self._masses.items())}}}, size={self.size})"

    def items(self) -> Iterable[tuple[int, Fraction]]:
        """Ids of positive mass with their masses, ids ascending."""
        return self._masses.items()

    def support(self) -> tuple[int, ...]:
        """The ids of positive mass, ascending."""
        return tuple(self._masses)

    def argmax(self) -> int:
        """The id of the largest mass; ties break to the lowest id."""
        return max(self._masses, key=lambda token: (self._masses[token], -token))

    def ranked(self, count: int) -> tuple[int, ...]:
        """The `count` ids of largest positive mass, largest first, ties to the lowest id."""
        return tuple(sorted(self._masses, key=lambda token: (-self._masses[token], token))[:count])

    def power(self, exponent: float) -> ExactLaw:
        """The law proportional to P(x)**exponent; whole exponents only, since other powers are not fractions."""
        if not math.isfinite(exponent) or exponent != int(exponent) or exponent < 1:
            raise LawError(f"a law in fractions has no exact power {exponent}: 1 / temperature must be a whole number")
        return self.normalised({token: mass ** int(exponent) for token, mass in self.items()}, self.size)

    def quantile(self, uniform: float) -> int:
        """The first id whose running sum of masses exceeds `uniform`, in [0, 1)."""
        left = Fraction(uniform)
        for token, mass in self.items():
            left -= mass
            if left < 0:
                return token
        raise LawError(f"no draw: the law is empty or {uniform} is not in [0, 1)")

    def acceptance(self, token: int, draft_mass: Fraction) -> Fraction:
        """min(1, P(token) / draft_mass); 1 where draft_mass is 0 and P(token) is not."""
        return min(Fraction(1), self[token] / draft_mass) if draft_mass else Fraction(self[token] > 0)

    def overlap(self, other: Law) -> Fraction:
        """The sum of minima of the two laws."""
        return sum((min(mass, other[token]) for token, mass in self.items()), Fraction(0))

    def residual(self, other: Law) -> ExactLaw:
        """The normalised positive part of `self - other`; empty where there is none."""
        return self.normalised(
            {token: max(Fraction(0), mass - other[token]) for token, mass in self.items()}, self.size
        )

    def restrict(self, ids: Collection[int]) -> ExactLaw:
        """The law given that the id is one of `ids`; empty where they have no mass."""
        return self.normalised({token: mass for token, mass in self.items() if token in ids}, self.size)

    def pushforward(self, id_map: IdMap) -> ExactLaw:
        """The law of `id_map[x]`; masses of merged ids are summed."""
        masses: dict[int, Fraction] = {}
        for token, mass in self.items():
            masses[id_map[token]] = masses.get(id_map[token], Fraction(0)) + mass
        return ExactLaw(masses, id_map.size)


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
        token = int(torch.searchsorted(self.cumulative, level, right=True))
        if token < self.size and self[token] > 0:
            return token
        # The product may round up to the total itself; and a parallel scan (CUDA) need not be monotone, so that an id
        # of mass 0 can be hit. Then the last id of positive mass before it, or the first of all.
        support = self.probabilities.nonzero().flatten()
        return int(support[max(0, int((support < token).sum()) - 1)])

    def acceptance(self, token: int, draft_mass: float) -> float:
        """min(1, P(token) / draft_mass); 1 where draft_mass is 0 and P(token) is not."""
        return min(1.0, self[token] / draft_mass) if draft_mass else float(self[token] > 0)

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
