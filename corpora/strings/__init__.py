"""Adversarial strings: what tokenizers normalise, drop, confuse or cannot give back, by theme.

Idea: a tokenizer that is not encode-injective, or whose round trip fails, does so on few kinds of strings. Each file is
one kind. Where two strings collide under a normal form the record holds both, so that an audit can encode the two and
compare. `build.py` wrote the files from the `recipe_*` modules; `README.md` describes a line.

Claims: none of its own; TOK-1 and TOK-2 are put to the test with these strings.
But: a corpus can refute an injective encoding, it cannot prove one.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, overload

from .forms import BYTE_FORMS, FORMS

__all__ = [
    "BYTE_FORMS",
    "DOMAINS",
    "FORMS",
    "THEMES",
    "AdversarialString",
    "StringsError",
    "load",
    "manifest",
    "strings",
]

DOMAINS = ("unicode", "bytes", "str")
"""Sequences of Unicode scalar values; bytes; Python's str, in which surrogates may stand alone."""

THEMES = (
    *("canonical", "compatibility", "marks", "case", "digits", "spaces", "newlines", "invisible", "controls"),
    *("markers", "emoji", "scripts", "codepoints", "long", "invalid-utf-8", "surrogates"),
)
"""One file each, in this order."""

_HERE = Path(__file__).resolve().parent
_ENTRY = {"file", "sha256", "records", "domain", "provenance"}
_REMEDY = "reinstall draftproof or run python -m draftproof.corpora.strings.build"


class StringsError(Exception):
    """A file of the corpus is missing, differs from the manifest or has a line that is no record."""


@dataclass(frozen=True)
class AdversarialString:
    """One record. `text` is bytes in the domain "bytes", else str; repetitions are already written out.

    `other` is None, or a string unlike `text` that the form `same_under` of `FORMS` (of `BYTE_FORMS` for bytes) sends
    to the same string. `why` says what the record triggers, `source` where that is laid down.
    """

    id: str
    theme: str
    domain: str
    text: str | bytes
    why: str
    source: str
    same_under: str | None = None
    other: str | bytes | None = None


def manifest(folder: Path = _HERE) -> dict[str, dict[str, Any]]:
    """By theme: `file`, `sha256`, `records`, `domain` and `provenance`. Raises `StringsError` when unreadable."""
    path = folder / "manifest.json"
    try:
        themes: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="ascii"))["themes"]
        for theme, entry in themes.items():
            if entry.keys() != _ENTRY or entry["domain"] not in DOMAINS:
                raise ValueError(f"{theme} needs {', '.join(sorted(_ENTRY))}, and a domain of {', '.join(DOMAINS)}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise StringsError(f"{path} cannot be read ({problem}); {_REMEDY}") from problem
    return themes


def load(theme: str, folder: Path = _HERE) -> tuple[AdversarialString, ...]:
    """The records of one theme in file order, from `folder` (by default the corpus that came with draftproof).

    Raises `ValueError` when `theme` is not in `THEMES`, and `StringsError` when its file is missing, has not the
    SHA-256 or the number of records that the manifest states, or has a line that is no record (with its number).
    """
    if theme not in THEMES:
        raise ValueError(f"no strings of theme {theme!r}; there are {', '.join(THEMES)}")
    entries = manifest(folder)
    if theme not in entries:
        raise StringsError(f"{folder / 'manifest.json'} does not list the theme {theme}; {_REMEDY}")
    entry = entries[theme]
    path = folder / entry["file"]
    if not path.is_file():
        raise StringsError(f"{path} is missing; {_REMEDY}")
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != entry["sha256"]:
        raise StringsError(f"{path} has SHA-256 {found}, the manifest states {entry['sha256']}; {_REMEDY}")
    records = []
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            records.append(_record(json.loads(line.decode("ascii")), theme, entry["domain"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise StringsError(f"{path}, line {number} is no record: {problem}; {_REMEDY}") from problem
    if len(records) != entry["records"]:
        raise StringsError(f"{path} has {len(records)} records, the manifest states {entry['records']}; {_REMEDY}")
    return tuple(records)


@overload
def strings(domain: Literal["unicode", "str"]) -> tuple[str, ...]: ...
@overload
def strings(domain: Literal["bytes"]) -> tuple[bytes, ...]: ...
def strings(domain: str) -> tuple[str, ...] | tuple[bytes, ...]:
    """Every distinct string of a domain, both sides of each pair, in order of first appearance.

    Raises `ValueError` when `domain` is not in `DOMAINS`, and what `load` raises.
    """
    if domain not in DOMAINS:
        raise ValueError(f"no domain {domain!r}; there are {', '.join(DOMAINS)}")
    records = [record for theme in THEMES for record in load(theme) if record.domain == domain]
    sides = [side for record in records for side in (record.text, record.other) if side is not None]
    return cast("tuple[str, ...] | tuple[bytes, ...]", tuple(dict.fromkeys(sides)))


def _record(line: Any, theme: str, domain: str) -> AdversarialString:
    """One line as a record; `ValueError` says what is wrong with it."""
    if not isinstance(line, dict):
        raise ValueError("not a JSON object")
    key = "bytes" if domain == "bytes" else "text"
    needed, optional = {"id", key, "why", "source"}, {"other", "same_under", "repeat"}
    if needed - line.keys() or line.keys() - needed - optional:
        raise ValueError(f"needs {', '.join(sorted(needed))} and at most {', '.join(sorted(optional))} beside them")
    if any(not isinstance(line[name], str) or not line[name] for name in ("id", "why", "source")):
        raise ValueError("id, why and source are strings that are not empty")
    if ("other" in line) != ("same_under" in line):
        raise ValueError("other and same_under stand together or not at all")
    forms = BYTE_FORMS if domain == "bytes" else FORMS
    if "same_under" in line and line["same_under"] not in forms:
        raise ValueError(f"unknown form {line['same_under']!r}; there are {', '.join(forms)}")
    repeat = line.get("repeat", 1)
    if type(repeat) is not int or repeat < 1 or ("repeat" in line and "other" in line):
        raise ValueError("repeat is a positive integer, and not in a pair")
    read = _READERS[domain]
    other = read(line["other"]) if "other" in line else None
    text = read(line[key]) * repeat
    return AdversarialString(
        line["id"], theme, domain, text, line["why"], line["source"], line.get("same_under"), other
    )


def _str(value: Any) -> str:
    pieces = value if isinstance(value, list) else [value]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ValueError("a text is a string or a list of strings")
    return "".join(pieces)


def _unicode(value: Any) -> str:
    text = _str(value)
    text.encode("utf-8")  # UnicodeEncodeError, which is a ValueError, at a lone surrogate
    return text


_READERS: dict[str, Callable[[Any], str | bytes]] = {"unicode": _unicode, "bytes": bytes.fromhex, "str": _str}
