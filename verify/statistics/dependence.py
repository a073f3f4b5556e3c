"""Tests of dependence: between positions of an output, between requests of a batch, and between steps.

Transforms of a right decoder are independent of each other, not only uniform. Faults that leave every single token's
law right may tie tokens together: one coin for a whole step ties neighbouring positions, coins shared by a batch tie
the same position of neighbouring outputs. So the bins of pairs of transforms are counted, and their dependence tested:
by a chi-square of the table, or exactly by shuffling all transforms among their places. For small levels, and to watch
a run, `log_wealth` bets on the bin of a transform given the bin of its neighbour (a universal plug-in bettor): if the
transforms are independent uniforms, its wealth is a non-negative martingale, and wealth 1 / alpha refutes at alpha.

Transforms come as an array (outputs, positions); NaN stands where an output has ended. Bits come as 0 and 1, 2 bins.
But: the bettor also wins where transforms are not uniform; what uniformity.py does not refute and this does, is
dependence. One kind of tie may show in the other's test as well, since pairs that repeat count again each time.
Neighbouring requests are those of neighbouring rows, so rows must be in the order of the batch.
Source: Billingsley 1961 (a chain's overlapping pairs have the chi-square law of independent ones); Krichevsky and
Trofimov 1981 (the plug-in law, each bin starting from 1/2); Shafer 2021 (betting).
"""

from collections.abc import Callable

import numpy as np
from scipy import stats

from draftproof.verify.statistics.betting import Histogram
from draftproof.verify.statistics.goodness_of_fit import LEAST_EXPECTED
from draftproof.verify.statistics.uniformity import Tested, exceedance

BINS = 4

CHI_SQUARE_TRUSTED = 1e-3
"""Down to which level the chi-square of a table is used: with 4 bins, 5 pairs expected in each cell."""

PERMUTATIONS = 999

Array = np.ndarray


def between_positions(values: Array, lag: int = 1) -> tuple[Array, Array]:
    """Transforms and those `lag` positions before them in the same output, as two flat arrays, output by output."""
    return _present(values[:, lag:], values[:, : max(0, values.shape[1] - lag)])


def between_requests(values: Array, lag: int = 1) -> tuple[Array, Array]:
    """Transforms and those at the same position `lag` outputs before, as two flat arrays."""
    return _present(values[lag:], values[: max(0, len(values) - lag)])


def _present(values: Array, given: Array) -> tuple[Array, Array]:
    kept = ~(np.isnan(values) | np.isnan(given))
    return values[kept], given[kept]


PAIRS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "positions": between_positions,
    "requests": between_requests,
}


def dependence(
    values: Array,
    between: str = "positions",
    lag: int = 1,
    bins: int = BINS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Tested:
    """Chi-square test of the table of binned pairs; by permutation where a cell expects too few pairs.

    `values` has shape (outputs, positions), each in [0, 1], NaN where an output has ended; `between` is one of `PAIRS`.
    The chi-square p-value is asymptotic and never below 1e-3, the level down to which simulation bears it out. The
    permutation p-value is exact if all transforms are exchangeable, and never below 1 / (1 + permutations). Smaller
    levels are for `log_wealth`. Raises ValueError for values outside [0, 1].
    """
    values = _checked(values)
    name = f"dependence-{between}-{lag}"
    later, earlier = PAIRS[between](values, lag)
    if later.size < 2:
        return Tested(name, 0.0, 1.0, later.size, "too few pairs")
    table = _table(later, earlier, bins)
    statistic = float(_chi_square(table))
    if later.size * (table.sum(0).min() / later.size) * (table.sum(1).min() / later.size) >= LEAST_EXPECTED:
        p_value = float(stats.chi2.sf(statistic, (bins - 1) ** 2))
        return Tested(name, statistic, max(CHI_SQUARE_TRUSTED, p_value), later.size, "chi-square")
    source = np.random.default_rng(seed)
    shuffled = values.copy()
    places = ~np.isnan(values)
    above = 0
    for _ in range(permutations):
        shuffled[places] = source.permutation(values[places])
        above += bool(_chi_square(_table(*PAIRS[between](shuffled, lag), bins)) >= statistic * (1 - 1e-9))
    return Tested(name, statistic, exceedance(above, permutations), later.size, "permutation")


def between_steps(counts: Array) -> Tested:
    """Dependence of the numbers of accepted tokens (or lengths) of successive steps. For information only.

    It convicts nobody: acceptance depends on the laws at hand, these on the context, and the context on the step
    before. So successive steps of a right decoder are dependent, and only where all steps have the same laws (one row
    at all positions, no EOS) does a small p-value speak of shared coins. Counts of one output, in order, flat; rare
    ones are pooled with their neighbours. The p-value is never below 1e-3.
    """
    counts = np.asarray(counts).ravel()
    note = "for information: right decoders too have dependent steps where laws differ by context"
    kinds, which = np.unique(counts, return_inverse=True)
    # Neighbouring counts are joined until each class has enough steps for five pairs in its rarest cell.
    least = np.sqrt(LEAST_EXPECTED * counts.size)
    cells, held = np.zeros(kinds.size, dtype=int), 0
    for kind, size in enumerate(np.bincount(which)):
        cells[kind] = cells[kind - 1] + (held >= least) if kind else 0
        held = size if held >= least else held + size
    if held < least:
        cells[cells == cells.max(initial=0)] = max(0, cells.max(initial=0) - 1)
    classes = int(cells.max(initial=0)) + 1
    if classes < 2:
        return Tested("dependence-steps", 0.0, 1.0, max(0, counts.size - 1), f"too few steps; {note}")
    codes = cells[which]
    table = np.bincount(classes * codes[:-1] + codes[1:], minlength=classes**2).reshape(classes, classes)
    statistic = float(_chi_square(table))
    p_value = float(stats.chi2.sf(statistic, (classes - 1) ** 2))
    return Tested("dependence-steps", statistic, max(CHI_SQUARE_TRUSTED, p_value), counts.size - 1, note)


def log_wealth(values: Array, given: Array, bins: int = BINS) -> Array:
    """Log wealth after 0, 1, ... transforms: length n + 1, from 0, of a bettor on each one's bin given its neighbour's.

    `values` and `given` are flat, in [0, 1], as `between_positions` gives them. Each bet multiplies wealth by
    bins * (c + 1/2) / (r + bins / 2), where r of the past pairs have the same given bin and c of those the same bin of
    the value. The null: each value is uniform given its `given` and all pairs before. Raises ValueError for values
    outside [0, 1], NaN, or arrays of different length.
    """
    values, given = _checked(values, nan=False), _checked(given, nan=False)
    if values.shape != given.shape or values.ndim != 1:
        raise ValueError(f"{values.shape} values and {given.shape} neighbours are no pairs")
    factors = Histogram(bins, bins).factors(values, _bins(given, bins))
    return np.concatenate([[0.0], np.cumsum(np.log(factors))])


def _checked(values: Array, nan: bool = True) -> Array:
    values = np.asarray(values, dtype=float)
    if not ((values >= 0) & (values <= 1) | (np.isnan(values) & nan)).all():
        raise ValueError("a transform is not a number in [0, 1]")
    return values


def _bins(values: Array, bins: int) -> Array:
    """The bin of each value; 1 falls into the last one."""
    found: Array = np.minimum((values * bins).astype(np.int64), bins - 1)
    return found


def _table(values: Array, given: Array, bins: int) -> Array:
    counts: Array = np.bincount(_bins(given, bins) * bins + _bins(values, bins), minlength=bins**2)
    return counts.reshape(bins, bins)


def _chi_square(table: Array) -> float:
    """Pearson's statistic of independence; empty rows and columns add nothing."""
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(((table - expected) ** 2 / np.where(expected > 0, expected, 1)).sum())
