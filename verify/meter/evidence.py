"""What the meter read, as data. Nothing here is a verdict: these rules do not claim the target's law."""

from collections.abc import Iterator
from dataclasses import dataclass

from draftproof.verify.numerics.closed_forms import ROUNDING
from draftproof.verify.numerics.evidence import Figures


@dataclass(frozen=True)
class Reading:
    """One rule on the contexts of one pair: total variation to P in one step, and the share of drafts it keeps.

    `drafted` is at a drafted position, `bonus` where all drafts were kept; `acceptance` is the mean probability to keep
    a draft. `ceiling` is what the rule's parameters allow at a drafted position, whatever the laws.
    """

    rule: str
    parameters: str
    pair: str
    drafted: Figures
    bonus: Figures
    acceptance: float
    ceiling: float

    @property
    def label(self) -> str:
        """The rule with its parameters."""
        return f"{self.rule} ({self.parameters})"


@dataclass(frozen=True)
class ToyReading:
    """One rule enumerated on toys: the largest total variation of the joint law, as a fraction, and on which toy.

    `differ` of `toys` toys differ at all; `tokens` and `lookahead` are the largest. A `lossless` rule may differ on
    none.
    """

    rule: str
    parameters: str
    toys: int
    differ: int
    tokens: int
    lookahead: int
    total_variation: str
    toy: str
    lossless: bool = False


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

    @property
    def broken(self) -> tuple[str, ...]:
        """What cannot be: readings above their rule's ceiling, and lossless rules that differ on a toy."""
        return tuple(self._broken())

    def _broken(self) -> Iterator[str]:
        for one in self.readings:
            if not one.drafted.largest <= one.ceiling + ROUNDING:  # what is no number must not pass
                yield (
                    f"{one.label} reads {one.drafted.largest:.3g} on {one.pair}, above its ceiling {one.ceiling:.3g}"
                )
        for toy in self.toys:
            if toy.lossless and toy.differ:
                yield f"{toy.rule} ({toy.parameters}) is lossless and differs on {toy.toy} by {toy.total_variation}"
