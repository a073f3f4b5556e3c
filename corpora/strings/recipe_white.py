"""Recipes of what one does not see: spaces, newlines, zero width, directions, controls."""

from .rows import Recipe, Row, names, pair, single

__all__ = ["RECIPES"]

_SPACES = [0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]
"""Category Zs without U+0020."""
_BREAKS = ["\t", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029"]
_FORMAT = [
    0x00AD,
    0x061C,
    0x06DD,
    0x070F,
    0x180E,
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2065),
]
_FORMAT += [*range(0x2066, 0x206A), 0x206A, 0x206F, 0xFEFF, 0xFFF9, 0xFFFB, 0x110BD, 0x1D173, 0xE0001, 0xE0020, 0xE007F]
_SELECTORS = [0x180B, 0xFE00, 0xFE0E, 0xFE0F, 0xE0100, 0xE01EF]
_BLANKS = [0x115F, 0x1160, 0x17B4, 0x2800, 0x3164, 0xFFA0]
_CONTROLS = [0x00, 0x01, 0x04, 0x07, 0x08, 0x0E, 0x1A, 0x1B, 0x7F, 0x80, 0x86, 0x8D, 0x90, 0x9B, 0x9F]
_GLUED = [("a .", "a."), ("a , b", "a, b"), ("a ! b", "a! b"), ("a ?", "a?"), ("it 's", "it's"), ("do n't", "don't")]
_GLUED += [("I 'm", "I'm"), ("we 've", "we've"), ("we 're", "we're"), ("a ' b", "a'b")]


def _spaces() -> list[Row]:
    rows = []
    for c in map(chr, _SPACES):
        why = f"{names(c)} beside a plain space"
        rows.append(pair(f"a{c}b", "a b", "plain-spaces", why, "UnicodeData, category Zs"))
        # U+1680 has no decomposition: NFKC leaves it.
        if c != "\u1680":
            rows.append(pair(f"a{c}b", "a b", "NFKC", why, "UnicodeData, category Zs; UAX #15"))
        rows.append(single(c, f"{names(c)} alone", "UnicodeData, category Zs"))
    for c in _BREAKS:
        why = f"U+{ord(c):04X} is white space to str.split"
        rows.append(pair(f"a{c}b", "a b", "one-space", why, "Unicode White_Space; str.isspace"))
    for text in (" a", "a ", " a ", "\ta", "a\n", "\u00a0a", "\u3000a\u2003"):
        rows.append(pair(text, "a", "strip", "leading and trailing white space", "own"))
    for text, other in (("a  b", "a b"), ("a   b", "a b"), ("a\t\tb", "a\tb"), (" a  b ", "a b"), ("a \u00a0b", "a b")):
        rows.append(pair(text, other, "one-space", "runs of white space", "own"))
    for text in ("a", "a b", "\u00e9", "1"):
        rows.append(
            pair(
                text,
                f" {text}",
                "prefix-space",
                "a leading space is added, and dropped on decoding",
                "tokenizers, ByteLevel",
            )
        )
    for text, other in _GLUED:
        rows.append(pair(text, other, "clean-up", "spaces that decoding takes away before punctuation", "transformers"))
    for count in (1, 2, 3, 4, 7, 8, 15, 16, 31):
        rows.append(single(" " * count, f"nothing but {count} spaces", "own"))
    for text in ("    if x:\n\t\treturn", "\t \t", "a \n b", " \n", "  a"):
        rows.append(single(text, "indentation and spaces at line ends, as in code", "own"))
    return rows


def _newlines() -> list[Row]:
    rows = []
    for text in ("\r\n", "\r", "a\r\nb", "a\rb", "a\r\n\r\nb", "a\r\rb", "a\n\rb", "a\r\nb\rc\nd", "\r\n\n\r"):
        other = text.replace("\r\n", "\n").replace("\r", "\n")
        rows.append(pair(text, other, "newlines", "CR, LF and CRLF become LF", "Unicode Standard, 5.8"))
    for text in ("\n", "a\nb", "\r\n", "\n\n", "a\n\nb"):
        other = text.replace("\r", " ").replace("\n", " ")
        rows.append(pair(text, other, "plain-spaces", "newlines become spaces", "BERT's normaliser"))
    for text in ("a\x85b", "a\u2028b", "a\u2029b", "\n\n\n", "\n \n", "\\n", "a\\r\\nb", "\n\t\n", "\u2028\n\u2029"):
        rows.append(single(text, "line ends beyond CR and LF, runs of them, and their names in text", "own"))
    return rows


def _invisible() -> list[Row]:
    rows = []
    for c in map(chr, _FORMAT):
        why = f"{names(c)} leaves no trace"
        rows.append(pair(f"a{c}b", "ab", "drop-controls", why, "UnicodeData, category Cf"))
    for c in map(chr, _SELECTORS):
        why = f"{names(c)} goes with the accents"
        rows.append(pair(f"a{c}", "a", "strip-accents", why, "Unicode Standard, 23.4"))
    for c in map(chr, _BLANKS):
        rows.append(single(c, f"looks like nothing and is neither space nor control: {names(c)}", "UnicodeData"))
    for text, why in (
        ("\ufeff", "a byte order mark alone"),
        ("\u200b", "a zero width space alone, which str.strip leaves"),
        ("\u200d", "a joiner alone"),
        ("\u00ad", "a soft hyphen alone"),
        ("\u0915\u094d\u200d\u0937", "a joiner that changes how a Devanagari cluster looks"),
        ("\u202ecba\u202c", "right-to-left override around letters"),
        ("if x\u2066 // \u2069y", "isolates in code, as in the Trojan Source attack"),
        ("\u05d0\u05d1 abc \u05d2", "two directions without any control"),
    ):
        rows.append(single(text, why, "Unicode Standard, 23.2; UAX #9"))
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    why = "a non-joiner that Persian spelling needs"
    rows.append(pair(persian, persian.replace("\u200c", ""), "drop-controls", why, "Unicode Standard, 23.2"))
    rows.append(pair("\ufeffa", "a", "drop-controls", "a byte order mark at the start", "Unicode Standard, 23.8"))
    return rows


def _controls() -> list[Row]:
    rows = []
    for c in map(chr, _CONTROLS):
        rows.append(single(c, f"control U+{ord(c):04X} alone", "UnicodeData, category Cc"))
        why = f"control U+{ord(c):04X} leaves no trace"
        rows.append(pair(f"a{c}b", "ab", "drop-controls", why, "UnicodeData, category Cc"))
    rows.append(pair("\x04", "", "drop-controls", "what encodes to nothing, as the empty string does", "own"))
    rows.append(single("\x1b[31mred\x1b[0m", "terminal escapes", "own"))
    rows.append(single("a\x00", "NUL at the end: C strings stop here", "own"))
    return rows


RECIPES = {
    "spaces": Recipe("unicode", "UnicodeData (Zs), White_Space; contexts are our own", _spaces()),
    "newlines": Recipe("unicode", "Unicode Standard 5.8; contexts are our own", _newlines()),
    "invisible": Recipe("unicode", "UnicodeData (Cf), Unicode Standard 23.2 to 23.8, UAX #9", _invisible()),
    "controls": Recipe("unicode", "UnicodeData (Cc); contexts are our own", _controls()),
}
"""By theme."""
