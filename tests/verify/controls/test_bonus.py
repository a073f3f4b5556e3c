"""Mutant 13, three times, by hand: what follows the draft has a wrong law, what was drafted a right one."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.bonus import BonusFromDrafter, BonusFromRowBefore, BonusIsArgmax

A, B = 0, 1
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
# The target starts with a or b, a quarter to three, and then says b; the drafter says a.
TARGET = explicit({(): {A: QUARTER, B: 3 * QUARTER}}, 2, otherwise={B: Fraction(1)})
DRAFTER = explicit({}, 2, otherwise={A: Fraction(1)})


def test_the_right_bonus_is_b(toys: Any) -> None:
    assert toys.emitted(SpeculativeSampling(TARGET, DRAFTER, 1), (), 2) == {(A, B): QUARTER, (B,): 3 * QUARTER}


def test_the_row_before_by_hand(toys: Any) -> None:
    assert toys.emitted(BonusFromRowBefore(TARGET, DRAFTER, 1), (), 2) == {
        (A, A): QUARTER * QUARTER,
        (A, B): QUARTER * 3 * QUARTER,
        (B,): 3 * QUARTER,
    }


def test_the_drafters_row_by_hand(toys: Any) -> None:
    assert toys.emitted(BonusFromDrafter(TARGET, DRAFTER, 1), (), 2) == {(A, A): QUARTER, (B,): 3 * QUARTER}


def test_the_drafters_row_is_the_targets_where_it_proposes_nothing(toys: Any) -> None:
    once = explicit({(): {A: Fraction(1)}}, 2, otherwise={})
    assert toys.emitted(BonusFromDrafter(TARGET, once, 2), (), 3) == {(A, B): QUARTER, (B,): 3 * QUARTER}


def test_the_argmax_by_hand(toys: Any) -> None:
    fair = explicit({}, 2, otherwise={A: HALF, B: HALF})
    assert toys.emitted(BonusIsArgmax(fair, DRAFTER, 1), (), 2) == {(A, A): HALF, (B,): HALF}


@pytest.mark.parametrize("kind", [BonusFromRowBefore, BonusFromDrafter, BonusIsArgmax])
def test_a_token_after_no_draft_is_right(kind: type[SpeculativeSampling], toys: Any) -> None:
    assert toys.emitted(kind(TARGET, DRAFTER, 3), (), 1) == {(A,): QUARTER, (B,): 3 * QUARTER}
