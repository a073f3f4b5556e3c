"""What the tests of one output read: for each token a few numbers, worked out from the rows once.

For each alternative (a fault's law M of the next token, beside the target's law P): the ratio M(x) / P(x) of the
emitted token, whether x lies in the direction of the fault (where M > P), the target's mass of that direction, and how
far M is from P. For each order of tokens: the cell of the probability integral transform.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

import numpy as np

from draftproof.verify.statistics.alternatives import Alternative, predict
from draftproof.verify.statistics.rows import Floats, Rows

SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
"""Dilutions: a fault that strikes with this share of its strength, (1 - share) P + share M. Bets are placed on each."""

LEAST = 1e-300
"""The least ratio of masses that is told apart."""

NOISE = 1e-12
"""Differences of masses up to this are rounding: there a fault has no direction."""

BY_PROBABILITY = "the target's probability"
BY_RATIO = "the ratio of target to drafter"
ORDERS = (BY_PROBABILITY, BY_RATIO)


@dataclass(frozen=True)
class Observation:
    """Numbers of n tokens in the order they were emitted, for A alternatives and O orders.

    `ratios` (n, A): M(x) / P(x). `inside` (n, A): whether M(x) > P(x), by more than rounding. `masses` (n, A): the
    target's mass of that direction. `distances` (n, A): the total variation between M and P, which is the excess mass
    of M in the direction. `below`, `cells` (n, O): mass before the token's cell in an order, and mass of the cell.
    `places` (n,): index of the token in its output.
    """

    ratios: Floats
    inside: np.ndarray
    masses: Floats
    distances: Floats
    below: Floats
    cells: Floats
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.places)


def joined(parts: Sequence[Observation]) -> Observation:
    """Observations one after the other."""
    return Observation(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(Observation)))


def observe(rows: Rows, alternatives: Sequence[Alternative], unclear: Collection[int] = ()) -> Observation:
    """The numbers of one output.

    A token of target mass 0 convicts by itself (the caller's part) and is neutral here: no bet is won or lost on it. So
    are all tokens at `unclear` places, where rounding decides what the law is; the laws alone must have said which.
    """
    count = len(rows.tokens)
    size = (count, len(alternatives))
    possible = rows.observed > 0
    possible[list(unclear)] = False
    doubtful = np.zeros(count, dtype=bool)
    doubtful[list(unclear)] = True
    ratios, masses, distances = np.empty(size), np.empty(size), np.empty(size)
    inside = np.empty(size, dtype=bool)
    for index, alternative in enumerate(alternatives):
        law = predict(alternative, rows)
        # Rounding may make a little more of it than a law, and the bet on it more than fair.
        law /= np.maximum(law.sum(1, keepdims=True), 1)
        excess = law - rows.target
        direction = excess > NOISE
        masses[:, index] = np.where(doubtful, 0, np.where(direction, rows.target, 0).sum(1))
        distances[:, index] = np.where(doubtful, 0, np.where(direction, excess, 0).sum(1))
        inside[:, index] = np.take_along_axis(direction, rows.tokens[:, None], 1)[:, 0] & possible
        emitted = np.take_along_axis(law, rows.tokens[:, None], 1)[:, 0]
        # A mass too small to divide by would make the wealth infinite, and then no number: less is bet on it.
        mass = np.maximum(rows.observed, emitted * LEAST)
        ratios[:, index] = np.divide(emitted, mass, out=np.ones(count), where=possible & (mass > 0))
    below, cells = np.empty((count, len(ORDERS))), np.empty((count, len(ORDERS)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.nan_to_num(rows.target / rows.draft, nan=0.0, posinf=np.inf)
    for index, scores in enumerate((rows.target, ratio)):
        own = np.take_along_axis(scores, rows.tokens[:, None], 1)
        below[:, index] = np.where(possible, np.where(scores > own, rows.target, 0).sum(1), 0)
        cells[:, index] = np.where(possible, np.where(scores == own, rows.target, 0).sum(1), 1)
    return Observation(ratios, inside, masses, distances, below, cells, np.arange(count))
