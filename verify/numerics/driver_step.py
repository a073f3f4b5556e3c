"""The law of one emitted token as algorithms/drivers.py draws it: what the sampled audit ran, coin by coin.

Idea: a driver's coin is k / 2**53, each k equally likely, and every draw compares floats with it. Counting the coins
that lead to each token gives the law of a step as rationals, as in one_step.py, here for the draws that the driver
makes: drafts and bonus tokens by binary search in the running sums, recovered tokens by the rejection loop with its
table behind it. With several drafted tokens it is the law at each, given those before, for each has coins of its own.

Notation: P the target's law as the floats that the model answered with, Q the draft's.
Claims: SS-1, SS-4, SS-5, SLRS-1, SLRS-6.
But: of recovered tokens, masses below 2**-256 are lost where the loop gives up. They are counted into the result, which
is never below the total variation, and above it by less than 2**-200. How models come by their laws is not looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch

from draftproof.algorithms import drivers
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.requests import Accept, ChooseResidual, mass_in
from draftproof.algorithms.string_law import NONE, Walk
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.numerics.one_step import coins_below
from draftproof.verify.numerics.rationals import Rationals, exactly, total_variation

COIN_BITS = 53
"""Coins of the driver: float64 uniforms k / 2**53. Tests take fewer, so that every coin can be tossed."""

_KEPT = 1 << 256

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Draft:
    """How a token is drafted: the law that it is drawn from, and the masses that verification takes it to have.

    What `drawn` lacks of 1 is the probability that no token is drafted, which counts as a rejection (slrs.py).
    """

    drawn: Rationals
    declared: TensorLaw


def in_floats(law: Law) -> TensorLaw:
    """The law. Raises TypeError for one in fractions."""
    if not isinstance(law, TensorLaw):
        raise TypeError(f"one step in floats needs laws in floats, not {type(law).__name__}")
    return law


def draft_of_walk(walk: Walk, size: int, coin_bits: int = COIN_BITS) -> Draft:
    """The first target token of a draft that is drawn down a walked tree; psi is declared.

    `size` is the number of target ids. Raises TypeError for laws in fractions, and LawError as `drawn` does.
    """
    size = max(size, 1 + max(walk.psi, default=0))
    reached: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for drafted, law in walk.laws.items():
        if not law.empty:
            by_coins = drawn(in_floats(law), coin_bits)
            reached |= {(*drafted, token): reached[drafted] * by_coins[token] for token in law.support()}
    denominator = math.lcm(*(mass.denominator for mass in reached.values()))
    numerators = np.zeros(size, dtype=object)
    psi = torch.zeros(size, dtype=torch.float64)
    for drafted, outcome in walk.outcomes.items():
        if outcome != NONE:
            numerators[outcome] += int(reached[drafted] * denominator)
            psi[outcome] = float(walk.psi[outcome])
    return Draft(Rationals(numerators, denominator), TensorLaw(psi))


def drawn(law: TensorLaw, coin_bits: int = COIN_BITS) -> Rationals:
    """The law of `law.quantile(coin)`.

    Raises LawError where there is no mass, or one that is negative, NaN or infinite.
    """
    masses = law.probabilities
    if law.empty or bool((masses < 0).any()) or not bool(torch.isfinite(law.cumulative[-1])):
        raise LawError("no draw: the law has no mass, or one that is negative, NaN or infinite")
    coins = _coins_by_place(_coins_under(law.cumulative.cpu().numpy(), coin_bits), coin_bits)
    # `quantile` answers a place without mass by the last id of positive mass before it, or by the first of all.
    support = masses.nonzero().flatten().cpu().numpy()
    ids = support[np.maximum(np.searchsorted(support, np.arange(len(coins)), side="right") - 1, 0)]
    counts = np.zeros(law.size, dtype=np.int64)
    np.add.at(counts, ids, coins)
    return Rationals(counts.astype(object), 1 << coin_bits)


def _coins_under(sums: npt.NDArray[np.float64], coin_bits: int) -> Counts:
    """For each running sum how many coins have their level, which is coin * total in float64, strictly below it.

    Levels grow with the coin, so bisection finds the number, whatever is rounded; it starts near the quotient.
    """

    def is_under(coins: Counts) -> npt.NDArray[np.bool_]:
        return np.asarray(sums[-1] * np.ldexp(coins.astype(np.float64), -coin_bits) < sums)

    most = 1 << coin_bits
    near = np.ldexp(sums / sums[-1], coin_bits).clip(0, most).astype(np.int64)
    low, high = np.maximum(near - 3, 0), np.minimum(near + 3, most)
    low, high = np.where(is_under(low - 1), low, 0), np.where(is_under(high), most, high)
    while (low < high).any():
        middle = (low + high) // 2
        under = (middle < high) & is_under(middle)
        low, high = np.where(under, middle + 1, low), np.where(under, high, middle)
    return low


def _coins_by_place(under: Counts, coin_bits: int) -> Counts:
    """How many coins end at each place of torch.searchsorted's binary search, the one behind the last included.

    Each place is sought along its own path: so the driver searches sums that are not monotone (a parallel scan), too.
    """
    places = np.arange(len(under) + 1)
    first, last = np.zeros_like(places), np.full_like(places, len(under))
    low, high = np.zeros_like(places), np.full_like(places, 1 << coin_bits)
    while (searching := first < last).any():
        middle = (first + last) // 2
        right, left = searching & (places > middle), searching & (places <= middle)
        at = under[np.minimum(middle, len(under) - 1)]
        low, high = np.where(right, np.maximum(low, at), low), np.where(left, np.minimum(high, at), high)
        first, last = np.where(right, middle + 1, first), np.where(left, middle, last)
    return np.asarray(np.maximum(high - low, 0))


def bonus_deviation(target: TensorLaw, coin_bits: int = COIN_BITS) -> Fraction:
    """The total variation between P, normalised exactly, and one draw from it: an undrafted token, or a bonus token."""
    return total_variation(exactly(target.probabilities).normalised(), drawn(target, coin_bits))


def step_deviation(target: TensorLaw, draft: Draft, coin_bits: int = COIN_BITS) -> Fraction:
    """The total variation between P, normalised exactly, and the law of the token at a drafted position, rounded up.

    Raises LawError where a law has no mass, or one that is negative, NaN or infinite.
    """
    law, slack = emitted(target, draft, coin_bits)
    return total_variation(_extended(exactly(target.probabilities).normalised(), len(law)), law) + slack


def emitted(target: TensorLaw, draft: Draft, coin_bits: int = COIN_BITS) -> tuple[Rationals, Fraction]:
    """The law of the token at a drafted position, and by how much in total variation it may be off.

    Its ids are those of both laws: a draft may have ids that P lacks, of which none is ever accepted.
    """
    size = max(target.size, draft.declared.size, len(draft.drawn))
    masses, declared = _wide(target, size), _wide(draft.declared, size)
    ratio = torch.where(declared > 0, masses / declared, (masses > 0).to(masses)).clamp_max(1)
    kept = _extended(draft.drawn, size) * coins_below(ratio, coin_bits)
    rejected = 1 - kept.total
    if not rejected:
        return kept, Fraction(0)

    by_target = _extended(drawn(target, coin_bits), size)
    chances = torch.where(masses > 0, 1 - declared / masses, 0.0).clamp_min(0)
    tried = by_target * coins_below(chances, coin_bits)
    failures = math.floor((1 - tried.total) ** drivers.RESIDUAL_TRIALS * _KEPT)
    recovered, lost = (tried.normalised(), 1) if tried.total else (by_target, 0)
    if failures:
        by_table = _table(masses, declared, by_target, coin_bits).scaled(Fraction(failures, _KEPT))
        recovered, lost = recovered.scaled(1 - Fraction(failures, _KEPT)) + by_table, size + 1
    return kept + recovered.scaled(rejected), rejected * Fraction(lost, _KEPT)


def _table(masses: torch.Tensor, declared: torch.Tensor, by_target: Rationals, coin_bits: int) -> Rationals:
    """The law of `residual_by_table`, whose own text is run: each coin fails, until one cannot."""
    program = drivers.residual_by_table(ChooseResidual(TensorLaw(masses), mass_in(TensorLaw(declared))))
    request = next(program)
    if not isinstance(request, Accept):  # nothing is left, so it draws from P (claim SS-4)
        return by_target
    asked = iter((masses > declared).nonzero().flatten().tolist())
    found = np.zeros(len(masses), dtype=object)
    left = _KEPT
    try:
        while left:
            assert isinstance(request, Accept)
            token = next(asked)
            found[token] = left * math.ceil(math.ldexp(request.probabilities[0], coin_bits)) >> coin_bits
            left -= found[token]
            request = program.send(0) if left else request
    except StopIteration as stop:  # no coin succeeded
        found[stop.value] += left
    return Rationals(found, _KEPT)


def _wide(law: TensorLaw, size: int) -> torch.Tensor:
    masses = law.probabilities.to("cpu", torch.float64)
    if not bool(((masses >= 0) & torch.isfinite(masses)).all()):
        raise LawError("a law has a negative, NaN or infinite mass")
    return torch.nn.functional.pad(masses, (0, size - law.size))


def _extended(law: Rationals, size: int) -> Rationals:
    return Rationals(np.concatenate([law.numerators, np.zeros(size - len(law), dtype=object)]), law.denominator)
