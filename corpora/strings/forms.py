"""Normal forms and round trips under which two strings of the corpus collide.

Idea: a tokenizer rewrites its input (a normaliser) or its output (a decoder). Each form here is one such rewriting, as
a plain function. A pair of the corpus names a form, and the form sends both sides to the same string.

But: a form is a model of a rewriting step alone. Whether a given tokenizer does that step is for an audit to find out.
`drop-controls`, `strip-accents` and the NF* forms read Python's own Unicode tables, a tokenizer reads its own.
"""

import re
import unicodedata
from collections.abc import Callable
from types import MappingProxyType
from typing import Literal

__all__ = ["BYTE_FORMS", "FORMS"]


def _strip_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def _drop_controls(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or (c != "\ufffd" and unicodedata.category(c)[0] != "C"))


def _plain_spaces(text: str) -> str:
    return "".join(" " if c in "\t\n\r" or unicodedata.category(c) == "Zs" else c for c in text)


def _clean_up(text: str) -> str:
    for before, after in ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't")):
        text = text.replace(before, after)
    for ending in ("m", "s", "ve", "re"):
        text = text.replace(f" '{ending}", f"'{ending}")
    return text


def _byte_fallback(text: str) -> str:
    return re.sub(r"<0x([0-7][0-9A-F])>", lambda match: chr(int(match[1], 16)), text)


def _normal(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> Callable[[str], str]:
    return lambda text: unicodedata.normalize(form, text)


FORMS: MappingProxyType[str, Callable[[str], str]] = MappingProxyType(
    {
        "NFC": _normal("NFC"),
        "NFD": _normal("NFD"),
        "NFKC": _normal("NFKC"),
        "NFKD": _normal("NFKD"),
        # Python's: a sigma at the end of a word becomes a final one. tokenizers lowers each character by itself.
        "lower": str.lower,
        "upper": str.upper,
        "casefold": str.casefold,
        # BERT: decompose, then drop nonspacing marks.
        "strip-accents": _strip_accents,
        # BERT's clean_text, first half: categories C* and U+FFFD go, tab and newlines stay.
        # tokenizers keeps category Cn.
        "drop-controls": _drop_controls,
        # BERT's clean_text, second half: each space, tab and newline becomes U+0020.
        "plain-spaces": _plain_spaces,
        "strip": str.strip,
        # Split at white space and join again, as every pre-tokenizer does that forgets what it split at.
        "one-space": lambda text: " ".join(text.split()),
        # SentencePiece: a space is written U+2581, and so is U+2581.
        "metaspace": lambda text: text.replace(" ", "\u2581"),
        # tokenizers' ByteLevel and Metaspace with a prefix space: one is added unless there is one.
        "prefix-space": lambda text: text if text.startswith(" ") else f" {text}",
        # Text files read with universal newlines.
        "newlines": lambda text: text.replace("\r\n", "\n").replace("\r", "\n"),
        # transformers' clean_up_tokenization_spaces, on decoding.
        "clean-up": _clean_up,
        # The decoder of WordPiece glues continuation pieces.
        "wordpiece": lambda text: text.replace(" ##", ""),
        # The decoder of BPE with an end-of-word mark.
        "end-of-word": lambda text: text.replace("</w>", " "),
        # The decoder of SentencePiece with byte fallback, on ASCII, where the spelling of a byte is a token.
        "byte-fallback": _byte_fallback,
        # A vocabulary read by replacing GPT-2's letters, instead of mapping its 256 bytes back.
        "byte-letters": lambda text: text.replace("\u0120", " ").replace("\u010a", "\n").replace("\u0109", "\t"),
        # Through UTF-16: two halves become one character, a lone one becomes U+FFFD.
        "utf-16": lambda text: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"),
        # To UTF-8 with "?" for what has no encoding.
        "utf-8-question": lambda text: text.encode("utf-8", "replace").decode("utf-8"),
    }
)
"""Forms of str by name."""

BYTE_FORMS: MappingProxyType[str, Callable[[bytes], str]] = MappingProxyType(
    {
        # What decoders of byte-level tokenizers do with invalid bytes.
        "utf-8-replace": lambda data: data.decode("utf-8", "replace"),
        "utf-8-ignore": lambda data: data.decode("utf-8", "ignore"),
    }
)
"""Forms of bytes by name."""
