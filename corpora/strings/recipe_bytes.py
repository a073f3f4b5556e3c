"""Recipes of bytes that are not UTF-8, and of str that is not Unicode (Unicode Standard, 3.9)."""

from .rows import Recipe, Row, pair, raw, single

__all__ = ["RECIPES"]

_INVALID = [
    ("80", "a continuation byte alone"),
    ("bf", "the last continuation byte alone"),
    ("c3", "a lead byte alone"),
    ("e9", "Latin-1 for e with acute"),
    ("fe", "never in UTF-8; half a byte order mark of UTF-16"),
    ("ff", "never in UTF-8"),
    ("fffe6100", "UTF-16, little end first"),
    ("c080", "NUL, overlong: modified UTF-8"),
    ("c0af", "a slash, overlong in two bytes"),
    ("c1bf", "DEL, overlong"),
    ("e080af", "a slash, overlong in three bytes"),
    ("e09fbf", "U+07FF, overlong"),
    ("f08080af", "a slash, overlong in four bytes"),
    ("f08fbfbf", "U+FFFF, overlong"),
    ("eda080", "the surrogate U+D800"),
    ("edbfbf", "the surrogate U+DFFF"),
    ("eda0bdedb880", "an emoji as two surrogates: CESU-8"),
    ("e282", "the euro sign, cut"),
    ("f09f98", "an emoji, cut"),
    ("f09f", "an emoji, cut by two"),
    ("f0", "an emoji, cut by three"),
    ("61c3", "a letter and a lead byte: a text cut between tokens"),
    ("9f9880", "an emoji without its lead byte"),
    ("c361", "a lead byte and a letter"),
    ("e28261", "two of three bytes and a letter"),
    ("c3c3a9", "a lead byte twice"),
    ("f4908080", "U+110000, beyond the last code point"),
    ("f5808080", "a lead byte beyond the last code point"),
    ("f8888080", "five bytes, as UTF-8 once had"),
    ("fc8480808080", "six bytes, as UTF-8 once had"),
    ("61ff62", "an invalid byte inside a word"),
    ("0080", "NUL and a continuation byte"),
    ("efbb", "a byte order mark, cut"),
]
_SAME = [
    ("ff", "fe", "utf-8-replace"),
    ("80", "efbfbd", "utf-8-replace"),
    ("e282", "f09f98", "utf-8-replace"),
    ("61ff62", "61c062", "utf-8-replace"),
    ("c3", "e9", "utf-8-replace"),
    ("ff61", "61", "utf-8-ignore"),
    ("80", "", "utf-8-ignore"),
    ("c0af", "c1bf", "utf-8-replace"),
]
_HALVES = [
    ("\ud800", "the first high surrogate"),
    ("\udbff", "the last high surrogate"),
    ("\udc00", "the first low surrogate"),
    ("\udfff", "the last low surrogate"),
    ("\udc80", "byte 80 under surrogateescape"),
    ("\udcff", "byte FF under surrogateescape"),
    ("a\ud83d", "a letter and half an emoji: cut in UTF-16"),
    ("\ude00b", "the other half"),
    ("\udc00\ud800", "two halves in the wrong order"),
    ("\ud800\ud800", "two high halves"),
    ("a\ud800b", "a half inside a word"),
]
_UTF8 = "Unicode Standard, 3.9, table 3-7"
_STR = "Unicode Standard, 3.8; Python's str"


def _invalid() -> list[Row]:
    rows = [raw(bytes.fromhex(data), why, _UTF8) for data, why in _INVALID]
    for data, other, form in _SAME:
        why = "different bytes that are one string after decoding with an error handler"
        rows.append(raw(bytes.fromhex(data), why, "Unicode Standard, 3.9, U+FFFD", bytes.fromhex(other), form))
    return rows


def _surrogates() -> list[Row]:
    rows = [single(text, why, _STR) for text, why in _HALVES]
    # JSON reads a high and a low escape in one string as one character: a list of strings keeps them apart.
    halves = ["\ud83d", "\ude00"]
    rows.append(single(halves, "two halves that Python keeps apart: length 2, not an emoji", _STR))
    rows.append(pair(halves, "\U0001f600", "utf-16", "two halves are the emoji after UTF-16", _STR))
    rows.append(pair("\ud800", "\udfff", "utf-16", "every lone half becomes U+FFFD", _STR))
    rows.append(pair("\ud800", "\ufffd", "utf-16", "a lone half becomes U+FFFD", _STR))
    rows.append(pair("\ud800", "?", "utf-8-question", "a lone half becomes a question mark", _STR))
    rows.append(pair("\udc80", "\udcff", "utf-8-question", "every lone half becomes a question mark", _STR))
    return rows


RECIPES = {
    "invalid-utf-8": Recipe("bytes", "Unicode Standard 3.9, table 3-7; contexts are our own", _invalid()),
    "surrogates": Recipe("str", "Unicode Standard 3.8; contexts are our own", _surrogates()),
}
"""By theme."""
