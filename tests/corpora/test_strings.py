"""The adversarial strings are what they claim: pairs collide, bytes do not decode, files match their manifest."""

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, normalizers, pre_tokenizers

from draftproof.corpora import strings as corpus
from draftproof.corpora.strings import (
    BYTE_FORMS,
    DOMAINS,
    FORMS,
    THEMES,
    AdversarialString,
    StringsError,
    load,
    manifest,
    strings,
)
from draftproof.corpora.strings.build import RECIPES, contents

FOLDER = Path(corpus.__file__).parent
EVERY = [record for theme in THEMES for record in load(theme)]
PAIRS = [record for record in EVERY if record.other is not None]


def collides(record: AdversarialString) -> bool:
    """The two sides differ and the form makes them one; standard forms are called here by themselves."""
    text, other, form = record.text, record.other, record.same_under
    if isinstance(text, bytes) or isinstance(other, bytes):
        assert isinstance(text, bytes)
        assert isinstance(other, bytes)
        return text != other and BYTE_FORMS[form](text) == BYTE_FORMS[form](other)
    if form in ("NFC", "NFD", "NFKC", "NFKD"):
        same = unicodedata.normalize(form, text) == unicodedata.normalize(form, other)
    elif form in ("lower", "upper", "casefold"):
        same = getattr(text, form)() == getattr(other, form)()
    else:
        same = FORMS[form](text) == FORMS[form](other)
    return text != other and same


def has_text(text: str | bytes) -> bool:
    return any(record.text == text for record in EVERY)


def has_pair(text: str, other: str, form: str) -> bool:
    return any({r.text, r.other} == {text, other} and r.same_under == form for r in PAIRS)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for path in (*FOLDER.glob("*.jsonl"), FOLDER / "manifest.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


def replace_line(folder: Path, theme: str, number: int, line: bytes) -> None:
    """Puts `line` in place and states the new checksum, so that only the line is wrong."""
    path = folder / f"{theme}.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines))
    stated = json.loads((folder / "manifest.json").read_text())
    stated["themes"][theme]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(stated))


def test_one_pair_by_hand_the_ohm_sign_is_omega_under_nfc() -> None:
    (ohm,) = [record for record in load("canonical") if record.text == "\u2126"]
    assert (ohm.other, ohm.same_under, ohm.domain) == ("\u03a9", "NFC", "unicode")
    assert ohm.id == "canonical-2126_03a9-nfc"
    assert unicodedata.normalize("NFC", "\u2126") == "\u03a9" != "\u2126"


def test_the_files_are_what_the_recipes_give_byte_for_byte() -> None:
    assert {name: (FOLDER / name).read_bytes() for name in contents()} == contents()
    assert {path.name for path in FOLDER.glob("*.json*")} == set(contents())


def test_the_manifest_states_every_theme_with_its_checksum_and_count() -> None:
    assert tuple(manifest()) == tuple(RECIPES) == THEMES
    for theme, entry in manifest().items():
        data = (FOLDER / entry["file"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert entry["records"] == data.count(b"\n") == len(load(theme)) > 0
        assert entry["domain"] in DOMAINS
        assert entry["provenance"]


def test_every_file_of_the_folder_is_printable_ascii() -> None:
    for path in FOLDER.iterdir():
        if path.is_file():
            assert re.fullmatch(rb"[\n -~]*", path.read_bytes()), path.name


def test_there_are_hundreds_of_records_and_no_two_are_the_same() -> None:
    assert len(EVERY) >= 300
    assert len({record.id for record in EVERY}) == len(EVERY)
    contents_only = {(record.domain, frozenset((record.text, record.other)), record.same_under) for record in EVERY}
    assert len(contents_only) == len(EVERY)
    assert all(record.why and record.source for record in EVERY)


def test_records_of_the_unicode_domain_are_scalar_values() -> None:
    for text in strings("unicode"):
        assert not any(0xD800 <= ord(c) <= 0xDFFF for c in text)
        assert text.encode("utf-8").decode("utf-8") == text


def test_records_of_the_str_domain_have_a_lone_surrogate() -> None:
    for record in load("surrogates"):
        assert isinstance(record.text, str)
        with pytest.raises(UnicodeEncodeError):
            record.text.encode("utf-8")


def test_two_surrogate_halves_stay_two() -> None:
    assert has_pair("\ud83d" + "\ude00", "\U0001f600", "utf-16")
    assert len("\ud83d" + "\ude00") == 2


def test_invalid_bytes_do_not_decode() -> None:
    for record in load("invalid-utf-8"):
        assert isinstance(record.text, bytes)
        with pytest.raises(UnicodeDecodeError):
            record.text.decode("utf-8")


@pytest.mark.parametrize("record", PAIRS, ids=lambda record: record.id)
def test_each_pair_differs_and_collides_under_its_form(record: AdversarialString) -> None:
    assert collides(record)


@pytest.mark.parametrize("form", [*FORMS, *BYTE_FORMS])
def test_each_form_has_a_pair_and_tells_some_strings_apart(form: str) -> None:
    assert any(record.same_under == form for record in PAIRS)
    assert (FORMS[form]("a") != FORMS[form]("b")) if form in FORMS else BYTE_FORMS[form](b"a") != BYTE_FORMS[form](b"b")


def test_the_forms_of_hugging_face_agree_on_every_pair_but_two_known_kinds() -> None:
    bert = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    spaces = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    prefix = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    theirs: dict[str, Callable[[str], str]] = {
        "NFC": normalizers.NFC().normalize_str,
        "NFD": normalizers.NFD().normalize_str,
        "NFKC": normalizers.NFKC().normalize_str,
        "NFKD": normalizers.NFKD().normalize_str,
        "lower": normalizers.Lowercase().normalize_str,
        "strip": normalizers.Strip().normalize_str,
        "strip-accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]).normalize_str,
        "drop-controls": bert.normalize_str,
        "plain-spaces": bert.normalize_str,
        "metaspace": lambda text: "".join(piece for piece, _ in spaces.pre_tokenize_str(text)),
        "prefix-space": lambda text: "".join(piece for piece, _ in prefix.pre_tokenize_str(text)),
        "wordpiece": lambda text: decoders.WordPiece(cleanup=False).decode(text.split(" ")),
        "end-of-word": lambda text: decoders.BPEDecoder(suffix="</w>").decode([text, ""]),
        "byte-fallback": lambda text: decoders.ByteFallback().decode(re.split("(<0x..>)", text)),
    }
    different: dict[str, set[str]] = {}
    for record in PAIRS:
        if record.same_under in theirs:
            read = theirs[record.same_under]
            assert isinstance(record.text, str)
            assert isinstance(record.other, str)
            if read(record.text) != read(record.other):
                different.setdefault(record.same_under, set()).add(record.text)
    # tokenizers lowers a sigma without looking at its place, and keeps unassigned code points.
    unassigned = {
        t for t in strings("unicode") if t[:1] + t[2:] == "ab" and unicodedata.category(t[1:2] or "a") == "Cn"
    }
    assert different == {"lower": {"\u0391\u03a3", "\u03a3\u03a3"}, "drop-controls": unassigned}
    assert len(unassigned) == 10


def test_a_false_pair_is_told_from_a_true_one() -> None:
    def claim(text: str, other: str, form: str) -> AdversarialString:
        return AdversarialString("x", "canonical", "unicode", text, "w", "s", form, other)

    assert collides(claim("e\u0301", "\u00e9", "NFC"))
    # Marks of one class are not sorted, a compatibility form is not canonical, the same string is no pair.
    assert not collides(claim("a\u0301\u0308", "a\u0308\u0301", "NFC"))
    assert not collides(claim("\ufb01", "fi", "NFC"))
    assert not collides(claim("a", "a", "NFC"))
    assert not collides(claim("\u00df", "ss", "lower"))


def test_what_the_claims_name_is_there() -> None:
    assert has_pair("\u037e", ";", "NFC")
    assert has_pair("\u212a", "K", "NFC")
    assert has_pair("\u2581", " ", "metaspace")
    assert has_pair("\x04", "", "drop-controls")
    assert has_pair("\u1f71", "\u03ac", "NFC")
    assert has_pair("\u1e9e", "\u00df", "lower")
    assert all(
        map(has_text, ("", "<|endoftext|>", "<s>", "[UNK]", "\u0120", "</w>", "##ing", "<0x0A>", "\x04", b"\xff"))
    )


def test_all_spaces_of_unicode_are_there() -> None:
    texts = "".join(text for text in strings("unicode"))
    zs = {chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) == "Zs"}
    assert zs | set("\t\n\v\f\r\x85\u2028\u2029") <= set(texts)


def test_composition_exclusions_stay_decomposed() -> None:
    excluded = [record for record in load("canonical") if record.why.startswith("composition exclusion")]
    assert len(excluded) >= 15
    for record in excluded:
        assert isinstance(record.text, str)
        assert unicodedata.normalize("NFC", record.text) == record.other != record.text


def test_code_points_without_a_character_are_what_their_reason_says() -> None:
    seen = set()
    for record in load("codepoints"):
        if isinstance(record.text, str) and len(record.text) == 1:
            kind = record.why.split(",")[0].split(":")[0]
            point = ord(record.text)
            seen.add(kind)
            assert unicodedata.category(record.text) == ("Co" if kind == "private use" else "Cn")
            assert (point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF) == (kind == "noncharacter")
    assert seen == {"unassigned", "private use", "noncharacter"}


def test_repetitions_are_written_out() -> None:
    assert {len(record.text) for record in load("long")} >= {0, 4096, 65536}
    assert has_text("a" * 65536)


def test_strings_gives_both_sides_of_each_pair_once() -> None:
    for domain in DOMAINS:
        found = strings(domain)
        sides = {side for r in EVERY if r.domain == domain for side in (r.text, r.other) if side is not None}
        assert len(found) == len(set(found))
        assert set(found) == sides


def test_unknown_names_are_answered_with_the_list() -> None:
    with pytest.raises(ValueError, match=r"'nope'; there are canonical, compatibility"):
        load("nope")
    with pytest.raises(ValueError, match="'utf-16'; there are unicode, bytes, str"):
        strings("utf-16")


def test_a_changed_file_is_refused_with_both_checksums(copied: Path) -> None:
    path = copied / "emoji.jsonl"
    path.write_bytes(path.read_bytes().replace(b"family", b"famili"))
    stated = manifest()["emoji"]["sha256"]
    with pytest.raises(StringsError, match=rf"emoji\.jsonl has SHA-256 \w+, the manifest states {stated}"):
        load("emoji", copied)
    assert load("case", copied) == load("case")


def test_a_missing_file_and_a_broken_manifest_are_refused(copied: Path) -> None:
    (copied / "emoji.jsonl").unlink()
    with pytest.raises(StringsError, match=r"emoji\.jsonl is missing; reinstall"):
        load("emoji", copied)
    for text in ('{"themes": {"emoji": {"file": "emoji.jsonl"}}}', "[]", '{"themes": ', '{"themes": {"emoji": 1}}'):
        (copied / "manifest.json").write_text(text)
        with pytest.raises(StringsError, match=r"manifest\.json cannot be read"):
            load("emoji", copied)
    (copied / "manifest.json").write_text('{"themes": {}}')
    with pytest.raises(StringsError, match="does not list the theme emoji"):
        load("emoji", copied)


def test_a_lost_line_is_refused(copied: Path) -> None:
    stated = json.loads((copied / "manifest.json").read_text())
    stated["themes"]["case"]["records"] += 1
    (copied / "manifest.json").write_text(json.dumps(stated))
    with pytest.raises(StringsError, match=r"has \d+ records, the manifest states \d+"):
        load("case", copied)


GOOD: dict[str, Any] = {"id": "x", "text": "a", "why": "w", "source": "own"}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "Expecting property name"),
        (b"", "Expecting value"),
        (b"[]", "not a JSON object"),
        ('{"id": "\u202e"}'.encode(), "ascii"),
        ({**GOOD, "text": 1}, "a string or a list of strings"),
        ({**GOOD, "text": "\ud800"}, "surrogates not allowed"),
        ({**GOOD, "why": ""}, "not empty"),
        ({**GOOD, "extra": 1}, "needs id, source, text, why"),
        ({"id": "x", "text": "a"}, "needs id, source, text, why"),
        ({**GOOD, "other": "b"}, "stand together"),
        ({**GOOD, "other": "b", "same_under": "nfc"}, "unknown form 'nfc'; there are NFC"),
        ({**GOOD, "repeat": 0}, "repeat is a positive integer"),
        ({**GOOD, "repeat": True}, "repeat is a positive integer"),
        ({**GOOD, "repeat": 2, "other": "b", "same_under": "NFC"}, "not in a pair"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(copied: Path, line: bytes | dict[str, Any], complaint: str) -> None:
    replace_line(copied, "emoji", 3, line if isinstance(line, bytes) else json.dumps(line).encode())
    with pytest.raises(StringsError, match=rf"emoji\.jsonl, line 3 is no record: .*{complaint}"):
        load("emoji", copied)


def test_a_broken_line_of_bytes_is_refused_with_its_number(copied: Path) -> None:
    replace_line(copied, "invalid-utf-8", 2, b'{"id": "x", "bytes": "0g", "why": "w", "source": "own"}')
    with pytest.raises(StringsError, match=r"line 2 is no record: .*hexadecimal"):
        load("invalid-utf-8", copied)


@given(st.text(st.characters(exclude_categories=()), max_size=8), st.integers(1, 5))
def test_any_string_written_as_a_line_is_read_back(text: str, repeat: int) -> None:
    line = {**GOOD, "text": list(text), "repeat": repeat}
    record = corpus._record(json.loads(json.dumps(line)), "surrogates", "str")
    assert record.text == text * repeat


@given(st.binary(max_size=8))
def test_any_bytes_written_as_a_line_are_read_back(data: bytes) -> None:
    line = {"id": "x", "bytes": data.hex(), "why": "w", "source": "own"}
    assert corpus._record(json.loads(json.dumps(line)), "invalid-utf-8", "bytes").text == data
