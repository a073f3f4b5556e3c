"""Model specs and where they lead."""

import re
from pathlib import Path

import pytest

from draftproof.algorithms.models import zoo
from draftproof.algorithms.models.zoo import ModelError


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def test_given_cache_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTPROOF_CACHE", "/elsewhere")
    assert zoo.cache_folder(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("own", "base", "expected"),
    [
        ("/own", "/base", "/own"),
        ("", "/base", "/base/draftproof"),
        (None, "/base", "/base/draftproof"),
        (None, "", "/home/someone/.cache/draftproof"),
        (None, None, "/home/someone/.cache/draftproof"),
        ("~/models", None, "/home/someone/models"),
    ],
)
def test_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, own: str | None, base: str | None, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    for name, value in (("DRAFTPROOF_CACHE", own), ("XDG_CACHE_HOME", base)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert zoo.cache_folder() == Path(expected)


def test_zoo_specs_lead_to_shipped_folders() -> None:
    assert zoo.zoo_names()
    for name in zoo.zoo_names():
        folder = zoo.resolve(f"zoo:{name}")
        assert (Path(folder) / "config.json").is_file()


@pytest.mark.parametrize("spec", ["zoo:", "zoo:no-such", "zoo:../zoo"])
def test_unknown_zoo_model_is_refused_with_the_known_ones(spec: str) -> None:
    with pytest.raises(ModelError, match="it holds: " + ", ".join(zoo.zoo_names())):
        zoo.resolve(spec)


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_real_model_that_is_missing_says_how_to_fetch_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match=f"run `draftproof models fetch {name}`"):
        zoo.resolve(name, tmp_path)


def test_real_model_is_found_in_the_cache(tmp_path: Path) -> None:
    folder = zoo.real_model("smollm2").folder(tmp_path)
    folder.mkdir(parents=True)
    assert zoo.resolve("smollm2", tmp_path) == folder


def test_model_of_another_pin_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "models" / "smollm2-00000000").mkdir(parents=True)
    with pytest.raises(ModelError):
        zoo.resolve("smollm2", tmp_path)


def test_folder_is_taken_as_it_stands(model_folder: Path) -> None:
    assert zoo.resolve(str(model_folder)) == model_folder


def test_folder_wins_over_hub_id(monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> None:
    monkeypatch.chdir(model_folder.parents[1])
    assert zoo.resolve("owner/name") == Path("owner/name")


def test_real_model_wins_over_folder_unless_it_is_written_as_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "config.json").touch()
    monkeypatch.chdir(tmp_path)
    assert zoo.resolve("./smollm2") == Path("smollm2")
    with pytest.raises(ModelError, match="models fetch"):
        zoo.resolve("smollm2", tmp_path)


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no config\.json in it"):
        zoo.resolve(str(tmp_path))


@pytest.mark.parametrize("spec", ["HuggingFaceTB/SmolLM2-135M-Instruct", "google/gemma-3-270m", "a/b_c.d"])
def test_hub_id_is_left_as_it_is(spec: str) -> None:
    assert zoo.resolve(spec) == spec


@pytest.mark.parametrize("spec", ["", "smollm", "a/b/c", "/no/such/folder", "../x/y", "a b/c", "a/b\n", "zoo/"])
def test_unknown_spec_is_refused_with_what_is_possible(spec: str) -> None:
    with pytest.raises(ModelError) as caught:
        zoo.resolve(spec)
    for possible in ("zoo:<name>", *zoo.zoo_names(), "smollm2", "gemma3", "local folder", "hub id"):
        assert possible in str(caught.value)


def test_errors_are_value_errors() -> None:
    assert issubclass(ModelError, ValueError)


def test_pins_are_whole() -> None:
    for model in zoo.real_models().values():
        assert re.fullmatch(r"[0-9a-f]{64}", model.gguf_sha256)
        assert any(wheel.part for wheel in model.wheels)
        assert model.licence
        for wheel in model.wheels:
            assert re.fullmatch(r"[0-9a-f]{64}", wheel.sha256)
            assert wheel.file == f"{wheel.package.replace('-', '_')}-{wheel.version}-py3-none-any.whl"
            assert wheel.part or wheel.notices
