"""Vectors of rationals: what floats are, and arithmetic on them without rounding."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.laws import LawError
from draftproof.verify.numerics.rationals import Rationals, exactly, total_variation

MASSES = st.lists(st.floats(0, 2, allow_subnormal=True), min_size=1, max_size=6)


def entries(vector: Rationals) -> list[Fraction]:
    return [vector[index] for index in range(len(vector))]


def of(values: list[float]) -> Rationals:
    return exactly(torch.tensor(values, dtype=torch.float64))


def test_floats_are_the_fractions_they_are() -> None:
    vector = exactly(torch.tensor([0.5, 0.0, 0.1, 3.0], dtype=torch.float64))
    assert entries(vector) == [Fraction(1, 2), 0, Fraction(0.1), 3]
    assert Fraction(0.1) != Fraction(1, 10)


@pytest.mark.parametrize(("dtype", "third"), [(torch.bfloat16, "171/512"), (torch.float16, "1365/4096")])
def test_a_third_in_half_precision(dtype: torch.dtype, third: str) -> None:
    assert exactly(torch.tensor([1 / 3], dtype=dtype))[0] == Fraction(third)


@given(MASSES)
def test_every_float_is_kept_to_the_last_bit(values: list[float]) -> None:
    assert entries(of(values)) == [Fraction(value) for value in values]
    assert of(values).total == sum(map(Fraction, values))


def test_the_smallest_and_the_largest_floats_are_kept_beside_each_other() -> None:
    values = [5e-324, 1.0, 1.7976931348623157e308]
    assert entries(of(values)) == [Fraction(value) for value in values]


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf])
def test_what_is_no_mass_is_refused(value: float) -> None:
    with pytest.raises(LawError, match="negative, NaN or infinite"):
        of([0.5, value])


def test_nothing_cannot_be_normalised() -> None:
    with pytest.raises(LawError, match="without mass"):
        of([0.0, 0.0]).normalised()


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2)), min_size=1, max_size=5))
def test_arithmetic_is_that_of_fractions(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    one, other = of(ours), of(theirs)
    exact = [(Fraction(a), Fraction(b)) for a, b in pairs]
    assert entries(one + other) == [a + b for a, b in exact]
    assert entries(one * other) == [a * b for a, b in exact]
    assert entries(one.minimum(other)) == [min(a, b) for a, b in exact]
    assert entries(one.excess(other)) == [max(0, a - b) for a, b in exact]
    assert entries(one.scaled(Fraction(2, 3))) == [a * Fraction(2, 3) for a, _ in exact]
    assert total_variation(one, other) == sum((abs(a - b) for a, b in exact), Fraction(0)) / 2
    if one.total:
        assert entries(one.normalised()) == [a / sum(a for a, _ in exact) for a, _ in exact]
        assert one.normalised().total == 1


def test_the_total_variation_by_hand() -> None:
    assert total_variation(of([0.5, 0.5, 0.0]), of([0.25, 0.25, 0.5])) == Fraction(1, 2)
    thirds = of([1.0, 2.0]).normalised()
    assert total_variation(thirds, of([0.5, 0.5])) == Fraction(1, 6)
