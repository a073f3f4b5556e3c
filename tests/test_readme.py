"""The README is true: its examples print what they say, its Python runs, its files and its options exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from draftproof.verify.claims import CLAIMS
from draftproof.verify.cli import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.DOTALL)
PYTHON = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if block.startswith("from ")]
COMMANDS = re.findall(r"^draftproof [a-z-]+.*$", README, re.MULTILINE)


def draftproof(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("draftproof")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, check=False)


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_a_console_example_prints_exactly_what_the_readme_says(command: str, output: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(command)
    assert program == "draftproof"
    run = draftproof(arguments, tmp_path)
    assert run.stdout == output
    assert run.returncode == int("REFUTED" in output.replace("NOT REFUTED", ""))


def test_the_first_screen_shows_a_decoder_that_passes_and_one_that_is_refuted() -> None:
    command, output = EXAMPLES[0]
    assert README.index(command) < 1_000
    assert ": EXACT: " in output
    assert ": REFUTED: " in output


@pytest.mark.parametrize("code", PYTHON)
def test_a_python_example_runs(code: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "target passes" in run.stdout


def test_there_is_a_python_example() -> None:
    assert PYTHON


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_in_the_readme_exists(command: str) -> None:
    _, name, *arguments = shlex.split(command.split("#")[0])
    known = get_command(app).commands[name]  # type: ignore[attr-defined]
    if hasattr(known, "commands"):
        known = known.commands[arguments.pop(0)]
    options = {option for parameter in known.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {argument for argument in arguments if argument.startswith("--")} <= options | {"--help"}


def test_every_command_of_draftproof_is_in_the_readme() -> None:
    known = get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name in known if f"draftproof {name}" not in README.replace("\n", " ")} == set()


def test_the_files_that_the_readme_links_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_claims_in_the_evidence_table_are_claims() -> None:
    rows = re.findall(r"^\| [^|]+ \| ([A-Z]+-\d) \|", README, re.MULTILINE)
    assert len(rows) == 7
    assert set(rows) <= set(CLAIMS)
