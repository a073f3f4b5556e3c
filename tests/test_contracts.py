"""The import contracts of pyproject.toml: they hold, and each of them can fail."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("algorithms", "proofs", "verify", "corpora")

LAYERS = "Imports go down only: verify, proofs, algorithms, corpora"
PURE = "algorithms imports neither a solver nor a statistics library"
SOLVERS = "Only proofs.symbolic and proofs.smt import a solver"


@dataclass(frozen=True)
class House:
    """A copy of the source, with its folders where they are imported from."""

    root: Path

    def lint(self, **modules: str) -> tuple[int, str]:
        """Adds modules (`folder__name="text"`), asks import-linter, takes them away again.

        Gives the exit code and the output.
        """
        places = {self.root / "draftproof" / f"{name.replace('__', '/')}.py": text for name, text in modules.items()}
        before = {place: place.read_bytes() if place.exists() else None for place in places}
        for place, text in places.items():
            place.write_text(text + "\n", encoding="utf-8")
        try:
            return self._lint()
        finally:
            for place, content in before.items():
                if content is None:
                    place.unlink()
                else:
                    place.write_bytes(content)

    def _lint(self) -> tuple[int, str]:
        command = [str(Path(sys.executable).with_name("lint-imports")), "--config", "pyproject.toml", "--no-cache"]
        environment = os.environ | {"PYTHONPATH": str(self.root), "COLUMNS": "200"}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    root = tmp_path_factory.mktemp("house")
    shutil.copy(ROOT / "pyproject.toml", root)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            place = root / "draftproof" / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    return House(root)


def test_the_source_keeps_all_contracts(house: House) -> None:
    code, output = house.lint()
    assert code == 0, output
    for contract in (LAYERS, PURE, SOLVERS):
        assert f"{contract} KEPT" in output


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("corpora__offence", "import draftproof.algorithms", LAYERS),
        ("corpora__offence", "import draftproof.proofs", LAYERS),
        ("corpora__offence", "import draftproof.verify", LAYERS),
        ("algorithms__offence", "import draftproof.proofs", LAYERS),
        ("algorithms__models__offence", "from draftproof.verify import cli", LAYERS),
        ("proofs__offence", "import draftproof.verify", LAYERS),
        ("algorithms__offence", "import scipy.stats", PURE),
        ("algorithms__models__offence", "import z3", PURE),
        ("algorithms__offence", "def later():\n    from cvc5 import Solver", PURE),
        ("verify__offence", "import z3", SOLVERS),
        ("corpora__offence", "import cvc5", SOLVERS),
        ("proofs__offence", "from z3 import Real", SOLVERS),
    ],
)
def test_an_offending_import_is_refused(house: House, module: str, line: str, contract: str) -> None:
    code, output = house.lint(**{module: line})
    assert code == 1, output
    assert f"{contract} BROKEN" in output


def test_statistics_do_not_reach_algorithms_through_corpora(house: House) -> None:
    code, output = house.lint(
        corpora__offence="import scipy", algorithms__offence="from draftproof.corpora import offence"
    )
    assert code == 1, output
    assert f"{PURE} BROKEN" in output


def test_the_two_solver_modules_may_import_solvers_and_be_used(house: House) -> None:
    code, output = house.lint(
        proofs__symbolic="import z3",
        proofs__smt="import cvc5\nimport z3",
        verify__user="from draftproof.proofs import smt, symbolic",
    )
    assert code == 0, output
