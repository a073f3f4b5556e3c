"""What was measured about floats, as data: total variations of one step, over the positions of sampled outputs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Mean and largest of a total variation over the positions."""

    mean: float
    largest: float


@dataclass(frozen=True)
class Precision:
    """One step in one arithmetic on one pair (claim SS-5), against the law in float64.

    `parts` follows PARTS of one_step.py; `bound` holds for every law of that many ids, 1 meaning that there is none.
    `empty_residuals` counts positions where a token may be rejected although the residual has no mass in these floats:
    where 0 / 0 would be computed (claim SS-4). `fallback` is the probability of getting there.
    """

    pair: str
    dtype: str
    sums: str
    coin_bits: int
    rescaled: bool
    size: int
    total: Figures
    parts: tuple[Figures, ...]
    bound: float
    empty_residuals: int
    fallback: Figures


@dataclass(frozen=True)
class MixedPrecision:
    """Drafts drawn from laws in `dtype` and verified with the float64 ones (claim SS-8): cost of a step, and bound."""

    pair: str
    dtype: str
    cost: Figures
    bound: Figures


@dataclass(frozen=True)
class EpsilonCost:
    """`epsilon` added to the denominator of the ratio (claim SS-9): cost of a step."""

    pair: str
    epsilon: float
    cost: Figures


@dataclass(frozen=True)
class NumericsEvidence:
    """Everything one measurement saw. `positions` by pair; `outputs` per prompt; `seed` of their coins."""

    positions: tuple[tuple[str, int], ...]
    precisions: tuple[Precision, ...]
    mixed: tuple[MixedPrecision, ...]
    epsilons: tuple[EpsilonCost, ...]
    outputs: int
    seed: int
