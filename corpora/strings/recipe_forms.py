"""Recipes of canonical and compatibility equivalence, and of the order of marks (UAX #15)."""

from .forms import FORMS
from .rows import Recipe, Row, names, pair, single

__all__ = ["RECIPES"]

_SINGLETONS = [0x2126, 0x212A, 0x212B, 0x037E, 0x0387, 0x0340, 0x0341, 0x0343, 0x0374, 0x1F71, 0x1F73, 0x1F75, 0x1F77]
_SINGLETONS += [0x1F79, 0x1F7B, 0x1F7D, 0x1FEF, 0x1FFD, 0x2000, 0x2001, 0x2329, 0x232A, 0xF900, 0xFA10, 0x2F800]
_COMPOSED = [0x00C5, 0x00E9, 0x00F1, 0x00FC, 0x00E7, 0x01D5, 0x0390, 0x0439, 0x0451, 0x0622, 0x0929, 0x0B94, 0x0DDE]
_COMPOSED += [0x1026, 0x1B06, 0x1E69, 0x1EA5, 0x1ED9, 0x1F82, 0x2260, 0x304C, 0x30D1, 0x1109A]
_EXCLUDED = [0x0344, 0x0958, 0x095F, 0x09DC, 0x09DF, 0x0A33, 0x0A5E, 0x0B5C, 0x0F43, 0x0F73, 0x2ADC, 0xFB1D, 0xFB1F]
_EXCLUDED += [0xFB2A, 0xFB2C, 0xFB4B, 0xFB4E, 0x1D15E, 0x1D1BB]
_JAMO = ["\uac00", "\uac01", "\ud7a3", "\ud55c\uae00"]
_COMPATIBLE = [0x00AA, 0x00B2, 0x00B4, 0x00B5, 0x00B9, 0x00BD, 0x0132, 0x0133, 0x0149, 0x017F, 0x01C4, 0x01F3, 0x02B0]
_COMPATIBLE += [0x03D0, 0x0587, 0x0675, 0x0E33, 0x0EB3, 0x0F0C, 0x1D2C, 0x1E9B, 0x2011, 0x2024, 0x2025, 0x2026, 0x2033]
_COMPATIBLE += [0x2070, 0x207F, 0x2082, 0x20A8, 0x2100, 0x2103, 0x210E, 0x2116, 0x211D, 0x2121, 0x2122, 0x2135, 0x2153]
_COMPATIBLE += [0x2167, 0x2172, 0x222D, 0x2460, 0x2473, 0x2474, 0x2488, 0x24B6, 0x24D0, 0x2A74, 0x2C7D, 0x2F00, 0x3036]
_COMPATIBLE += [0x3131, 0x3192, 0x3200, 0x3251, 0x3280, 0x32D0, 0x3300, 0x337E, 0x3392, 0x33A1, 0xFB00, 0xFB01, 0xFB02]
_COMPATIBLE += [0xFB03, 0xFB04, 0xFB05, 0xFB06, 0xFB13, 0xFB4F, 0xFDF2, 0xFDFA, 0xFE10, 0xFE19, 0xFE30, 0xFE8D, 0xFEFB]
_COMPATIBLE += [0xFF01, 0xFF0C, 0xFF11, 0xFF21, 0xFF41, 0xFF61, 0xFF71, 0xFF76, 0xFF9E, 0xFFA1, 0xFFE5, 0x1D400]
_COMPATIBLE += [0x1D4D0, 0x1D7D8, 0x1D7FF, 0x1EE00, 0x1F100, 0x1F130, 0x1F200]
# Marks of different classes, which canonical ordering sorts. Each is given in its unsorted order.
_UNSORTED = ["q\u0307\u0323", "s\u0307\u0323", "e\u0302\u0323", "\u05e9\u05c1\u05bc", "\u0628\u0651\u064e"]
_UNSORTED += ["\u0e01\u0e48\u0e38", "\u0915\u094d\u093c", "\u0f40\u0f72\u0f71", "a\u0301\u0327", "a\u0345\u0301"]
_UNSORTED += ["\u0301\u0316", "\u3042\u0301\u3099", "o\u0304\u0328\u031b", "\U0001d158\U0001d16d\U0001d165"]
_ACCENTED = ["\u00e9", "\u00f1", "\u0439", "\u304c", "\u0e01\u0e34", "\u0915\u0941", "\u05e9\u05c1", "\u0628\u064e"]
_ACCENTED += ["\u1ea5", "\u0958", "caf\u00e9", "u\u0308ber", "r\u00e9sum\u00e9", "\u2260", "\u0c15\u0c3f"]


def _canonical() -> list[Row]:
    rows = []
    for text in map(chr, _SINGLETONS):
        why = f"singleton: {names(text)} has another code point as its canonical form"
        rows.append(pair(text, FORMS["NFC"](text), "NFC", why, "UAX #15, 5.1; UnicodeData"))
    for text in map(chr, _COMPOSED):
        why = f"composed and decomposed: {names(text)}"
        rows.append(pair(text, FORMS["NFD"](text), "NFC", why, "UAX #15, 1.2; UnicodeData"))
    for text in map(chr, _EXCLUDED):
        why = f"composition exclusion: {names(text)} decomposes even under NFC"
        rows.append(pair(text, FORMS["NFC"](text), "NFC", why, "UAX #15, 5; CompositionExclusions"))
    for text in _JAMO:
        why = "Hangul syllables and their jamo, composed by arithmetic and not by a table"
        rows.append(pair(text, FORMS["NFD"](text), "NFC", why, "Unicode Standard, 3.12"))
    hangul = "Hangul: a syllable without a final consonant takes one from the jamo behind it"
    rows.append(pair("\uac00\u11a8", "\uac01", "NFC", hangul, "Unicode Standard, 3.12"))
    for text in ("caf\u00e9", "Zu\u0308rich", "\u1e69o", "Ti\u1ebfng Vi\u1ec7t"):
        form = "NFD" if FORMS["NFC"](text) == text else "NFC"
        rows.append(pair(text, FORMS[form](text), "NFD", "a word with and without composed letters", "own"))
    for text in ("\u1100\u1100\u1161", "\u11a8", "\u1161\u11a8", "\uac00\u1161"):
        rows.append(single(text, "jamo that form no modern syllable: no normal form changes them", "own"))
    return rows


def _compatibility() -> list[Row]:
    rows = []
    for text in map(chr, _COMPATIBLE):
        why = f"compatibility form: {names(text)}"
        rows.append(pair(text, FORMS["NFKC"](text), "NFKC", why, "UAX #15, 1.2; UnicodeData"))
    for text in (
        "\ufb03x",
        "\uff34\uff45\uff53\uff54",
        "x\u00b2",
        "1\u00bd",
        "\uff76\uff9e",
        "\u2460\u2461",
        "\u017f\u0323",
    ):
        why = "compatibility forms in a context: NFKC changes length, number or meaning"
        rows.append(pair(text, FORMS["NFKC"](text), "NFKC", why, "UAX #15, 1.2"))
    for text in ("\u00c5", "\u1e9b\u0323", "\u33a6", "\uff76\uff9e", "\ufb2c", "\u01c4"):
        why = f"compatibility decomposition, marks apart: {names(text)}"
        rows.append(pair(text, FORMS["NFKD"](text), "NFKD", why, "UAX #15, 1.2; UnicodeData"))
    return rows


def _marks() -> list[Row]:
    rows = []
    for text in _UNSORTED:
        why = f"canonical ordering sorts the marks: {names(text)}"
        rows.append(pair(text, FORMS["NFD"](text), "NFD", why, "Unicode Standard, 3.11"))
    for text in _ACCENTED:
        why = "the marks are dropped and a letter remains"
        rows.append(pair(text, FORMS["strip-accents"](text), "strip-accents", why, "BERT's normaliser"))
    blocked = "marks of one class keep their order: these two look-alikes stay different under every normal form"
    rows += [single(text, blocked, "Unicode Standard, 3.11") for text in ("a\u0301\u0308", "a\u0308\u0301")]
    rows.append(single("a\u034f\u0301", "U+034F blocks composition and ordering", "Unicode Standard, 23.2"))
    rows.append(single("\u0301", "a mark with no base", "Unicode Standard, 3.6"))
    rows.append(single("\u0301a", "a mark before its base", "Unicode Standard, 3.6"))
    rows.append(single("a\n\u0301", "a mark behind a newline", "own"))
    rows.append(single("a\u20dd", "an enclosing mark (category Me): not dropped with the accents", "UnicodeData"))
    rows.append(single("a" + "\u0301" * 31, "more than 30 marks: beyond the stream-safe text format", "UAX #15, 13"))
    zalgo = "a" + "\u0300\u0316\u0301\u0317\u0302\u0318\u0303\u0319" * 2
    rows.append(pair(zalgo, FORMS["NFD"](zalgo), "NFD", "many marks above and below, sorted by class", "own"))
    return rows


RECIPES = {
    "canonical": Recipe("unicode", "UnicodeData, CompositionExclusions, UAX #15; words are our own", _canonical()),
    "compatibility": Recipe("unicode", "UnicodeData, UAX #15; contexts are our own", _compatibility()),
    "marks": Recipe("unicode", "Unicode Standard 3.11, UAX #15; contexts are our own", _marks()),
}
"""By theme."""
