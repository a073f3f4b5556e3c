"""Counts against an exact law: Pearson's chi-square, the likelihood-ratio statistic G, and the exact multinomial test.

Where the whole law of a token or of an output is known, counting outcomes is the plainest test of all. One draw of an
outcome of mass 0 convicts at once: the p-value is 0, and the note says why. Categories too rare for a chi-square are
pooled, by their expectations alone, never by what was counted.

The chi-square formula is asymptotic. Where the smallest expected count is 5 it rejects at most 1.6 times too often at
0.01, Pearson's or G with Williams' correction (two cells of 5 each: 2.2 times); where it is 50, at most 1.3 times at
1e-3. At and below those levels the p-value is a Monte Carlo one of the pooled counts, which is exact, and where that
ends (at 1e-4, or 1e-3 with thousands of cells) it is a bound that holds for every sample size. `exact_multinomial` is
exact at all levels that it reaches, and pools nothing.

Notation: n draws, k cells, expectations e_j = n p_j; X^2 = sum (n_j - e_j)^2 / e_j; G = 2 sum n_j log(n_j / e_j).
But: with many cells the bounds are wide. At 1e-6 they ask for 1.6 times the chi-square quantile with 16 cells and
200,000 draws, and for twice it with 4,096 cells and 40,960 draws.
Source: Cressie and Read 1984; Williams 1976 (correction of G); Agrawal 2020, Theorem 1.2 (bound on G); Bousquet 2002
(bound on X^2).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction

import numpy as np
from scipy import special, stats

from draftproof.verify.statistics.uniformity import Tested, exceedance, floored, norm_tail_bound

LEAST_EXPECTED = 5.0

Array = np.ndarray


def tally(outcomes: Iterable[Hashable], law: Mapping[Hashable, Fraction | float]) -> tuple[Array, Array]:
    """Counts and masses, in the order of `law`; outcomes that it lacks come last, as one category of mass 0."""
    seen = Counter(outcomes)
    counts = [seen.pop(outcome, 0) for outcome in law]
    return np.array([*counts, sum(seen.values())]), np.array([*(float(mass) for mass in law.values()), 0.0])


def pooled(expected: Array, least: float = LEAST_EXPECTED) -> Array:
    """The cell (0, 1, ...) of each category: alone where it expects `least` or more, else pooled with other rare ones.

    Rare categories are taken by ascending expectation and cut where their sum passes a multiple of 2 `least`, so that
    every cell expects `least` or more; what is left over at the end joins the cell before it, or the rarest category
    that stands alone. All are one cell where even their sum is too small.
    """
    order = np.argsort(expected, kind="stable")
    ascending = expected[order]
    rare = int(np.searchsorted(ascending, least))
    before = np.cumsum(ascending) - ascending
    cells = np.arange(expected.size)
    cells[:rare] = np.unique(np.floor(before[:rare] / (2 * least)), return_inverse=True)[1]
    # Rounding may put a cut one category late or early, so cells that came out too small are merged at last.
    cells[rare:] += (int(cells[rare - 1]) + 1 if rare else 0) - rare
    small = np.flatnonzero(np.bincount(cells, weights=ascending) < least)
    for cell in small[::-1]:
        cells[cells > max(0, cell - 1)] -= 1
    placed = np.empty_like(cells)
    placed[order] = cells
    return placed


def pearson(counts: Array, law: Array) -> Tested:
    """Pearson's chi-square of counts (whole numbers, one per category) against masses.

    Raises ValueError where `law` is no law: negative or missing masses, or a sum further from 1 than 1e-4.
    """
    return _tested("pearson", counts, law)


def likelihood_ratio(counts: Array, law: Array) -> Tested:
    """The likelihood-ratio statistic G of counts against masses. Raises ValueError as `pearson` does."""
    return _tested("likelihood-ratio", counts, law)


def exact_multinomial(counts: Array, law: Array, replicates: int = 9_999, seed: int = 0) -> Tested:
    """Monte Carlo test: how many of `replicates` samples of the law have a likelihood ratio G at least as large.

    The p-value (1 + b) / (1 + B) is exact for any sample size and any number of rare categories, so nothing is pooled;
    it cannot fall below 1 / (1 + B). Raises ValueError as `pearson` does.
    """
    counts, masses = _checked(counts, law)
    samples = int(counts.sum())
    outside = int(counts[masses == 0].sum())
    if outside:
        return _convicted("exact-multinomial", outside, samples)
    if not samples:
        return Tested("exact-multinomial", 0.0, 1.0, 0)
    counts, masses = counts[masses > 0], masses[masses > 0]
    observed = float(_g(counts, samples * masses))
    above = _above(_g, observed, samples, masses, replicates, seed)
    return Tested("exact-multinomial", observed, exceedance(above, replicates), samples)


def trusted_level(least_expected: float) -> float:
    """Down to which level a chi-square p-value is used, by the smallest expected count."""
    return 1e-3 if least_expected >= 50 else 1e-2


def relative_entropy_bound(half: float, freedom: int) -> float:
    """An upper bound on P(G / 2 >= half) that holds for every n; `freedom` is the number of cells less one.

    Source: Agrawal 2020, Theorem 1.2: exp(-x) (e x / (k - 1))^(k - 1) for x above k - 1.
    """
    if half <= freedom:
        return 1.0
    return math.exp(-half + freedom * (1 + math.log(half / freedom)))


def replicates_for(cells: int) -> int:
    """How many null samples a small p-value of so many cells is worth: 9,999, and fewer above 400 cells."""
    return min(9_999, max(999, 4_000_000 // cells))


def small_p_value(p_value: float, trusted: float, above: Callable[[int], int], cells: int, bound: float) -> float:
    """The asymptotic p-value above the level `trusted`, a Monte Carlo one below, and the bound where that ends.

    `above(B)` counts the null samples of B that are as extreme. Each part is used only where the one before is at its
    lowest level, so the whole is valid where the parts are.
    """
    if p_value > trusted:
        return p_value
    replicates = replicates_for(cells)
    monte_carlo = floored(exceedance(above(replicates), replicates), exceedance(0, replicates), bound)
    return min(trusted, monte_carlo)


def _tested(name: str, counts: Array, law: Array) -> Tested:
    counts, masses = _checked(counts, law)
    samples = int(counts.sum())
    outside = int(counts[masses == 0].sum())
    if outside:
        return _convicted(name, outside, samples)
    cells = pooled(samples * masses[masses > 0])
    cell_counts = np.bincount(cells, weights=counts[masses > 0])
    cell_masses = np.bincount(cells, weights=masses[masses > 0])
    cell_masses = cell_masses / cell_masses.sum()
    if cell_masses.size < 2:
        return Tested(name, 0.0, 1.0, samples, "too few draws for two cells")
    expected = samples * cell_masses
    freedom = expected.size - 1
    if name == "pearson":
        of_counts, lambda_, correction = _x2, "pearson", 1.0
    else:
        of_counts, lambda_ = _g, "log-likelihood"
        correction = 1 + ((1 / expected).sum() - 1 / samples) / (6 * freedom)  # Williams 1976
    statistic = float(stats.power_divergence(cell_counts, expected, lambda_=lambda_).statistic)
    longest = math.sqrt(samples / expected.min() - 1)
    bound = (
        norm_tail_bound(statistic, samples, freedom, 1.0, longest)
        if name == "pearson"
        else relative_entropy_bound(statistic / 2, freedom)
    )
    p_value = small_p_value(
        float(stats.chi2.sf(statistic / correction, freedom)),
        trusted_level(expected.min()),
        lambda replicates: _above(of_counts, statistic, samples, cell_masses, replicates, seed=0),
        expected.size,
        bound,
    )
    return Tested(name, statistic, p_value, samples)


def _above(
    of_counts: Callable[[Array, Array], Array], observed: float, samples: int, masses: Array, replicates: int, seed: int
) -> int:
    """How many of `replicates` samples of the law have a statistic at least as large."""
    source = np.random.default_rng(seed)
    part = max(1, 4_000_000 // masses.size)
    above = 0
    for start in range(0, replicates, part):
        drawn = source.multinomial(samples, masses, size=min(part, replicates - start))
        # Equal tables must count as equal, whatever the order in which their terms were summed.
        above += int((of_counts(drawn, samples * masses) >= observed - 1e-9 * (1 + observed)).sum())
    return above


def _checked(counts: Array, law: Array) -> tuple[Array, Array]:
    counts, masses = np.asarray(counts), np.asarray(law, dtype=float)
    if counts.shape != masses.shape or counts.ndim != 1:
        raise ValueError(f"{counts.shape} counts do not match {masses.shape} masses")
    if (counts < 0).any():
        raise ValueError("a count is negative")
    if not ((masses >= 0).all() and abs(masses.sum() - 1) <= 1e-4):
        raise ValueError("the masses are no law")
    return counts, masses / masses.sum()


def _convicted(name: str, outside: int, samples: int) -> Tested:
    return Tested(name, math.inf, 0.0, samples, f"{outside} of {samples} draws have mass 0 under the law")


def _g(counts: Array, expected: Array) -> Array:
    """G of each row of counts."""
    total: Array = 2 * special.xlogy(counts, counts / expected).sum(axis=-1)
    return total


def _x2(counts: Array, expected: Array) -> Array:
    """Pearson's statistic of each row of counts."""
    total: Array = ((counts - expected) ** 2 / expected).sum(axis=-1)
    return total


GOODNESS_OF_FIT_TESTS: dict[str, Callable[[Array, Array], Tested]] = {
    "pearson": pearson,
    "likelihood-ratio": likelihood_ratio,
    "exact-multinomial": exact_multinomial,
}
