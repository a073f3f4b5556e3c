"""reports/meter.md and .json, as a pure function of the evidence: no clock, path, machine or verdict is in it."""

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.verify.meter.evidence import MeterEvidence
from draftproof.verify.numerics.evidence import Plan
from draftproof.verify.report.data import as_data
from draftproof.verify.report.files import write_both
from draftproof.verify.report.templates import environment

SCHEMA = "draftproof-meter-1"
LONGEST = 24
"""Fractions with more characters are written as decimals."""


def as_markdown(evidence: MeterEvidence, plan: Plan | None = None) -> str:
    """The report for a reader; `plan` names the command that reads the same again."""
    return (
        environment()
        .get_template("meter.md.j2")
        .render(
            evidence=evidence,
            plan=plan,
            readings=[(one, _acceptances(evidence)[one.pair]) for one in evidence.readings],
            toys=[(one, _shown(one.total_variation)) for one in evidence.toys],
        )
    )


def as_document(evidence: MeterEvidence, plan: Plan) -> dict[str, Any]:
    """The report as JSON data."""
    return {
        "schema": SCHEMA,
        "plan": asdict(plan),
        "broken": list(evidence.broken),
        "evidence": as_data(evidence),
    }


def write_report(evidence: MeterEvidence, plan: Plan, folder: Path) -> None:
    """Writes both files into `folder`. Raises OSError."""
    write_both(folder, "meter", as_document(evidence, plan), as_markdown(evidence, plan))


def _acceptances(evidence: MeterEvidence) -> dict[str, float]:
    return {one.pair: one.acceptance for one in evidence.baselines}


def _shown(fraction: str) -> str:
    """A fraction, with its decimal beside it, or alone where the fraction is too long to read."""
    if "/" not in fraction:
        return fraction
    decimal = f"{float(Fraction(fraction)):.3f}"
    return f"{fraction}, about {decimal}" if len(fraction) <= LONGEST else f"about {decimal}"
