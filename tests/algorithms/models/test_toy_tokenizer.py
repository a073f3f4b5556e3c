"""The toy tokenizer: greedy longest match, by hand."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.interfaces import Tokenizer
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer

PAIRS = ToyTokenizer(("a", "b", "ab", None, "a", "", "abb"))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", ()),
        ("a", (0,)),  # the lower of the two ids of "a"
        ("ab", (2,)),
        ("abb", (6,)),
        ("abab", (2, 2)),
        ("aab", (0, 2)),
        ("bab", (1, 2)),
        ("azb", (0, 1)),  # what starts no token is dropped
        ("zz", ()),
    ],
)
def test_the_longest_match_is_taken_by_hand(text: str, ids: tuple[int, ...]) -> None:
    assert PAIRS.encode(text) == ids


def test_longest_match_is_greedy() -> None:
    assert ToyTokenizer(("a", "ab", "bc")).encode("abc") == (1,)  # not a, bc


def test_decoding_joins_strings_and_skips_eos() -> None:
    assert PAIRS.decode((4, 3, 2, 5)) == "aab"
    assert PAIRS.decode(()) == ""


def test_ids_and_bytes_by_hand() -> None:
    assert (PAIRS.size, PAIRS.eos, PAIRS.start) == (7, frozenset({3}), ())
    assert [PAIRS.token_bytes(token) for token in (0, 2, 3, 4, 5, 7, -1)] == [b"a", b"ab", None, b"a", b"", None, None]
    assert ToyTokenizer(("é",)).token_bytes(0) == "é".encode()
    assert isinstance(PAIRS, Tokenizer)


def test_a_normaliser_makes_two_texts_one() -> None:
    folding = ToyTokenizer(("a", "K"), normalise=lambda text: unicodedata.normalize("NFC", text))
    assert folding.encode("\N{KELVIN SIGN}") == folding.encode("K") == (1,)


@given(text=st.text("ab", max_size=12))
def test_a_complete_vocabulary_gives_the_text_back(text: str) -> None:
    assert PAIRS.decode(PAIRS.encode(text)) == text


@given(text=st.text("abz", max_size=12))
def test_encoding_what_was_decoded_gives_the_same_ids(text: str) -> None:
    ids = ToyTokenizer(("a", "b", "ab")).encode(text.replace("z", ""))
    assert ToyTokenizer(("a", "b", "ab")).encode(ToyTokenizer(("a", "b", "ab")).decode(ids)) == ids
