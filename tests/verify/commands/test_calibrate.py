"""`draftproof calibrate` as a user meets it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from draftproof.verify.calibration import calibrate
from draftproof.verify.cli import app
from draftproof.verify.commands import calibrate as module


def test_a_few_null_audits_hold_and_are_reported(tmp_path: Path) -> None:
    """Seeded, so it holds each time or never."""
    arguments = ["calibrate", "--audits", "26", "--outputs", "20", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stdout
    assert result.stdout.splitlines()[0].startswith("the whole audit of a decoder: level 0.01 holds: 0 of 26 refuted")
    document = json.loads((tmp_path / "calibration.json").read_text(encoding="utf-8"))
    assert document["holds"]
    assert document["evidence"]["audits"] == 26
    assert "26 null audits" in (tmp_path / "calibration.md").read_text(encoding="utf-8")


def test_a_level_that_does_not_hold_gives_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(*arguments, **options):  # type: ignore[no-untyped-def]
        evidence = calibrate(*arguments, **options)
        first, *rest = evidence.counts
        return replace(evidence, counts=(replace(first, refuted=first.highest + 1), *rest))

    monkeypatch.setattr(module, "calibrate", too_many)
    result = CliRunner().invoke(app, ["calibrate", "--audits", "13", "--outputs", "5", "--output", str(tmp_path)])
    assert result.exit_code == 1
    assert "DOES NOT HOLD" in result.stdout


@pytest.mark.parametrize("option", ["--audits", "--outputs"])
def test_a_count_of_zero_is_told_in_one_line(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["calibrate", option, "0", "--output", str(tmp_path / "reports")])
    assert result.exit_code == 2
    assert result.stderr == f"error: {option} must be at least 1, not 0\n"
    assert not (tmp_path / "reports").exists()
