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
class NearEqual:
    """Laws that differ by an ulp in every mass, or not at all, everything in one dtype (claim SS-4).

    `equal_rejected` counts positions where a draft from the target's own law may be rejected; `undefined` counts steps
    that have no law, or one with mass outside the target's support. `empty` counts positions where a rejection may meet
    a residual without mass, where 0 / 0 would be computed, and `fallback` is the largest probability of it. `driven`
    recovered tokens were drawn by algorithms/drivers.py, and `strayed` of them failed or left the support.
    """

    pair: str
    dtype: str
    positions: int
    equal_rejected: int
    undefined: int
    empty: int
    fallback: float
    driven: int
    strayed: int


@dataclass(frozen=True)
class MixedPrecision:
    """Drafts drawn from laws in `dtype` and verified with the float64 ones (claim SS-8): cost of a step, and bound.

    `excess` is the largest difference between cost and bound. `attained` is the cost where the target's own law is
    declared, and `gap` the largest distance to its bound there. `replayed` is the probability that a uniform draws
    another token from the one draft law than from the other.
    """

    pair: str
    dtype: str
    cost: Figures
    bound: Figures
    excess: float
    attained: Figures
    gap: float
    replayed: Figures


@dataclass(frozen=True)
class EpsilonCost:
    """`epsilon` added to the denominator of the ratio (claim SS-9): cost of a step, and the bound for so many ids."""

    pair: str
    epsilon: float
    cost: Figures
    bound: float


@dataclass(frozen=True)
class Replayed:
    """Recordings with drafts from laws in `dtype`, replayed by the declared decoder, whose laws are in `declared`.

    `tokens` and `drafts` count what the recordings hold. `caught` of them differ on replay, and `first` tells the
    earliest difference, None where there is none. `own` counts recordings of the declared decoder itself that differ on
    replay. `p_value` is of a Kolmogorov-Smirnov test that the recorded tokens have the target's law.
    """

    pair: str
    dtype: str
    declared: str
    recordings: int
    tokens: int
    drafts: int
    caught: int
    own: int
    first: str | None
    p_value: float


@dataclass(frozen=True)
class Worked:
    """A worked example, enumerated: a total variation as a fraction, beside the one that the claim states."""

    claim: str
    example: str
    found: str
    stated: str


@dataclass(frozen=True)
class Plan:
    """What was asked for: the options of the command. `prompts` counts prompts per pair."""

    pair: str
    prompts: int
    max_new_tokens: int
    lookahead: int
    seed: int

    @property
    def options(self) -> str:
        """The options that ask for the same again."""
        return (
            f"--pair {self.pair} --prompts {self.prompts} --max-new-tokens {self.max_new_tokens} "
            f"--lookahead {self.lookahead} --seed {self.seed}"
        )


@dataclass(frozen=True)
class NumericsEvidence:
    """Everything one measurement saw. `positions` by pair; `outputs` per prompt; `seed` of their coins."""

    positions: tuple[tuple[str, int], ...]
    precisions: tuple[Precision, ...]
    mixed: tuple[MixedPrecision, ...]
    epsilons: tuple[EpsilonCost, ...]
    outputs: int
    seed: int
    near_equal: tuple[NearEqual, ...] = ()
    replays: tuple[Replayed, ...] = ()
    worked: tuple[Worked, ...] = ()
