"""Two-sample tests for black boxes: outputs of a decoder against outputs of autoregressive decoding, no laws seen.

All tests ask whether two sets of outputs, drawn for the same prompt, have one law. The statistics here are functions of
how often each distinct output occurs in either sample, so a permutation of the labels is a draw from the multivariate
hypergeometric law, and thousands of permutations are one matrix product. Permutation p-values (1 + b) / (1 + B) are
exact for every sample size, but cannot fall below 1 / (1 + B): for small levels see two_sample_betting.py.

`first` and `second` are outputs as token ids, as strings, or as an array of rows padded with -1 after the end.
Notation: n, m the sample sizes; c_u, d_u how often output u occurs; k a kernel.
But: memory and time grow with the square of the number of distinct outputs: 128 MB for 4,000 of them.
Source: Gretton et al. 2012 (maximum mean discrepancy); Szekely and Rizzo 2013 (energy distance); Phipson and Smyth
2010 (p-values of permutation tests); Hoeffding 1963, Theorem 4 (sampling without replacement is no wilder than with).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import xlogy

from draftproof.verify.statistics.goodness_of_fit import pooled, relative_entropy_bound, small_p_value, trusted_level
from draftproof.verify.statistics.kernels import DISTANCES, KERNELS, Array, Outputs, Pairwise, encoded
from draftproof.verify.statistics.uniformity import Tested, exceedance, norm_tail_bound

PERMUTATIONS = 999


@dataclass(frozen=True)
class Distinct:
    """The distinct outputs of two samples, as rows, and which of them each output of each sample is."""

    rows: Array
    first: Array
    second: Array

    @property
    def counts(self) -> tuple[Array, Array]:
        """How often each distinct output occurs in the first and in the second sample."""
        return np.bincount(self.first, minlength=len(self.rows)), np.bincount(self.second, minlength=len(self.rows))


def distinct(first: Outputs, second: Outputs) -> Distinct:
    """The samples by their distinct outputs. Raises ValueError where one is empty or has negative ids."""
    one, other = encoded(first, second)
    if not len(one) or not len(other):
        raise ValueError("a two-sample test needs two samples")
    if not one.shape[1]:  # nothing but empty outputs, which numpy cannot tell apart
        return Distinct(one[:1], np.zeros(len(one), dtype=int), np.zeros(len(other), dtype=int))
    rows, which = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    return Distinct(rows, which[: len(one)], which[len(one) :])


def permutation(
    first: Outputs,
    second: Outputs,
    statistic: Callable[[Array, Array], float],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    name: str = "permutation",
) -> Tested:
    """Permutation test with any statistic of two arrays of rows; large values count against one law.

    Where there are no more relabellings than `permutations` all are tried. For the statistics below their own
    functions are much faster.
    """
    rows = np.concatenate(samples := encoded(first, second))
    result = stats.permutation_test(
        (np.arange(len(samples[0])), len(samples[0]) + np.arange(len(samples[1]))),
        lambda one, other: statistic(rows[one.astype(int)], rows[other.astype(int)]),
        vectorized=False,
        n_resamples=permutations,
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return Tested(name, float(result.statistic), float(result.pvalue), len(rows))


def maximum_mean_discrepancy(
    first: Outputs,
    second: Outputs,
    kernel: str | Pairwise = "hamming",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Tested:
    """Squared distance of the samples' mean embeddings, sum_uv (c_u/n - d_u/m) k(u, v) (c_v/n - d_v/m), by permutation.

    `kernel` is one of `KERNELS` or a function of the distinct outputs' rows.
    """
    found = distinct(first, second)
    gram = KERNELS[kernel](found.rows) if isinstance(kernel, str) else kernel(found.rows)
    label = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "kernel")
    return _quadratic(f"mmd-{label}", found, gram, permutations, seed)


def energy_distance(
    first: Outputs,
    second: Outputs,
    distance: str | Pairwise = "hamming",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Tested:
    """2 E d(X, Y) - E d(X, X') - E d(Y, Y') of the samples, by permutation; `distance` is one of `DISTANCES`.

    The edit distance is not of negative type, so with it there are laws that this statistic cannot tell apart.
    """
    found = distinct(first, second)
    between = DISTANCES[distance](found.rows) if isinstance(distance, str) else distance(found.rows)
    label = distance if isinstance(distance, str) else getattr(distance, "__name__", "distance")
    return _quadratic(f"energy-{label}", found, -between, permutations, seed)


def pearson(first: Outputs, second: Outputs) -> Tested:
    """Chi-square test that whole outputs have one law.

    Outputs expected fewer than 5 times in the smaller sample are pooled. The p-value is asymptotic, at small levels by
    permutation, and where that ends a bound, as in goodness_of_fit.py.
    """
    return _contingency("two-sample-pearson", first, second)


def likelihood_ratio(first: Outputs, second: Outputs) -> Tested:
    """The same by the likelihood-ratio statistic G."""
    return _contingency("two-sample-likelihood-ratio", first, second)


def _quadratic(name: str, found: Distinct, form: Array, permutations: int, seed: int) -> Tested:
    """Permutation test of w' F w, where w is the difference of the shares of each distinct output."""
    first, second = found.counts
    sizes = int(first.sum()), int(second.sum())

    def values(counts: Array) -> Array:
        shares = counts / sizes[0] - (first + second - counts) / sizes[1]
        value: Array = np.einsum("bu,bu->b", shares @ form, shares)
        return value

    [observed] = values(first[np.newaxis])
    # Relabellings that change nothing must count as ties, whatever the rounding.
    tie = observed - 1e-12 * (1 + np.abs(form).max())
    source = np.random.default_rng(seed)
    part = max(1, 4_000_000 // len(first))
    above = 0
    for start in range(0, permutations, part):
        relabelled = source.multivariate_hypergeometric(first + second, sizes[0], size=min(part, permutations - start))
        above += int((values(relabelled) >= tie).sum())
    return Tested(name, float(observed), exceedance(above, permutations), sum(sizes))


def _contingency(name: str, first: Outputs, second: Outputs) -> Tested:
    found = distinct(first, second)
    counts = np.array(found.counts)
    samples = counts.sum(axis=1)
    total, smaller = int(samples.sum()), int(samples.min())
    cells = pooled(counts.sum(axis=0) * smaller / total)
    # Sums of whole numbers, as bincount gives them, are exact.
    table = np.array([np.bincount(cells, weights=row) for row in counts[np.argsort(samples, kind="stable")]]).astype(
        int
    )
    freedom = table.shape[1] - 1
    if not freedom:
        return Tested(name, 0.0, 1.0, total, "too few outputs for two cells")
    lambda_ = "pearson" if name.endswith("pearson") else "log-likelihood"
    statistic, asymptotic, _, expected = stats.chi2_contingency(table, correction=False, lambda_=lambda_)

    def above(replicates: int) -> int:
        relabelled = np.random.default_rng(0).multivariate_hypergeometric(table.sum(axis=0), smaller, size=replicates)
        tables = np.stack([relabelled, table.sum(axis=0) - relabelled], axis=1)
        terms = (tables - expected) ** 2 / expected if lambda_ == "pearson" else 2 * xlogy(tables, tables / expected)
        return int((terms.sum(axis=(1, 2)) >= statistic - 1e-9 * (1 + statistic)).sum())

    # Given both samples together, the smaller one is drawn from them without replacement, and its distance from them
    # is this share of the statistic. Bounds for drawing with replacement then hold too.
    if lambda_ == "pearson":
        longest = math.sqrt(total / table.sum(axis=0).min() - 1)
        bound = norm_tail_bound((1 - smaller / total) * statistic, smaller, freedom, 1.0, longest)
    else:
        bound = relative_entropy_bound(statistic / 4, freedom)  # each sample has half of it, by Cauchy-Schwarz
    level = trusted_level(float(expected.min()))
    p_value = small_p_value(float(asymptotic), level, above, table.shape[1], bound)
    return Tested(name, float(statistic), p_value, total)


TWO_SAMPLE_TESTS: dict[str, Callable[[Outputs, Outputs], Tested]] = {
    "mmd-hamming": maximum_mean_discrepancy,
    "mmd-spectrum": lambda first, second: maximum_mean_discrepancy(first, second, "spectrum"),
    "mmd-prefix": lambda first, second: maximum_mean_discrepancy(first, second, "prefix"),
    "energy-hamming": energy_distance,
    "energy-edit": lambda first, second: energy_distance(first, second, "edit"),
    "pearson": pearson,
    "likelihood-ratio": likelihood_ratio,
}
