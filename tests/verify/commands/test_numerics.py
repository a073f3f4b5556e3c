"""`draftproof numerics` as a user meets it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from draftproof.algorithms.models.zoo import ModelError
from draftproof.verify.cli import app
from draftproof.verify.commands import numerics as module
from draftproof.verify.numerics.evidence import Figures, NumericsEvidence
from draftproof.verify.pairs import Library

TINY = ["--prompts", "1", "--max-new-tokens", "2"]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Measures into `tmp_path / "reports"`, unless --output says otherwise."""

    def invoke(*arguments: str) -> Result:
        given = [] if "--output" in arguments else ["--output", str(tmp_path / "reports")]
        return CliRunner().invoke(app, ["numerics", *arguments, *given])

    return invoke


def document(tmp_path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((tmp_path / "reports" / "numerics.json").read_text(encoding="utf-8"))
    return loaded


def test_the_claims_are_judged_one_line_each(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--prompts", "2", "--max-new-tokens", "12", "--seed", "1")
    assert result.exit_code == 0, result.stdout
    found = [line.split(": ") for line in result.stdout.splitlines()]
    assert [(claim, kind) for _, claim, kind, *_ in found] == [
        *[("SS-4", "EXACT")] * 4,
        *[("SS-5", "EXACT")] * 4,
        ("SS-5", "INCONCLUSIVE"),
        ("SS-5", "EXACT"),
        ("SS-5", "INCONCLUSIVE"),
        *[("SS-8", "EXACT")] * 2,
        *[("SS-8", "NOT REFUTED")] * 3,
        ("SS-9", "EXACT"),
        *[("SS-9", "NOT REFUTED")] * 3,
        ("SS-8", "REFUTED"),
        ("SS-8", "NOT REFUTED"),
    ]
    mixed, declared = result.stdout.splitlines()[-2:]
    assert mixed.startswith("control drafts in bfloat16, declared in float32: ")
    assert mixed.endswith(" [refuted, as it must be]")
    assert declared.endswith(" [not refuted, as it must not be]")
    assert "positions, at most: " in result.stderr
    assert "recordings replayed: 8 of 8" in result.stderr
    assert result.stderr.splitlines()[-1] == f"report: {tmp_path / 'reports' / 'numerics.md'}"

    written = document(tmp_path)
    assert written["schema"] == "draftproof-numerics-1"
    assert written["plan"] == {"pair": "zoo", "prompts": 2, "max_new_tokens": 12, "lookahead": 3, "seed": 1}
    lines = [f"{one['subject']}: {one['claim']}: {one['kind']}: {one['message']}" for one in written["verdicts"]]
    assert result.stdout.splitlines()[: len(lines)] == lines
    assert [control["judged_rightly"] for control in written["controls"]] == [True, True]
    text = (tmp_path / "reports" / "numerics.md").read_text(encoding="utf-8")
    assert "`draftproof numerics --pair zoo --prompts 2 --max-new-tokens 12 --lookahead 3 --seed 1`" in text


def test_two_runs_write_the_same_bytes_and_the_seed_matters(run: Callable[..., Result], tmp_path: Path) -> None:
    written = []
    for name, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        assert run(*TINY, "--seed", seed, "--output", str(tmp_path / name)).exit_code == 0
        written.append([(tmp_path / name / f"numerics.{end}").read_bytes() for end in ("md", "json")])
    assert written[0] == written[1]
    assert written[0][1] != written[2][1]
    assert str(tmp_path).encode() not in b"".join(written[0])
    assert b"seconds" not in written[0][1]


def test_a_broken_bound_is_exit_code_1(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def doctored(*arguments: Any, **options: Any) -> NumericsEvidence:
        evidence = measured(*arguments, **options)
        first = replace(evidence.precisions[0], total=Figures(0.5, 0.5))
        return replace(evidence, precisions=(first, *evidence.precisions[1:]))

    measured = module.measure_numerics
    monkeypatch.setattr(module, "measure_numerics", doctored)
    result = run(*TINY)
    assert result.exit_code == 1
    [line] = [line for line in result.stdout.splitlines() if ": REFUTED: " in line and not line.startswith("control")]
    assert line.startswith("one step in float64: SS-5: REFUTED: 5.0e-01 on zoo:byte-bpe")
    assert any(verdict["kind"] == "REFUTED" for verdict in document(tmp_path)["verdicts"])


def test_a_misjudged_control_is_exit_code_1(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    def doctored(*arguments: Any, **options: Any) -> Any:
        return tuple(replace(one, own=1) for one in replay(*arguments, **options))

    replay = module.replay_mixed
    monkeypatch.setattr(module, "replay_mixed", doctored)
    result = run(*TINY)
    assert result.exit_code == 1
    assert "[MISJUDGED: these measurements cannot be trusted]" in result.stdout


def test_no_more_prompts_are_told_than_there_are(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []

    def asked(plan: Any) -> list[Any]:
        plans.append(plan)
        return []

    monkeypatch.setattr(module, "settings_of", asked)
    result = run("--prompts", "10000")
    assert plans[0].prompts == len(module.PROMPTS)
    # And where nothing was measured, that is no success.
    assert result.exit_code == 1
    assert "VACUOUS" in result.stdout


# Bad input: exit code 2, one line, no report.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--pair none", "there is no pair 'none' for this command; known: zoo, real"),
        ("--pair nothing", "there is no pair 'nothing' for this command; known: zoo, real"),
        ("--prompts 0", "--prompts must be at least 1, not 0"),
        ("--max-new-tokens 0", "--max-new-tokens must be at least 1, not 0"),
        ("--lookahead 0", "--lookahead must be at least 1, not 0"),
        ("--seed -1", "--seed must be at least 0, not -1"),
    ],
)
def test_bad_options_are_one_line(run: Callable[..., Result], tmp_path: Path, arguments: str, message: str) -> None:
    result = run(*arguments.split())
    refused(result, tmp_path, message)


def refused(result: Result, tmp_path: Path, message: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [f"error: {message}"]
    assert not (tmp_path / "reports").exists()


def test_an_option_that_is_no_number_or_unknown_is_refused(run: Callable[..., Result], tmp_path: Path) -> None:
    assert run("--prompts", "many").exit_code == run("--dtype", "float32").exit_code == 2
    assert not (tmp_path / "reports").exists()


def test_a_model_that_is_not_here_is_refused(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(library: Library, pair: Any) -> None:
        raise ModelError("gemma3 is not here")

    monkeypatch.setattr(Library, "check", missing)
    refused(run("--pair", "real"), tmp_path, "gemma3 is not here")


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "measure_numerics", lambda *arguments, **options: pytest.fail("measured"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run("--output", str(tmp_path / "file" / "reports"))
    assert result.exit_code == 2
    assert "cannot be written to" in result.stderr


def test_help_has_an_example_and_the_exit_codes(run: Callable[..., Result]) -> None:
    text = " ".join(CliRunner().invoke(app, ["numerics", "--help"]).stdout.split())
    assert "Example: draftproof numerics --prompts 2" in text
    assert "Exit codes: 0 every bound holds; 1 one is broken, or a control misjudged; 2 usage or tool error." in text
