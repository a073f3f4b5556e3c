"""reports/losslessness.md and .json: the audit of the decoders, as a pure function of its evidence.

No clock, path or machine is in it, so that two runs can be compared line by line.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from draftproof.verify.audit import Plan
from draftproof.verify.claims import CLAIMS
from draftproof.verify.evidence import AuditEvidence, SampleEvidence
from draftproof.verify.report.data import as_data
from draftproof.verify.report.files import write_both
from draftproof.verify.report.templates import environment
from draftproof.verify.verdict import Verdict, judge_control, verdicts

SCHEMA = "draftproof-losslessness-1"


def write_report(evidence: AuditEvidence, plan: Plan, folder: Path) -> dict[str, Any]:
    """Writes both files into `folder` and returns the JSON document. Raises OSError."""
    document = as_document(evidence, plan)
    write_both(folder, "losslessness", document, as_markdown(evidence, plan))
    return document


def as_document(evidence: AuditEvidence, plan: Plan) -> dict[str, Any]:
    """The report as JSON data: verdicts first, then the evidence they come from."""
    return {
        "schema": SCHEMA,
        "plan": as_data({key: value for key, value in asdict(plan).items() if key != "prompt_texts"}),
        "verdicts": [_verdict(verdict) for verdict in verdicts(evidence)],
        "controls": [
            {**_verdict(verdict), "must_be_refuted": control.wrong, "judged_rightly": right}
            for control in evidence.controls
            for verdict, right in [judge_control(control)]
        ],
        "evidence": as_data(evidence),
    }


def as_markdown(evidence: AuditEvidence, plan: Plan) -> str:
    """The report for a reader."""
    found = verdicts(evidence)
    return (
        environment()
        .get_template("losslessness.md.j2")
        .render(
            verdicts=found,
            claims=[CLAIMS[claim] for claim in sorted({v.claim for v in found if v.claim in CLAIMS})],
            refuted=[verdict for verdict in found if verdict.counterexample],
            controls=[(control, *judge_control(control)) for control in evidence.controls],
            exact=evidence.exact,
            sampled=[(one, _figures(one)) for one in evidence.sampled if one.tokens],
            plan=plan,
        )
    )


def _figures(one: SampleEvidence) -> dict[str, str]:
    return {
        "measured": f"{one.accepted / one.trials:.3f}" if one.trials else "-",
        "expected": f"{one.expected_acceptance / one.trials:.3f}" if one.trials else "-",
        "per_pass": f"{one.tokens / one.steps:.2f}",
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**as_data(verdict), "kind": str(verdict.kind)}
