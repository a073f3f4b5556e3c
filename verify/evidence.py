"""Evidence: what was seen, as data. Verdicts are pure functions of it (verdict.py).

Fractions are kept as strings, so evidence goes to JSON and back without loss. Times are kept with the evidence and
never reach a report.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExactComparison:
    """One setting enumerated: distance between the decoder's joint law and the autoregressive one, as fractions.

    `accepted` says whether a drafted token was accepted on any path; where none ever is, nothing was put to the test.
    `first_token_total_variation` is the distance between the laws of the first token alone; None where
    it was not looked at.
    """

    setting: str
    tokens: int
    lookahead: int
    outputs: int
    total_variation: str
    string_total_variation: str
    first_deviating_position: int | None
    accepted: bool = True
    first_token_total_variation: str | None = None


@dataclass(frozen=True)
class Counterexample:
    """A shrunk toy on which the laws differ, told in token names: the shortest prefix of an output that deviates most.

    `output` is that prefix and `tokens` its length, the first deviating position; `expected` is its autoregressive mass
    and `total_variation` the distance between the laws of prefixes of this length. `max_new_tokens` is the length limit
    of the outputs, which may be larger, for more can then be drafted; None where it is not known. `target_law` and
    `draft_law` are the models' own, before `processors`, which both have.
    """

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
    max_new_tokens: int | None = None
    processors: tuple[str, ...] = ()


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
class Direction:
    """What a sample says about one known fault, on the contexts that were seen.

    `log_wealth`: ln of the wealth of bets on it. `distance`: total variation per token between the fault's law and the
    target's. `seen`: the least total variation of the fault, at full or part strength, that would have been refuted
    with probability 0.99 in so many outputs (known with confidence 0.999); None where not even full strength would.
    `bound`: with confidence 0.999, tokens fall into the fault's direction at most this much more often than the
    target's law says.
    """

    name: str
    log_wealth: float
    distance: float
    seen: float | None
    bound: float


@dataclass(frozen=True)
class OneStepBound:
    """One emitted token as the sample driver draws it, against the target's law: total variations, computed exactly.

    `contexts` is how many were looked at, along outputs of the decoder; `mean` and `largest` are over them, each the
    larger of a drafted position's and an undrafted one's, rounded up to two digits.
    """

    contexts: int
    mean: float
    largest: float


@dataclass(frozen=True)
class SampleEvidence:
    """A decoder sampled on one pair: tests of its tokens against the target's law, acceptance, and cost.

    `alpha` is the false-alarm level of this whole record; the ledger says how its tests share it. `limit` is the most
    tokens of one output. `log_wealth` is the largest ln wealth that bets against the decoder reached, and
    `refuted_after` the tokens after which it was convicted, if it was: sampling stops then. `outside` counts emitted
    tokens of target mass 0. `expected_acceptance` sums the acceptance probabilities (overlap for speculative sampling)
    of the `trials` that were made. `borderline` counts tokens at places where rounding decides what a processor keeps;
    they are left out of the tests. `one_step` is what the floats of the driver cost in one step, None for a decoder
    whose rule is not counted. Seconds are wall time on the machine that ran it.
    """

    subject: str
    pair: str
    sequences: int
    limit: int
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
    log_wealth: float = 0.0
    refuted_after: int | None = None
    directions: tuple[Direction, ...] = ()
    seconds: float = 0.0
    autoregressive_seconds: float = 0.0
    borderline: int = 0
    one_step: OneStepBound | None = None


@dataclass(frozen=True)
class ControlEvidence:
    """A control, which is `like` with one rule changed: seen on toys, and by sampling where that was asked.

    `number` is its place in the catalogue of faults.
    """

    name: str
    number: str
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
