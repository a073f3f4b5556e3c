"""Hostile strings in markdown."""

import unicodedata

import pytest

from draftproof.verify.report.escape import markdown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain words, 1/2 and U+002E.", "plain words, 1/2 and U\\+002E."),
        ("a|b", "a\\|b"),
        ("`code`", "\\`code\\`"),
        ("<script>&amp;", "\\<script\\>\\&amp;"),
        ("[x](http://y)", "\\[x\\]\\(http://y\\)"),
        ("**b** __i__ ~s~ $m$", "\\*\\*b\\*\\* \\_\\_i\\_\\_ \\~s\\~ \\$m\\$"),
        ("back\\slash", "back\\\\slash"),
        ("two\nlines\r\n\ttab", "twoU\\+000AlinesU\\+000DU\\+000AU\\+0009tab"),
        ("\x00\x1b[31m\x7f", "U\\+0000U\\+001B\\[31mU\\+007F"),
        ("\u202eright to left\u2066\u200b\ufeff", "U\\+202Eright to leftU\\+2066U\\+200BU\\+FEFF"),
        ("\u2028\u2029", "U\\+2028U\\+2029"),
        ("\ud800", "U\\+D800"),
        ("\ue000\U0010ffff", "U\\+E000U\\+10FFFF"),
        ("déjà 語 🙂", "déjà 語 🙂"),
        ("", ""),
    ],
)
def test_what_text_becomes(text: str, escaped: str) -> None:
    assert markdown(text) == escaped


def test_no_character_breaks_a_line_or_is_invisible() -> None:
    for code in (*range(0x3100), *range(0xD7A0, 0x10000), 0xE0001, 0x1F600):
        shown = markdown(chr(code))
        assert shown.isprintable() or unicodedata.category(chr(code)) == "Zs"
        assert len(shown.splitlines()) == 1
        shown.encode("utf-8")
