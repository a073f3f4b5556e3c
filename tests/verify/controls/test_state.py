"""Mutants 10 and 11, by hand."""

from fractions import Fraction

import pytest

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.processors import PresencePenalty, Processed
from draftproof.verify.controls.state import FrozenHistory, HistoryFrozen, RejectedStays
from draftproof.verify.exact import output_law, prefixes

A, B = 0, 1
CERTAIN, HALF = Fraction(1), Fraction(1, 2)
FAIR = explicit({}, 2, otherwise={A: HALF, B: HALF})
SAYS_A = explicit({}, 2, otherwise={A: CERTAIN})


def test_a_rejected_token_that_stays_by_hand() -> None:
    # The target keeps to its first token, which is b; the drafter's a is rejected and stays in the cache.
    loyal = explicit({(): {B: CERTAIN}, (B,): {B: CERTAIN}, (A,): {A: CERTAIN}}, 2)
    assert output_law(Autoregressive(loyal), (), 2) == {(B, B): 1}
    assert output_law(RejectedStays(loyal, SAYS_A, 1), (), 2) == {(B, A): 1}


def test_accepted_tokens_and_the_bonus_stay_rightly() -> None:
    silent = explicit({}, 2, otherwise={})
    for drafter in (FAIR, silent):
        assert output_law(RejectedStays(FAIR, drafter, 2), (), 4) == output_law(Autoregressive(FAIR), (), 4)


def test_a_frozen_history_by_hand() -> None:
    # An id that was said has a third of its odds: a again has 1/4. The row after the drafted a does not know of it.
    target = Processed(FAIR, (PresencePenalty(Fraction(1, 3)),))
    law = output_law(HistoryFrozen(target, SAYS_A, 1), (), 2)
    assert prefixes(law, 1) == {(A,): HALF, (B,): HALF}
    assert law == {(A, A): HALF * HALF, (A, B): HALF * HALF, (B, A): HALF * Fraction(3, 4), (B, B): HALF * HALF / 2}
    assert output_law(Autoregressive(target), (), 2)[A, A] == HALF / 4


def test_the_history_thaws_with_each_step() -> None:
    target = Processed(FAIR, (PresencePenalty(Fraction(1, 3)),))
    [frozen] = FrozenHistory(target).laws([((A,), (B, B))])
    [right] = target.laws([((A,), (B, B))])
    assert frozen[0] == frozen[1] == frozen[2] == right[0]
    assert right[0] != right[1]


def test_a_frozen_history_needs_processors() -> None:
    with pytest.raises(DecoderError, match="processors"):
        HistoryFrozen(FAIR, FAIR, 1)
