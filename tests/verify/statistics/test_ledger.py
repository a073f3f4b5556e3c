"""The ledger: levels by name that never sum to more than the budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.verify.statistics.ledger import BUDGET, PARTS, Ledger, LedgerError, evenly, level_of


def test_an_entry_has_its_level() -> None:
    ledger = Ledger(1e-6, {"slem": 6e-7, "tli": 4e-7})
    assert (ledger["slem"], ledger["tli"]) == (6e-7, 4e-7)


def test_what_is_not_entered_is_not_tested() -> None:
    with pytest.raises(LedgerError, match=r"no entry 'union'; it has slem, tli"):
        Ledger(1e-6, {"slem": 6e-7, "tli": 4e-7})["union"]


@pytest.mark.parametrize("levels", [{"one": 1.1e-6}, {"one": 6e-7, "two": 6e-7}, {"one": math.inf}])
def test_a_budget_cannot_be_overspent(levels: dict[str, float]) -> None:
    with pytest.raises(LedgerError, match="more than the budget of 1e-06"):
        Ledger(1e-6, levels)


@pytest.mark.parametrize("level", [0.0, -1e-9, math.nan])
def test_every_level_is_above_0(level: float) -> None:
    """A negative one would leave more for the others."""
    with pytest.raises(LedgerError, match="above 0"):
        Ledger(1e-6, {"one": 1e-6, "two": level})


@pytest.mark.parametrize("budget", [0.0, 1.0, -0.1, 2.0, math.nan, math.inf])
def test_a_budget_is_a_probability(budget: float) -> None:
    with pytest.raises(LedgerError, match="strictly between 0 and 1"):
        Ledger(budget, {})


@given(st.floats(1e-300, 0.999), st.integers(1, 500))
def test_even_levels_are_equal_and_spend_the_budget(budget: float, count: int) -> None:
    ledger = evenly(budget, [f"test {number}" for number in range(count)])
    levels = [ledger[f"test {number}"] for number in range(count)]
    assert len(set(levels)) == 1
    assert sum(levels) == pytest.approx(budget, rel=1e-9)


def test_a_name_stands_in_it_once() -> None:
    with pytest.raises(LedgerError, match="twice"):
        evenly(1e-6, ["slem", "tli", "slem"])


def test_nothing_to_test_spends_nothing() -> None:
    assert evenly(BUDGET, []).levels == {}


def test_the_parts_of_a_record_are_its_whole_level() -> None:
    assert sum(PARTS.values()) == 1
    assert min(PARTS.values()) > 0


@given(st.floats(1e-12, 0.5), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_all_tests_of_a_record_together_have_its_level(alpha: float, wealth: int, uniform: int, accept: int) -> None:
    counts = {"wealth": wealth, "uniformity": uniform, "acceptance": accept}
    spent = sum(level_of(part, alpha, count) for part, count in counts.items() for _ in range(count))
    assert spent == pytest.approx(alpha)


def test_a_part_that_is_not_shared_out_has_no_level() -> None:
    with pytest.raises(KeyError):
        level_of("luck", 1e-6)
