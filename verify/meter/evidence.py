"""What the meter read, as data. Nothing here is a verdict: these rules do not claim the target's law."""

from dataclasses import dataclass

from draftproof.verify.numerics.evidence import Figures


@dataclass(frozen=True)
class Reading:
    """One rule on the contexts of one pair: total variation to P in one step, and the share of drafts it keeps.

    `drafted` is at a drafted position, `bonus` where all drafts were kept; `acceptance` is the mean probability to keep
    a draft.
    """

    rule: str
    parameters: str
    pair: str
    drafted: Figures
    bonus: Figures
    acceptance: float


@dataclass(frozen=True)
class ToyReading:
    """One rule enumerated on toys: the largest total variation of the joint law, as a fraction, and on which toy.

    `differ` of `toys` toys differ at all; `tokens` and `lookahead` are the largest.
    """

    rule: str
    parameters: str
    toys: int
    differ: int
    tokens: int
    lookahead: int
    total_variation: str
    toy: str


@dataclass(frozen=True)
class Baseline:
    """The contexts of one pair: how many, and the acceptance of speculative sampling there, which loses nothing."""

    pair: str
    positions: int
    acceptance: float


@dataclass(frozen=True)
class MeterEvidence:
    """Everything one reading of the meter saw. `rules` has name, parameters, what is kept, and source of each."""

    rules: tuple[tuple[str, str, str, str], ...]
    baselines: tuple[Baseline, ...]
    readings: tuple[Reading, ...]
    toys: tuple[ToyReading, ...]
    outputs: int
    seed: int
