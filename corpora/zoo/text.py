"""The zoo's training text: CPython's own documentation topics, cut into paragraphs.

Idea: `pydoc_data/topics.py` is on every machine that has CPython, so the corpus needs no download. A document is one
paragraph (a heading is kept with the paragraph below it); repeated paragraphs are dropped so that no held-out paragraph
is also a training paragraph. The split depends on the paragraph's own hash alone, not on order or a random generator.
"""

import hashlib
import re
from pydoc_data.topics import topics

HELD_OUT_ONE_IN = 20
EXPECTED_SHA256 = "71f2ff5d99bdc1f9c48c5c2353ad138201c5ca1c377e0226857ef8fa89b8bcee"
"""Text of CPython 3.11.7; other releases have other topics, and models trained on them get other numbers."""

_RULE = re.compile(r"^\s*([*=\-^~\"])\1{2,}$")


def full_text() -> str:
    """All topics joined in the dictionary's order; its SHA-256 identifies the corpus."""
    return "\n\n".join(topics.values())


def sha256_of(text: str) -> str:
    """Hexadecimal SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def paragraphs() -> list[str]:
    """Distinct paragraphs in order of first appearance; a heading and its underline stay with what follows."""
    found: dict[str, None] = {}
    heading = ""
    for piece in re.split(r"\n[ \t]*\n+", full_text()):
        paragraph = heading + piece.strip("\n")
        if _RULE.match(paragraph.rsplit("\n", 1)[-1]):
            heading = paragraph + "\n\n"
            continue
        heading = ""
        if paragraph.strip():
            found.setdefault(paragraph)
    return list(found)


def is_held_out(paragraph: str) -> bool:
    """True for about one paragraph in `HELD_OUT_ONE_IN`, decided by the paragraph's SHA-256."""
    return int(sha256_of(paragraph)[:8], 16) % HELD_OUT_ONE_IN == 0


def split() -> tuple[list[str], list[str]]:
    """Training paragraphs and held-out paragraphs; every distinct paragraph is in exactly one of them."""
    distinct = paragraphs()
    return [p for p in distinct if not is_held_out(p)], [p for p in distinct if is_held_out(p)]
