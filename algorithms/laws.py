"""Laws: probability distributions over token ids, behind one protocol. Kinds: exact_law.py, tensor_law.py.

Decoders use only the protocol, so the same text runs on fractions, on tensors of any device and (in proofs/) on solver
terms. The *empty* law has no mass at all: it is what a restriction to nothing, the residual of equal laws, and a
drafter with nothing to propose have in common.

Notation: `law[token]` is P(token); `overlap` is sum_x min(P(x), Q(x)); `residual` is (P - Q)+ normalised
(Chen et al. 2302.01318, Algorithm 2; Leviathan et al. 2211.17192, Algorithm 1).
Claims: SS-3, SS-4, SS-6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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

    def weighted(self, weights: Mapping[int, Mass]) -> Law:
        """The law of this kind and size proportional to `weights`, ids without one having none; empty for all zero.

        Raises LawError where a weight is negative or not finite, or its id is outside 0..size-1.
        """
        ...

    def reweighted(self, factors: Mapping[int, Mass]) -> Law:
        """The law proportional to P(x) * factors[x], ids without a factor keeping theirs: 1.

        Ids outside 0..size-1 are passed over. Raises LawError where a factor is negative or not finite.
        """
        ...

    def pushforward(self, id_map: IdMap) -> Law:
        """The law of `id_map[x]` on ids 0..id_map.size-1; masses of merged ids are summed.

        Raises KeyError where an id of positive mass has no image.
        """
        ...
