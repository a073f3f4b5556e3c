"""`draftproof kill-matrix` as a user meets it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from draftproof.verify.cli import app
from draftproof.verify.commands import kill_matrix as module
from draftproof.verify.kill_matrix import Row, matrix
from draftproof.verify.kill_subjects import toy_subjects


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Only these controls are tried: one fault and one look-alike."""
    names = ["argmax-draft", "target-draw-match"]
    monkeypatch.setattr(module, "toy_subjects", lambda: [one for one in toy_subjects() if one.name in names])
    monkeypatch.setattr(module, "MOST_TOY_OUTPUTS", 300)
    return names


def test_a_fault_that_is_refuted_and_a_look_alike_that_is_not(few: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["kill-matrix", "--pair", "none", "--tokens", "400", "--alpha", "1e-9", "--output", str(tmp_path)]
    )
    assert result.exit_code == 0, result.stderr
    fault, look_alike = result.stdout.splitlines()
    assert fault.startswith("argmax-draft (mutant 1): refuted after ")
    assert look_alike.startswith("target-draw-match (C1): not refuted; peers: none in ")
    document = json.loads((tmp_path / "kill_matrix.json").read_text(encoding="utf-8"))
    assert [row["control"] for row in document["evidence"]["rows"]] == few
    assert result.stderr.splitlines()[-1] == f"report: {tmp_path / 'kill_matrix.md'}"


def test_a_fault_that_is_not_refuted_gives_exit_code_1(few: list[str], tmp_path: Path) -> None:
    few[:] = ["shared-noise"]
    arguments = ["kill-matrix", "--pair", "none", "--tokens", "10", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "not refuted" in result.stdout


def test_a_look_alike_that_is_flagged_gives_exit_code_1(
    few: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fooled(*arguments, **options):  # type: ignore[no-untyped-def]
        evidence = matrix(*arguments, **options)
        rows: list[Row] = [replace(row, wrong=False) for row in evidence.rows]
        return replace(evidence, rows=tuple(rows))

    monkeypatch.setattr(module, "matrix", fooled)
    few[:] = ["argmax-draft"]
    arguments = ["kill-matrix", "--pair", "none", "--tokens", "400", "--output", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pair", "real"], "there is no pair 'real' for this command; known: zoo, none"),
        (["--tokens", "0"], "--tokens must be at least 1"),
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--alpha", "1"], "--alpha"),
    ],
)
def test_a_bad_option_is_told_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["kill-matrix", *arguments, "--output", str(tmp_path / "reports")])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "reports").exists()


def test_a_place_that_cannot_be_written_to_is_told_before_the_work(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way", encoding="utf-8")
    result = CliRunner().invoke(app, ["kill-matrix", "--pair", "none", "--output", str(file)])
    assert result.exit_code == 2
    assert file.read_text(encoding="utf-8") == "in the way"
