"""Key/value caches kept by longest common prefix: what a forward pass may skip, for a whole batch at once.

Idea: a `Pool` remembers the batches last fed and, for each of their rows, which tokens its keys and values stand for.
A new batch takes, row by row, the longest cached prefix. All rows then feed equally many new tokens (those of the row
that has to feed most), and a row with more in the pool is cropped further back: so every row is
`[left pad][cached prefix][new tokens]`, right-aligned, without holes. Rejected tokens are cropped by not being taken.

Nothing is ever written into a kept tensor: the cache concatenates, so slices of old batches stay valid. Rows that still
stand as they stood in their last batch are sliced, not copied; one query is always such a case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.models.zoo import ModelError

Tokens = tuple[int, ...]
Layer = tuple[torch.Tensor, torch.Tensor] | None
"""Keys and values, shape (rows, heads, width, features); None for a layer that keeps none of its own."""

_MOST_BATCHES = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """Keys and values of a batch once fed; row i holds `tokens[i]` from column `pads[i]` on."""

    tokens: tuple[Tokens, ...]
    pads: tuple[int, ...]
    layers: tuple[Layer, ...]

    @property
    def bytes(self) -> int:
        """The memory that its tensors take."""
        return sum(states.nbytes for layer in self.layers if layer is not None for states in layer)


@dataclass(frozen=True)
class Match:
    """The first `length` tokens of a row of a kept batch."""

    batch: Batch | None
    row: int
    length: int


@dataclass(frozen=True)
class Row:
    """Tokens to feed as one row, of which those before position `start` may come from `match`."""

    tokens: Tokens
    start: int
    match: Match


@dataclass(frozen=True)
class Layout:
    """How rows stand in one rectangle: `pads[i]` columns before row i, `prefix` cached columns, `new` fed ones."""

    rows: tuple[Row, ...]
    pads: tuple[int, ...]
    prefix: int
    new: int

    @property
    def width(self) -> int:
        """Number of columns, cached and fed."""
        return self.prefix + self.new


def common_prefix(left: Tokens, right: Tokens) -> int:
    """Length of the longest common prefix."""
    shorter = min(len(left), len(right))
    return bisect_left(range(shorter), True, key=lambda i: left[: i + 1] != right[: i + 1])


def cover(queries: Sequence[Query], find: Callable[[Tokens], Match]) -> tuple[list[Row], list[int]]:
    """Rows in which every asked position is fed, and for each query the index of its row.

    A query whose tokens begin another row takes part in that row where this feeds nothing more; so the contexts of a
    tree share rows, and equal queries are fed once.
    """
    starts: dict[Tokens, int] = {}
    for context, drafted in queries:
        tokens = context + drafted
        starts[tokens] = min(len(context) - 1, starts.get(tokens, len(tokens)))
    rows: list[Row] = []
    row_of: dict[Tokens, int] = {}
    # In descending order a sequence comes right after those that it begins.
    for tokens, start in sorted(starts.items(), reverse=True):
        if not rows or start < rows[-1].start or rows[-1].tokens[: len(tokens)] != tokens:
            match = find(tokens)
            rows.append(Row(tokens, min(start, match.length), match))
        row_of[tokens] = len(rows) - 1
    # Rows in the order of their queries, so that a batch that only grows keeps its rows where they are.
    wanted = [row_of[context + drafted] for context, drafted in queries]
    place = {old: index for index, old in enumerate(dict.fromkeys(wanted))}
    return [rows[old] for old in place], [place[old] for old in wanted]


def left_padded(rows: Sequence[Row]) -> Layout:
    """The layout of rows with cached prefixes: right-aligned, without holes."""
    new = max(len(row.tokens) - row.start for row in rows)
    prefix = max(0, max(len(row.tokens) for row in rows) - new)
    return Layout(tuple(rows), tuple(prefix + new - len(row.tokens) for row in rows), prefix, new)


def right_padded(rows: Sequence[Row]) -> Layout:
    """The layout of rows that are fed whole: no pad is ever before a token, so it suits every causal model."""
    return Layout(tuple(rows), (0,) * len(rows), 0, max(len(row.tokens) for row in rows))


class Pool:
    """The batches last fed, least recently used first; bounded in memory, save that the newest is always kept."""

    def __init__(self, most_bytes: int) -> None:
        """`most_bytes` bounds the tensors of all batches together."""
        self._most_bytes = most_bytes
        self._batches: list[Batch] = []

    def find(self, tokens: Tokens) -> Match:
        """The row that shares the longest prefix with `tokens`; the latest of several."""
        best = Match(None, 0, 0)
        for batch in reversed(self._batches):
            for row, kept in enumerate(batch.tokens):
                more = best.length + 1
                if len(kept) >= more and len(tokens) >= more and kept[:more] == tokens[:more]:
                    best = Match(batch, row, common_prefix(kept, tokens))
        return best

    def prefix(self, layout: Layout) -> DynamicCache:
        """The cache to hand to the model: the cached columns of a layout.

        It is built without the model's config, so that layers with a sliding window keep all states (the mask still
        applies the window) and can be cropped.
        """
        cache = DynamicCache()
        if layout.prefix == 0:
            return cache
        lengths = [layout.prefix - pad for pad in layout.pads]
        sources = [row.match.batch for row, length in zip(layout.rows, lengths, strict=True) if length > 0]
        first = sources[0]
        assert first is not None
        window = _window(layout, lengths)
        for index, pattern in enumerate(first.layers):
            layer = DynamicLayer()
            if pattern is not None:
                if window is not None:
                    keys, values = (states[window[0], ..., window[1], :] for states in pattern)
                else:
                    keys, values = (_gather(layout, lengths, index, part, pattern[part]) for part in (0, 1))
                layer.lazy_initialization(keys, values)
                layer.keys, layer.values = keys, values
            cache.layers.append(layer)
        for batch in dict.fromkeys(batch for batch in sources if batch is not None):
            self._batches.remove(batch)
            self._batches.append(batch)
        return cache

    def keep(self, layout: Layout, cache: DynamicCache, name: str) -> None:
        """Remembers a batch after its forward pass, and drops batches that it makes useless or that are too many.

        Raises ModelError where the cache does not hold exactly the states of the layout's columns.
        """
        layers: list[Layer] = []
        for layer in cache.layers:
            keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
            if keys is None or values is None:
                layers.append(None)
            elif (keys.shape[0], keys.shape[-2]) == (len(layout.rows), layout.width):
                layers.append((keys, values))
            else:
                raise uncroppable(name)
        if not any(layers):
            raise uncroppable(name)
        batch = Batch(tuple(row.tokens for row in layout.rows), layout.pads, tuple(layers))
        self._batches = [old for old in self._batches if not _replaces(batch, old)]
        self._batches.append(batch)
        while len(self._batches) > 1 and (
            len(self._batches) > _MOST_BATCHES or sum(old.bytes for old in self._batches) > self._most_bytes
        ):
            del self._batches[0]


def uncroppable(name: str) -> ModelError:
    """The error for a model whose state cannot be taken back to an earlier token."""
    return ModelError(
        f"the cache of {name} cannot be cropped to an earlier token (a recurrent state, say), which drafting needs; "
        f"build the TransformersModel with use_cache=False to feed whole contexts instead"
    )


def _replaces(new: Batch, old: Batch) -> bool:
    """Whether each row of `old` is in `new`, save an eighth at its end: mostly rejected tokens, cheap to feed again."""

    def has(kept: Tokens) -> bool:
        needed = kept[: len(kept) - len(kept) // 8]
        return any(tokens[: len(needed)] == needed for tokens in new.tokens)

    return all(has(kept) for kept in old.tokens)


def _window(layout: Layout, lengths: Sequence[int]) -> tuple[slice, slice] | None:
    """Rows and columns of a kept batch that are the cached columns as they stand; None where rows must be moved."""
    matches = [row.match for row in layout.rows]
    first = matches[0]
    if first.batch is None:
        return None
    end = first.batch.pads[first.row] + lengths[0]
    for offset, (match, length) in enumerate(zip(matches, lengths, strict=True)):
        if match.batch is not first.batch or match.row != first.row + offset or length <= 0:
            return None
        if first.batch.pads[match.row] + length != end:
            return None
    return slice(first.row, first.row + len(matches)), slice(end - layout.prefix, end)


def _gather(layout: Layout, lengths: Sequence[int], layer: int, part: int, like: torch.Tensor) -> torch.Tensor:
    states = like.new_zeros((len(lengths), *like.shape[1:-2], layout.prefix, like.shape[-1]))
    for target, (row, length) in enumerate(zip(layout.rows, lengths, strict=True)):
        if length > 0 and row.match.batch is not None:
            kept = row.match.batch.layers[layer]
            assert kept is not None
            begin = row.match.batch.pads[row.match.row]
            states[target, ..., layout.prefix - length :, :] = kept[part][row.match.row, ..., begin : begin + length, :]
    return states
