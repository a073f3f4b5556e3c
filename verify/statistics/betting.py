"""Test martingales: the wealth that a bettor against the decoder has after each token (e-processes).

Each bet multiplies the wealth by a factor of mean 1 under the target's law given the past. So for a right decoder
wealth is a non-negative martingale from 1, and the chance that it ever reaches 1 / alpha is at most alpha. It may be
watched all the time, tokens of any prompts are pooled, a run may stop as soon as it is decided, and the wealths of
independent runs multiply.

The bettors; half of the stake is on each group:
- likelihood ratios, against the law of every alternative, diluted by every share (alternatives.py, observation.py);
- plug-in bettors on the transforms in both orders: tilts of fixed sizes, and histograms learned on the way, of each
  transform by itself, given the token before in the output, and given the same place of the output before: the last
  two see dependence between positions and between requests of a batch.

Source: Ville 1939 (the inequality); Shafer 2021, "Testing by betting"; Krichevsky & Trofimov 1981 (the histogram's
estimate, each bin starting from 1/2).
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from draftproof.verify.statistics.observation import ORDERS, SHARES, Observation
from draftproof.verify.statistics.rows import Floats

Ints = npt.NDArray[np.int64]

TILTS = (-0.9, -0.5, -0.2, -0.08, 0.08, 0.2, 0.5, 0.9)
"""Sizes of the densities 1 + tilt (2 u - 1) and 1 + tilt (6 u (u - 1) + 1), the first two Legendre polynomials."""

BINS = (4, 16)
GIVEN_BINS = 4


class Histogram:
    """Learns the law of a bin among `bins` for each value of `given`, and bets that it is not uniform."""

    def __init__(self, bins: int, given: int = 1) -> None:
        """`given` is the number of values that are given."""
        self.bins = bins
        self._counts = np.zeros((given, bins))

    def factors(self, values: Floats, given: Ints) -> Floats:
        """The factors of bets on `values` in [0, 1), each from what came before it alone; they are learned from."""
        bins = np.minimum((values * self.bins).astype(np.int64), self.bins - 1)
        keys = given * self.bins + bins
        same = self._counts[given, bins] + _earlier(keys)
        seen = self._counts[given].sum(1) + _earlier(given)
        np.add.at(self._counts, (given, bins), 1)
        factors: Floats = self.bins * (same + 0.5) / (seen + self.bins / 2)
        return factors


def _earlier(keys: Ints) -> Floats:
    """How many of the earlier entries equal each entry."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(keys)])
    counts = np.empty(len(keys))
    counts[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return counts


class Bettor:
    """Bets on tokens as they come, in chunks of whole outputs; the wealth does not depend on how they are chunked."""

    def __init__(self, alternatives: int) -> None:
        """`alternatives` is the number of those in the observations to come."""
        self._ratio = np.zeros(alternatives * len(SHARES))
        self._histograms = [
            [Histogram(bins) for bins in BINS] + [Histogram(GIVEN_BINS, GIVEN_BINS + 1) for _ in range(2)]
            for _ in ORDERS
        ]
        self._plug_in = np.zeros(len(ORDERS) * (2 * len(TILTS) + len(BINS) + 2))
        self._output_before = np.zeros((len(ORDERS), 0))
        self._paths: list[tuple[Floats, Floats, Floats]] = []

    def take(self, observed: Observation, uniforms: Floats) -> None:
        """Bets on a chunk. `uniforms` (n, orders) in [0, 1) randomise the transforms and are the auditor's own."""
        if not len(observed):
            return
        shares = np.array(SHARES)
        with np.errstate(divide="ignore"):
            ratio = np.log1p(shares * (observed.ratios[:, :, None] - 1)).reshape(len(observed), len(self._ratio))
        values = np.minimum(observed.below + uniforms * observed.cells, np.nextafter(1, 0))
        plug_in = np.log(np.concatenate(self._bets(values, observed.places), axis=1))
        ratio = self._ratio + ratio.cumsum(0)
        plug_in = self._plug_in + plug_in.cumsum(0)
        self._ratio, self._plug_in = ratio[-1], plug_in[-1]
        by_alternative = _mean(ratio.reshape(len(observed), -1, len(SHARES)))
        self._paths.append((by_alternative, _mean(plug_in), _total(_mean(by_alternative), _mean(plug_in))))

    def _bets(self, values: Floats, places: Ints) -> list[Floats]:
        bets = []
        for order, histograms in enumerate(self._histograms):
            mine = values[:, order]
            nothing = np.zeros(len(mine), dtype=np.int64)
            before = np.where(places == 0, 0, 1 + _bin(np.r_[0.0, mine[:-1]]))
            givens = [nothing] * len(BINS) + [before, self._beside(order, mine, places)]
            tilts = np.array(TILTS)
            bets.append(1 + tilts * (2 * mine[:, None] - 1))
            bets.append(1 + tilts * (6 * mine * (mine - 1) + 1)[:, None])
            learned = [one.factors(mine, given) for one, given in zip(histograms, givens, strict=True)]
            bets.append(np.stack(learned, axis=1))
        starts = np.flatnonzero(places == 0)
        self._output_before = values[starts[-1] :].T
        return bets

    def _beside(self, order: int, values: Floats, places: Ints) -> Ints:
        """The bin of the transform at the same place in the output before, from 1; 0 where that had ended."""
        earlier = self._output_before[order]
        both = np.r_[earlier, values]
        starts = np.r_[0, len(earlier) + np.flatnonzero(places == 0)]
        output = np.cumsum(places == 0)
        beside = starts[output - 1] + places
        exists = beside < starts[output]
        return np.where(exists, 1 + _bin(both[np.where(exists, beside, 0)]), 0)

    @property
    def tokens(self) -> int:
        """Tokens bet on."""
        return sum(len(total) for _, _, total in self._paths)

    @property
    def last(self) -> Floats:
        """Log-wealth after each token of the last chunk."""
        return self._paths[-1][2] if self._paths else np.zeros(0)

    @property
    def total(self) -> Floats:
        """Log-wealth after each token, (tokens,)."""
        return np.concatenate([np.zeros(0), *(total for _, _, total in self._paths)])

    @property
    def plug_in(self) -> Floats:
        """Log-wealth of the plug-in bettors after each token, by themselves."""
        return np.concatenate([np.zeros(0), *(plug_in for _, plug_in, _ in self._paths)])

    @property
    def by_alternative(self) -> Floats:
        """Log-wealth of the bets on each alternative, over its shares, after each token, (tokens, alternatives)."""
        return np.concatenate([by for by, _, _ in self._paths])


def stake(alternatives: int) -> float:
    """The share of the whole stake that is on one alternative at one dilution."""
    return 0.5 / (alternatives * len(SHARES))


def reached(path: Floats, alpha: float) -> int | None:
    """After how many tokens a log-wealth first reached ln(1 / alpha); None if it never did."""
    hits = np.flatnonzero(path >= -math.log(alpha))
    return int(hits[0]) + 1 if len(hits) else None


def _bin(values: Floats) -> Ints:
    return np.minimum((values * GIVEN_BINS).astype(np.int64), GIVEN_BINS - 1)


def _mean(logs: Floats) -> Floats:
    """The logarithm of the mean over the last axis."""
    return logsumexp(logs, axis=-1) - math.log(logs.shape[-1]) if logs.shape[-1] else np.full(logs.shape[:-1], -np.inf)


def _total(ratio: Floats, plug_in: Floats) -> Floats:
    return np.logaddexp(ratio, plug_in) - math.log(2)
