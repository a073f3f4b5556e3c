"""Laws in fractions: what the enumerate driver works with.

Claims: SS-3, SS-4, SS-6.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction

from draftproof.algorithms.laws import IdMap, Law, LawError


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
        if any(mass < 0 for mass in masses.values()):
            raise LawError(f"a law has a negative mass: {dict(masses)}")
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

    def weighted(self, weights: Mapping[int, Fraction]) -> ExactLaw:
        """The law of this size proportional to `weights`; empty where they are all zero."""
        return self.normalised(weights, self.size)

    def reweighted(self, factors: Mapping[int, Fraction]) -> ExactLaw:
        """The law proportional to P(x) * factors[x], ids without a factor keeping theirs: 1."""
        return self.normalised(
            {token: mass * Fraction(factors.get(token, 1)) for token, mass in self.items()}, self.size
        )

    def pushforward(self, id_map: IdMap) -> ExactLaw:
        """The law of `id_map[x]`; masses of merged ids are summed."""
        masses: dict[int, Fraction] = {}
        for token, mass in self.items():
            masses[id_map[token]] = masses.get(id_map[token], Fraction(0)) + mass
        return ExactLaw(masses, id_map.size)
