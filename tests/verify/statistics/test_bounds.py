"""Bounds: never wrong more often than they say, by exact sums over all outcomes, and seen faults are seen.

Simulated frequencies are held against their bound less a binomial margin of false alarm 1e-9.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from draftproof.verify.statistics.bounds import ERROR, affinity_bound, interval, p_value, seen_share, upper_bound
from draftproof.verify.statistics.observation import SHARES

CHANCES = (0.0, 1e-4, 0.003, 0.05, 0.3, 0.5, 0.8, 0.99, 1.0)
POSITIONS = (1, 2, 3, 7, 30, 200)
ERRORS = (0.3, 1e-2, 1e-3, 1e-6)

Bound = Callable[[int, float, int, float], float]


# By hand.


def test_without_hits_the_bound_is_what_would_have_been_hit_more_often() -> None:
    """A chance m misses twice with probability (1 - m)^2, which is 1/4 at m = 1/2."""
    assert 0.5 <= upper_bound(0, 0.0, 2, 0.25) <= 0.75


def test_the_chances_that_were_said_to_hold_are_taken_off() -> None:
    assert upper_bound(3, 5.0, 20) == pytest.approx(upper_bound(3, 0.0, 20) - 0.25)


def test_hits_far_below_their_chances_refute_them() -> None:
    assert upper_bound(0, 50.0, 100) < 0 < upper_bound(50, 50.0, 100)


def test_nothing_seen_bounds_nothing() -> None:
    assert upper_bound(0, 0.0, 0) == 1.0
    assert p_value(0, 0.0, 0, 0) == 1.0


def test_what_always_happens_may_have_chance_1() -> None:
    assert upper_bound(7, 0.0, 7) == pytest.approx(1)


# Coverage, exactly.


def wrongness(bound: Bound, law: Sequence[float], mean: float, positions: int, error: float) -> float:
    """The probability that the bound lies below the mean chance, for hits of this law: `law[hits]`."""
    return sum(
        mass for hits, mass in enumerate(law) if mass and bound(hits, mean * positions, positions, error) < -1e-12
    )


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_it_is_wrong_no_more_often_than_said(positions: int, error: float) -> None:
    for chance in CHANCES:
        law = stats.binom.pmf(np.arange(positions + 1), positions, chance)
        assert wrongness(upper_bound, law, chance, positions, error) <= error


def sums(chances: Sequence[float]) -> np.ndarray:
    """The law of the number of hits at positions of different chances."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from(ERRORS))
def test_it_holds_for_chances_that_differ(chances: list[float], error: float) -> None:
    mean = sum(chances) / len(chances)
    assert wrongness(upper_bound, sums(chances), mean, len(chances), error) <= error


@pytest.mark.parametrize("padding", [1, 50])
def test_positions_that_are_never_reached_count_as_misses_of_chance_0(padding: int) -> None:
    for chance in CHANCES:
        law = sums([chance] * 30 + [0.0] * padding)
        assert wrongness(upper_bound, law, chance * 30 / (30 + padding), 30 + padding, ERROR) <= ERROR


@pytest.mark.parametrize("ends", [0.02, 0.3])
def test_it_holds_where_outputs_end_by_chance(ends: float) -> None:
    """How many positions are reached is random, and so is the mean chance."""
    positions, chance = 60, 0.4
    wrong = 0.0
    for reached in range(1, positions + 1):
        mass = (1 - ends) ** (reached - 1) * (ends if reached < positions else 1)
        law = stats.binom.pmf(np.arange(reached + 1), reached, chance)
        wrong += mass * wrongness(upper_bound, law, chance * reached / positions, positions, ERROR)
    assert wrong <= ERROR


def wrongness_of_adaptive_chances(bound: Bound, positions: int, chance: float, error: float) -> float:
    """The same for a chance that falls to 0 for ever once the bound is wrong."""
    going, wrong = np.ones(1), 0.0
    for place in range(1, positions + 1):
        going = np.convolve(going, [1 - chance, chance])
        # Fewest hits are the first to make the bound wrong.
        hits = 0
        while hits < place * chance and bound(hits, place * chance, positions, error) < -1e-12:
            wrong += going[hits]
            going[hits] = 0
            hits += 1
    return wrong


@pytest.mark.parametrize(("positions", "chance"), [(200, 0.5), (500, 0.1)])
def test_it_holds_for_chances_that_depend_on_the_past(positions: int, chance: float) -> None:
    assert wrongness_of_adaptive_chances(upper_bound, positions, chance, ERROR) <= ERROR


def test_a_bound_that_is_too_low_fails_these_checks() -> None:
    def careless(hits: int, mass: float, positions: int, error: float) -> float:
        return upper_bound(hits, mass, positions, min(0.9, 100 * error))

    law = stats.binom.pmf(np.arange(201), 200, 0.5)
    assert wrongness(careless, law, 0.5, 200, ERROR) > ERROR
    assert wrongness_of_adaptive_chances(careless, 200, 0.5, ERROR) > ERROR


@pytest.mark.parametrize("positions", POSITIONS)
def test_it_costs_little_beside_the_least_bound_there_is(positions: int) -> None:
    """Clopper & Pearson's for one fixed chance: none below it is valid. Ours allows for more and is no lower."""
    for hits in range(0, positions, max(1, positions // 7)):
        least = stats.beta.ppf(1 - ERROR, hits + 1, positions - hits)
        ours = upper_bound(hits, 0.0, positions)
        assert least - 1e-12 <= ours
        assert ours - hits / positions <= 2 * (least - hits / positions)


@given(st.integers(1, 300), st.data())
def test_more_hits_and_less_error_raise_it(positions: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, positions - 1))
    assert upper_bound(hits, 0.0, positions) <= upper_bound(hits + 1, 0.0, positions) + 1e-9
    assert upper_bound(hits, 0.0, positions, 1e-2) <= upper_bound(hits, 0.0, positions, 1e-3) + 1e-9
    assert hits / positions <= upper_bound(hits, 0.0, positions) <= 1


def test_it_closes_in_with_the_positions() -> None:
    bounds = [upper_bound(3 * count, 2.0 * count, 10 * count) for count in (10, 100, 1_000, 100_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert 0.1 < bounds[-1] < 0.105


# Both sides.


@pytest.mark.parametrize("level", [0.3, 1e-3, 1e-6])
@pytest.mark.parametrize(("trials", "positions"), [(1, 1), (10, 10), (60, 100), (200, 200)])
def test_an_interval_leaves_the_truth_out_no_more_often_than_said(trials: int, positions: int, level: float) -> None:
    for chance in CHANCES:
        wrong = by_p_value = 0.0
        for hits, mass in enumerate(stats.binom.pmf(np.arange(trials + 1), trials, chance)):
            low, high = interval(hits, chance * trials, trials, positions, level)
            assert low <= high
            wrong += mass * (not low - 1e-12 <= 0 <= high + 1e-12)
            by_p_value += mass * (p_value(hits, chance * trials, trials, positions) <= level)
        assert wrong <= level
        assert by_p_value <= level


@pytest.mark.parametrize(("after_hit", "after_miss"), [(0.2, 0.7), (0.9, 0.1), (0.0, 0.5)])
@pytest.mark.parametrize("ends", [0.0, 0.05])
def test_an_interval_holds_for_chances_that_the_last_outcome_decides(
    after_hit: float, after_miss: float, ends: float
) -> None:
    """Exactly, over hits, trials after a hit, and the last outcome; a trial may be the last one, by chance."""
    positions, level = 40, 1e-2
    going = {(0, 0, False): 1.0}  # hits, places after a hit, whether the last one was a hit
    wrong = 0.0

    def out(hits: int, places: int, trials: int) -> bool:
        mass = places * after_hit + (trials - places) * after_miss
        low, high = interval(hits, mass, trials, positions, level)
        return not low - 1e-12 <= 0 <= high + 1e-12

    for trials in range(1, positions + 1):
        following: dict[tuple[int, int, bool], float] = {}
        for (hits, places, hit), mass in going.items():
            chance = after_hit if hit else after_miss
            for happened, share in ((True, chance), (False, 1 - chance)):
                if share:
                    state = hits + happened, places + hit, happened
                    following[state] = following.get(state, 0.0) + mass * share
        last = 1.0 if trials == positions else ends
        if last:
            wrong += sum(mass * last for (hits, places, _), mass in following.items() if out(hits, places, trials))
        going = {state: mass * (1 - last) for state, mass in following.items()}
    assert wrong <= level


def test_an_interval_sees_both_sides() -> None:
    low, high = interval(50, 80.0, 100, 100, 1e-3)
    assert low < high < 0
    low, high = interval(50, 20.0, 100, 100, 1e-3)
    assert 0 < low < high


@given(st.integers(1, 150), st.integers(0, 60), st.data())
def test_misses_are_the_hits_of_the_other_side(trials: int, padding: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    mass = data.draw(st.floats(0, trials))
    low, high = interval(hits, mass, trials, trials + padding, 1e-3)
    turned = interval(trials - hits, trials - mass, trials, trials + padding, 1e-3)
    assert (-turned[1], -turned[0]) == pytest.approx((low, high), abs=1e-9)
    # Sums of float chances may be larger than the number of trials by rounding.
    assert p_value(trials, trials * (1 + 1e-12), trials, trials + padding + 1) > 0.9


@given(st.integers(1, 150), st.data())
def test_a_p_value_falls_with_the_distance(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    mass = data.draw(st.floats(0.0, hits))
    further = data.draw(st.floats(0.0, mass))
    assert p_value(hits, further, trials, trials) <= p_value(hits, mass, trials, trials) + 1e-9


def test_hits_that_are_as_many_as_expected_have_p_value_1() -> None:
    assert p_value(30, 30.0, 100, 100) == 1.0
    assert p_value(0, 100.0, 100, 100) == 0.0


# Faults that would have been seen.

TARGET, FAULT = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
ALPHA, STAKE = 1e-6, 0.01


def test_the_bound_on_an_affinity_by_hand() -> None:
    """L = 3 and six roots of 0: 6 rho^2 = 3 (2 (1 - rho^2) + 2/3 rho), which is 12 rho^2 - 2 rho - 6 = 0."""
    assert affinity_bound(0.0, 6, math.exp(-3)) == pytest.approx((1 + math.sqrt(73)) / 12)
    assert affinity_bound(0.0, 1) == 1.0  # one output bounds nothing
    assert affinity_bound(50.0, 50) == affinity_bound(math.inf, 50) == affinity_bound(math.nan, 50) == 1.0


@pytest.mark.parametrize("error", [0.3, 1e-2, 1e-3])
@pytest.mark.parametrize("outputs", [1, 7, 64, 500])
def test_it_is_too_low_no_more_often_than_said(outputs: int, error: float) -> None:
    """The least certain roots of mean rho: 1 / rho with probability rho^2, else 0; also for two means in turn."""
    for one, other in ((0.05, 0.05), (0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (0.3, 0.95)):
        laws = [stats.binom.pmf(np.arange(count + 1), count, mean**2) for count, mean in halves(outputs, one, other)]
        mean = sum(count * mean for count, mean in halves(outputs, one, other)) / outputs
        wrong = sum(
            first * second
            for i, first in enumerate(laws[0])
            for j, second in enumerate(laws[1])
            if first * second > 1e-12 and affinity_bound(i / one + j / other, outputs, error) < mean - 1e-12
        )
        assert wrong <= error + 1e-9


def halves(outputs: int, one: float, other: float) -> list[tuple[int, float]]:
    return [(outputs, one), (0, other)] if one == other else [(outputs // 2, one), (outputs - outputs // 2, other)]


def test_the_mean_of_the_roots_alone_would_be_too_low_too_often() -> None:
    mean, outputs = 0.9, 64
    law = stats.binom.pmf(np.arange(outputs + 1), outputs, mean**2)
    assert sum(mass for hits, mass in enumerate(law) if hits / mean / outputs < mean) > 100 * ERROR


def roots(outputs: int, tokens: int = 4) -> np.ndarray:
    """The expected sum of roots over outputs of so many tokens, by share."""
    diluted = [(1 - share) * TARGET + share * FAULT for share in SHARES]
    return outputs * np.array([np.sqrt(TARGET * law).sum() ** tokens for law in diluted])


def test_a_share_is_seen_where_missing_it_is_unlikely_enough() -> None:
    """sqrt(1 / (alpha stake)) = 10^4, so the affinities must multiply to 10^-6 for power 0.99."""
    outputs = 300
    least = np.array([affinity_bound(root, outputs) for root in np.linspace(0, outputs, 3_001)])
    just = np.searchsorted(least, 10 ** (-6 / outputs))  # the first root that bounds it no better
    sums = np.array([0.0, just - 1, just, 2_900, 3_000, 3_000]) / 10
    assert seen_share(sums, outputs, ALPHA, STAKE) == SHARES[1]
    assert seen_share(sums, outputs, ALPHA, STAKE, power=0.1) == SHARES[2]
    assert seen_share(np.full(len(SHARES), 300.0), outputs, ALPHA, STAKE) is None
    assert seen_share(np.zeros(len(SHARES)), 0, ALPHA, STAKE) is None


def test_smaller_shares_are_seen_with_more_outputs() -> None:
    seen = [seen_share(roots(10 * 2**power), 10 * 2**power, ALPHA, STAKE) or 2.0 for power in range(18)]
    assert seen == sorted(seen, reverse=True)
    assert (seen[0], seen[-1]) == (2.0, min(SHARES))
    assert set(seen) == {2.0, *SHARES}


def refuted(share: float, outputs: int, runs: int) -> int:
    """In how many runs the bet on the fault at this share reaches its level, tokens drawn from the diluted fault."""
    law = (1 - share) * TARGET + share * FAULT
    counts = np.random.default_rng(7).multinomial(4 * outputs, law, size=runs)
    wealth = math.log(STAKE) + counts @ np.log(law / TARGET)
    return int((wealth >= -math.log(ALPHA)).sum())


@pytest.mark.parametrize("share", [1.0, 0.25, min(SHARES)])
def test_what_is_said_to_be_seen_is_refuted(share: float) -> None:
    index, runs = SHARES.index(share), 20_000
    outputs = next(count for count in range(10, 10**7, 10) if seen(count, index))
    assert refuted(share, outputs, runs) >= stats.binom.ppf(1e-9, runs, 0.99)
    assert refuted(share, outputs // 8, runs) < 0.9 * runs


def seen(outputs: int, index: int) -> bool:
    found = seen_share(roots(outputs), outputs, ALPHA, STAKE)
    return found is not None and found <= SHARES[index]
