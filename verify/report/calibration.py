"""reports/calibration.md and .json: how often the tests refute what is right."""

import json
from dataclasses import asdict
from pathlib import Path

from draftproof.verify.calibration import CalibrationEvidence
from draftproof.verify.report.files import write_whole
from draftproof.verify.report.templates import environment

SCHEMA = "draftproof-calibration-1"


def as_markdown(evidence: CalibrationEvidence) -> str:
    """The report for a reader."""
    levels = list(dict.fromkeys(count.level for count in evidence.counts))
    return environment().get_template("calibration.md.j2").render(evidence=evidence, levels=levels)


def write_report(evidence: CalibrationEvidence, folder: Path) -> None:
    """Writes both files into `folder`. Raises OSError."""
    text = as_markdown(evidence)
    document = {"schema": SCHEMA, "holds": evidence.holds, "evidence": asdict(evidence)}
    write_whole(folder / "calibration.json", json.dumps(document, indent=2) + "\n")
    write_whole(folder / "calibration.md", text)
