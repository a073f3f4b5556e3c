"""Rows of the corpus before they are written: the words the recipes are written in.

Idea: a recipe lists characters, a row says what they trigger. Ids are made of the code points, so they stay when
rows are added before them.
"""

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import Any

__all__ = ["Recipe", "Row", "names", "pair", "raw", "single"]

Row = dict[str, Any]
"""One record without its id: the fields of a line of a .jsonl file."""


@dataclass(frozen=True)
class Recipe:
    """One theme: its domain ("unicode", "bytes" or "str"), where its rows come from, and the rows."""

    domain: str
    provenance: str
    rows: list[Row]


def single(text: str | list[str], why: str, source: str, repeat: int = 1) -> Row:
    """A string by itself; it stands `repeat` times in a row. A list is joined, see `README.md`."""
    return {"text": text, **({"repeat": repeat} if repeat > 1 else {}), "why": why, "source": source}


def pair(text: str | list[str], other: str | list[str], form: str, why: str, source: str) -> Row:
    """Two different strings that `form` sends to one."""
    return {"text": text, "other": other, "same_under": form, "why": why, "source": source}


def raw(data: bytes, why: str, source: str, other: bytes | None = None, form: str | None = None) -> Row:
    """Bytes that are not UTF-8, alone or with other bytes that `form` sends to the same string."""
    row: Row = {"bytes": data.hex()}
    if other is not None:
        row |= {"other": other.hex(), "same_under": form}
    return row | {"why": why, "source": source}


def names(text: str) -> str:
    """The Unicode names of the characters of `text` in lower case, or their code points where they have none."""
    return " + ".join(unicodedata.name(c, f"u+{ord(c):04x}").lower() for c in text)


def identifier(theme: str, row: Row) -> str:
    """An id made of the content, the other side and the form included: two different rows have different ids."""
    content = row["bytes"] if "bytes" in row else row["text"]
    if "same_under" in row:
        return f"{theme}-{_label(row, content)}_{_label(row, row['other'])}-{row['same_under'].lower()}"
    return f"{theme}-{_label(row, content)}" + (f"-x{row['repeat']}" if "repeat" in row else "")


def _label(row: Row, content: str | list[str]) -> str:
    """Hexadecimal bytes; or code points where there are few, else a piece of their SHA-256."""
    if "bytes" in row:
        return str(content) or "empty"
    text = "".join(content)
    points = "-".join(f"{ord(c):04x}" for c in text)
    return (points if len(text) <= 4 else hashlib.sha256(points.encode()).hexdigest()[:10]) or "empty"
