"""The tiny model zoo: where its files lie and whether they are intact. Needs the standard library only.

Idea: the models are data beside this module, so that they are found from a checkout and from an installed wheel alike.
Load one with `AutoModelForCausalLM.from_pretrained(folder(name))` and `AutoTokenizer.from_pretrained(folder(name))`.
`README.md` in this folder is the model card; `train.py` made everything.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["NAMES", "ZooError", "folder", "held_out", "manifest", "verify"]

NAMES = ("byte-bpe", "byte-bpe-small", "unigram", "wordpiece")

_HERE = Path(__file__).resolve().parent


class ZooError(Exception):
    """A file of the zoo is missing or differs from the manifest."""


def folder(name: str) -> Path:
    """The folder of the model `name`, fit for `from_pretrained`. Raises `ValueError` unless `name` is in `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"no model {name!r} in the zoo; it has {', '.join(NAMES)}")
    return _HERE / name


def manifest() -> dict[str, Any]:
    """What `train.py` recorded: the text, and for every model its files, size, seed and losses."""
    content: dict[str, Any] = json.loads((_HERE / "manifest.json").read_text(encoding="utf-8"))
    return content


def held_out() -> tuple[str, ...]:
    """The paragraphs that no model was trained on; the recorded held-out losses are theirs."""
    return tuple(json.loads((_HERE / "held_out.json").read_text(encoding="utf-8"))["paragraphs"])


def verify(name: str) -> None:
    """Check that every file the manifest lists for `name` is there with the SHA-256 it states.

    Files that the manifest does not list are ignored. Raises `ZooError` naming the file and both digests, and
    `ValueError` when `name` is unknown.
    """
    where = folder(name)
    for file, stated in manifest()["models"][name]["files"].items():
        path = where / file
        if not path.is_file():
            raise ZooError(f"{path} is missing; reinstall draftproof or run corpora/zoo/train.py")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != stated["sha256"]:
            raise ZooError(f"{path} has SHA-256 {found}, the manifest states {stated['sha256']}")
