"""Exact toy models."""

from fractions import Fraction

import pytest

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.models.table import TableModel, explicit

HALF = Fraction(1, 2)


def test_a_model_from_rows_by_hand() -> None:
    model = explicit({(): {0: HALF, 1: HALF}, (0,): {1: Fraction(1)}}, 2, frozenset({1}), otherwise={0: Fraction(1)})
    first, after, other = ExactLaw({0: HALF, 1: HALF}, 2), ExactLaw({1: Fraction(1)}, 2), ExactLaw({0: Fraction(1)}, 2)
    assert model.laws([((), ()), ((), (0, 1)), ((1,), ())]) == [[first], [first, after, other], [other]]
    assert (model.size, model.eos) == (2, frozenset({1}))
    assert isinstance(model, LanguageModel)


def test_a_context_without_a_row_is_an_error() -> None:
    with pytest.raises(KeyError, match="no row for the context"):
        explicit({(): {0: Fraction(1)}}, 1).laws([((0,), ())])


def test_a_row_may_be_empty() -> None:
    [[law]] = explicit({(): {}}, 1).laws([((), ())])
    assert law.empty


def test_each_context_is_worked_out_once() -> None:
    asked = []

    def rule(context: tuple[int, ...]) -> ExactLaw:
        asked.append(context)
        return ExactLaw({0: Fraction(1)}, 1)

    model = TableModel(1, rule)
    model.laws([((), (0, 0)), ((0,), (0,))])
    model.laws([((0, 0), ())])
    assert asked == [(), (0,), (0, 0)]


def test_what_is_kept_does_not_change_what_is_equal() -> None:
    def rule(context: tuple[int, ...]) -> ExactLaw:
        return ExactLaw({0: Fraction(1)}, 1)

    one, other = TableModel(1, rule), TableModel(1, rule)
    one.law(())
    assert one == other
    assert hash(one) == hash(other)
