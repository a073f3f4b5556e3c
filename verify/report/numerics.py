"""reports/numerics.md and .json: what floats cost, as a pure function of the evidence: no clock, path or machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from draftproof.verify.claims import CLAIMS
from draftproof.verify.numerics.controls import Judged, controls
from draftproof.verify.numerics.evidence import NumericsEvidence, Plan
from draftproof.verify.numerics.one_step import PARTS
from draftproof.verify.numerics.verdicts import verdicts
from draftproof.verify.report.data import as_data
from draftproof.verify.report.files import write_both
from draftproof.verify.report.templates import environment
from draftproof.verify.verdict import Verdict

SCHEMA = "draftproof-numerics-1"


def as_markdown(evidence: NumericsEvidence, plan: Plan | None = None) -> str:
    """The report for a reader; `plan` names the command that measures the same again."""
    found = verdicts(evidence)
    return (
        environment()
        .get_template("numerics.md.j2")
        .render(
            evidence=evidence,
            plan=plan,
            parts=PARTS,
            verdicts=found,
            controls=controls(evidence),
            claims=[CLAIMS[claim] for claim in sorted({one.claim for one in found})],
        )
    )


def as_document(evidence: NumericsEvidence, plan: Plan) -> dict[str, Any]:
    """The report as JSON data: verdicts first, then the evidence they come from."""
    return {
        "schema": SCHEMA,
        "plan": asdict(plan),
        "verdicts": [_verdict(one) for one in verdicts(evidence)],
        "controls": [_control(one) for one in controls(evidence)],
        "evidence": as_data(evidence),
    }


def write_report(evidence: NumericsEvidence, plan: Plan, folder: Path) -> None:
    """Writes both files into `folder`. Raises OSError."""
    write_both(folder, "numerics", as_document(evidence, plan), as_markdown(evidence, plan))


def _verdict(one: Verdict) -> dict[str, str]:
    return {"subject": one.subject, "claim": one.claim, "kind": str(one.kind), "message": one.message}


def _control(one: Judged) -> dict[str, Any]:
    return {**_verdict(one.verdict), "must_be_refuted": one.wrong, "judged_rightly": one.right}
