"""Evidence: what was seen, as data. Verdicts are pure functions of it (verdict.py).

Fractions are kept as strings, so evidence goes to JSON and back without loss. Times are kept with the evidence and
never reach a report.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExactComparison:
    """One setting enumerated: distance between the decoder's joint law and the autoregressive one, as fractions.

    `accepted` says whether a drafted token was accepted on any path; where none ever is, nothing was put to the test.
    """

    setting: str
    tokens: int
    lookahead: int
    outputs: int
    total_variation: str
    string_total_variation: str
    first_deviating_position: int | None
    accepted: bool = True


@dataclass(frozen=True)
class Counterexample:
    """A shrunk toy on which the laws differ, told in token names; `expected` is the autoregressive mass of `output`."""

    found_on: str
    tokens: int
    lookahead: int
    target_vocabulary: tuple[str, ...]
    draft_vocabulary: tuple[str, ...]
    target_law: tuple[str, ...]
    draft_law: tuple[str, ...]
    output: tuple[str, ...]
    expected: str
    found: str
    total_variation: str


@dataclass(frozen=True)
class ExactEvidence:
    """A decoder enumerated on a domain. `truncation` says how float models were made finite, None for toys."""

    subject: str
    domain: str
    comparisons: tuple[ExactComparison, ...]
    counterexample: Counterexample | None = None
    truncation: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class OrderTest:
    """One goodness-of-fit test of probability integral transforms, tokens ordered by `order`."""

    order: str
    statistic: float
    p_value: float


@dataclass(frozen=True)
class SampleEvidence:
    """A decoder sampled on one pair: tests of its tokens against the target's law, acceptance, and cost.

    `alpha` is the false-alarm level of this whole record; it is shared evenly by its tests. `outside` counts emitted
    tokens of target mass 0. `expected_acceptance` sums the acceptance probabilities (overlap for speculative sampling)
    of the `trials` that were made. `borderline` counts tokens that a processor cut off in the checking
    pass by no more than rounding explains; they are left out of the tests. Seconds are wall time on the machine that
    ran it.
    """

    subject: str
    pair: str
    sequences: int
    tokens: int
    steps: int
    drafted: int
    trials: int
    accepted: int
    expected_acceptance: float
    outside: int
    tests: tuple[OrderTest, ...]
    alpha: float
    seed: int
    seconds: float = 0.0
    autoregressive_seconds: float = 0.0
    borderline: int = 0


@dataclass(frozen=True)
class ControlEvidence:
    """A control, which is `like` with one rule changed: seen on toys, and by sampling where that was asked."""

    name: str
    like: str
    wrong: bool
    rule: str
    source: str
    exact: ExactEvidence
    sampled: SampleEvidence | None = None


@dataclass(frozen=True)
class AuditEvidence:
    """Everything one audit saw. `failures` are checks that broke (subject, message): verdict ERROR."""

    exact: tuple[ExactEvidence, ...] = ()
    sampled: tuple[SampleEvidence, ...] = ()
    controls: tuple[ControlEvidence, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
