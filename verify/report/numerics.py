"""The report on floats, as a pure function of its evidence: no clock, path or machine is in it."""

from draftproof.verify.numerics.evidence import NumericsEvidence
from draftproof.verify.numerics.one_step import PARTS
from draftproof.verify.report.templates import environment


def as_markdown(evidence: NumericsEvidence) -> str:
    """The report for a reader."""
    return environment().get_template("numerics.md.j2").render(evidence=evidence, parts=PARTS)
