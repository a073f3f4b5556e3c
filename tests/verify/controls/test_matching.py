"""Look-alikes C1 and C2, one step by hand."""

from fractions import Fraction
from typing import Any

from draftproof.algorithms.decoding import Step, begin
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Program
from draftproof.verify.controls.matching import OneHotRatio, TargetDrawMatch
from draftproof.verify.exact import law_of

QUARTER, THIRD = Fraction(1, 4), Fraction(1, 3)
TARGET = explicit({}, 2, otherwise={0: QUARTER, 1: 3 * QUARTER})
DRAFTER = explicit({}, 2, otherwise={0: THIRD, 1: 2 * THIRD})


def steps(decoder: Any, remaining: int) -> dict[Any, Fraction]:
    """The law of one step's emitted ids and of whether its trials passed, with the trials' rates."""

    def program() -> Program[Any]:
        step: Step = yield from decoder.step(begin((), remaining))
        return step.emitted, tuple((trial.accepted, trial.rate()) for trial in step.trials)

    return law_of(program)


def test_a_target_draw_match_by_hand() -> None:
    # Draft 0 or 1, then the target's own draw; they coincide with 1/3 * 1/4 + 2/3 * 3/4 = 7/12.
    rate = Fraction(7, 12)
    law = steps(TargetDrawMatch(TARGET, DRAFTER, 1), 2)
    assert law == {
        ((0,), ((False, rate),)): 2 * THIRD * QUARTER,
        ((1,), ((False, rate),)): THIRD * 3 * QUARTER,
        ((0, 0), ((True, rate),)): THIRD * QUARTER * QUARTER,
        ((0, 1), ((True, rate),)): THIRD * QUARTER * 3 * QUARTER,
        ((1, 0), ((True, rate),)): 2 * THIRD * 3 * QUARTER * QUARTER,
        ((1, 1), ((True, rate),)): 2 * THIRD * 3 * QUARTER * 3 * QUARTER,
    }
    assert sum(mass for (_, trials), mass in law.items() if trials[0][0]) == rate


def test_a_one_hot_ratio_by_hand() -> None:
    law = steps(OneHotRatio(TARGET, DRAFTER, 1), 2)
    assert law[(1,), ((False, QUARTER),)] == THIRD * 3 * QUARTER  # 0 drafted and rejected: what is left of P is 1
    assert law[(0,), ((False, 3 * QUARTER),)] == 2 * THIRD * QUARTER
    assert law[(1, 1), ((True, 3 * QUARTER),)] == 2 * THIRD * 3 * QUARTER * 3 * QUARTER
    assert sum(law.values()) == 1


def test_a_one_hot_ratio_survives_a_target_of_a_single_token() -> None:
    certain = explicit({}, 2, otherwise={0: Fraction(1)})
    assert set(steps(OneHotRatio(certain, certain, 2), 3)) == {((0, 0, 0), ((True, 1), (True, 1)))}
