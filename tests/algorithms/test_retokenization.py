"""From text to candidate ids and back, by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.retokenization import WINDOW, candidates, continuation

LETTERS = ToyTokenizer(("a", "b", "c"))
PAIRS = ToyTokenizer(("a", "b", "ab", "aa", "ba"))


@dataclass(frozen=True)
class Bytes:
    """A fake byte-level tokenizer: an id is a byte, and 256 is a special id."""

    size: int = 257
    eos: frozenset[int] = frozenset({256})
    start: tuple[int, ...] = ()

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(token for token in ids if token < 256).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes | None:
        return bytes([token]) if token < 256 else None


class Stripping(Bytes):
    """Drops the space at the start of a text, as Metaspace decoders do."""

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids).removeprefix(" ")


class Shouting(Bytes):
    """Its text of two parts does not begin with the text of the first."""

    def decode(self, ids: Sequence[int]) -> str:
        text = super().decode(ids)
        return text.upper() if len(text) > 1 else text


@pytest.mark.parametrize(
    ("committed", "text", "expected"),
    [
        ((), "", ()),
        ((0, 1), "", ()),  # no text, no candidates, whatever was committed
        ((), "abc", (0, 1, 2)),  # the first tokens of a text
        ((2,), "ab", (0, 1)),
        ((0,), "ba", (1, 0)),  # the overlap nearest to its old place, not the second a
        ((0, 1), "abab", (0, 1, 0, 1)),  # repeated text
        ((0, 0), "aa", (0, 0)),
    ],
)
def test_candidates_of_single_letters_by_hand(committed: tuple[int, ...], text: str, expected: tuple[int, ...]) -> None:
    assert candidates(LETTERS, committed, text) == expected


@pytest.mark.parametrize(
    ("committed", "text", "expected"),
    [
        ((), "ab", (2,)),
        ((0,), "b", (1,)),  # "ab" would be one id: no overlap, so the text alone
        ((1, 0), "bb", (1, 1)),  # b|a + bb is (ba, b, b)
        ((2,), "b", (1,)),
        ((2, 0), "b", (1,)),  # ab|a + b is (ab, ab): the committed a is nowhere
        ((0, 0), "a", ()),  # aa + a is (aa, a): the overlap is the new a, and nothing follows
        ((0, 0), "ab", (2,)),  # aa|ab: no overlap with the tail a; the text alone is (ab,)
    ],
)
def test_candidates_across_a_merged_border_by_hand(
    committed: tuple[int, ...], text: str, expected: tuple[int, ...]
) -> None:
    assert candidates(PAIRS, committed, text) == expected


def test_special_ids_in_the_window_do_not_disturb_the_text() -> None:
    tokenizer = ToyTokenizer(("a", "b", None))
    assert candidates(tokenizer, (2,), "ab") == (0, 1)
    assert candidates(tokenizer, (0, 2), "ab") == (0, 1)


def test_text_that_the_tokenizer_cannot_spell_gives_no_candidates() -> None:
    assert candidates(ToyTokenizer(("a",)), (), "zz") == ()
    assert candidates(ToyTokenizer(("a",)), (0,), "zz") == ()


def test_only_a_window_is_encoded_again() -> None:
    seen: list[str] = []

    class Seeing(ToyTokenizer):
        def encode(self, text: str) -> tuple[int, ...]:
            seen.append(text)
            return super().encode(text)

    assert candidates(Seeing(("a", "b")), (0,) * 100, "ba") == (1, 0)
    assert seen == ["a" * WINDOW + "ba"]


@given(committed=st.lists(st.integers(0, 2), max_size=30), text=st.text("abc", max_size=8))
def test_without_merges_candidates_spell_the_text(committed: list[int], text: str) -> None:
    """Of single letters the overlap of the whole window stands at its old place, so it wins."""
    assert LETTERS.decode(candidates(LETTERS, committed, text)) == text


@given(committed=st.lists(st.integers(0, 4), max_size=20), text=st.text("abz", max_size=8), seed=st.integers(0, 99))
def test_candidates_are_ids_of_the_tokenizer(toys: Any, committed: list[int], text: str, seed: int) -> None:
    tokenizer = toys.toy(seed, 5).tokenizer
    assert all(0 <= token < tokenizer.size for token in candidates(tokenizer, committed, text))


# Continuations.


@pytest.mark.parametrize(
    ("context", "drafted", "text"),
    [
        (b"a", b"b", "b"),
        (b"", b"ab", "ab"),
        (b"a", b"", ""),
        (b"a", b"\xc3", ""),  # an incomplete character does not count yet
        (b"a", b"b\xc3", "b"),
        (b"a", b"\xc3\xa9", "é"),
        (b"a\xc3", b"\xa9", "é"),  # the draft completes what was committed
        (b"a\xe2\x82", b"", ""),
        (b"\xe2", b"\x82\xacx", "€x"),
    ],
)
def test_the_text_of_a_draft_by_hand(context: bytes, drafted: bytes, text: str) -> None:
    assert continuation(Bytes(), tuple(context), tuple(drafted)) == text


def test_a_space_between_context_and_draft_is_kept() -> None:
    assert continuation(Stripping(), tuple(b"a"), tuple(b" b")) == " b"
    assert continuation(Stripping(), (), tuple(b" b")) == "b"


def test_texts_that_do_not_continue_are_decoded_alone() -> None:
    assert continuation(Shouting(), tuple(b"a"), tuple(b"bc")) == "BC"


def test_only_a_window_of_the_context_is_decoded() -> None:
    assert continuation(Bytes(), tuple(b"x" * 1000), tuple(b"yz")) == "yz"


@given(
    before=st.text(max_size=20), after=st.text(max_size=8).filter(lambda text: "\N{REPLACEMENT CHARACTER}" not in text)
)
def test_a_whole_text_is_continued_by_a_whole_text(before: str, after: str) -> None:
    before = before.replace("\N{REPLACEMENT CHARACTER}", "")
    assert continuation(Bytes(), tuple(before.encode()), tuple(after.encode())) == after
