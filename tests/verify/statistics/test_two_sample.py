"""Two-sample tests: by hand, exact, at their levels, and on decoders' outputs that differ or only look so."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import Decoder, decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.verify.statistics.kernels import KERNELS, encoded
from draftproof.verify.statistics.two_sample import (
    TWO_SAMPLE_TESTS,
    distinct,
    energy_distance,
    likelihood_ratio,
    maximum_mean_discrepancy,
    pearson,
    permutation,
)

FALSE_ALARM = 1e-9
EACH = pytest.mark.parametrize("name", TWO_SAMPLE_TESTS)


def band(runs: int, level: float) -> tuple[float, float]:
    return stats.binom.ppf(FALSE_ALARM / 2, runs, level), stats.binom.isf(FALSE_ALARM / 2, runs, level)


def words(source: np.random.Generator, count: int, weights: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)) -> np.ndarray:
    return source.choice(4, size=(count, 3), p=weights)


def test_distinct_outputs_are_counted() -> None:
    found = distinct(["a", "b", "a"], ["b", "c"])
    assert found.rows.tolist() == [[97], [98], [99]]
    assert [count.tolist() for count in found.counts] == [[2, 1, 0], [0, 1, 1]]
    with pytest.raises(ValueError, match="two samples"):
        distinct([], ["a"])


def test_statistics_by_hand() -> None:
    # All of one sample is "aa", all of the other "ab": they agree in one position of two.
    first, second = ["aa"] * 3, ["ab"] * 2
    assert maximum_mean_discrepancy(first, second).statistic == pytest.approx(1 + 1 - 2 * 0.5)
    assert energy_distance(first, second).statistic == pytest.approx(2 * 1 - 0 - 0)
    assert maximum_mean_discrepancy(first, second).name == "mmd-hamming"
    table = ["a"] * 30 + ["b"] * 10, ["a"] * 20 + ["b"] * 20
    assert pearson(*table).statistic == pytest.approx(16 / 3)  # 25, 15 expected in both: 2 (25/25 + 25/15)
    assert pearson(*table).p_value == pytest.approx(stats.chi2.sf(16 / 3, 1))
    assert pearson(*table).samples == 80


def test_a_permutation_test_of_few_outputs_tries_all_relabellings() -> None:
    first, second = ["aa", "aa", "ab"], ["bb", "bb", "ba"]
    rows = np.concatenate(encoded(first, second))

    def heads(one: np.ndarray, other: np.ndarray) -> float:
        return float(abs((one[:, 0] == 97).mean() - (other[:, 0] == 97).mean()))

    truth = [
        heads(rows[list(some)], rows[[n for n in range(6) if n not in some]]) for some in combinations(range(6), 3)
    ]
    assert permutation(first, second, heads).p_value == pytest.approx(np.mean(np.array(truth) >= 1))
    assert permutation(first, second, heads).p_value == pytest.approx(0.1)


def test_any_statistic_gives_the_p_value_of_its_own_function() -> None:
    source = np.random.default_rng(1)
    first, second = words(source, 40), words(source, 60, (0.3, 0.3, 0.2, 0.2))

    def discrepancy(one: np.ndarray, other: np.ndarray) -> float:
        gram = KERNELS["hamming"](np.concatenate([one, other]))
        weights = np.concatenate([np.full(len(one), 1 / len(one)), np.full(len(other), -1 / len(other))])
        return float(weights @ gram @ weights)

    slow, fast = (
        permutation(first, second, discrepancy, 999),
        maximum_mean_discrepancy(first, second, permutations=9_999),
    )
    assert slow.statistic == pytest.approx(fast.statistic)
    assert slow.p_value == pytest.approx(fast.p_value, abs=0.1)


@EACH
def test_equal_samples_and_one_output_refute_nothing(name: str) -> None:
    some = ["ab", "a", "", "abc"] * 10
    assert TWO_SAMPLE_TESTS[name](some, some).p_value == 1.0
    assert TWO_SAMPLE_TESTS[name](["", ""], [""]).p_value == 1.0
    assert TWO_SAMPLE_TESTS[name]([(7,)], [(8,)]).p_value > 0.5


@pytest.mark.parametrize(
    "test",
    [
        pearson,
        likelihood_ratio,
        lambda one, other: maximum_mean_discrepancy(one, other, permutations=99),
        lambda one, other: energy_distance(one, other, "edit", permutations=99),
    ],
    ids=["pearson", "likelihood-ratio", "mmd", "energy"],
)
def test_the_level_is_kept(test: Callable[..., Any]) -> None:
    source = np.random.default_rng(2)
    rejected = sum(test(words(source, 150)[:, :2], words(source, 250)[:, :2]).p_value <= 0.05 for _ in range(2_000))
    low, high = band(2_000, 0.05)
    assert low <= rejected <= high


@EACH
def test_different_laws_are_refuted_and_equal_ones_pass(name: str) -> None:
    source = np.random.default_rng(3)
    first, same, other = words(source, 1_000), words(source, 1_500), words(source, 1_500, (0.25, 0.25, 0.25, 0.25))
    assert TWO_SAMPLE_TESTS[name](first, same).p_value > 1e-3
    assert TWO_SAMPLE_TESTS[name](first, other).p_value <= (1e-4 if name in ("pearson", "likelihood-ratio") else 1e-3)


@pytest.mark.parametrize("test", [pearson, likelihood_ratio])
def test_counts_of_few_outputs_reach_small_levels(test: Callable[..., Any]) -> None:
    source = np.random.default_rng(3)
    first, same, other = words(source, 3_000), words(source, 3_000), words(source, 3_000, (0.25, 0.25, 0.25, 0.25))
    assert test(first[:, :1], same[:, :1]).p_value > 1e-3
    assert test(first[:, :1], other[:, :1]).p_value < FALSE_ALARM


@EACH
def test_strings_ids_and_rows_are_one_and_the_same(name: str) -> None:
    source = np.random.default_rng(4)
    first, second = words(source, 200), words(source, 200)
    letters = [["".join("abcd"[token] for token in output) for output in sample] for sample in (first, second)]
    lists = [[tuple(int(token) for token in output) for output in sample] for sample in (first, second)]
    tested = TWO_SAMPLE_TESTS[name](first, second)
    assert TWO_SAMPLE_TESTS[name](*letters) == tested
    assert TWO_SAMPLE_TESTS[name](*lists) == tested


def test_only_the_order_of_positions_tells_these_apart() -> None:
    # Position by position the laws agree, so the Hamming kernel is blind; the prefix and n-gram kernels are not.
    source = np.random.default_rng(5)
    bits = source.integers(0, 2, (1_500, 1))
    tied = np.concatenate([bits, bits], axis=1)
    free = source.integers(0, 2, (1_500, 2))
    assert maximum_mean_discrepancy(tied, free).p_value > 0.01
    assert maximum_mean_discrepancy(tied, free, "prefix").p_value == 1e-3
    assert maximum_mean_discrepancy(tied, free, "spectrum").p_value == 1e-3
    assert pearson(tied, free).p_value < FALSE_ALARM


def test_lengths_are_part_of_an_output() -> None:
    for name, test in TWO_SAMPLE_TESTS.items():
        assert test(["a"] * 300 + ["aa"] * 100, ["a"] * 200 + ["aa"] * 200).p_value < 2e-3, name


def test_another_kernel_may_be_given() -> None:
    def equal(rows: np.ndarray) -> np.ndarray:
        return np.eye(len(rows))

    tested = maximum_mean_discrepancy(["a", "b"], ["a", "c"], equal)
    assert tested.name == "mmd-equal"
    assert tested.statistic == pytest.approx(1 / 4 + 1 / 4)


def outputs(decoder: Decoder, count: int, seed: int) -> list[tuple[int, ...]]:
    programs = [decode(decoder, (), 4) for _ in range(count)]
    return [output.tokens for output in sample_batch(programs, [RandomCoins(seed, n) for n in range(count)])]


def test_a_decoder_is_told_from_plain_decoding_only_if_its_law_is_another(toys: Any) -> None:
    toy = toys.floats(toys.common(1))
    plain = outputs(Autoregressive(toy.target), 1_000, 1)
    right = outputs(toys.decoders["speculative-sampling"](toy, 3), 1_000, 2)
    wrong = outputs(Autoregressive(toys.floats(toys.common(4)).target), 1_000, 3)
    for name, test in TWO_SAMPLE_TESTS.items():
        assert test(right, plain).p_value > 1e-3, name
        assert test(wrong, plain).p_value <= 1e-3, name


def test_thousands_of_distinct_outputs_are_no_trouble() -> None:
    source = np.random.default_rng(6)
    first, second = source.integers(0, 1_000, (2, 2_000, 4))
    assert len(distinct(first, second).rows) > 3_990
    assert maximum_mean_discrepancy(first, second).p_value > 1e-3
