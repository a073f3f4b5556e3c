"""The look-alikes: exact on every toy, though their rules differ."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import State, Step, begin
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Program
from draftproof.verify.audit import on_toys
from draftproof.verify.comparison import compare
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.controls.right import NonsenseSlem, OneHotRatio, TargetDrawMatch
from draftproof.verify.evidence import ControlEvidence
from draftproof.verify.exact import law_of
from draftproof.verify.toys import battery
from draftproof.verify.verdict import Kind, judge_control

QUARTER, THIRD = Fraction(1, 4), Fraction(1, 3)
RIGHT = [control for control in CONTROLS.values() if not control.wrong]
TARGET = explicit({}, 2, otherwise={0: QUARTER, 1: 3 * QUARTER})
DRAFTER = explicit({}, 2, otherwise={0: THIRD, 1: 2 * THIRD})


class Nobody:
    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


@pytest.mark.parametrize("control", RIGHT, ids=lambda control: control.name)
def test_each_right_control_is_exact(control: Control) -> None:
    evidence = on_toys(control.name, control.build, control.like, Nobody())
    assert {one.total_variation for one in evidence.comparisons} == {"0"}
    verdict, right = judge_control(
        ControlEvidence(control.name, control.like, control.wrong, control.rule, control.source, evidence)
    )
    assert verdict.kind == Kind.EXACT
    assert right


def steps(decoder: Any, remaining: int) -> dict[Step, Fraction]:
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


def test_nonsense_depends_on_nothing_but_the_length() -> None:
    decoder = NonsenseSlem(TARGET, None, None, 3)

    def offered(tokens: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        return law_of(lambda: decoder.offer(tokens, State(tokens, 0, 9)))

    assert offered((0, 0)) == offered((1, 0)) == {(0, 1, 0): 1}
    assert offered((0,)) == {(1, 0, 1): 1}


def test_right_controls_have_the_specifications_outputs_on_the_toys_of_their_like() -> None:
    for control in RIGHT:
        names = [compare(toy.setting, control.build).setting for toy in list(battery(control.like))[:3]]
        assert len(set(names)) == 3
