"""The report of the meter, as a pure function of its evidence: no clock, path or machine is in it, and no verdict."""

from fractions import Fraction

from draftproof.verify.meter.evidence import MeterEvidence
from draftproof.verify.report.templates import environment

LONGEST = 24
"""Fractions with more characters are written as decimals."""


def as_markdown(evidence: MeterEvidence) -> str:
    """The report for a reader."""
    return (
        environment()
        .get_template("meter.md.j2")
        .render(
            evidence=evidence,
            readings=[(one, _acceptances(evidence)[one.pair]) for one in evidence.readings],
            toys=[(one, _shown(one.total_variation)) for one in evidence.toys],
        )
    )


def _acceptances(evidence: MeterEvidence) -> dict[str, float]:
    return {one.pair: one.acceptance for one in evidence.baselines}


def _shown(fraction: str) -> str:
    """A fraction, with its decimal beside it, or alone where the fraction is too long to read."""
    if "/" not in fraction:
        return fraction
    decimal = f"{float(Fraction(fraction)):.3f}"
    return f"{fraction}, about {decimal}" if len(fraction) <= LONGEST else f"about {decimal}"
