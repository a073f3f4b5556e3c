"""Tests of uniformity: by hand, at their levels, and on transforms that are not uniform."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from draftproof.verify.statistics.uniformity import (
    CRAMER_VON_MISES_TRUSTED,
    NEYMAN_TRUSTED,
    UNIFORMITY_TESTS,
    cramer_von_mises,
    exceedance,
    floored,
    kolmogorov_smirnov,
    neyman_smooth,
    norm_tail_bound,
)

FALSE_ALARM = 1e-9
EACH = pytest.mark.parametrize("name", UNIFORMITY_TESTS)


def band(runs: int, level: float) -> tuple[float, float]:
    """Rejections of a test of this level lie outside with probability at most 1e-9."""
    return stats.binom.ppf(FALSE_ALARM / 2, runs, level), stats.binom.isf(FALSE_ALARM / 2, runs, level)


def test_statistics_by_hand() -> None:
    one = kolmogorov_smirnov(np.array([0.9]))
    assert one.statistic == pytest.approx(0.9)
    assert one.p_value == pytest.approx(0.2)  # at most 0.1 or at least 0.9
    assert cramer_von_mises(np.array([0.5])).statistic == pytest.approx(1 / 12)
    assert cramer_von_mises(np.array([0.75, 0.25])).statistic == pytest.approx(1 / 24)  # both in their places
    assert cramer_von_mises(np.array([0.0, 0.0])).statistic == pytest.approx(1 / 24 + 1 / 16 + 9 / 16)
    for order, expected in ((1, 3), (2, 8), (3, 15), (4, 24)):  # 3, 5, 7, 9 at the end of the interval
        assert neyman_smooth(np.array([1.0]), order).statistic == pytest.approx(expected)
    assert neyman_smooth(np.array([0.0, 1.0])).statistic == pytest.approx(2 * (5 + 9))  # the odd ones cancel


@EACH
def test_no_transforms_refute_nothing(name: str) -> None:
    tested = UNIFORMITY_TESTS[name](np.array([]))
    assert (tested.name, tested.statistic, tested.p_value, tested.samples) == (name, 0.0, 1.0, 0)


@EACH
@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1 + 1e-9, math.inf])
def test_what_is_no_transform_is_refused(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        UNIFORMITY_TESTS[name](np.array([0.5, bad]))


def test_the_smooth_test_has_four_orders() -> None:
    for order in (0, 5):
        with pytest.raises(ValueError, match="orders 1 to 4"):
            neyman_smooth(np.array([0.5]), order)


@EACH
@pytest.mark.parametrize("samples", [12, 250])
def test_the_level_is_kept(name: str, samples: int) -> None:
    source = np.random.default_rng(samples)
    rejected = sum(UNIFORMITY_TESTS[name](source.random(samples)).p_value <= 0.05 for _ in range(2_000))
    low, high = band(2_000, 0.05)
    assert low <= rejected <= high


def test_few_transforms_need_more_than_the_chi_square_formula() -> None:
    runs, samples, level = 20_000, 10, 1e-3
    rows = np.random.default_rng(3).random((runs, samples))
    tested = [neyman_smooth(row) for row in rows]
    high = band(runs, level)[1]
    assert sum(stats.chi2.sf(test.statistic, 4) <= level for test in tested) > high
    assert sum(test.p_value <= level for test in tested) <= high


@pytest.mark.parametrize("samples", [5, 10, 20, 100])
@pytest.mark.parametrize("top", [0.05, 0.1, 0.2])
def test_small_p_values_of_cramer_von_mises_are_never_below_the_truth(samples: int, top: float) -> None:
    # With probability top^n no transform exceeds `top`, and then the statistic is at least n (1 - top)^3 / 3.
    # Transforms that are all at `place` have that very statistic.
    place = optimize.brentq(lambda s: s**3 + (1 - s) ** 3 - (1 - top) ** 3, 0, 0.5)
    tested = cramer_von_mises(np.full(samples, place))
    assert tested.statistic == pytest.approx(samples * (1 - top) ** 3 / 3)
    assert tested.p_value >= top**samples
    if samples in (10, 20) and top == 0.2:
        assert stats.cramervonmises(np.full(samples, place), "uniform").pvalue == 0.0  # the formula alone fails this


@EACH
def test_p_values_fall_as_the_statistic_grows(name: str) -> None:
    # The parts of a p-value (formula or Monte Carlo, then the level, then the bound) must fit together.
    for samples in (15, 150, 1_500):
        middles = (np.arange(samples) + 0.5) / samples
        tested = [UNIFORMITY_TESTS[name](middles**power) for power in np.linspace(1, 6, 60)]
        ordered = sorted(tested, key=lambda test: test.statistic)
        p_values = [test.p_value for test in ordered]
        assert p_values == sorted(p_values, reverse=True)
        assert p_values[0] > 0.9
        assert p_values[-1] <= 1e-3


def test_between_formula_and_bound_the_p_value_stands_still() -> None:
    assert floored(0.02, 0.01, 0.5) == 0.02
    assert floored(0.009, 0.01, 0.5) == 0.01
    assert floored(1e-12, 0.01, 1e-9) == 1e-9
    assert exceedance(0, 99) == 0.01
    assert exceedance(99, 99) == 1.0


@pytest.mark.parametrize(("samples", "order"), [(1, 4), (3, 4), (30, 1), (30, 4), (300, 4)])
def test_the_bound_lies_above_the_simulated_tail(samples: int, order: int) -> None:
    rows = np.random.default_rng(samples).random((20_000, samples))
    polynomials = np.polynomial.legendre.legvander(2 * rows - 1, order)[..., 1:]
    squares = (polynomials.sum(axis=1) ** 2) @ (2 * np.arange(1, order + 1) + 1) / samples
    for at in np.quantile(squares, [0.5, 0.9, 0.99, 0.999]):
        tail = (squares >= at).mean()
        # The simulated share may itself be too large: by 10 standard deviations only once in 1e9, and more.
        assert norm_tail_bound(at, samples, order, 1.0, math.sqrt(order * (order + 2))) >= tail - 10 * math.sqrt(
            tail / len(rows)
        )


def test_the_bound_approaches_the_gaussian_one() -> None:
    # With many samples P(|| . || >= E + s) <= exp(-s^2 / 2 variance), here E = 2 and s = 5.
    limit = math.exp(-12.5)
    bounds = [norm_tail_bound(49.0, samples, 4.0, 1.0, math.sqrt(24)) for samples in (10**4, 10**6, 10**10)]
    assert bounds == sorted(bounds, reverse=True)
    assert limit < bounds[-1] < 1.01 * limit
    assert norm_tail_bound(3.9, 100, 4.0, 1.0, 5.0) == 1.0


def test_the_kolmogorov_tail_is_exact_at_small_levels() -> None:
    # Both one-sided tails exclude each other when they are this far out, so twice one of them is exact.
    for samples in (3, 50, 1_000):
        middles = (np.arange(samples) + 0.5) / samples
        tested = kolmogorov_smirnov(0.3 * middles)
        assert tested.statistic > 0.5
        assert tested.p_value == pytest.approx(2 * stats.ksone.sf(tested.statistic, samples), rel=1e-9)


@EACH
def test_only_the_set_of_transforms_counts(name: str) -> None:
    values = np.random.default_rng(5).random(300)
    tested = UNIFORMITY_TESTS[name](values)
    for same in (values[::-1], np.sort(values), 1 - values, values.reshape(30, 10)):
        again = UNIFORMITY_TESTS[name](same)
        assert again.statistic == pytest.approx(tested.statistic)
        assert again.p_value == pytest.approx(tested.p_value)


@EACH
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (lambda u: u**1.4, lambda u: u),  # leans to the front
        (lambda u: stats.beta.ppf(u, 2, 2), lambda u: stats.beta.cdf(stats.beta.ppf(u, 2, 2), 2, 2)),  # too central
        (lambda u: np.where(u < 0.3, u / 3, u), lambda u: np.where(u < 0.3, 0.3 - u, u)),  # a gap; a mirrored part
    ],
)
def test_what_is_not_uniform_is_refuted_and_what_is_passes(name: str, wrong, right) -> None:  # type: ignore[no-untyped-def]
    values = np.random.default_rng(8).random(4_000)
    assert UNIFORMITY_TESTS[name](wrong(values)).p_value < 1e-6
    assert UNIFORMITY_TESTS[name](right(values)).p_value > 1e-3


def test_small_samples_cannot_claim_small_levels() -> None:
    # Twelve transforms below one half have probability 2^-12.
    for name, test in UNIFORMITY_TESTS.items():
        assert test(np.random.default_rng(1).random(12) / 2).p_value > 1e-6, name


def test_the_stated_trust_is_what_is_used() -> None:
    least, level = CRAMER_VON_MISES_TRUSTED
    assert (least, level) == (20, 1e-4)
    source = np.random.default_rng(2)
    values = source.random(least)
    assert cramer_von_mises(values).p_value == pytest.approx(stats.cramervonmises(values, "uniform").pvalue)
    least, level = NEYMAN_TRUSTED
    values = source.random(least)
    assert neyman_smooth(values).p_value == pytest.approx(stats.chi2.sf(neyman_smooth(values).statistic, 4))
    few = source.random(least - 1)
    assert neyman_smooth(few).p_value == pytest.approx(stats.chi2.sf(neyman_smooth(few).statistic, 4), abs=0.02)
