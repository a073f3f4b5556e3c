"""Processors: one text for fractions and tensors, per position, with that position's history."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.processors import (
    MinP,
    PresencePenalty,
    Processed,
    Processor,
    Rationalise,
    Remembered,
    Temperature,
    TopK,
    TopP,
)
from draftproof.algorithms.tensor_law import TensorLaw

# Masses that floats hold exactly: 1/2, 1/8, 1/8, 1/4, 0.
LAW = ExactLaw({0: Fraction(1, 8), 1: Fraction(1, 2), 2: Fraction(1, 8), 3: Fraction(1, 4)}, 5)


def floats(law: Law) -> TensorLaw:
    return TensorLaw(torch.tensor([float(law[token]) for token in range(law.size)], dtype=torch.float64))


@pytest.mark.parametrize(
    ("processor", "kept"),
    [
        (Temperature(0), (1,)),
        (Temperature(1), (0, 1, 2, 3)),
        (TopK(1), (1,)),
        (TopK(3), (0, 1, 3)),  # 0 and 2 are equal: the lower one stays
        (TopK(4), (0, 1, 2, 3)),
        (TopK(100), (0, 1, 2, 3)),
        (TopP(1e-9), (1,)),
        (TopP(0.5), (1,)),  # reached exactly
        (TopP(0.5 + 2**-50), (1, 3)),
        (TopP(0.75), (1, 3)),
        (TopP(0.875), (0, 1, 3)),
        (TopP(0.9), (0, 1, 2, 3)),
        (TopP(1 - 2**-53), (0, 1, 2, 3)),
        (TopP(1), (0, 1, 2, 3)),
        (MinP(0), (0, 1, 2, 3)),
        (MinP(0.25), (0, 1, 2, 3)),  # 1/8 is exactly a quarter of 1/2
        (MinP(0.25 + 2**-50), (1, 3)),
        (MinP(0.5), (1, 3)),
        (MinP(1), (1,)),
    ],
)
def test_what_is_kept_by_hand(processor: Processor, kept: tuple[int, ...]) -> None:
    total = sum(LAW[token] for token in kept)
    by_hand = ExactLaw({token: LAW[token] / total for token in kept}, 5)
    assert processor(LAW, ()) == by_hand
    in_floats = processor(floats(LAW), ())
    assert in_floats.support() == kept
    assert all(in_floats[token] == pytest.approx(float(by_hand[token]), abs=1e-15) for token in range(5))


def test_half_the_temperature_squares_exactly() -> None:
    squares = {0: Fraction(1, 22), 1: Fraction(16, 22), 2: Fraction(1, 22), 3: Fraction(4, 22)}
    assert Temperature(0.5)(LAW, ()) == ExactLaw(squares, 5)
    in_floats = Temperature(0.5)(floats(LAW), ())
    assert all(in_floats[token] == pytest.approx(float(mass), abs=1e-15) for token, mass in squares.items())


def test_other_temperatures_have_no_exact_law_but_a_float_one() -> None:
    for temperature in (0.7, 1.5, 2):
        with pytest.raises(LawError, match="whole number"):
            Temperature(temperature)(LAW, ())
    weights = [mass ** (1 / 0.7) for mass in (0.125, 0.5, 0.125, 0.25, 0)]
    in_floats = Temperature(0.7)(floats(LAW), ())
    assert [in_floats[token] for token in range(5)] == pytest.approx([weight / sum(weights) for weight in weights])


@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_greedy_ties_go_to_the_lowest_id(make: Any) -> None:
    uniform = make(ExactLaw({token: Fraction(1, 4) for token in range(1, 5)}, 5))
    assert Temperature(0)(uniform, ()).support() == (1,)
    assert TopK(2)(uniform, ()).support() == (1, 2)
    assert TopP(0.5)(uniform, ()).support() == (1, 2)
    assert MinP(1)(uniform, ()).support() == (1, 2, 3, 4)


@pytest.mark.parametrize("count", range(1, 12))
def test_min_p_of_one_keeps_the_likeliest_whatever_its_fraction(count: int) -> None:
    law = ExactLaw({token: Fraction(1, count) for token in range(count)}, count)
    assert MinP(1.0)(law, ()) == law  # 1.0 * Fraction(1, 5) is a float above 1/5


def test_top_p_looks_beyond_its_first_portion_of_ranks() -> None:
    law = ExactLaw({token: Fraction(1, 1024) for token in range(1024)}, 1024)
    assert TopP(0.5)(law, ()).support() == TopP(0.5)(floats(law), ()).support() == tuple(range(512))
    few = ExactLaw({token: Fraction(1, 64) for token in range(64)}, 100)
    assert TopP(1 - 2**-53)(few, ()) == few


@pytest.mark.parametrize(
    "processor",
    [Temperature(0), Temperature(0.5), TopK(2), TopP(0.5), MinP(0.5), PresencePenalty(Fraction(2)), Rationalise()],
    ids=repr,
)
@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_an_empty_law_stays_empty(make: Any, processor: Processor) -> None:
    assert processor(make(ExactLaw({}, 3)), ()).empty


@given(
    weights=st.lists(st.integers(0, 8), min_size=1, max_size=6).filter(any),
    processor=st.sampled_from([Temperature(0), Temperature(0.5), TopK(1), TopK(2), TopP(0.3), MinP(0.3), MinP(1)]),
)
def test_fractions_and_tensors_are_processed_alike(weights: list[int], processor: Processor) -> None:
    law = ExactLaw.normalised({token: Fraction(weight) for token, weight in enumerate(weights)}, len(weights))
    exact, in_floats = processor(law, ()), processor(floats(law), ())
    assert isinstance(exact, ExactLaw)
    assert sum(mass for _, mass in exact.items()) == 1
    assert in_floats.support() == exact.support()
    assert all(in_floats[token] == pytest.approx(float(exact[token]), abs=1e-14) for token in range(law.size))


@given(weights=st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(any))
def test_rationalised_floats_are_the_rationals_they_are_up_to_their_sum(weights: list[float]) -> None:
    law = TensorLaw.checked(torch.tensor(weights, dtype=torch.float64))
    exact = Rationalise()(law, ())
    assert isinstance(exact, ExactLaw)
    assert exact.support() == law.support()
    total = sum(Fraction(law[token]) for token in range(law.size))
    assert all(exact[token] * total == Fraction(law[token]) for token in range(law.size))


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (Temperature, (-0.1, float("inf"), float("nan"))),
        (TopK, (0, -1)),
        (TopP, (0, -0.5, 1.001, float("nan"))),
        (MinP, (-0.1, 1.1, float("nan"))),
        (PresencePenalty, (0, -1, float("inf"), float("nan"))),
    ],
)
def test_settings_outside_their_domain_are_refused(make: Any, wrong: tuple[float, ...]) -> None:
    for value in wrong:
        with pytest.raises(ValueError, match=r"must|keep|needs"):
            make(value)


@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_a_presence_penalty_weighs_the_ids_of_the_history_once(make: Any) -> None:
    penalised = PresencePenalty(Fraction(1, 2))(make(LAW), (1, 1, 4, 900))
    # 1/8, 1/4, 1/8, 1/4 of 3/4
    assert [float(penalised[token]) for token in range(5)] == pytest.approx([1 / 6, 1 / 3, 1 / 6, 1 / 3, 0])
    assert PresencePenalty(Fraction(1, 2))(make(LAW), ()).support() == LAW.support()


class Noting:
    """A processor that notes the histories it is given."""

    def __init__(self) -> None:
        self.histories: list[tuple[int, ...]] = []

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        self.histories.append(history)
        return law


def test_each_position_is_processed_with_its_own_history() -> None:
    noting = Noting()
    model = Processed(TableModel(5, lambda context: LAW, frozenset({4})), (TopK(3), noting, TopK(1)))
    laws = model.laws([((0, 1), (2, 3)), ((), ())])
    assert noting.histories == [(0, 1), (0, 1, 2), (0, 1, 2, 3), ()]
    assert [[law.support() for law in row] for row in laws] == [[(1,)] * 3, [(1,)]]
    assert (model.size, model.eos) == (5, frozenset({4}))


def test_processors_apply_in_order() -> None:
    def after(*processors: Processor) -> tuple[int, ...]:
        [[law]] = Processed(TableModel(5, lambda context: LAW), processors).laws([((), ())])
        return law.support()

    assert after(TopK(2), TopP(0.6)) == (1,)  # 1/2 of 3/4 is 2/3
    assert after(TopP(0.6), TopK(2)) == (1, 3)


def test_a_remembered_model_is_asked_once_per_context(toys: Any) -> None:
    counting = toys.Counting(toys.model("remembered", 3, ()))
    model = Remembered(counting)
    first = model.laws([((0,), (1, 2)), ((0, 1), ()), ((0, 1), (2,))])
    assert first == counting.model.laws([((0,), (1, 2)), ((0, 1), ()), ((0, 1), (2,))])
    assert [query for call in counting.calls for query in call] == [((0,), (1, 2))]
    assert model.contexts == 3
    assert model.laws([((0, 1, 2), ()), ((0,), ())]) == [[first[0][2]], [first[0][0]]]
    assert len(counting.calls) == 1
    model.laws([((0, 1, 2), (0,))])
    assert model.contexts == 4
    assert (model.size, model.eos) == (3, frozenset())
