"""`draftproof meter` as a user meets it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from draftproof.verify.cli import app
from draftproof.verify.commands import meter as module
from draftproof.verify.meter.catalogue import CATALOGUE
from draftproof.verify.meter.evidence import MeterEvidence
from draftproof.verify.numerics.evidence import Figures
from draftproof.verify.pairs import ZOO
from draftproof.verify.verdict import Kind

TINY = ["--prompts", "1", "--max-new-tokens", "4"]


@pytest.fixture(autouse=True)
def no_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toys take seconds and are the same each time; tests/verify/meter/test_measure.py has them."""

    def few(*arguments: Any, **options: Any) -> MeterEvidence:
        return measure(*arguments, toys=(), **options)

    measure = module.measure_rules
    monkeypatch.setattr(module, "measure_rules", few)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Reads into `tmp_path / "reports"`, unless --output says otherwise."""

    def invoke(*arguments: str) -> Result:
        given = [] if "--output" in arguments else ["--output", str(tmp_path / "reports")]
        return CliRunner().invoke(app, ["meter", *arguments, *given])

    return invoke


def document(tmp_path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((tmp_path / "reports" / "meter.json").read_text(encoding="utf-8"))
    return loaded


def test_every_rule_is_read_on_every_pair_without_a_verdict(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run(*TINY)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{rule.name} ({rule.parameters})" for _ in ZOO for rule in CATALOGUE
    ]
    assert [line.split("; on ")[1] for line in lines] == [pair.name for pair in ZOO for _ in CATALOGUE]
    assert lines[1].startswith("acceptance thresholds (single 1, acc 1): total variation 0.000, largest 0.000; ")
    assert not lines[0].startswith("typical acceptance (epsilon 0.09, delta 0.3): total variation 0.000")
    assert not [kind for kind in Kind if f" {kind}:" in result.stdout]
    assert "positions, at most: " in result.stderr
    assert result.stderr.splitlines()[-1] == f"report: {tmp_path / 'reports' / 'meter.md'}"

    written = document(tmp_path)
    assert written["schema"] == "draftproof-meter-1"
    assert written["plan"] == {"pair": "zoo", "prompts": 1, "max_new_tokens": 4, "lookahead": 3, "seed": 0}
    assert written["broken"] == []
    assert len(written["evidence"]["readings"]) == len(lines)
    text = (tmp_path / "reports" / "meter.md").read_text(encoding="utf-8")
    assert "`draftproof meter --pair zoo --prompts 1 --max-new-tokens 4 --lookahead 3 --seed 0`" in text


def test_two_runs_write_the_same_bytes_and_the_seed_matters(run: Callable[..., Result], tmp_path: Path) -> None:
    written = []
    for name, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        assert run(*TINY, "--seed", seed, "--output", str(tmp_path / name)).exit_code == 0
        written.append([(tmp_path / name / f"meter.{end}").read_bytes() for end in ("md", "json")])
    assert written[0] == written[1]
    assert written[0][1] != written[2][1]
    assert str(tmp_path).encode() not in b"".join(written[0])
    assert b"seconds" not in written[0][1]


def test_a_reading_that_cannot_be_is_exit_code_1(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def doctored(*arguments: Any, **options: Any) -> MeterEvidence:
        evidence = measure(*arguments, **options)
        lossless = replace(evidence.readings[1], drafted=Figures(0.1, 0.2))
        return replace(evidence, readings=(evidence.readings[0], lossless))

    measure = module.measure_rules
    monkeypatch.setattr(module, "measure_rules", doctored)
    result = run(*TINY)
    assert result.exit_code == 1
    said = (
        "acceptance thresholds (single 1, acc 1) reads 0.2 on zoo:byte-bpe with zoo:byte-bpe-small, above its ceiling 0"
    )
    assert result.stdout.splitlines()[-1] == f"BROKEN: {said}"
    assert document(tmp_path)["broken"] == [said]
    assert "**The meter is broken**" in (tmp_path / "reports" / "meter.md").read_text(encoding="utf-8")


# Bad input: exit code 2, one line, no report.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--pair none", "there is no pair 'none' for this command; known: zoo, real"),
        ("--prompts 0", "--prompts must be at least 1, not 0"),
        ("--max-new-tokens -3", "--max-new-tokens must be at least 1, not -3"),
        ("--lookahead 0", "--lookahead must be at least 1, not 0"),
        ("--seed -1", "--seed must be at least 0, not -1"),
    ],
)
def test_bad_options_are_one_line(run: Callable[..., Result], tmp_path: Path, arguments: str, message: str) -> None:
    result = run(*arguments.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [f"error: {message}"]
    assert not (tmp_path / "reports").exists()


def test_a_folder_that_cannot_be_written_to_is_refused(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run("--output", str(tmp_path / "file" / "reports"))
    assert result.exit_code == 2
    assert "cannot be written to" in result.stderr


def test_help_has_an_example_and_the_exit_codes() -> None:
    text = " ".join(CliRunner().invoke(app, ["meter", "--help"]).stdout.split())
    assert "Example: draftproof meter --prompts 2" in text
    assert "Exit codes: 0 every reading is one that its rule allows; 1 one is not; 2 usage or tool error." in text
