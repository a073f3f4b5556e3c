"""Vectors of rationals over one denominator: exact arithmetic on the floats of a whole vocabulary.

Every float is a whole number of some power of two, so a tensor of floats is a vector of integers over one denominator,
and sums, products and total variations of such vectors are exact. numpy arrays of Python integers do this for 262,144
entries in tenths of a second, so no error bound is ever needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch

from draftproof.algorithms.laws import LawError

Integers = npt.NDArray[np.object_]
"""Python integers, of any length, in a numpy array."""

_PRECISION = 53


@dataclass(frozen=True, eq=False)
class Rationals:
    """The vector `numerators / denominator`; numerators have shape (size,), the denominator is positive."""

    numerators: Integers
    denominator: int

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(int(self.numerators[index]), self.denominator)

    @property
    def total(self) -> Fraction:
        """The sum of the entries."""
        return Fraction(int(self.numerators.sum()), self.denominator)

    def normalised(self) -> Rationals:
        """The entries divided by their sum. Raises LawError where the sum is not positive."""
        total = int(self.numerators.sum())
        if total <= 0:
            raise LawError("a vector without mass cannot be normalised")
        return Rationals(self.numerators, total)

    def scaled(self, factor: Fraction) -> Rationals:
        """The entries times a factor."""
        return Rationals(self.numerators * factor.numerator, self.denominator * factor.denominator)

    def __add__(self, other: Rationals) -> Rationals:
        mine, others, denominator = _common(self, other)
        return Rationals(mine + others, denominator)

    def __mul__(self, other: Rationals) -> Rationals:
        """Entry by entry."""
        return Rationals(self.numerators * other.numerators, self.denominator * other.denominator)

    def minimum(self, other: Rationals) -> Rationals:
        """The smaller of the two, entry by entry."""
        mine, others, denominator = _common(self, other)
        return Rationals(np.minimum(mine, others), denominator)

    def excess(self, other: Rationals) -> Rationals:
        """The positive part of `self - other`, entry by entry."""
        mine, others, denominator = _common(self, other)
        return Rationals(np.maximum(mine - others, 0), denominator)


def exactly(values: torch.Tensor) -> Rationals:
    """The floats of a tensor of shape (size,), any float dtype and device, as the rationals they are.

    Raises LawError where one is negative, NaN or infinite.
    """
    floats = values.detach().to("cpu", torch.float64).numpy()
    if not bool(np.isfinite(floats).all()) or bool((floats < 0).any()):
        raise LawError("a law has a negative, NaN or infinite mass")
    fractions, exponents = np.frexp(floats)
    mantissas = np.ldexp(fractions, _PRECISION).astype(np.int64).astype(object)
    exponents = exponents.astype(np.int64) - _PRECISION
    lowest = min(0, int(exponents[floats > 0].min())) if bool((floats > 0).any()) else 0
    shifts = np.where(floats > 0, exponents - lowest, 0).astype(object)
    return Rationals(np.left_shift(mantissas, shifts), 1 << -lowest)


def total_variation(one: Rationals, other: Rationals) -> Fraction:
    """Half the sum of the absolute differences of two laws on the same ids."""
    mine, others, denominator = _common(one, other)
    return Fraction(int(np.abs(mine - others).sum()), 2 * denominator)


def _common(one: Rationals, other: Rationals) -> tuple[Integers, Integers, int]:
    """Both numerators over the least common denominator."""
    denominator = math.lcm(one.denominator, other.denominator)
    return (
        one.numerators * (denominator // one.denominator),
        other.numerators * (denominator // other.denominator),
        denominator,
    )
