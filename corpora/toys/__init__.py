"""Toy string vocabularies: target and drafter over one or two letters, small enough to enumerate and to prove about.

Idea: each entry isolates one way in which two tokenizers can disagree. A token's id is its position in the tuple, and
EOS is `None` (JSON null in `vocabularies.json`): it is not a string, it ends the output.
"""

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NAMES", "Vocabulary", "vocabulary"]


@dataclass(frozen=True)
class Vocabulary:
    """Two lists of token strings; `target[i]` is what target id `i` decodes to, `None` at the id of EOS."""

    name: str
    target: tuple[str | None, ...]
    draft: tuple[str | None, ...]
    note: str


def _load() -> dict[str, Vocabulary]:
    path = Path(__file__).resolve().parent / "vocabularies.json"
    entries = json.loads(path.read_text(encoding="utf-8"))["vocabularies"]
    return {
        entry["name"]: Vocabulary(entry["name"], tuple(entry["target"]), tuple(entry["draft"]), entry["note"])
        for entry in entries
    }


_ALL = _load()

NAMES = tuple(_ALL)


def vocabulary(name: str) -> Vocabulary:
    """The toy vocabulary `name`. Raises `ValueError` with the list of names when there is none."""
    if name not in _ALL:
        raise ValueError(f"no toy vocabulary {name!r}; there are {', '.join(NAMES)}")
    return _ALL[name]
