"""Mutants 7, 8, 12 and 14, by hand, and the law of one coin by the coin itself."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.processors import Processed, Temperature
from draftproof.verify.controls.verify import AcceptsArgmax, BonusOnlyProcessed, CountWithoutPrefix, OneCoinPerStep
from draftproof.verify.exact import law_of, output_law, prefixes

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
TARGET = explicit({}, 2, otherwise={0: THIRD, 1: 2 * THIRD})
CERTAIN = explicit({}, 2, otherwise={0: Fraction(1)})
FAIR = explicit({}, 2, otherwise={0: HALF, 1: HALF})


def first_token(decoder: Any, tokens: int = 2) -> dict[tuple[int, ...], Fraction]:
    return prefixes(output_law(decoder, (), tokens), 1)


def test_verification_at_temperature_1_by_hand(toys: Any) -> None:
    # The asked temperature 1/2 squares the odds: 1/5 to 4/5. The drafted 0 is kept with 1/3; only a bonus follows it.
    cold = Processed(TARGET, (Temperature(0.5),))
    fifth = Fraction(1, 5)
    assert toys.emitted(BonusOnlyProcessed(cold, CERTAIN, 1), (), 2) == {
        (0, 0): THIRD * fifth,
        (0, 1): THIRD * 4 * fifth,
        (1,): 2 * THIRD,
    }
    assert first_token(BonusOnlyProcessed(cold, CERTAIN, 1)) == {(0,): THIRD, (1,): 2 * THIRD}


def test_verification_at_temperature_1_needs_a_temperature() -> None:
    with pytest.raises(DecoderError, match="processors"):
        BonusOnlyProcessed(TARGET, CERTAIN, 1)


def test_accepting_the_argmax_by_hand() -> None:
    # The likeliest is 1. A drafted 1 is kept, a drafted 0 is replaced by the residual, which is all 1.
    assert first_token(AcceptsArgmax(TARGET, FAIR, 1)) == {(1,): 1}
    # From a drafter that says 0 for certain, the residual is all 1 too.
    assert first_token(AcceptsArgmax(TARGET, CERTAIN, 1)) == {(1,): 1}
    assert first_token(AcceptsArgmax(CERTAIN, FAIR, 1)) == {(0,): 1}


def test_one_coin_per_step_by_hand() -> None:
    # 0 0 is drafted, each of ratio 1/2. One coin keeps both or none, so 0 1 is never said.
    law = prefixes(output_law(OneCoinPerStep(FAIR, CERTAIN, 2), (), 3), 2)
    assert law == {(0, 0): HALF, (1, 0): QUARTER, (1, 1): QUARTER}
    assert first_token(OneCoinPerStep(FAIR, CERTAIN, 2), 3) == {(0,): HALF, (1,): HALF}


RATIOS = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@given(RATIOS)
def test_one_coin_keeps_as_many_as_the_coin_itself(twelfths: list[int]) -> None:
    ratios = tuple(Fraction(one, 12) for one in twelfths)
    decoder = OneCoinPerStep(FAIR, FAIR, 1)
    by_coin: dict[int, Fraction] = {}
    for twelfth in range(12):  # a coin between two twelfths is above the same ratios as the lower one
        coin = Fraction(twelfth, 12)
        kept = next((n for n, ratio in enumerate(ratios) if not coin < ratio), len(ratios))
        by_coin[kept] = by_coin.get(kept, Fraction(0)) + Fraction(1, 12)
    assert law_of(lambda: decoder.toss(ratios)) == by_coin


def test_counting_without_the_prefix_by_hand() -> None:
    # 0 0 is drafted; the first stays wherever one coin of two succeeds, 3/4, and is recovered as 1 else.
    assert first_token(CountWithoutPrefix(FAIR, CERTAIN, 2), 3) == {(0,): 3 * QUARTER, (1,): QUARTER}


@given(RATIOS)
def test_every_coin_that_succeeds_is_counted(twelfths: list[int]) -> None:
    ratios = tuple(Fraction(one, 12) for one in twelfths)
    law = law_of(lambda: CountWithoutPrefix(FAIR, FAIR, 1).toss(ratios))
    assert sum(law.values()) == 1
    assert sum(number * mass for number, mass in law.items()) == sum(ratios)
