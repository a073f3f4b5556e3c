"""Shrinking: what is left is small, and still deviates."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import pytest

from draftproof.verify.comparison import deviation
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.shrink import _size, shrink
from draftproof.verify.toys import Rows, Toy, random_toy

# One of each way to deviate: at the first token, at the second, with two drafted tokens, with processors, with ids.
WRONG = [
    CONTROLS[name]
    for name in (
        "residual-is-target",
        "rejected-stays",
        "one-coin-per-step",
        "history-frozen",
        "last-writer-wins",
        "slem-reencoding",
    )
]
TOY = random_toy("toy", ("a", "b", None), ("a", "b", None), 1)


def simpler(toy: Toy) -> Iterator[Toy]:
    """Every single simplification, written down apart from shrink's own list."""
    for tokens in range(1, toy.max_new_tokens):
        yield replace(toy, max_new_tokens=tokens)
    for lookahead in range(1, toy.lookahead):
        yield replace(toy, lookahead=lookahead)
    for rows in merged_or_lowered(toy.target_rows):
        if all(any(row) for row in rows):
            yield replace(toy, target_rows=rows)
    for rows in merged_or_lowered(toy.draft_rows):
        yield replace(toy, draft_rows=rows)


def merged_or_lowered(rows: Rows) -> Iterator[Rows]:
    for old in set(rows):
        for new in set(rows) - {old}:
            yield tuple(new if row == old else row for row in rows)
        for token, weight in enumerate(old):
            if weight:
                new = (*old[:token], weight - 1, *old[token + 1 :])
                yield tuple(new if row == old else row for row in rows)


def test_nothing_shrinks_where_nothing_simpler_deviates() -> None:
    assert shrink(TOY, lambda toy: toy == TOY) == TOY


def test_everything_shrinks_where_all_deviates() -> None:
    small = shrink(TOY, lambda toy: True)
    assert (small.max_new_tokens, small.lookahead) == (1, 1)
    assert set(small.draft_rows) == {(0, 0, 0)}
    assert len(set(small.target_rows)) == 1
    assert sum(small.target_rows[0]) == 1
    assert (small.name, small.target_strings, len(small.target_rows)) == (
        TOY.name,
        TOY.target_strings,
        len(TOY.target_rows),
    )


@pytest.mark.parametrize(
    "keeps",
    [
        lambda toy: toy.max_new_tokens >= 3,
        lambda toy: toy.lookahead == 2 or toy.lookahead == 3,
        lambda toy: sum(map(sum, toy.target_rows)) % 2 == sum(map(sum, TOY.target_rows)) % 2,
        lambda toy: any(row[0] for row in toy.draft_rows) and len(set(toy.target_rows)) >= 2,
    ],
)
def test_what_is_left_keeps_the_property_and_is_a_local_minimum(keeps: Callable[[Toy], bool]) -> None:
    assert keeps(TOY)
    asked: list[Toy] = []

    def deviates(toy: Toy) -> bool:
        asked.append(toy)
        return keeps(toy)

    small = shrink(TOY, deviates)
    assert keeps(small)
    assert _size(small) <= _size(TOY)
    assert all(_size(toy) < _size(TOY) for toy in asked)
    assert not any(keeps(toy) for toy in simpler(small) if _size(toy) < _size(small))


def test_every_accepted_simplification_is_smaller_than_the_last() -> None:
    taken: list[Toy] = [TOY]

    def deviates(toy: Toy) -> bool:
        if toy.max_new_tokens < 2 or not any(map(any, toy.draft_rows)):
            return False
        taken.append(toy)
        return True

    small = shrink(TOY, deviates)
    sizes = [_size(toy) for toy in taken]
    assert sizes == sorted(set(sizes), reverse=True)
    assert taken[-1] == small


@pytest.mark.parametrize("control", WRONG, ids=lambda control: control.name)
def test_a_real_deviation_shrinks_to_a_local_minimum(control: Control) -> None:
    deviating = (toy for toy in control.battery() if deviation(toy, control.build))
    for toy in islice(deviating, 2):
        small = shrink(toy, lambda one: deviation(one, control.build) != 0)
        assert deviation(small, control.build)
        assert _size(small) <= _size(toy)
        assert small.processors == toy.processors
        assert small.max_new_tokens <= 3
        assert not any(deviation(one, control.build) for one in simpler(small) if _size(one) < _size(small))
