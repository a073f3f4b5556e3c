"""reports/losslessness.md and .json: the audit of the decoders, as a pure function of its evidence.

No clock, path or machine is in it, so that two runs can be compared line by line.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from draftproof.verify.audit import Plan
from draftproof.verify.claims import CLAIMS
from draftproof.verify.evidence import AuditEvidence, SampleEvidence
from draftproof.verify.report.files import write_whole
from draftproof.verify.report.templates import environment
from draftproof.verify.verdict import Verdict, judge_control, verdicts

SCHEMA = "draftproof-losslessness-1"


def write_report(evidence: AuditEvidence, plan: Plan, folder: Path) -> dict[str, Any]:
    """Writes both files into `folder` and returns the JSON document. Raises OSError."""
    # Both before either is written: a fault in one must not leave the other beside an older one.
    document, text = as_document(evidence, plan), as_markdown(evidence, plan)
    write_whole(folder / "losslessness.json", json.dumps(document, indent=2, ensure_ascii=True) + "\n")
    write_whole(folder / "losslessness.md", text)
    return document


def as_document(evidence: AuditEvidence, plan: Plan) -> dict[str, Any]:
    """The report as JSON data: verdicts first, then the evidence they come from."""
    return {
        "schema": SCHEMA,
        "plan": _plain({key: value for key, value in asdict(plan).items() if key != "prompt_texts"}),
        "verdicts": [_verdict(verdict) for verdict in verdicts(evidence)],
        "controls": [
            {**_verdict(verdict), "must_be_refuted": control.wrong, "judged_rightly": right}
            for control in evidence.controls
            for verdict, right in [judge_control(control)]
        ],
        "evidence": _plain(asdict(evidence)),
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
    return {**_plain(asdict(verdict)), "kind": str(verdict.kind)}


def _plain(value: Any) -> Any:
    """Data without wall times, floats to six digits: what does not depend on the machine."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if not key.endswith("seconds")}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
