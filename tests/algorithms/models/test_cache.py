"""Rows, layouts and matches of the key/value pool, without a model."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache

from draftproof.algorithms.models.cache import Match, Pool, common_prefix, cover, left_padded, right_padded
from draftproof.algorithms.models.zoo import ModelError

TOKENS = st.lists(st.integers(0, 1), max_size=6).map(tuple)
QUERIES = st.lists(st.tuples(TOKENS.filter(bool), TOKENS), min_size=1, max_size=6)
FEATURES = 2


def stand_in(layout):
    """What a model would leave: the 'state' of a position is the sum of the token ids up to it, in every feature."""
    states = torch.full((len(layout.rows), 1, layout.width, FEATURES), torch.nan)
    for index, (row, pad) in enumerate(zip(layout.rows, layout.pads, strict=True)):
        states[index, :, pad : pad + len(row.tokens)] = torch.tensor(row.tokens).cumsum(0)[:, None].float()
    cache = DynamicCache()
    cache.update(states[..., layout.prefix :, :], states[..., layout.prefix :, :], 0)
    return states, cache


def feed(pool, queries):
    rows, row_of = cover(queries, pool.find)
    layout = left_padded(rows)
    cache = pool.prefix(layout)
    states, fresh = stand_in(layout)
    cache.update(fresh.layers[0].keys, fresh.layers[0].values, 0)
    pool.keep(layout, cache, "toy")
    return layout, row_of, states, cache


@given(TOKENS, TOKENS)
def test_common_prefix(left, right):
    length = common_prefix(left, right)
    assert left[:length] == right[:length]
    assert length in (len(left), len(right)) or left[length] != right[length]


@given(QUERIES)
def test_every_asked_position_is_fed_in_its_row(queries):
    rows, row_of = cover(queries, lambda tokens: Match(None, 0, len(tokens) // 2))
    assert len(rows) == len(set(row_of)) <= len({context + drafted for context, drafted in queries})
    for (context, drafted), index in zip(queries, row_of, strict=True):
        assert rows[index].tokens[: len(context + drafted)] == context + drafted
        assert rows[index].start <= len(context) - 1
    # Sharing a row never makes any row feed more than its own query or its own cache asks for.
    for row in rows:
        own = [len(c) - 1 for c, d in queries if c + d == row.tokens]
        assert row.start == min([*own, len(row.tokens) // 2])


def test_rows_keep_the_order_of_their_queries():
    rows, row_of = cover([((3,), ()), ((1,), (2,)), ((2,), ()), ((1,), ())], lambda _: Match(None, 0, 0))
    assert [row.tokens for row in rows] == [(3,), (1, 2), (2,)]
    assert row_of == [0, 1, 2, 1]


@given(st.lists(QUERIES, min_size=1, max_size=5))
def test_cached_columns_hold_the_states_of_their_tokens(calls):
    pool = Pool(1 << 20)
    for queries in calls:
        layout, _, states, cache = feed(pool, queries)
        keys = cache.layers[0].keys
        assert keys.shape == (len(layout.rows), 1, layout.width, FEATURES)
        for index, (row, pad) in enumerate(zip(layout.rows, layout.pads, strict=True)):
            assert pad + len(row.tokens) == layout.width
            assert torch.equal(keys[index, :, pad:], states[index, :, pad:])


def test_one_growing_row_is_sliced_not_copied():
    pool = Pool(1 << 20)
    _, _, _, before = feed(pool, [((1, 2, 3, 4), (5, 6))])
    rows, _ = cover([((1, 2, 3, 4, 5, 9), (9,))], pool.find)
    cached = pool.prefix(left_padded(rows)).layers[0].keys
    assert cached.shape[-2] == 5
    assert cached.data_ptr() == before.layers[0].keys.data_ptr()


def test_a_batch_that_grows_evenly_is_sliced_not_copied():
    pool = Pool(1 << 20)
    _, _, _, before = feed(pool, [((1, 2, 3), ()), ((5,), ())])
    rows, _ = cover([((1, 2, 3, 4), ()), ((5, 6), ())], pool.find)
    layout = left_padded(rows)
    assert (layout.prefix, layout.new) == (3, 1)
    assert pool.prefix(layout).layers[0].keys.data_ptr() == before.layers[0].keys.data_ptr()


@pytest.mark.parametrize(
    "queries", [[((5, 6, 7), ()), ((1, 2, 3), ())], [((1, 2, 3), ()), ((1, 2, 4), ())]], ids=["swapped", "forked"]
)
def test_rows_that_do_not_stand_as_they_stood_are_moved(queries):
    pool = Pool(1 << 20)
    feed(pool, [((1, 2), ()), ((5, 6), ())])
    layout, _, states, cache = feed(pool, queries)
    assert (layout.prefix, layout.new) == (2, 1)
    assert torch.equal(cache.layers[0].keys, states)


def test_uncached_rows_are_padded_on_the_right():
    rows, _ = cover([((1, 2, 3), ()), ((5,), ())], lambda _: Match(None, 0, 0))
    layout = right_padded(rows)
    assert (layout.prefix, layout.new, layout.pads) == (0, 3, (0, 0))


def test_the_pool_is_bounded_and_keeps_the_newest():
    # Two rows' keys and values in float32: 4 tokens take 4 * 2 * 2 * 4 = 64 bytes.
    pool = Pool(130)
    for first in range(5):
        feed(pool, [((first, 1, 1, 1), ())])
    assert [pool.find((first, 1, 1, 1)).length for first in range(5)] == [0, 0, 0, 4, 4]
    pool = Pool(0)
    feed(pool, [((1, 2), ())])
    assert pool.find((1, 2, 3)).length == 2


def test_what_was_used_last_stays():
    pool = Pool(200)
    for first in range(3):
        feed(pool, [((first, 1, 1, 1), ())])
    feed(pool, [((0, 1, 2, 2), ())])  # uses the oldest
    assert pool.find((0, 1, 1, 1)).length == 4
    assert pool.find((1, 1, 1, 1)).length == 0


def test_a_batch_that_a_new_one_extends_is_dropped():
    pool = Pool(1 << 20)
    sequences = [(1,), (1, 2), (1, 2, 3)]
    feed(pool, [(sequences[0], ())])
    for before, after in pairwise(sequences):
        feed(pool, [(after, ())])
        assert pool.find(before).batch.tokens == (after,)


def test_a_batch_of_which_only_rejected_tokens_are_new_is_dropped():
    pool = Pool(1 << 20)
    context = (1,) * 40
    feed(pool, [(context, (2, 2, 2))])
    feed(pool, [((*context, 3), (4, 4))])
    assert pool.find((*context, 2, 2)).length == len(context)
    feed(pool, [((*context[:20], 5), ())])
    assert pool.find((*context, 3, 4)).length == len(context) + 2


def test_states_of_another_length_are_refused():
    pool = Pool(1 << 20)
    rows, _ = cover([((1, 2), ())], pool.find)
    layout = left_padded(rows)
    cache = DynamicCache()
    with pytest.raises(ModelError, match="cannot be cropped"):
        pool.keep(layout, cache, "toy")
    cache.update(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2), 0)
    with pytest.raises(ModelError, match="toy cannot be cropped"):
        pool.keep(layout, cache, "toy")
