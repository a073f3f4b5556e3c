"""The enumerate driver: every branch, with its mass."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import begin, decode
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, Together, mass_in
from draftproof.verify.exact import (
    answered,
    branches,
    law_of,
    merged,
    output_law,
    prefixes,
    step_law,
    total_variation,
)

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
COIN = ExactLaw({0: HALF, 1: HALF}, 2)


# Branches by hand.


def test_a_choice_branches_over_its_support() -> None:
    assert branches(Choose(ExactLaw({0: THIRD, 2: 2 * THIRD}, 3))) == [(0, THIRD), (2, 2 * THIRD)]


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ((), [(0, 1)]),
        ((HALF,), [(0, HALF), (1, HALF)]),
        ((HALF, THIRD), [(0, HALF), (1, THIRD), (2, Fraction(1, 6))]),
        ((1, HALF), [(1, HALF), (2, HALF)]),
        ((HALF, 0, HALF), [(0, HALF), (1, HALF)]),
        ((0, 1), [(0, 1)]),
        ((1, 1), [(2, 1)]),
    ],
)
def test_coins_branch_over_the_first_failure(probabilities: tuple[Any, ...], expected: list[Any]) -> None:
    assert branches(Accept(probabilities)) == expected


def test_a_residual_branches_over_its_positive_part() -> None:
    law = ExactLaw({0: HALF, 1: THIRD, 2: Fraction(1, 6)}, 3)
    draft = ExactLaw({0: QUARTER, 2: 3 * QUARTER}, 3)
    assert branches(ChooseResidual(law, mass_in(draft))) == [(0, Fraction(3, 7)), (1, Fraction(4, 7))]


def test_an_empty_residual_branches_over_the_law() -> None:
    assert branches(ChooseResidual(COIN, mass_in(COIN))) == [(0, HALF), (1, HALF)]


def test_a_draft_mass_may_ask_for_laws_but_for_no_chance() -> None:
    model = explicit({(): {0: HALF, 1: HALF}, (0,): {1: Fraction(1)}}, 2)

    def asks() -> Program[Any]:
        [one] = yield Laws(model, ())
        [[other], [again, after]] = yield Together((Laws(model, (0,)), Laws(model, (), (0,))))
        assert one == again
        assert other == after
        return one[0] * other[1]

    assert answered(asks()) == HALF

    def tosses() -> Program[Any]:
        return (yield Choose(COIN))

    with pytest.raises(TypeError, match="laws only"):
        answered(tosses())


# Laws by hand.


def test_two_coins_of_which_the_second_depends_on_the_first() -> None:
    def program() -> Program[tuple[int, int]]:
        first = yield Choose(COIN)
        second = yield Accept((THIRD,)) if first else Choose(COIN)
        return first, second

    assert law_of(program) == {(0, 0): QUARTER, (0, 1): QUARTER, (1, 0): THIRD, (1, 1): Fraction(1, 6)}


def test_outcomes_of_several_paths_are_merged() -> None:
    def program() -> Program[Any]:
        return (yield Choose(COIN)) + (yield Choose(COIN))

    assert law_of(program) == {0: QUARTER, 1: HALF, 2: QUARTER}


def test_a_program_without_chance_is_certain() -> None:
    def program() -> Program[str]:
        return "done"
        yield

    assert law_of(program) == {"done": 1}


SHORT = explicit({(): {0: HALF, 1: HALF}, (0,): {0: THIRD, 2: 2 * THIRD}, (1,): {1: Fraction(1)}}, 3, frozenset({2}))


def test_the_specifications_output_by_hand() -> None:
    assert output_law(Autoregressive(SHORT), (), 1) == {(0,): HALF, (1,): HALF}
    assert output_law(Autoregressive(SHORT), (), 2) == {(0, 0): Fraction(1, 6), (0, 2): THIRD, (1, 1): HALF}
    assert output_law(Autoregressive(SHORT), (0,), 1) == {(0,): THIRD, (2,): 2 * THIRD}


def test_a_step_leads_to_states() -> None:
    law = step_law(Autoregressive(SHORT), begin((0,), 3))
    assert {(state.tokens, state.remaining): mass for state, mass in law.items()} == {
        ((0, 0), 2): THIRD,
        ((0, 2), 0): 2 * THIRD,
    }


def test_progress_counts_states() -> None:
    counts: list[int] = []
    output_law(Autoregressive(SHORT), (), 2, counts.append)
    assert counts == [1, 2, 3]


# Properties.


def random_program(seed: int, toys: Any) -> Program[tuple[int, ...]]:
    """A program whose requests depend on its answers, of all kinds."""
    model = toys.model(f"program {seed}", 3, ())
    answers: tuple[int, ...] = ()
    for turn in range(3):
        laws = yield Laws(model, answers, (0,))
        kind = (seed + turn + sum(answers)) % 3
        if kind == 0:
            answers += ((yield Choose(laws[0])),)
        elif kind == 1:
            answers += ((yield Accept((laws[0][0], laws[1][1], laws[1][2]))),)
        else:
            answers += ((yield ChooseResidual(laws[0], mass_in(laws[1]))),)
    return answers


@given(seed=st.integers(0, 10**6))
def test_masses_sum_to_exactly_one(toys: Any, seed: int) -> None:
    law = law_of(lambda: random_program(seed, toys))
    assert sum(law.values()) == 1
    assert all(mass > 0 for mass in law.values())


@pytest.mark.parametrize("name", ["speculative-sampling", "tli", "union", "slem", "slrs", "slrs-length"])
def test_composed_steps_have_the_law_of_the_whole_output(toys: Any, name: str) -> None:
    for seed in range(4):
        decoder = toys.decoder(name, seed, 2)

        def whole(decoder: Any = decoder) -> Program[tuple[int, ...]]:
            return (yield from decode(decoder, (0,), 3)).tokens

        composed = output_law(decoder, (0,), 3)
        assert sum(composed.values()) == 1
        assert law_of(whole) == composed


# Comparing laws.


def test_total_variation_by_hand() -> None:
    one = {"x": HALF, "y": HALF}
    other = {"x": QUARTER, "z": 3 * QUARTER}
    assert total_variation(one, other) == total_variation(other, one) == 3 * QUARTER
    assert total_variation(one, one) == 0
    assert total_variation({"x": Fraction(1)}, {"y": Fraction(1)}) == 1


def test_prefixes_and_images_sum_what_they_merge() -> None:
    law = {(0, 0): QUARTER, (0, 1): QUARTER, (1,): HALF}
    assert prefixes(law, 1) == {(0,): HALF, (1,): HALF}
    assert prefixes(law, 0) == {(): 1}
    assert prefixes(law, 5) == law
    assert merged(law.items(), sum) == {0: QUARTER, 1: 3 * QUARTER}


@given(seed=st.integers(0, 10**6), length=st.integers(0, 3))
def test_an_image_is_never_further_away(toys: Any, seed: int, length: int) -> None:
    one, other = (output_law(Autoregressive(toys.common(seed + n).target), (), 3) for n in (0, 1))
    distance = total_variation(one, other)
    assert 0 <= total_variation(prefixes(one, length), prefixes(other, length)) <= distance <= 1
