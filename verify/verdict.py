"""Verdicts: pure functions of evidence, graded and worded as design.md section 3 says."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from draftproof.verify.claims import ACCEPTANCE, claim_of
from draftproof.verify.evidence import AuditEvidence, ControlEvidence, Counterexample, ExactEvidence, SampleEvidence
from draftproof.verify.statistics.bounds import interval
from draftproof.verify.statistics.ledger import level_of
from draftproof.verify.statistics.pit import detectable_deviation

POWER = 0.99

SEEN_IN_WRONG_CONTROLS = 0.1
"""A sampled wrong control must be refuted where a deviation of this size would have been seen."""


class Kind(StrEnum):
    """What evidence amounts to."""

    PROVED = "PROVED"
    EXACT = "EXACT"
    NOT_REFUTED = "NOT REFUTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    VACUOUS = "VACUOUS"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Verdict:
    """One finding: about which subject and claim, of which kind, in words; a refutation has its counterexample."""

    subject: str
    claim: str
    kind: Kind
    message: str
    counterexample: Counterexample | None = None

    @property
    def line(self) -> str:
        """The finding in one line: `subject: claim: verdict: message`."""
        return f"{self.subject}: {self.claim}: {self.kind}: {self.message}"


def judge_exact(evidence: ExactEvidence) -> Verdict:
    """EXACT where all laws are equal as fractions, REFUTED where one differs, VACUOUS where none was compared."""
    claim = claim_of(evidence.subject)
    compared = evidence.comparisons
    if not compared:
        return Verdict(evidence.subject, claim, Kind.VACUOUS, f"nothing was enumerated on {evidence.domain}")
    deviating = [one for one in compared if one.total_variation != "0"]
    if not deviating and not any(one.accepted for one in compared):
        message = (
            f"not decided: the laws are equal, but no drafted token is ever accepted on any of {len(compared)} "
            f"{evidence.domain}; enumerate more tokens, a larger top-k or other prompts"
        )
        return Verdict(evidence.subject, claim, Kind.INCONCLUSIVE, message)
    if not deviating:
        outputs = sum(one.outputs for one in compared)
        lengths = sorted({one.tokens for one in compared})
        message = (
            f"equal as fractions on each of {len(compared)} {evidence.domain} "
            f"({outputs} outputs of up to {lengths[-1]} tokens)"
        )
        return Verdict(evidence.subject, claim, Kind.EXACT, message)
    if evidence.counterexample:
        message = describe(evidence.counterexample)
    else:
        worst = deviating[0]
        message = (
            f"the joint law differs on {worst.setting} from token {worst.first_deviating_position} on, total variation "
            f"{_fraction(worst.total_variation)} (of decoded strings {_fraction(worst.string_total_variation)})"
        )
    message += f"; differs on {len(deviating)} of {len(compared)} {evidence.domain}"
    return Verdict(evidence.subject, claim, Kind.REFUTED, message, evidence.counterexample)


def _fraction(text: str) -> str:
    """A fraction in full where it is short, otherwise its float value."""
    if len(text) <= 24:
        return text
    numerator, denominator = text.split("/")
    return f"{int(numerator) / int(denominator):.6g}"


def describe(found: Counterexample) -> str:
    """A counterexample in one sentence."""
    return (
        f"the output {' '.join(found.output)} has mass {found.found} instead of {found.expected} for "
        f"target [{'; '.join(found.target_law)}], drafter [{'; '.join(found.draft_law)}], lookahead {found.lookahead}"
        + "".join(f", {processor}" for processor in found.processors)
        + f"; total variation {found.total_variation} over {found.tokens} token{'s' if found.tokens > 1 else ''}"
    )


def judge_sample(evidence: SampleEvidence) -> Verdict:
    """REFUTED where a token lies outside the support, bets win or a test rejects at its level, else NOT REFUTED."""
    claim = claim_of(evidence.subject)
    where = f"on {evidence.pair}"

    def verdict(kind: Kind, message: str) -> Verdict:
        return Verdict(evidence.subject, claim, kind, message)

    if not evidence.tokens:
        return verdict(Kind.VACUOUS, f"no token was sampled {where}")
    if evidence.outside:
        outside = f"{evidence.outside} of {evidence.tokens} tokens have target probability 0 {where}"
        return verdict(Kind.REFUTED, f"{outside}; convicted after {evidence.refuted_after} tokens")
    level = level_of("wealth", evidence.alpha)
    if evidence.refuted_after is not None or not evidence.log_wealth < -math.log(level):
        likely = max(evidence.directions, key=lambda one: one.log_wealth, default=None)
        like = f", most of it on {likely.name}" if likely and likely.log_wealth > -math.log(level) else ""
        return verdict(
            Kind.REFUTED,
            f"tokens {where} do not have the target's law: bets against it multiplied a stake by "
            f"10^{evidence.log_wealth / math.log(10):.0f}{like}; convicted after {evidence.refuted_after} tokens at "
            f"{level:.1e}",
        )
    share = level_of("uniformity", evidence.alpha, len(evidence.tests))
    for test in evidence.tests:
        if not test.p_value >= share:  # a p-value that is no number must not pass
            message = (
                f"{evidence.tokens} sampled tokens {where} do not have the target's law: Kolmogorov distance "
                f"{test.statistic:.3f} in the order of {test.order}, p = {test.p_value:.1e} < {share:.1e}"
            )
            return verdict(Kind.REFUTED, message)
    seen = seen_deviation(evidence)
    faults = [one for one in evidence.directions if one.seen is not None]
    if seen >= 1 and not faults:
        message = f"{evidence.tokens} tokens {where} are too few to see anything at {evidence.alpha:.0e}; sample more"
        return verdict(Kind.INCONCLUSIVE, f"not decided: {message}")
    message = (
        f"no deviation in {evidence.tokens} tokens {where}; false alarm <= {evidence.alpha:.0e}; with probability "
    )
    message += (
        f"{POWER} a total variation of {seen:.3f} in the order of {' or of '.join(t.order for t in evidence.tests)}"
    )
    message += f" would have been seen, and {len(faults)} of {len(evidence.directions)} known faults"
    if faults:
        least = min(faults, key=lambda one: one.seen or 0.0)
        message += f" (down to total variation {least.seen:.3f} for {least.name})"
    if evidence.borderline:
        message += f"; {evidence.borderline} tokens at a processor's threshold left out"
    if evidence.one_step:
        one = evidence.one_step
        message += (
            f"; one step in floats is within {one.largest:.2g} of the target's law on each of {one.contexts} contexts "
            "(total variation, exact)"
        )
    return verdict(Kind.NOT_REFUTED, message)


def seen_deviation(evidence: SampleEvidence) -> float:
    """The Kolmogorov distance per token that the fixed-sample tests see with probability POWER.

    Transforms behind an EOS, and of tokens at a processor's threshold, are fresh uniforms, which dilute the distance
    of the others.
    """
    tested = evidence.tokens - evidence.borderline
    if not tested or not evidence.tests:
        return math.inf
    positions = evidence.sequences * evidence.limit
    level = level_of("uniformity", evidence.alpha, len(evidence.tests))
    return detectable_deviation(positions, level, POWER) * positions / tested


def acceptance_interval(evidence: SampleEvidence) -> tuple[float, float]:
    """Where the true acceptance rate lies beside the laws' at the record's level for acceptance, per trial."""
    positions = evidence.sequences * evidence.limit
    level = level_of("acceptance", evidence.alpha)
    low, high = interval(evidence.accepted, evidence.expected_acceptance, evidence.trials, positions, level)
    return low * positions / evidence.trials, high * positions / evidence.trials


def judge_acceptance(evidence: SampleEvidence) -> Verdict:
    """Measured acceptance against the mean of the acceptance probabilities that the laws give."""
    claim = ACCEPTANCE[evidence.subject]
    if not evidence.trials:
        return Verdict(evidence.subject, claim, Kind.VACUOUS, f"no drafted token was tested on {evidence.pair}")
    measured = evidence.accepted / evidence.trials
    expected = evidence.expected_acceptance / evidence.trials
    low, high = acceptance_interval(evidence)
    if high - low >= 1:
        message = f"not decided: {evidence.trials} tested tokens on {evidence.pair} are too few; sample more"
        return Verdict(evidence.subject, claim, Kind.INCONCLUSIVE, message)
    kind = Kind.NOT_REFUTED if low <= 0 <= high else Kind.REFUTED
    message = (
        f"accepted {measured:.3f} of {evidence.trials} tested tokens on {evidence.pair}, the laws give {expected:.3f}; "
        f"the true rate lies between {expected + low:.3f} and {expected + high:.3f} unless a false alarm <= "
        f"{evidence.alpha:.0e}; {evidence.tokens / evidence.steps:.2f} tokens per target pass"
    )
    return Verdict(evidence.subject, claim, kind, message)


def judge_control(evidence: ControlEvidence) -> tuple[Verdict, bool]:
    """The control's own verdict, and whether it is the one that the audit owes."""
    verdict = judge_exact(evidence.exact)
    right = verdict.kind == (Kind.REFUTED if evidence.wrong else Kind.EXACT)
    if evidence.sampled:
        sampled = judge_sample(evidence.sampled)
        # A wrong control that a small sample cannot see is no fault of the audit; a refuted look-alike always is.
        # It owes to see what it says that it sees.
        owed = seen_deviation(evidence.sampled) < SEEN_IN_WRONG_CONTROLS
        if not evidence.wrong or owed:
            right = right and (sampled.kind == Kind.REFUTED) == evidence.wrong
        verdict = replace(verdict, message=f"{verdict.message}; sampled: {sampled.kind}: {sampled.message}")
    return verdict, right


def judge_sampled(evidence: SampleEvidence) -> tuple[Verdict, ...]:
    """All that a sampled run is judged for: the law, and for decoders that have a formula the acceptance."""
    acceptance = (judge_acceptance(evidence),) if evidence.subject in ACCEPTANCE else ()
    return (judge_sample(evidence), *acceptance)


def verdicts(evidence: AuditEvidence) -> tuple[Verdict, ...]:
    """All findings about subjects, failures last. Controls are judged apart (`judge_control`)."""
    return (
        *(judge_exact(one) for one in evidence.exact),
        *(verdict for one in evidence.sampled for verdict in judge_sampled(one)),
        *(Verdict(subject, "-", Kind.ERROR, message) for subject, message in evidence.failures),
    )


def exit_code(evidence: AuditEvidence, strict: bool = False) -> int:
    """0: nothing refuted; 1: something refuted or vacuous, or a control misjudged; 2: the tool broke.

    `strict` makes INCONCLUSIVE 1.
    """
    kinds = {verdict.kind for verdict in verdicts(evidence)}
    if Kind.ERROR in kinds:
        return 2
    bad = {Kind.REFUTED, Kind.VACUOUS} | ({Kind.INCONCLUSIVE} if strict else set())
    misjudged = any(not judge_control(control)[1] for control in evidence.controls)
    return int(bool(kinds & bad) or misjudged)
