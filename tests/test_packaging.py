"""The wheel: what is in it, and that it works where nothing but its dependencies is installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("algorithms", "proofs", "verify", "corpora")


def source_modules() -> set[str]:
    """Every Python file of the folders, by its path in the repository."""
    return {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def setuptools_table() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


@dataclass(frozen=True)
class Installed:
    """A fresh environment with the wheel in it."""

    prefix: Path
    elsewhere: Path

    def run(self, *command: str) -> str:
        """Runs a program of the environment away from the repository; gives its standard output."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment["DRAFTPROOF_CACHE"] = str(self.elsewhere / "cache")
        program = str(self.prefix / "bin" / command[0])
        done = subprocess.run(
            [program, *command[1:]], cwd=self.elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # From a copy: a build leaves files beside its sources, and takes along what an earlier one left.
    source = tmp_path_factory.mktemp("source")
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    prefix = tmp_path_factory.mktemp("environment")
    venv.create(prefix, with_pip=False, symlinks=True)
    python = prefix / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    done = subprocess.run([*command, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Makes the dependencies importable. A folder named in a .pth file has its own .pth files ignored, so the
    # editable draftproof of this environment is not seen there.
    (site,) = (prefix / "lib").glob("python*/site-packages")
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "dependencies.pth").write_text("\n".join(sorted(paths)) + "\n", encoding="utf-8")
    return Installed(prefix, tmp_path_factory.mktemp("elsewhere"))


def test_the_package_list_names_every_folder_with_python_in_it() -> None:
    expected = {"draftproof." + str(Path(module).parent).replace("/", ".") for module in source_modules()}
    assert set(setuptools_table()["packages"]) == expected


def test_every_package_says_why_it_exists() -> None:
    for module in source_modules():
        assert (ROOT / module).with_name("__init__.py").is_file(), f"{module} lies in a folder without __init__.py"


def test_wheel_holds_nothing_outside_draftproof(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert tops == {"draftproof", "draftproof-0.1.0.dist-info"}


def test_wheel_holds_every_module(names: set[str]) -> None:
    assert {f"draftproof/{module}" for module in source_modules()} == {name for name in names if name.endswith(".py")}


def test_draftproof_stays_a_namespace(names: set[str]) -> None:
    assert "draftproof/__init__.py" not in names


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        *((folder, "py.typed") for folder in FOLDERS),
        ("corpora", "**/*.json"),
        ("corpora", "**/*.jsonl"),
        ("corpora", "**/*.safetensors"),
        ("corpora", "**/README.md"),
        ("corpora", "**/LICENSE*"),
        ("verify", "report/*.j2"),
    ],
)
def test_wheel_holds_the_data(names: set[str], folder: str, pattern: str) -> None:
    expected = {f"draftproof/{path.relative_to(ROOT)}" for path in (ROOT / folder).glob(pattern)}
    assert expected <= names


def test_wheel_holds_the_licence_and_the_command(names: set[str], wheel: Path) -> None:
    assert "draftproof-0.1.0.dist-info/licenses/LICENSE" in names
    with zipfile.ZipFile(wheel) as archive:
        entry_points = archive.read("draftproof-0.1.0.dist-info/entry_points.txt").decode()
    assert "draftproof = draftproof.verify.cli:main" in entry_points


def test_wheel_is_what_the_fresh_environment_imports(installed: Installed) -> None:
    place = installed.run("python", "-c", "import draftproof.verify.cli as cli; print(cli.__file__)").strip()
    assert Path(place).is_relative_to(installed.prefix)


def test_command_starts_in_a_fresh_environment(installed: Installed) -> None:
    assert "models" in installed.run("draftproof", "--help")


def test_models_are_listed_in_a_fresh_environment(installed: Installed) -> None:
    assert "smollm2" in installed.run("draftproof", "models", "list")
