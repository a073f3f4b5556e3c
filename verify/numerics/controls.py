"""The control of the measurements on floats, replayed: drafts in another dtype than the declared one.

Drafts in bfloat16 behind a float32 declaration are wrong, and replay must say so. The look-alike is the declared
decoder itself: its recordings must replay to the last uniform.

Claims: SS-8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.verify.numerics.evidence import NumericsEvidence, Replayed
from draftproof.verify.statistics.ledger import BUDGET
from draftproof.verify.statistics.pit import detectable_deviation
from draftproof.verify.verdict import Kind, Verdict

SURE = math.log(1e9)
"""A replay owes a difference where that many are to be expected: independent drafts would miss with 1e-9."""


@dataclass(frozen=True)
class Judged:
    """A control's verdict, whether it must be refuted, and whether that is what came out."""

    verdict: Verdict
    wrong: bool
    right: bool

    @property
    def line(self) -> str:
        """The finding in one line, marked as a control, with what was owed."""
        owed = "refuted, as it must be" if self.wrong else "not refuted, as it must not be"
        if self.wrong and self.verdict.kind == Kind.INCONCLUSIVE:
            owed = "too little to owe a refutation"
        mark = owed if self.right else "MISJUDGED: these measurements cannot be trusted"
        return f"control {self.verdict.line} [{mark}]"


def controls(evidence: NumericsEvidence) -> tuple[Judged, ...]:
    """The two decoders that were replayed, over all pairs; none where nothing was."""
    seen = evidence.replays
    if not seen:
        return ()
    chances = {(one.pair, one.dtype): one.replayed.mean for one in evidence.mixed}
    expected = sum(one.drafts * chances.get((one.pair, one.dtype), 0.0) for one in seen)
    mixed, declared = judge_mixed(seen), judge_declared(seen)
    return (
        Judged(mixed, True, mixed.kind == Kind.REFUTED or expected < SURE),
        Judged(declared, False, declared.kind == Kind.NOT_REFUTED),
    )


def judge_mixed(seen: Sequence[Replayed]) -> Verdict:
    """Drafts in another dtype: REFUTED by a difference on replay, INCONCLUSIVE where there is none."""
    subject = f"drafts in {seen[0].dtype}, declared in {seen[0].declared}"
    tokens, drafts = sum(one.tokens for one in seen), sum(one.drafts for one in seen)
    told = next((one for one in seen if one.first is not None), None)
    if told is None:
        message = f"not decided: none of {drafts} drafted tokens differs on replay; replay more"
        return Verdict(subject, "SS-8", Kind.INCONCLUSIVE, message)
    caught, recordings = sum(one.caught for one in seen), sum(one.recordings for one in seen)
    visible = detectable_deviation(tokens, BUDGET)
    counting = f"sees a total variation of {visible:.2f} at the least" if visible < 1 else "is sure to see nothing"
    return Verdict(
        subject,
        "SS-8",
        Kind.REFUTED,
        f"{caught} of {recordings} recordings differ on replay; on {told.pair} one {told.first}; counting the same "
        f"{tokens} tokens {counting}, and its smallest p-value on a pair is {min(one.p_value for one in seen):.2g}",
    )


def judge_declared(seen: Sequence[Replayed]) -> Verdict:
    """The declared decoder replayed by itself: REFUTED where a recording differs."""
    subject = f"drafts as declared, in {seen[0].declared}"
    own, recordings = sum(one.own for one in seen), sum(one.recordings for one in seen)
    if own:
        return Verdict(subject, "SS-8", Kind.REFUTED, f"{own} of {recordings} recordings differ on replay")
    return Verdict(subject, "SS-8", Kind.NOT_REFUTED, f"none of {recordings} recordings differs on replay")
