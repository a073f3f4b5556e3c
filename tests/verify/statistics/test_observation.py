"""Observations: transforms exactly uniform and bets exactly fair under the target's law, by sums over all tokens."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.verify.statistics.alternatives import ALTERNATIVES, Alternative
from draftproof.verify.statistics.observation import (
    BY_PROBABILITY,
    BY_RATIO,
    LEAST,
    ORDERS,
    SHARES,
    Observation,
    joined,
    observe,
)
from draftproof.verify.statistics.rows import Rows

RULES = tuple(rule for rule in ALTERNATIVES.values() if rule.needs is None)
ACCEPTS = (ALTERNATIVES["always-accept"],)

masses = st.lists(st.sampled_from((0, 0, 1, 1, 2, 3, 1_000)), min_size=5, max_size=5).map(np.array)
target_weights = masses.filter(lambda weights: weights.sum() > 0)


def law(weights: Sequence[float]) -> np.ndarray:
    """The law proportional to the weights; zeros stay zeros."""
    array = np.asarray(weights, dtype=float)
    return array / array.sum() if array.sum() else array


def rows_of(target: np.ndarray, draft: np.ndarray, tokens: Sequence[int]) -> Rows:
    """The same two laws at each place; lookahead 2, at most 4 tokens."""
    count = len(tokens)
    laws = np.tile(target, (count, 1)), np.tile(draft, (count, 1))
    return Rows(np.array(tokens), laws[0], laws[1], laws[0], lookahead=2, limit=4)


def of_each_token(target: np.ndarray, draft: np.ndarray, rules: Sequence[Alternative] = ()) -> list[Observation]:
    return [observe(rows_of(target, draft, [token]), rules) for token in range(len(target))]


# By hand.

HALF = np.array([0.5, 0.25, 0.125, 0.125])
LEANS = np.array([0.25, 0.25, 0.5, 0.0])


def test_a_bet_by_hand() -> None:
    """Always accepting emits Q at first: it gives more than P to the third token only, 1/2 instead of 1/8."""
    first, _, third, fourth = of_each_token(HALF, LEANS, ACCEPTS)
    assert [one.ratios[0, 0] for one in (first, third, fourth)] == [0.5, 4.0, 0.0]
    assert [bool(one.inside[0, 0]) for one in (first, third, fourth)] == [False, True, False]
    assert first.masses.tolist() == third.masses.tolist() == [[0.125]]
    assert first.distances.tolist() == third.distances.tolist() == [[0.375]]


def test_the_orders_by_hand() -> None:
    """By probability the tokens come as 0, 1, then 2 and 3 as one cell; by ratio (2, 1, 1/4, oo) as 3, 0, 1, 2."""
    assert ORDERS == (BY_PROBABILITY, BY_RATIO)
    seen = of_each_token(HALF, LEANS)
    assert [one.below[0].tolist() for one in seen] == [[0, 0.125], [0.5, 0.625], [0.75, 0.875], [0.75, 0]]
    assert [one.cells[0].tolist() for one in seen] == [[0.5, 0.5], [0.25, 0.25], [0.25, 0.125], [0.25, 0.125]]


def test_places_count_from_the_beginning_of_each_output() -> None:
    one, other = (observe(rows_of(HALF, LEANS, tokens), ACCEPTS) for tokens in ([0, 1, 2], [3, 3]))
    both = joined([one, other])
    assert both.places.tolist() == [0, 1, 2, 0, 1]
    assert len(both) == 5
    assert both.ratios.tolist() == [*one.ratios.tolist(), *other.ratios.tolist()]
    assert both.cells.tolist() == [*one.cells.tolist(), *other.cells.tolist()]


# Transforms.


def density(emitted: np.ndarray, seen: Sequence[Observation], order: int, points: np.ndarray) -> np.ndarray:
    """The density of the transform at points, for tokens of the law `emitted`, integrated over the randomisation."""
    total = np.zeros(len(points))
    for mass, one in zip(emitted, seen, strict=True):
        if mass:
            begins, width = one.below[0, order], one.cells[0, order]
            total += mass * ((points >= begins) & (points < begins + width)) / width
    return total


def points_of(seen: Sequence[Observation], order: int) -> np.ndarray:
    """A point within each piece of the density."""
    ends = np.unique([0.0, 1.0, *(one.below[0, order] for one in seen)])
    ends = ends[np.r_[True, np.diff(ends) > 1e-12]]
    return (ends[:-1] + ends[1:]) / 2


@pytest.mark.parametrize("order", range(len(ORDERS)))
@given(target=target_weights, draft=masses)
def test_transforms_are_exactly_uniform_under_the_target(order: int, target: np.ndarray, draft: np.ndarray) -> None:
    seen = of_each_token(law(target), law(draft))
    points = points_of(seen, order)
    assert density(law(target), seen, order, points) == pytest.approx(np.ones(len(points)), abs=1e-9)


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_transforms_of_another_law_are_not_uniform(order: int) -> None:
    seen = of_each_token(HALF, LEANS)
    points = points_of(seen, order)
    assert abs(density(LEANS, seen, order, points) - 1).max() > 0.4


def test_a_change_within_a_cell_is_not_seen_in_that_order_but_in_the_other() -> None:
    """The last two tokens are one cell by probability; the drafter has only one of them."""
    seen = of_each_token(HALF, LEANS)
    moved = np.array([0.5, 0.25, 0.25, 0.0])
    off = [abs(density(moved, seen, order, points_of(seen, order)) - 1).max() for order in range(2)]
    assert off[0] == pytest.approx(0)
    assert off[1] == pytest.approx(1)


@given(target=target_weights, draft=masses)
def test_what_leans_to_the_drafter_comes_late_in_the_order_of_ratios(target: np.ndarray, draft: np.ndarray) -> None:
    seen = of_each_token(law(target), law(draft))
    kept = [token for token in range(5) if target[token]]
    for one in kept:
        for other in kept:
            mine, its = target[one] * draft[other], target[other] * draft[one]
            if mine > its:  # P / Q is larger, by whole numbers
                assert seen[one].below[0, 1] + seen[one].cells[0, 1] <= seen[other].below[0, 1] + 1e-12
            if target[one] > target[other]:
                assert seen[one].below[0, 0] < seen[other].below[0, 0]


@given(target=target_weights, draft=masses)
def test_transforms_never_leave_the_unit_interval(target: np.ndarray, draft: np.ndarray) -> None:
    for one in of_each_token(law(target), law(draft)):
        assert (one.below >= 0).all()
        assert (one.below + one.cells <= 1 + 1e-12).all()
        assert (one.cells > 0).all()


# Bets.


@given(target=target_weights, draft=masses, tokens=st.lists(st.integers(0, 4), max_size=3))
def test_no_bet_has_a_mean_above_1_at_any_place(target: np.ndarray, draft: np.ndarray, tokens: list[int]) -> None:
    """After any tokens before; the mean is 1 less what the fault gives to tokens that the target excludes."""
    mean, last = np.zeros(len(RULES)), law(target)
    for token in range(5):
        one = observe(rows_of(last, law(draft), [*tokens, token]), RULES)
        mean += last[token] * one.ratios[-1]
    assert (mean <= 1 + 1e-12).all()
    if (target > 0).all():
        assert mean == pytest.approx(np.ones(len(RULES)))
    for share in SHARES:
        assert (1 + share * (mean - 1) <= 1 + 1e-12).all()


def test_a_fault_wins_on_its_own_tokens() -> None:
    """The mean of a bet under the fault itself is above 1, which is what refutes it."""
    seen = of_each_token(HALF, np.array([0.25, 0.25, 0.25, 0.25]), ACCEPTS)
    assert sum(0.25 * one.ratios[0, 0] for one in seen) > 1.2


def test_a_law_that_sums_to_more_than_1_is_no_better_than_fair() -> None:
    def double(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        twice = 2 * rows.target[:, None]
        return twice, 0 * twice, twice

    seen = of_each_token(HALF, LEANS, [Alternative("double", double)])
    assert sum(mass * one.ratios[0, 0] for mass, one in zip(HALF, seen, strict=True)) == pytest.approx(1)


@given(target=target_weights, draft=masses)
def test_distances_are_the_excess_in_the_direction(target: np.ndarray, draft: np.ndarray) -> None:
    """Summed over tokens, what the fault has in its direction less what the target has is the total variation."""
    one, other = law(target), law(draft) if draft.sum() else law(target)
    seen = of_each_token(one, law(draft), ACCEPTS)
    assert seen[0].distances[0, 0] == pytest.approx(abs(one - other).sum() / 2)
    inside = np.array([bool(token.inside[0, 0]) for token in seen])
    assert seen[0].masses[0, 0] == pytest.approx(one[inside].sum())


def test_a_fault_without_effect_has_no_direction_not_even_by_rounding() -> None:
    """Where drafter and target agree nothing is ever rejected."""
    target = law([0.1, 0.2, 0.3, 0.7, 1.1])
    residual = [ALTERNATIVES["residual-is-target"], ALTERNATIVES["residual-softmaxed"], ALTERNATIVES["shared-coin"]]
    for one in of_each_token(target, target, residual):
        assert not one.distances.any()
        assert not one.masses.any()
        assert not one.inside.any()


def test_the_least_masses_give_finite_bets() -> None:
    """A token of mass 5e-324 under the target and nearly 1 under the fault."""
    tiny = np.array([1.0, 5e-324])
    one = observe(rows_of(tiny, np.array([0.0, 1.0]), [1]), ACCEPTS)
    assert one.ratios[0, 0] == pytest.approx(1 / LEAST)
    assert np.isfinite(np.log1p(np.array(SHARES) * (one.ratios[0, 0] - 1))).all()


def test_a_ratio_that_no_float_holds_comes_first_and_warns_of_nothing() -> None:
    """A drafter of mass 5e-324: P / Q overflows, and is infinite as for a drafter without the token."""
    one = observe(rows_of(np.array([0.5, 0.5]), np.array([1.0, 5e-324]), [1]), ())
    assert (one.below[0, 1], one.cells[0, 1]) == (0, 0.5)


# What says nothing.


def neutral(one: Observation, place: int) -> bool:
    bets = (one.ratios[place] == 1).all() and not one.inside[place].any()
    return bool(bets and (one.below[place] == 0).all() and (one.cells[place] == 1).all())


def test_a_token_outside_the_support_is_left_to_the_caller() -> None:
    one = observe(rows_of(np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.2, 0.6]), [2, 0]), RULES)
    assert neutral(one, 0)
    assert not neutral(one, 1)


def test_an_unclear_place_says_nothing_whatever_the_token() -> None:
    for token in range(4):
        one = observe(rows_of(HALF, LEANS, [0, token, 2]), RULES, unclear=[1])
        assert neutral(one, 1)
        assert not one.masses[1].any()
        assert not one.distances[1].any()
        plain = observe(rows_of(HALF, LEANS, [0, token, 2]), RULES)
        for place in (0, 2):  # its neighbours are as ever
            assert one.ratios[place].tolist() == plain.ratios[place].tolist()
            assert one.cells[place].tolist() == plain.cells[place].tolist()


def test_an_empty_draft_leaves_the_order_of_ratios_one_cell() -> None:
    """P / 0 is infinite for all that is possible, and 0 / 0 is nothing."""
    one = observe(rows_of(np.array([0.7, 0.3, 0.0]), np.zeros(3), [1]), ())
    assert (one.below[0, 1], one.cells[0, 1]) == (0, 1)
    assert one.below[0, 0] == 0.7
