"""What a pass is worth: deviations that would have been seen, and upper bounds on those that may be there.

A fault has a direction, the tokens to which its law gives more than the target's. How often emitted tokens fall into it
is compared with how often the target's law says they do; the excess is at most the total variation, and for the fault
itself it is the total variation. So a bound on the excess bounds the fault at any strength, and every other deviation
as far as it leans this way. No sample can bound what it does not look at: with a large vocabulary almost every
direction.

What a right decoder emits also says what a faulty one would have: the mean of the root of an output's likelihood ratio,
fault against target, is the affinity of the two laws of the whole output, and its powers bound the chance to miss.

Source: Chernoff 1952 (the affinity bound, the tilts); Robbins 1970 (mixtures of tilts); Bernstein 1946, as in
Boucheron, Lugosi and Massart 2013, section 2.8 (the bound on the affinity).
"""

import math

import numpy as np
from scipy.optimize import brentq

from draftproof.verify.statistics.observation import SHARES
from draftproof.verify.statistics.rows import Floats

ERROR = 1e-3
"""The chance that one upper bound is wrong: each holds with confidence 0.999."""


def _tilts(positions: int) -> Floats:
    """A grid of exponential tilts, fixed beforehand: from what suits many hits to what suits none."""
    least = min(8.0, math.sqrt(-8 * math.log(ERROR) / positions))
    tilts: Floats = np.geomspace(least, 8.0, 1 + math.ceil(math.log(8.0 / least) / math.log(1.6)))
    return tilts


def _log_evidence(hits: float, mean: float, positions: int) -> float:
    """Ln of an e-value against a mean chance of `mean` or more: the mean over the tilts.

    For one tilt c, exp(-c hits - n ln(1 - m (1 - exp(-c)))) has expectation at most 1 for any chances of mean m, also
    where they depend on the past: its factors make a supermartingale, and the logarithm is concave in the chance.
    """
    tilts = _tilts(positions)
    each = -tilts * hits - positions * np.log1p(mean * np.expm1(-tilts))
    return float(np.logaddexp.reduce(each)) - math.log(len(tilts))


def upper_bound(hits: int, mass: float, positions: int, error: float = ERROR) -> float:
    """But for this chance of error, events of known chances happen at most this much more often than the chances say.

    Used for the tokens in a direction, and for accepted and rejected drafts. May be negative, which is a refutation.

    `hits` happened in `positions`, where the chances said to hold add up to `mass`; the chances may depend on the past.
    `positions` is fixed beforehand; positions that were never reached count as misses of chance 0. The bound is where
    the e-value of `_log_evidence` reaches 1 / error (Markov's inequality; it grows with the mean).
    """
    if not positions:
        return 1.0

    def short(mean: float) -> float:
        return _log_evidence(hits, mean, positions) + math.log(error)

    highest = 1 - 1e-15
    seen = hits / positions
    if short(highest) <= 0:
        return highest - mass / positions
    return float(brentq(short, min(seen, highest), highest)) - mass / positions


def interval(hits: int, mass: float, trials: int, positions: int, level: float) -> tuple[float, float]:
    """Where the mean chance lies, beside the chances said to hold: an exact interval that errs with chance <= `level`.

    `trials` of `positions` were made; the others count as nothing on both sides.
    """
    low = -upper_bound(trials - hits, trials - mass, positions, level / 2)
    return low, upper_bound(hits, mass, positions, level / 2)


def p_value(hits: int, mass: float, trials: int, positions: int) -> float:
    """The least level at which `interval` leaves out 0: at most the truth, for chances said to add up to `mass`."""
    if not positions:
        return 1.0
    sides = ((hits, mass), (trials - hits, trials - mass))
    evidence = max(_log_evidence(seen, max(0.0, min(said / positions, 1 - 1e-15)), positions) for seen, said in sides)
    return min(1.0, 2 * math.exp(-evidence))


def affinity_bound(roots: float, outputs: int, error: float = ERROR) -> float:
    """But for this chance of error, the mean affinity of a fault's law of an output and the target's is at most this.

    `roots` sums, over `outputs` independent outputs of the target's law, the root of the likelihood ratio of fault to
    target, which has the affinity for its mean and a mean square of at most 1. So the mean rho of the affinities has
    variance at most 1 - rho^2, no root is further below its mean than 1, and Bernstein's inequality bounds rho - s, s
    the mean of the roots: n (rho - s)^2 <= L (2 (1 - rho^2) + 2/3 (rho - s)), L = ln(1 / error).
    """
    mean, log = roots / outputs, -math.log(error)
    if not mean < 1:
        return 1.0
    square, line = outputs + 2 * log, outputs * mean + log / 3
    rest = outputs * mean**2 - 2 * log + 2 * log * mean / 3
    return min(1.0, (line + math.sqrt(max(0.0, line**2 - square * rest))) / square)


def seen_share(roots: Floats, outputs: int, alpha: float, stake: float, power: float = 0.99) -> float | None:
    """The least dilution of a fault whose bet would have refuted it with probability at least `power`; None if none.

    `roots` (shares,) are as in `affinity_bound`, for each dilution. With stake w on the bet, the wealth of as many
    outputs of the fault's law stays below 1 / alpha with probability at most sqrt(1 / (alpha w)) times the product of
    their affinities. The outputs need not have one law: their mean affinity is the largest that the product allows.
    """
    if not outputs:
        return None
    known = [affinity_bound(float(root), outputs) for root in roots]
    missed = [-0.5 * math.log(alpha * stake) + (outputs * math.log(one) if one else -math.inf) for one in known]
    seen = [share for share, log_missed in zip(SHARES, missed, strict=True) if log_missed <= math.log1p(-power)]
    return min(seen, default=None)
