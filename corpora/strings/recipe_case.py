"""Recipes of case beyond ASCII, and of digits."""

from .rows import Recipe, Row, names, pair, single

__all__ = ["RECIPES"]

_LOWER = [
    "A",
    "\u00c5",
    "\u0130",
    "\u0178",
    "\u01c4",
    "\u01c5",
    "\u01f1",
    "\u01f2",
    "\u0386",
    "\u03a3",
    "\u0410",
    "\u10a0",
]
_LOWER += ["\u13a0", "\u13f0", "\u1c90", "\u1e9e", "\u1f88", "\u1fbc", "\u2126", "\u212a", "\u212b", "\u2160", "\u24b6"]
_LOWER += [
    "\u2c00",
    "\u2c80",
    "\uff21",
    "\U00010400",
    "\U0001e900",
    "\u0391\u03a3",
    "\u0391\u03a3\u0391",
    "\u0130stanbul",
]
_FOLD = [
    "\u00b5",
    "\u00df",
    "\u0149",
    "\u017f",
    "\u01f0",
    "\u0345",
    "\u0390",
    "\u03c2",
    "\u03d0",
    "\u03f5",
    "\u0587",
    "\u13f8",
]
_FOLD += ["\u1c80", "\u1c88", "\u1e96", "\u1e9b", "\u1e9e", "\u1f80", "\u1fb3", "\u1fd3", "\uab70", "\ufb00", "\ufb03"]
_FOLD += ["\ufb06", "\ufb13", "Stra\u00dfe", "MASSE"]
_UPPER = [
    ("\u0131", "i"),
    ("\u017f", "s"),
    ("\u03c2", "\u03c3"),
    ("\u00b5", "\u03bc"),
    ("\u00df", "ss"),
    ("\u1c80", "\u0432"),
]
_UPPER += [("\ufb01", "fi"), ("\u0149", "\u02bcn"), ("\u01c5", "\u01c6")]
# The first and the last digit of a script; each run is ten code points.
_ZEROS = [
    0x0660,
    0x06F0,
    0x07C0,
    0x0966,
    0x09E6,
    0x0BE6,
    0x0E50,
    0x0F20,
    0x1040,
    0x17E0,
    0x1810,
    0xA620,
    0xFF10,
    0x104A0,
]
_ZEROS += [0x11066, 0x1D7CE, 0x1E950]


def _case() -> list[Row]:
    rows = []
    for text in _LOWER:
        rows.append(pair(text, text.lower(), "lower", f"lower case of {names(text)}", "Unicode Standard, 3.13"))
    sigma = "a sigma at the end: Python's lower case is a final one, that of tokenizers is not"
    rows.append(pair("\u03a3\u03a3", "\u03c3\u03c2", "lower", sigma, "SpecialCasing, Final_Sigma"))
    for text in _FOLD:
        why = f"case folding of {names(text)}"
        rows.append(pair(text, text.casefold(), "casefold", why, "CaseFolding; Unicode Standard, 3.13"))
    for text, other in _UPPER:
        why = f"one upper case for {names(text)} and {names(other)}"
        rows.append(pair(text, other, "upper", why, "SpecialCasing; Unicode Standard, 3.13"))
    rows.append(pair("\u03c2", "\u03a3", "casefold", "final and capital sigma", "CaseFolding"))
    rows.append(pair("i\u0307", "\u0130", "casefold", "i with a dot, from the capital with a dot", "CaseFolding"))
    rows.append(single("\u0131\u0130Ii", "the four letters i of Turkish: no two of them are one letter there", "own"))
    rows.append(pair("\ua7ae", "\u026a", "lower", "a small capital and its capital", "UnicodeData"))
    return rows


def _digits() -> list[Row]:
    rows = []
    for zero in _ZEROS:
        text = chr(zero) + chr(zero + 9)
        rows.append(single(text, f"decimal digits beyond ASCII: {names(text)}", "UnicodeData, category Nd"))
    for text in ("0", "00", "123", "1234", "1234567", "3.14", "1,000", "1e9", "-0", "0x1F", "1\u066b5", "1\u00a0000"):
        rows.append(single(text, "numbers: pre-tokenizers cut digits into ones, threes or not at all", "own"))
    for text in ("\u2167", "\u4e09", "\u3007", "\u00bd", "\u0bf0", "\u1372", "\u0f33", "\U0001f10b"):
        rows.append(single(text, f"a number that is no decimal digit: {names(text)}", "UnicodeData, numeric values"))
    return rows


RECIPES = {
    "case": Recipe("unicode", "UnicodeData, CaseFolding, SpecialCasing; words are our own", _case()),
    "digits": Recipe("unicode", "UnicodeData; numbers are our own", _digits()),
}
"""By theme."""
