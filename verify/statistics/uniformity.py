"""Tests that transforms are uniform on [0, 1]: Kolmogorov-Smirnov, Cramer-von Mises, Neyman's smooth test.

The transforms of a right decoder are independent uniforms (pit.py), so each statistic here has one law under the
hypothesis, whatever the model and the prompts. Kolmogorov-Smirnov sees a shift of mass best, Cramer-von Mises a small
shift spread over many tokens, and the smooth test looks in four directions only: mean, spread, skewness, tails.

A p-value is never smaller than the truth allows. Where a formula is asymptotic it is used only for as many samples and
down to such a level as simulation bears out; below that level the p-value is an upper bound that holds for every
sample size, and between the two it stands still. So a p-value of 1e-6 may be quoted as it is, but it may be larger than
the exact one.

But: the bounds cost power at small levels. At 1e-6 the smooth test needs twice the samples that its chi-square formula
would claim (four times where there are only 200), Cramer-von Mises 1.6 times.
Source: Anderson and Darling 1952; Csorgo and Faraway 1996 (Cramer-von Mises); Neyman 1937 (the smooth test);
Bousquet 2002, Theorem 2.3 (the bound); Phipson and Smyth 2010 (why a Monte Carlo p-value counts the observation).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special, stats

MONTE_CARLO = 99_999
"""Null samples behind a p-value of few transforms."""

CRAMER_VON_MISES_TRUSTED = (20, 1e-4)
NEYMAN_TRUSTED = (200, 1e-3)
"""From how many samples on, and down to which level, the asymptotic formula is used."""

NEYMAN_ORDER = 4

Array = np.ndarray


@dataclass(frozen=True)
class Tested:
    """One test of a hypothesis on `samples` draws. `note` says what a reader must know beside the p-value."""

    name: str
    statistic: float
    p_value: float
    samples: int
    note: str = ""


def checked(values: Array) -> Array:
    """The transforms as a flat float array. Raises ValueError where one is no number or lies outside [0, 1]."""
    flat = np.asarray(values, dtype=float).ravel()
    if not ((flat >= 0) & (flat <= 1)).all():  # NaN fails both comparisons
        raise ValueError("a transform is not a number in [0, 1]")
    return flat


def norm_tail_bound(squared_norm: float, samples: int, mean_square: float, variance: float, bound: float) -> float:
    """An upper bound on P(|| n^(-1/2) sum X_i ||^2 >= squared_norm), for n = `samples` independent centred vectors.

    `mean_square` is E || X ||^2, `variance` the largest eigenvalue of the covariance and `bound` the largest || X ||.
    It holds for every n. Source: Bousquet 2002, Theorem 2.3, for the supremum over unit vectors h of sum <h, X_i>,
    whose mean is at most (n E || X ||^2)^(1/2).
    """
    mean = math.sqrt(samples * mean_square) / bound
    excess = math.sqrt(samples * squared_norm) / bound - mean
    if excess <= 0:
        return 1.0
    spread = samples * variance / bound**2 + 2 * mean
    return math.exp(-spread * float(special.kl_div(1 + excess / spread, 1)))  # (1+u) log(1+u) - u


def floored(p_value: float, trusted: float, bound: float) -> float:
    """The p-value above the level to which it is `trusted`; at and below it, the bound, and never more than the level.

    If rejections at levels above `trusted` and the bound are both valid, so is this.
    """
    return p_value if p_value > trusted else min(trusted, bound)


def exceedance(above: int, replicates: int) -> float:
    """The Monte Carlo p-value (1 + b) / (1 + B): the observation itself is one of those that are as extreme."""
    return (1 + above) / (1 + replicates)


def kolmogorov_smirnov(values: Array) -> Tested:
    """The largest distance between empirical and uniform distribution function. The p-value is exact, at every level.

    Raises ValueError as `checked` does.
    """
    flat = checked(values)
    if not flat.size:
        return Tested("kolmogorov-smirnov", 0.0, 1.0, 0)
    result = stats.kstest(flat, "uniform", method="exact")
    return Tested("kolmogorov-smirnov", float(result.statistic), float(result.pvalue), flat.size)


def cramer_von_mises(values: Array) -> Tested:
    """The mean squared distance between empirical and uniform distribution function, times n.

    Below 20 samples the p-value is a seeded Monte Carlo one; from 20 on it is asymptotic with the first correction,
    which simulation bears out down to 1e-4 (1.00 to 1.01 times the level at 20 samples, 0.85 to 1.01 beyond). Below
    that it is the smaller of the Kolmogorov-Smirnov tail (the statistic is at most n D^2) and Bousquet's bound.
    Raises ValueError as `checked` does.
    """
    flat = checked(values)
    if not flat.size:
        return Tested("cramer-von-mises", 0.0, 1.0, 0)
    statistic = float(_cramer_von_mises(flat[np.newaxis])[0])
    least, trusted = CRAMER_VON_MISES_TRUSTED
    p_value = (
        float(stats.cramervonmises(flat, "uniform").pvalue)
        if flat.size >= least
        else _monte_carlo(_cramer_von_mises, statistic, flat.size)
    )
    # The vectors are the functions 1(u <= t) - t: covariance min(s, t) - st, whose eigenvalues are 1 / (pi j)^2.
    bound = norm_tail_bound(statistic, flat.size, 1 / 6, 1 / math.pi**2, math.sqrt(1 / 3))
    by_distance = float(stats.kstwo.sf(math.sqrt(statistic / flat.size), flat.size))
    return Tested("cramer-von-mises", statistic, floored(p_value, trusted, min(bound, by_distance)), flat.size)


def neyman_smooth(values: Array, order: int = NEYMAN_ORDER) -> Tested:
    """Squared means of the first `order` (1 to 4) normalised Legendre polynomials of the transforms, times n, summed.

    Below 200 samples the p-value is a seeded Monte Carlo one: there the chi-square formula is wrong at small levels
    (order 4 rejects 15 times too often at 1e-4 with 5 samples, 2.6 times with 50). From 200 on it is the chi-square one
    down to 1e-3 (measured 1.02 times the level), and below that Bousquet's bound.
    Raises ValueError as `checked` does, and for another order.
    """
    if not 1 <= order <= NEYMAN_ORDER:
        raise ValueError(f"the smooth test has orders 1 to {NEYMAN_ORDER}, not {order}")
    flat = checked(values)
    if not flat.size:
        return Tested("neyman-smooth", 0.0, 1.0, 0)
    statistic = float(_neyman[order](flat[np.newaxis])[0])
    least, trusted = NEYMAN_TRUSTED
    p_value = (
        float(stats.chi2.sf(statistic, order))
        if flat.size >= least
        else _monte_carlo(_neyman[order], statistic, flat.size)
    )
    # At 0 and 1 the polynomials are as large as they get: their squares are 2j + 1.
    bound = norm_tail_bound(statistic, flat.size, order, 1.0, math.sqrt(order * (order + 2)))
    return Tested("neyman-smooth", statistic, floored(p_value, trusted, bound), flat.size)


def _cramer_von_mises(rows: Array) -> Array:
    """The statistic of each row of transforms."""
    samples = rows.shape[1]
    middles = (np.arange(samples) + 0.5) / samples
    total: Array = ((np.sort(rows, axis=1) - middles) ** 2).sum(axis=1) + 1 / (12 * samples)
    return total


def _smooth(order: int) -> Callable[[Array], Array]:
    def statistic(rows: Array) -> Array:
        polynomials = np.polynomial.legendre.legvander(2 * rows - 1, order)[..., 1:]
        scales = 2 * np.arange(1, order + 1) + 1
        total: Array = (polynomials.sum(axis=1) ** 2) @ scales / rows.shape[1]
        return total

    return statistic


_neyman = {order: _smooth(order) for order in range(1, NEYMAN_ORDER + 1)}


def _monte_carlo(statistic: Callable[[Array], Array], observed: float, samples: int) -> float:
    """The p-value by null samples, those with a statistic at least as large counted."""
    null = _null(statistic, samples)
    above = null.size - np.searchsorted(null, observed - 1e-12 * (1 + abs(observed)))
    return exceedance(int(above), null.size)


@lru_cache(maxsize=64)
def _null(statistic: Callable[[Array], Array], samples: int) -> Array:
    """Sorted statistics of `MONTE_CARLO` samples of uniforms; always the same for the same size."""
    source = np.random.default_rng([samples, MONTE_CARLO])
    part = max(1, 500_000 // samples)
    parts = [min(part, MONTE_CARLO - start) for start in range(0, MONTE_CARLO, part)]
    return np.sort(np.concatenate([statistic(source.random((rows, samples))) for rows in parts]))


UNIFORMITY_TESTS: dict[str, Callable[[Array], Tested]] = {
    "kolmogorov-smirnov": kolmogorov_smirnov,
    "cramer-von-mises": cramer_von_mises,
    "neyman-smooth": neyman_smooth,
}
