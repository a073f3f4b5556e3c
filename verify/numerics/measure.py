"""Measures what floats cost on real laws: for each dtype the law of one step, exactly, along sampled outputs.

Claims: SS-4, SS-5, SS-8, SS-9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from draftproof.algorithms.drivers import RandomCoins
from draftproof.verify.numerics.arithmetic import PRECISIONS, Arithmetic, name_of
from draftproof.verify.numerics.bounds import bound, epsilon_bound
from draftproof.verify.numerics.closed_forms import as_law, distance
from draftproof.verify.numerics.evidence import EpsilonCost, Figures, MixedPrecision, NumericsEvidence, Precision
from draftproof.verify.numerics.mismatch import Mismatch, mismatch, replayed_differently, with_epsilon
from draftproof.verify.numerics.near_equal import NearEqualProbe
from draftproof.verify.numerics.one_step import PARTS, deviation
from draftproof.verify.numerics.rows import Row, rows
from draftproof.verify.settings import Setting

DTYPES = tuple(PRECISIONS)
EPSILONS = (1e-10, 1e-8, 1e-5)
"""What implementations add to denominators."""
NEAR_EQUAL = 1 << 13
"""Ids, summed over positions, up to which laws an ulp apart are looked at: the first position of each pair at least."""


@dataclass(frozen=True)
class _Seen:
    """A deviation in floats: total, parts, and the probability of an empty residual."""

    total: float
    parts: tuple[float, ...]
    fallback: float


@dataclass(frozen=True)
class _Mixed:
    """Drafts in another dtype: cost and bound as declared, the same where P is declared, and what a replay sees."""

    as_declared: Mismatch
    attained: Mismatch
    replayed: float


@dataclass
class _Pair:
    """What the rows of one pair gave, before it is summed up."""

    size: int
    positions: int = 0
    precisions: dict[Arithmetic, list[_Seen]] = field(default_factory=dict)
    near_equal: dict[torch.dtype, NearEqualProbe] = field(default_factory=dict)
    mixed: dict[torch.dtype, list[_Mixed]] = field(default_factory=dict)
    epsilons: dict[float, list[float]] = field(default_factory=dict)


def measure_numerics(
    settings: Sequence[Setting],
    outputs: int = 1,
    seed: int = 0,
    dtypes: Sequence[torch.dtype] = DTYPES,
    epsilons: Sequence[float] = EPSILONS,
    progress: Callable[[int], None] = lambda rows: None,
) -> NumericsEvidence:
    """Measures every position of `outputs` sampled outputs for each setting (one setting per prompt, pairs mixed).

    For each dtype below float64 twice: with draws in float64, and with everything in that dtype. A position takes about
    a second for every 50,000 ids. Raises what rows.py raises.
    """
    pairs: dict[str, _Pair] = {}
    arithmetics = tuple(arithmetic for dtype in dtypes for arithmetic in _ways(dtype))
    for row in rows(settings, outputs, seed, progress):
        pair = pairs.setdefault(row.pair, _Pair(len(row.target)))
        for dtype in dtypes if pair.positions * pair.size < NEAR_EQUAL else ():
            probe = pair.near_equal.setdefault(dtype, NearEqualProbe(row.pair, dtype))
            probe.see(row.target, None if pair.positions else RandomCoins(seed, len(pairs)))
        pair.positions += 1
        for arithmetic in arithmetics:
            pair.precisions.setdefault(arithmetic, []).append(_seen(row, arithmetic))
        for dtype in (dtype for dtype in dtypes if dtype != torch.float64):
            pair.mixed.setdefault(dtype, []).append(_mixed(row, dtype))
        for epsilon in epsilons:
            cost = distance(with_epsilon(row.target, row.draft, epsilon), row.target)
            pair.epsilons.setdefault(epsilon, []).append(cost)
    return NumericsEvidence(
        positions=tuple((name, pair.positions) for name, pair in pairs.items()),
        precisions=tuple(_precision(name, pair, one) for name, pair in pairs.items() for one in pair.precisions),
        mixed=tuple(_summed(name, dtype, seen) for name, pair in pairs.items() for dtype, seen in pair.mixed.items()),
        epsilons=tuple(
            EpsilonCost(name, epsilon, figures(seen), epsilon_bound(epsilon, pair.size))
            for name, pair in pairs.items()
            for epsilon, seen in pair.epsilons.items()
        ),
        outputs=outputs,
        seed=seed,
        near_equal=tuple(probe.seen for pair in pairs.values() for probe in pair.near_equal.values()),
    )


def _ways(dtype: torch.dtype) -> tuple[Arithmetic, ...]:
    wide, narrow = Arithmetic.wide(dtype), Arithmetic.narrow(dtype)
    return (wide,) if dtype == wide.sums else (wide, narrow)


def _seen(row: Row, arithmetic: Arithmetic) -> _Seen:
    found = deviation(row.target, row.target.to(arithmetic.dtype), row.draft.to(arithmetic.dtype), arithmetic)
    return _Seen(float(found.total), tuple(map(float, found.parts)), float(found.step.fallback))


def _mixed(row: Row, dtype: torch.dtype) -> _Mixed:
    drafted = as_law(row.draft.to(dtype))
    return _Mixed(
        mismatch(row.target, drafted, row.draft),
        mismatch(row.target, as_law(row.target.to(dtype)), row.target),
        replayed_differently(drafted, row.draft),
    )


def _summed(name: str, dtype: torch.dtype, seen: Sequence[_Mixed]) -> MixedPrecision:
    return MixedPrecision(
        pair=name,
        dtype=name_of(dtype),
        cost=figures([one.as_declared.cost for one in seen]),
        bound=figures([one.as_declared.bound for one in seen]),
        excess=max(one.as_declared.cost - one.as_declared.bound for one in seen),
        attained=figures([one.attained.cost for one in seen]),
        gap=max(abs(one.attained.cost - one.attained.bound) for one in seen),
        replayed=figures([one.replayed for one in seen]),
    )


def _precision(name: str, pair: _Pair, arithmetic: Arithmetic) -> Precision:
    seen = pair.precisions[arithmetic]
    fallbacks = [one.fallback for one in seen]
    return Precision(
        pair=name,
        dtype=name_of(arithmetic.dtype),
        sums=name_of(arithmetic.sums),
        coin_bits=arithmetic.coin_bits,
        rescaled=arithmetic.rescaled,
        size=pair.size,
        total=figures([one.total for one in seen]),
        parts=tuple(figures([one.parts[part] for one in seen]) for part in range(len(PARTS))),
        bound=bound(arithmetic, pair.size),
        empty_residuals=sum(fallback > 0 for fallback in fallbacks),
        fallback=figures(fallbacks),
    )


def figures(values: Sequence[float]) -> Figures:
    """Mean and largest of at least one value."""
    return Figures(sum(values) / len(values), max(values))
