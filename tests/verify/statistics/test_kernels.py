"""Kernels and distances: by hand, against slow re-readings of their definitions, and as kernels must be."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.verify.statistics.kernels import (
    DISTANCES,
    KERNELS,
    edit_distance,
    encoded,
    hamming,
    hamming_distance,
    prefix,
    spectrum,
)

outputs = st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=8)


def test_outputs_of_all_kinds_become_rows_of_one_width() -> None:
    first, second = encoded(["ab", ""], ["abc"])
    assert first.tolist() == [[97, 98, -1], [-1, -1, -1]]
    assert second.tolist() == [[97, 98, 99]]
    assert encoded([(3, 1), (2,)])[0].tolist() == encoded(np.array([[3, 1], [2, -1]]))[0].tolist()
    assert encoded([], [])[0].shape == (0, 0)


@pytest.mark.parametrize("bad", [[(1, -2)], [(-1, 3)], np.array([[1, -1, 2]])])
def test_ids_below_zero_and_after_the_end_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="after its end"):
        encoded(bad)  # type: ignore[arg-type]


def test_kernels_by_hand() -> None:
    [rows] = encoded(["abcd", "abxd", "ab"])
    assert hamming(rows)[0] == pytest.approx([1, 3 / 4, 2 / 4])
    assert hamming(rows)[1, 2] == pytest.approx(2 / 4)
    assert prefix(rows)[0] == pytest.approx([1, 2 / 4, 2 / 4])
    assert prefix(rows, decay=0.5)[0] == pytest.approx([1, 1.5 / 1.875, 1.5 / 1.875])
    # abcd and ab end; pairs ab, bc, cd, d-end; ab, b-end: of 5 and 3 symbols, 4 and 2 pairs, in common a, b, end, ab.
    assert spectrum(rows, longest=2)[0, 2] == pytest.approx(4 / np.sqrt(9 * 5))


def test_distances_by_hand() -> None:
    [rows] = encoded(["kitten", "sitting", "", "itten"])
    assert hamming_distance(rows)[0].tolist() == [0, 3, 6, 5]
    assert edit_distance(rows)[0].tolist() == [0, 3, 6, 1]
    assert edit_distance(rows)[1].tolist() == [3, 0, 7, 3]


@given(outputs)
def test_kernels_are_kernels(listed: list[list[int]]) -> None:
    [rows] = encoded(listed)
    for kernel in KERNELS.values():
        gram = kernel(rows)
        assert np.allclose(np.diag(gram), 1)
        assert np.allclose(gram, gram.T)
        assert gram.min() >= 0
        assert gram.max() <= 1 + 1e-12
        assert np.linalg.eigvalsh(gram).min() > -1e-9


@given(outputs)
def test_distances_are_distances(listed: list[list[int]]) -> None:
    [rows] = encoded(listed)
    same = (rows[:, np.newaxis] == rows).all(axis=2)
    for distance in DISTANCES.values():
        between = distance(rows)
        assert ((between == 0) == same).all()
        assert (between == between.T).all()
        assert (between[:, :, np.newaxis] <= between[:, np.newaxis, :] + between.T[np.newaxis]).all()


@given(outputs)
def test_the_edit_distance_is_that_of_its_recursion(listed: list[list[int]]) -> None:
    @cache
    def edits(one: tuple[int, ...], other: tuple[int, ...]) -> int:
        if not one or not other:
            return len(one) + len(other)
        replaced = edits(one[:-1], other[:-1]) + (one[-1] != other[-1])
        return min(replaced, edits(one[:-1], other) + 1, edits(one, other[:-1]) + 1)

    between = edit_distance(encoded(listed)[0])
    for i, one in enumerate(listed):
        for j, other in enumerate(listed):
            assert between[i, j] == edits(tuple(one), tuple(other))


@given(outputs, st.integers(1, 4))
def test_the_spectrum_counts_every_run_of_symbols_and_the_end(listed: list[list[int]], longest: int) -> None:
    def grams(output: list[int]) -> Counter[tuple[int, ...]]:
        ended = (*output, -1)
        return Counter(
            ended[start : start + length]
            for length in range(1, longest + 1)
            for start in range(len(ended) - length + 1)
        )

    gram = spectrum(encoded(listed)[0], longest)
    for i, one in enumerate(listed):
        for j, other in enumerate(listed):
            ours, theirs = grams(one), grams(other)
            product = sum(count * theirs[key] for key, count in ours.items())
            norms = sum(count**2 for count in ours.values()) * sum(count**2 for count in theirs.values())
            assert gram[i, j] == pytest.approx(product / norms**0.5)


def test_many_outputs_are_compared_in_parts() -> None:
    rows = np.random.default_rng(0).integers(0, 3, (900, 4))
    between = edit_distance(rows)
    assert (between[700:710] == edit_distance(np.concatenate([rows[700:710], rows]))[:10, 10:]).all()
