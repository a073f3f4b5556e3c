"""Counts against an exact law: by hand, pooling, levels, and decoders that have the law or have not."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.verify.exact import output_law
from draftproof.verify.statistics.goodness_of_fit import (
    GOODNESS_OF_FIT_TESTS,
    exact_multinomial,
    likelihood_ratio,
    pearson,
    pooled,
    relative_entropy_bound,
    replicates_for,
    small_p_value,
    tally,
)

FALSE_ALARM = 1e-9
EACH = pytest.mark.parametrize("name", GOODNESS_OF_FIT_TESTS)
LAW = np.array([0.5, 0.25, 0.125, 0.125])


def test_statistics_by_hand() -> None:
    counts, law = np.array([30, 10]), np.array([0.5, 0.5])  # expected 20 and 20
    assert pearson(counts, law).statistic == pytest.approx(10.0)
    assert pearson(counts, law).samples == 40
    g = 2 * (30 * math.log(1.5) + 10 * math.log(0.5))
    assert likelihood_ratio(counts, law).statistic == pytest.approx(g)
    assert exact_multinomial(counts, law).statistic == pytest.approx(g)


def test_the_exact_p_value_of_a_coin() -> None:
    # 30 or more, or 10 or fewer, heads in 40: 0.0022; B = 99,999 replicates are 4 % around it, 6 of them 1e-9.
    truth = 2 * stats.binom.sf(29, 40, 0.5)
    p_value = exact_multinomial(np.array([30, 10]), np.array([0.5, 0.5]), replicates=99_999).p_value
    assert abs(p_value - truth) < 6.2 * math.sqrt(truth / 99_999)


@EACH
def test_one_draw_outside_the_support_convicts(name: str) -> None:
    law = np.array([0.5, 0.5, 0.0])
    tested = GOODNESS_OF_FIT_TESTS[name](np.array([500, 500, 1]), law)
    assert (tested.p_value, tested.statistic) == (0.0, math.inf)
    assert "1 of 1001 draws have mass 0" in tested.note
    assert GOODNESS_OF_FIT_TESTS[name](np.array([500, 500, 0]), law).p_value > 0.5


@EACH
def test_too_few_draws_refute_nothing(name: str) -> None:
    for counts in ([0, 0, 0, 0], [1, 0, 0, 0]):
        assert GOODNESS_OF_FIT_TESTS[name](np.array(counts), LAW).p_value == 1.0


@EACH
def test_what_is_no_law_is_refused(name: str) -> None:
    for counts, law, message in (
        ([1, 2], [0.5, 0.6], "no law"),
        ([1, 2], [1.5, -0.5], "no law"),
        ([1, 2], [0.5, math.nan], "no law"),
        ([1, 2, 3], [0.5, 0.5], "do not match"),
        ([1, -2], [0.5, 0.5], "negative"),
    ):
        with pytest.raises(ValueError, match=message):
            GOODNESS_OF_FIT_TESTS[name](np.array(counts), np.array(law))


def test_rare_categories_are_pooled_by_hand() -> None:
    assert pooled(np.array([10.0, 2.0, 20.0, 4.0])).tolist() == [1, 0, 2, 0]
    assert pooled(np.array([10.0, 1.0, 20.0])).tolist() == [0, 0, 1]  # 1 alone is too rare, and joins the rarest other
    assert pooled(np.full(6, 4.0)).tolist() == [0, 0, 0, 1, 1, 1]
    assert pooled(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert pooled(np.array([6.0, 5.0])).tolist() == [1, 0]


@given(st.lists(st.one_of(st.floats(0, 12), st.floats(0, 0.5)), min_size=1, max_size=40))
def test_every_cell_expects_enough_and_frequent_categories_stay_apart(expected: list[float]) -> None:
    cells = pooled(np.array(expected))
    sums = np.bincount(cells, weights=expected)
    assert sorted(set(cells.tolist())) == list(range(cells.max() + 1))
    assert sums.size == 1 or sums.min() >= 5
    alone = [cells[place] for place, value in enumerate(expected) if value >= 5]
    assert len(set(alone)) == len(alone)
    if sum(expected) >= 10:  # rare categories are not all thrown into one cell
        rare = sum(value for value in expected if value < 5)
        assert sums.size >= len(alone) + (rare >= 5) + (rare >= 25)


def band(runs: int, level: float) -> tuple[float, float]:
    return stats.binom.ppf(FALSE_ALARM / 2, runs, level), stats.binom.isf(FALSE_ALARM / 2, runs, level)


@pytest.mark.parametrize("test", [pearson, likelihood_ratio])
def test_the_level_is_kept(test: Any) -> None:
    law = np.random.default_rng(0).dirichlet(np.ones(12))
    drawn = np.random.default_rng(1).multinomial(2_000, law, size=2_000)
    rejected = sum(test(counts, law).p_value <= 0.05 for counts in drawn)
    low, high = band(2_000, 0.05)
    assert low <= rejected <= high


def test_the_level_of_the_exact_test_is_kept_where_all_categories_are_rare() -> None:
    law = np.random.default_rng(0).dirichlet(np.ones(30))
    drawn = np.random.default_rng(1).multinomial(12, law, size=2_000)
    rejected = sum(
        exact_multinomial(counts, law, replicates=199, seed=n).p_value <= 0.05 for n, counts in enumerate(drawn)
    )
    assert rejected <= band(2_000, 0.05)[1]
    assert rejected >= 0.02 * len(drawn)  # few tables, so the level is not used up


def test_small_levels_are_kept_where_the_chi_square_formula_breaks_them() -> None:
    # Three categories of 5 and one of 285: the formula rejects three times too often at 0.001.
    law, runs, level = np.array([5, 5, 5, 285]) / 300, 50_000, 1e-3
    drawn = np.random.default_rng(4).multinomial(300, law, size=runs)
    naive = stats.chi2.sf(((drawn - 300 * law) ** 2 / (300 * law)).sum(axis=1), 3)
    high = band(runs, level)[1]
    assert (naive <= level).sum() > high
    suspects = drawn[naive <= 0.01]  # all others have larger p-values than 0.01 by the same formula
    assert sum(pearson(counts, law).p_value <= level for counts in suspects) <= high


def test_the_parts_of_a_small_p_value_fit_together() -> None:
    def parts(asymptotic: float, above: int, bound: float) -> float:
        return small_p_value(asymptotic, 0.01, lambda replicates: above, cells=10, bound=bound)

    assert replicates_for(10) == 9_999
    assert replicates_for(4_096) == 999
    assert parts(0.02, 5, 1e-9) == 0.02
    assert parts(0.005, 5, 1e-9) == 6e-4  # by Monte Carlo
    assert parts(0.005, 5_000, 1e-9) == 0.01  # never above the level that the formula was left at
    assert parts(1e-30, 0, 1e-9) == 1e-9  # nothing as extreme was drawn: the bound
    assert parts(1e-30, 0, 0.5) == 1e-4


def test_the_bound_on_g_lies_above_exact_binomial_tails() -> None:
    for samples in (1, 2, 7, 60):
        for mass in (0.5, 0.9, 0.99):
            heads = np.arange(samples + 1)
            masses = stats.binom.pmf(heads, samples, mass)
            halves = np.array([likelihood(int(k), samples, mass) for k in heads])
            for half in halves:
                assert relative_entropy_bound(float(half), 1) >= masses[halves >= half - 1e-12].sum() - 1e-12


def likelihood(heads: int, samples: int, mass: float) -> float:
    """Half of G of two counts."""
    return sum(
        count * math.log(count / (samples * share))
        for count, share in ((heads, mass), (samples - heads, 1 - mass))
        if count
    )


@EACH
def test_a_wrong_law_is_refuted_and_the_right_one_passes(name: str) -> None:
    source = np.random.default_rng(6)
    wrong = np.array([0.42, 0.33, 0.125, 0.125])  # a total variation of 0.08
    right = source.multinomial(5_000, LAW)
    assert GOODNESS_OF_FIT_TESTS[name](right, LAW).p_value > 1e-3
    p_value = GOODNESS_OF_FIT_TESTS[name](source.multinomial(5_000, wrong), LAW).p_value
    assert p_value <= (1e-4 if name == "exact-multinomial" else 1e-9)
    # Renaming ids together with their masses is a look-alike.
    assert GOODNESS_OF_FIT_TESTS[name](right[::-1], LAW[::-1]).p_value > 1e-3


def test_a_dictionary_of_outputs_is_tallied_and_strangers_are_counted_outside() -> None:
    law = {(0, 1): Fraction(1, 3), (2,): Fraction(2, 3)}
    counts, masses = tally([(2,), (2,), (0, 1)], law)
    assert counts.tolist() == [1, 2, 0]
    assert masses == pytest.approx([1 / 3, 2 / 3, 0])
    assert pearson(*tally([(2,), (9,)], law)).p_value == 0.0


@pytest.mark.parametrize("name", ["speculative-sampling", "slem"])
def test_joint_laws_of_outputs_are_told_apart(toys: Any, name: str) -> None:
    decoder = toys.decoder(name, 1, 2, in_floats=True)
    sampled = sample_batch([decode(decoder, (), 3) for _ in range(3_000)], [RandomCoins(0, n) for n in range(3_000)])
    outputs = [output.tokens for output in sampled]
    exact = output_law(Autoregressive(toys.decoder(name, 1, 2).target), (), 3)
    assert pearson(*tally(outputs, exact)).p_value > FALSE_ALARM
    assert likelihood_ratio(*tally(outputs, exact)).p_value > FALSE_ALARM
    # The same outputs against the law with half of the largest mass moved to the least.
    least, *_, most = sorted(exact, key=lambda output: exact[output])
    moved = {**exact, most: exact[most] / 2, least: exact[least] + exact[most] / 2}
    assert pearson(*tally(outputs, moved)).p_value < FALSE_ALARM
    assert likelihood_ratio(*tally(outputs, moved)).p_value < FALSE_ALARM


def test_the_seed_decides_the_exact_test() -> None:
    counts = np.array([3, 0, 1, 0, 2, 0])
    law = np.ones(6) / 6
    assert exact_multinomial(counts, law, 499, seed=1) == exact_multinomial(counts, law, 499, seed=1)
    assert len({exact_multinomial(counts, law, 499, seed=seed).p_value for seed in range(5)}) > 1
