"""Kernels and distances between whole outputs, for tests that see outputs and no laws.

An output is a row of token ids (or of a string's characters), padded with -1 where it has ended; two outputs that have
both ended agree there. All functions take such rows and give the matrix of all pairs. The kernels are positive
semidefinite, 1 on the diagonal and between 0 and 1 elsewhere.

Source: Gao, Liang and Guestrin 2410.20247 (the Hamming kernel for language models); Leslie, Eskin and Noble 2002 (the
spectrum kernel); Wagner and Fischer 1974 (edit distance).
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

ENDED = -1

Array = np.ndarray
Outputs = Sequence[Sequence[int]] | Sequence[str] | Array
Pairwise = Callable[[Array], Array]


def encoded(*samples: Outputs) -> list[Array]:
    """Each sample as rows of whole numbers of one common width. Raises ValueError for negative ids but the padding."""
    rows = [_rows(sample) for sample in samples]
    width = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, 0), (0, width - row.shape[1])), constant_values=ENDED) for row in rows]
    if any((row < ENDED).any() or (row[:, 1:] > ENDED)[row[:, :-1] == ENDED].any() for row in padded):
        raise ValueError("an output has negative ids, or ids after its end")
    return padded


def _rows(sample: Outputs) -> Array:
    if isinstance(sample, np.ndarray):
        given: Array = sample.astype(np.int64)
        return given
    listed = [[ord(part) if isinstance(part, str) else part for part in output] for output in sample]
    rows = np.full((len(listed), max(map(len, listed), default=0)), ENDED, dtype=np.int64)
    for row, output in zip(rows, listed, strict=True):
        row[: len(output)] = output
    return rows


def hamming(rows: Array) -> Array:
    """The share of positions that agree."""
    agreeing = np.full((len(rows), len(rows)), 0.0 if rows.shape[1] else 1.0)
    for column in rows.T:
        agreeing += column[:, np.newaxis] == column
    share: Array = agreeing / max(1, rows.shape[1])
    return share


def prefix(rows: Array, decay: float = 1.0) -> Array:
    """The weight of the common prefix, where position j weighs decay^j, as a share of the weight of all positions."""
    common = np.zeros((len(rows), len(rows)))
    agreeing = np.ones(common.shape, dtype=bool)
    weights = decay ** np.arange(rows.shape[1])
    for column, weight in zip(rows.T, weights, strict=True):
        agreeing &= column[:, np.newaxis] == column
        common += weight * agreeing
    share: Array = common / weights.sum() if weights.size else common + 1
    return share


def spectrum(rows: Array, longest: int = 3) -> Array:
    """The cosine between the counts of all n-grams up to `longest`, the end of an output being one symbol more."""
    ended = np.pad(rows, ((0, 0), (0, 1)), constant_values=ENDED)
    # One symbol marks the end: n-grams may contain it last, and those beyond it are left out.
    inside = np.pad(rows != ENDED, ((0, 0), (1, 0)), constant_values=True)
    features = []
    for length in range(1, min(longest, ended.shape[1]) + 1):
        windows = np.lib.stride_tricks.sliding_window_view(ended, length, axis=1)
        output, start = np.nonzero(inside[:, length - 1 :])
        kinds = np.unique(windows[output, start], axis=0, return_inverse=True)[1]
        ones = np.ones(kinds.size)
        features.append(sparse.csr_array((ones, (output, kinds)), shape=(len(rows), int(kinds.max(initial=0)) + 1)))
    counts = sparse.hstack(features, format="csr")
    norms = np.sqrt(counts.multiply(counts).sum(axis=1))
    cosines: Array = (counts @ counts.T).toarray() / np.outer(norms, norms)
    return cosines


def hamming_distance(rows: Array) -> Array:
    """The number of positions that differ."""
    differing: Array = np.rint(rows.shape[1] * (1 - hamming(rows)))
    return differing


def edit_distance(rows: Array) -> Array:
    """The least number of insertions, deletions and replacements that turn one output into the other.

    Takes time in the square of the number and of the length of outputs: for short outputs, or few.
    """
    lengths = (rows != ENDED).sum(axis=1)
    distances = np.empty((len(rows), len(rows)))
    part = max(1, 2_000_000 // (len(rows) * (rows.shape[1] + 1) + 1))
    for start in range(0, len(rows), part):
        distances[start : start + part] = _edits(rows[start : start + part], rows, lengths)
    return distances


def _edits(some: Array, rows: Array, lengths: Array) -> Array:
    """Edit distances of some outputs to all, one row of the table at a time for all pairs together."""
    width = rows.shape[1]
    ends = (some != ENDED).sum(axis=1)
    found = np.empty((len(some), len(rows)))
    # table[j] holds the distances between the first i symbols of some outputs and the first j symbols of all outputs.
    table = [np.full(found.shape, j) for j in range(width + 1)]
    for i in range(width + 1):
        if i:
            previous, table = table, [np.full(found.shape, i)]
            for j in range(1, width + 1):
                replaced = previous[j - 1] + (some[:, i - 1, np.newaxis] != rows[:, j - 1])
                table.append(np.minimum(replaced, np.minimum(previous[j], table[j - 1]) + 1))
        ended = np.flatnonzero(ends == i)
        if ended.size:
            found[ended] = np.stack([table[length][ended, place] for place, length in enumerate(lengths)], axis=1)
    return found


KERNELS: dict[str, Pairwise] = {"hamming": hamming, "spectrum": spectrum, "prefix": prefix}
DISTANCES: dict[str, Pairwise] = {"hamming": hamming_distance, "edit": edit_distance}
