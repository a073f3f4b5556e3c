"""Dependence of transforms: by hand, exact, at its level, and on coins that are shared or only look so."""

import math

import numpy as np
import pytest
from scipy import stats

from draftproof.verify.statistics.dependence import (
    PAIRS,
    between_positions,
    between_requests,
    between_steps,
    dependence,
    log_wealth,
)

ALPHA = 1e-6
EACH = pytest.mark.parametrize("between", PAIRS)


def band(runs: int, level: float) -> tuple[float, float]:
    return stats.binom.ppf(5e-10, runs, level), stats.binom.isf(5e-10, runs, level)


def free(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


def one_coin_per_step(outputs: int, positions: int, step: int, seed: int = 0) -> np.ndarray:
    """Each transform is uniform, but those of one step of an output are one and the same."""
    return np.repeat(free((outputs, positions // step), seed), step, axis=1)


def one_coin_per_batch(outputs: int, positions: int, batch: int, seed: int = 0) -> np.ndarray:
    """Each transform is uniform, but a batch of outputs shares it."""
    return np.repeat(free((outputs // batch, positions), seed), batch, axis=0)


def test_pairs_by_hand() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, np.nan], [0.6, 0.7, 0.8]])
    later, earlier = between_positions(values)
    assert later.tolist() == [0.2, 0.3, 0.5, 0.7, 0.8]
    assert earlier.tolist() == [0.1, 0.2, 0.4, 0.6, 0.7]
    assert [part.tolist() for part in between_positions(values, 2)] == [[0.3, 0.8], [0.1, 0.6]]
    later, earlier = between_requests(values)
    assert later.tolist() == [0.4, 0.5, 0.6, 0.7]  # what has ended has no neighbour
    assert earlier.tolist() == [0.1, 0.2, 0.4, 0.5]
    assert [part.size for part in between_requests(values, 7)] == [0, 0]
    assert [part.size for part in between_positions(values, 7)] == [0, 0]


def test_the_statistic_by_hand() -> None:
    # Bits, each pair 20 times alike and 10 times unlike: expected 15 in each of four cells.
    alike, unlike = [[0, 0], [1, 1]], [[0, 1], [1, 0]]
    values = np.array([*(alike * 20), *(unlike * 10)], dtype=float)
    tested = dependence(values, bins=2)
    assert tested.statistic == pytest.approx(4 * 25 / 15)
    assert tested.p_value == pytest.approx(stats.chi2.sf(20 / 3, 1))
    assert (tested.samples, tested.note, tested.name) == (60, "chi-square", "dependence-positions-1")


def test_few_pairs_are_shuffled_exactly() -> None:
    # Six bits in one output, 0 1 0 1 0 1: of the 20 orders of three ones, how many are as dependent?
    values = np.array([[0.0, 1, 0, 1, 0, 1]])
    tested = dependence(values, bins=2, permutations=9_999)
    assert tested.note == "permutation"
    assert tested.statistic == pytest.approx(5.0)  # five pairs, perfectly dependent
    # Perfectly dependent are 010101, 101010, 000111 has 00 01 11 and is not; so 2 of 20.
    assert tested.p_value == pytest.approx(0.1, abs=0.02)


def test_too_few_pairs_refute_nothing() -> None:
    for between in PAIRS:
        assert dependence(np.array([[0.5]]), between).p_value == 1.0
        assert dependence(np.empty((0, 3)), between).p_value == 1.0


@pytest.mark.parametrize("bad", [-0.1, 1.1])
def test_what_is_no_transform_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        dependence(np.array([[bad, 0.5]]))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        log_wealth(np.array([bad]), np.array([0.5]))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        log_wealth(np.array([0.5]), np.array([math.nan]))
    with pytest.raises(ValueError, match="no pairs"):
        log_wealth(np.array([0.5, 0.5]), np.array([0.5]))


@EACH
def test_the_level_is_kept(between: str) -> None:
    source = np.random.default_rng(1)
    rejected = sum(dependence(source.random((60, 8)), between).p_value <= 0.05 for _ in range(2_000))
    low, high = band(2_000, 0.05)
    assert low <= rejected <= high


@EACH
def test_the_level_of_shuffling_is_kept(between: str) -> None:
    source = np.random.default_rng(2)
    rejected = sum(dependence(source.random((3, 4)), between, permutations=99).p_value <= 0.05 for _ in range(500))
    assert rejected <= band(500, 0.05)[1]


@pytest.mark.parametrize(
    ("between", "tied"),
    [("positions", one_coin_per_step(200, 6, step=3)), ("requests", one_coin_per_batch(200, 6, batch=4))],
)
def test_shared_coins_are_seen_and_a_look_alike_is_not(between: str, tied: np.ndarray) -> None:
    assert dependence(tied, between).p_value == 1e-3
    assert log_wealth(*PAIRS[between](tied)).max() >= math.log(1 / ALPHA)
    assert stats.kstest(tied.ravel()[::12], "uniform").pvalue > 1e-3  # nothing is wrong with one of them alone
    # The look-alike: the very same transforms, dealt out to other places.
    dealt = np.random.default_rng(3).permutation(tied.ravel()).reshape(tied.shape)
    assert dependence(dealt, between).p_value > 1e-3
    assert log_wealth(*PAIRS[between](dealt)).max() < math.log(1 / ALPHA)


def test_the_lag_must_be_that_of_the_tie() -> None:
    # The fourth token has the first one's coin; neighbours, and tokens two apart, are independent.
    values = free((600, 4))
    values[:, 3] = values[:, 0]
    for lag, seen in ((1, False), (2, False), (3, True)):
        assert bool(dependence(values, lag=lag).p_value == 1e-3) is seen
        assert bool(log_wealth(*between_positions(values, lag)).max() >= math.log(1 / ALPHA)) is seen


def test_wealth_by_hand() -> None:
    # Two bins. Given 0: 0 then 0 then 1, given 1: 1.
    # Factors 2 * (1/2) / 1, 2 * (3/2) / 2, 2 * (1/2) / 1, 2 * (1/2) / 3.
    values, given = np.array([0.1, 0.2, 1.0, 0.9]), np.array([0.0, 0.4, 0.5, 0.3])
    assert np.exp(log_wealth(values, given, bins=2)) == pytest.approx([1, 1, 1.5, 1.5, 0.5])
    assert log_wealth(np.array([]), np.array([])).tolist() == [0.0]


def test_the_mean_wealth_over_all_bins_is_one() -> None:
    # Under the null all 3^5 sequences of bins are equally likely, whatever is given.
    given = np.array([0.1, 0.9, 0.1, 0.5, 0.1])
    sequences = np.stack(np.meshgrid(*[(np.arange(3) + 0.5) / 3] * 5), axis=-1).reshape(-1, 5)
    wealths = [np.exp(log_wealth(values, given, bins=3)[-1]) for values in sequences]
    assert len(wealths) == 243
    assert np.mean(wealths) == pytest.approx(1.0)
    assert np.std(wealths) > 0.1


def test_independent_transforms_are_rarely_refuted_at_any_time() -> None:
    source = np.random.default_rng(4)
    crossed = sum(log_wealth(source.random(100), source.random(100)).max() >= math.log(20) for _ in range(2_000))
    assert crossed <= stats.binom.isf(1e-9, 2_000, 0.05)


def test_the_bettor_also_wins_where_transforms_are_not_uniform() -> None:
    values = free((1, 2_000)).ravel() ** 1.5
    assert log_wealth(values[1:], values[:-1]).max() >= math.log(1 / ALPHA)
    assert dependence(values[np.newaxis]).p_value > 1e-3  # the table has the margins that it has


def test_steps_are_told_for_information() -> None:
    source = np.random.default_rng(5)
    free_steps = source.integers(0, 4, 2_000)
    tied_steps = np.repeat(source.integers(0, 4, 1_000), 2)
    assert between_steps(free_steps).p_value > 1e-3
    assert between_steps(tied_steps).p_value == 1e-3
    assert "for information" in between_steps(free_steps).note
    assert between_steps(np.array([])).p_value == 1.0
    assert between_steps(np.zeros(50)).p_value == 1.0
    assert between_steps(np.array([0, 1])).p_value == 1.0


def test_rare_numbers_of_accepted_tokens_are_pooled() -> None:
    source = np.random.default_rng(6)
    weights = 0.5 ** np.arange(1, 13) / (1 - 0.5**12)
    rejected = sum(between_steps(source.choice(12, size=400, p=weights)).p_value <= 0.05 for _ in range(1_000))
    low, high = band(1_000, 0.05)
    assert low <= rejected <= high
