"""Shrinks a toy on which a decoder deviates to a small one on which it still does.

Greedy: the first simplification that keeps the deviation is taken, until none does. Simpler means, in this order, fewer
tokens, less lookahead, fewer different rows, fewer and smaller weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from draftproof.verify.toys import Rows, Toy

Size = tuple[int, ...]


def shrink(toy: Toy, deviates: Callable[[Toy], bool]) -> Toy:
    """The smallest toy found. `deviates(toy)` must hold, and is asked of every simplification tried."""
    shrunk = True
    while shrunk:
        shrunk = False
        for simpler in _simplifications(toy):
            if _size(simpler) < _size(toy) and deviates(simpler):
                toy, shrunk = simpler, True
                break
    return toy


def _size(toy: Toy) -> Size:
    rows = toy.target_rows, toy.draft_rows
    return (
        toy.max_new_tokens,
        toy.lookahead,
        sum(len(set(part)) for part in rows),
        sum(weight > 0 for part in rows for row in part for weight in row),
        sum(weight for part in rows for row in part for weight in row),
    )


def _simplifications(toy: Toy) -> Iterator[Toy]:
    for tokens in range(1, toy.max_new_tokens):
        yield replace(toy, max_new_tokens=tokens)
    for lookahead in range(1, toy.lookahead):
        yield replace(toy, lookahead=lookahead)
    for rows in _simpler_rows(toy.draft_rows, may_be_empty=True):
        yield replace(toy, draft_rows=rows)
    for rows in _simpler_rows(toy.target_rows, may_be_empty=False):
        yield replace(toy, target_rows=rows)


def _simpler_rows(rows: Rows, may_be_empty: bool) -> Iterator[Rows]:
    distinct = sorted(set(rows), key=lambda row: (sum(row), row))
    for row in distinct:
        yield (row,) * len(rows)
    for old in distinct:  # merge two kinds of rows
        for new in distinct:
            if new != old:
                yield tuple(new if row == old else row for row in rows)
    for old in distinct:  # lower one weight of one kind of row
        for token, weight in enumerate(old):
            for lower in range(weight):
                new = old[:token] + (lower,) + old[token + 1 :]
                if any(new) or may_be_empty:
                    yield tuple(new if row == old else row for row in rows)
