"""Recipes of markers of tokenizers, emoji, scripts, code points without a character, and extremes of length."""

from .rows import Recipe, Row, names, pair, single

__all__ = ["RECIPES"]

_SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>", "<bos>", "<eos>", "[UNK]", "[CLS]", "[SEP]"]
_SPECIAL += ["[PAD]", "[MASK]", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
_SPECIAL += ["<start_of_turn>", "<end_of_turn>", "<|fim_prefix|>", "<|user|>", "[INST]", "[/INST]", "<<SYS>>"]
_SPECIAL += ["<unused0>", "<|reserved_special_token_0|>", "<extra_id_0>", "<think>", "</think>", "<tool_call>"]
_LETTERS = ["\u2581", "\u2581\u2581", "\u0120", "\u010a", "\u0109", "</w>", "##", "##ing", "@@ ", "<0x0A>", "<0xFF>"]
_LETTERS += ["<0x0a>", "\uff5c", "<\uff5cend\u2581of\u2581sentence\uff5c>", "\ufffd", "\u00c4\u0142", "<|", "|>", "<S>"]
_READ_BACK = [("\u2581a", " a", "metaspace"), ("a\u2581b", "a b", "metaspace"), ("\u2581", " ", "metaspace")]
_READ_BACK += [("\u2581 ", " \u2581", "metaspace"), ("\u0120a", " a", "byte-letters"), ("\u010a", "\n", "byte-letters")]
_READ_BACK += [
    ("a\u0109b", "a\tb", "byte-letters"),
    ("play ##ing", "playing", "wordpiece"),
    ("a ##b ##c", "abc", "wordpiece"),
]
_READ_BACK += [("a</w>b", "a b", "end-of-word"), ("a</w>", "a ", "end-of-word"), ("<0x0A>", "\n", "byte-fallback")]
_READ_BACK += [("a<0x20>b", "a b", "byte-fallback"), ("<0x41>", "A", "byte-fallback")]
_READ_BACK += [
    ("\uff1cs\uff1e", "<s>", "NFKC"),
    ("<\uff5c", "<|", "NFKC"),
    ("<S>", "<s>", "lower"),
    ("[unk]", "[UNK]", "lower"),
]
_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
_EMOJI = [
    ("\U0001f600", "one emoji: four bytes of UTF-8, two units of UTF-16"),
    (_FAMILY, "a family, joined by ZWJ"),
    (_FAMILY + "\u200d\U0001f466", "a family of four, with the family of three as a prefix"),
    ("\U0001f3f3\ufe0f\u200d\U0001f308", "a flag made with a selector and a joiner"),
    ("\U0001f1e9\U0001f1ea", "a flag: two regional indicators"),
    ("\U0001f1e9", "half a flag"),
    ("\U0001f1e9\U0001f1ea\U0001f1eb", "a flag and a half: where it is cut depends on the start"),
    ("\U0001f44d\U0001f3fd", "a skin tone"),
    ("\U0001f3fd", "a skin tone alone"),
    ("\U0001f469\U0001f3fd\u200d\U0001f680", "an astronaut: skin tone and joiner"),
    ("1\ufe0f\u20e3", "a keycap"),
    ("#\u20e3", "a keycap without its selector"),
    ("\u2764", "a heart without a selector"),
    ("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "the flag of Scotland: a tag sequence"),
    ("\U0001f3f4\U000e0067\U000e0062", "a tag sequence without its end"),
    ("\u200d\U0001f469", "a joiner that joins nothing"),
]
_SCRIPTS = [
    ("\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "Thai: no spaces between words"),
    ("\u0e99\u0ec9\u0eb3", "Lao: a vowel that NFKC takes apart"),
    ("\u1019\u103c\u1014\u103a\u1019\u102c", "Burmese: stacked signs"),
    ("\u1781\u17d2\u1798\u17c2\u179a", "Khmer: a subscript consonant"),
    ("\u6211\u4eec\u5b66\u4e60\u3002", "Chinese with a full stop of its own"),
    ("\u6771\u4eac\u90fd\u306b\u3044\u308b", "Japanese: Han and kana without spaces"),
    ("\u6d77\U000e0100", "a Han character with an ideographic variation selector"),
    ("\U00020000\U0002a6d6", "CJK extension B: beyond the basic plane"),
    ("\U00030000", "CJK extension G"),
    ("\u0643\u062a\u0627\u0628", "Arabic, right to left"),
    ("\u0640\u0640", "Arabic letters that only stretch a word"),
    ("\u0ba8\u0bbf", "Tamil: a letter and a spacing sign"),
    ("\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f", "Devanagari conjuncts"),
    ("\u1820\u180b\u1821", "Mongolian with a variation selector"),
    ("\u13a0\u13b5", "Cherokee"),
    ("\U00012000\U00013000", "cuneiform and hieroglyphs"),
    ("\U0001d49c\u212c", "mathematical script: a gap in the block is filled from elsewhere"),
    ("p\u0430ypal", "Cyrillic a among Latin letters: different under every normal form"),
    ("\u02bcn't", "an apostrophe that is a letter"),
]
_BARE = [
    (0x0378, "unassigned"),
    (0x2FE0, "unassigned"),
    (0x40000, "unassigned, a plane without characters"),
    (0xD0000, "unassigned, a plane without characters"),
    (0xE0080, "unassigned, but ignorable by default"),
    (0xE000, "private use, the first"),
    (0xF8FF, "private use, the last of the basic plane"),
    (0xF0000, "private use, plane 15"),
    (0x10FFFD, "private use, the last"),
    (0xFDD0, "noncharacter, inside the basic plane"),
    (0xFFFE, "noncharacter, a byte order mark read backwards"),
    (0xFFFF, "noncharacter"),
    (0x1FFFE, "noncharacter, end of plane 1"),
    (0x10FFFF, "noncharacter, the last code point"),
]
_EDGES = [0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xFFFC, 0x10000]
_LONG = [("a", 4096), ("a", 65536), (" ", 4096), ("\n", 1024), ("\u00e9", 4096), ("e\u0301", 2048), ("\u0301", 1024)]
_LONG += [
    ("ab", 4096),
    ("a ", 4096),
    ("\U0001f600", 1024),
    ("\u2581", 1024),
    ("0", 4096),
    ("<s>", 512),
    ("\u200d", 1024),
]
_LONG += [("=", 2048), ("\\", 1024), ("ACGT", 2048), ("\u0e01", 2048), ("\u4e00", 2048), ("\x00", 256)]


def _markers() -> list[Row]:
    rows = [single(text, "the spelling of a special token", "vocabularies of public tokenizers") for text in _SPECIAL]
    for text in _SPECIAL:
        rows.append(single(f"a{text}b", "the spelling of a special token inside a word", "own"))
    for text in _LETTERS:
        rows.append(
            single(text, "a sign that vocabularies use for something else", "vocabularies of public tokenizers")
        )
    for text, other, form in _READ_BACK:
        rows.append(
            pair(
                text, other, form, "the text spells what the vocabulary keeps for itself", "own; decoders of tokenizers"
            )
        )
    return rows


def _emoji() -> list[Row]:
    rows = [single(text, why, "UTS #51") for text, why in _EMOJI]
    rows.append(pair("\u2764\ufe0f", "\u2764", "strip-accents", "the selector that asks for an emoji", "UTS #51"))
    rows.append(pair("\u2764\ufe0e", "\u2764\ufe0f", "strip-accents", "text style and emoji style", "UTS #51"))
    apart = _FAMILY.replace("\u200d", "")
    rows.append(pair(_FAMILY, apart, "drop-controls", "without joiners a family is three people", "UTS #51"))
    return rows


def _scripts() -> list[Row]:
    rows = [single(text, why, "own") for text, why in _SCRIPTS]
    rows.append(pair("\u4e0d\uf967", "\u4e0d\u4e0d", "NFC", "a Han character encoded twice", "UnicodeData"))
    rows.append(
        pair("\u0e99\u0ec9\u0eb3", "\u0e99\u0ec9\u0ecd\u0eb2", "NFKC", "a Lao vowel in two parts", "UnicodeData")
    )
    rows.append(
        pair("\ufe8e\ufe91", "\u0627\u0628", "NFKC", "Arabic letters by their place in the word", "UnicodeData")
    )
    return rows


def _codepoints() -> list[Row]:
    rows = []
    for point, kind in _BARE:
        c = chr(point)
        rows.append(single(c, f"{kind}: U+{point:04X} alone", "Unicode Standard, 3.4; UnicodeData"))
        why = f"{kind}: dropped as if it were a control"
        rows.append(
            pair(f"a{c}b", "ab", "drop-controls", why, "BERT's Python code, categories C*; tokenizers keeps Cn")
        )
    for point in _EDGES:
        why = f"an edge of UTF-8's lengths or of the scalar values: U+{point:04X}"
        rows.append(single(f"{chr(point)}.", why, "Unicode Standard, 3.9"))
    return rows


def _long() -> list[Row]:
    rows = [single("", "the empty string", "own")]
    for text, repeat in _LONG:
        rows.append(single(text, f"{repeat} times {names(text)}", "own", repeat))
    word = "Donaudampfschifffahrtsgesellschaft"
    rows.append(single(word, "one long word", "own"))
    rows.append(single(word.lower(), "a word far beyond WordPiece's limit of 100 characters", "own", 16))
    rows.append(single("https://example.org/?q=%20&r=", "a long address with no space in it", "own", 32))
    return rows


RECIPES = {
    "markers": Recipe("unicode", "vocabularies of public tokenizers; contexts are our own", _markers()),
    "emoji": Recipe("unicode", "UTS #51", _emoji()),
    "scripts": Recipe("unicode", "own; UnicodeData for the pairs", _scripts()),
    "codepoints": Recipe("unicode", "Unicode Standard 3.4 and 3.9, UnicodeData", _codepoints()),
    "long": Recipe("unicode", "own", _long()),
}
"""By theme."""
