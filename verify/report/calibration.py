"""reports/calibration.md and .json: how often the tests refute what is right."""

from dataclasses import asdict
from pathlib import Path

from draftproof.verify.calibration import CalibrationEvidence
from draftproof.verify.report.files import write_both
from draftproof.verify.report.templates import environment

SCHEMA = "draftproof-calibration-1"


def as_markdown(evidence: CalibrationEvidence) -> str:
    """The report for a reader."""
    levels = list(dict.fromkeys(count.level for count in evidence.counts))
    return environment().get_template("calibration.md.j2").render(evidence=evidence, levels=levels)


def write_report(evidence: CalibrationEvidence, folder: Path) -> None:
    """Writes both files into `folder`. Raises OSError."""
    document = {"schema": SCHEMA, "holds": evidence.holds, "evidence": asdict(evidence)}
    write_both(folder, "calibration", document, as_markdown(evidence))
