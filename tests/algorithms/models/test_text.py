"""Prompt lookup: what followed the last occurrence of the text's ending."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.models.text import PromptLookup


def proposed(lookup: PromptLookup, text: str, lookahead: int = 1) -> str:
    proposal = run_script(lookup.propose(text, lookahead), [])
    assert not proposal.ended
    return proposal.text


@pytest.mark.parametrize(
    ("text", "lookahead", "expected"),
    [
        ("abcdXYabcd", 1, "XYab"),  # the ending abcd stood at the start
        ("abcdXYabcd", 2, "XYabcd"),  # the copy stops at the end of the text
        ("abcd1 abcd2 abcd", 1, "2 ab"),  # the last occurrence
        ("abcdef bcdefg abcdef", 1, " bcd"),  # the longest ending: abcdef, not the nearer bcdef
        ("abcdXYbcd", 1, ""),  # only three characters recur
        ("abcd", 1, ""),
        ("", 1, ""),
        ("a", 1, ""),
        ("aaaaaa", 3, "a"),  # an overlapping occurrence: what follows it is the last character
    ],
)
def test_proposals_by_hand(text: str, lookahead: int, expected: str) -> None:
    assert proposed(PromptLookup(), text, lookahead) == expected


def test_settings_by_hand() -> None:
    assert proposed(PromptLookup(least=2, characters=1), "abXab", 1) == "X"
    assert proposed(PromptLookup(least=2, characters=3), "abXYZab", 1) == "XYZ"
    # With endings of two characters at most, the nearer "bc" counts.
    assert proposed(PromptLookup(most=2, least=1, characters=1), "abc1bc2abc") == "2"
    assert proposed(PromptLookup(most=3, least=1, characters=1), "abc1bc2abc") == "1"


@given(
    text=st.text("ab", max_size=14),
    lookahead=st.integers(1, 4),
    least=st.integers(1, 4),
    more=st.integers(0, 4),
    characters=st.integers(1, 4),
)
def test_a_proposal_is_a_piece_of_the_text_after_its_ending(
    text: str, lookahead: int, least: int, more: int, characters: int
) -> None:
    lookup = PromptLookup(most=least + more, least=least, characters=characters)
    copied = proposed(lookup, text, lookahead)
    assert len(copied) <= characters * lookahead
    if copied:
        assert text[-least:] + copied in text
    else:
        assert len(text) <= least or text.find(text[-least:]) == len(text) - least
