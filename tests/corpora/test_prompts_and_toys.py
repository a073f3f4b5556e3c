"""The prompts and the toy vocabularies load and say what their loaders promise."""

import unicodedata

import pytest

from draftproof.corpora import toys
from draftproof.corpora.prompts import KINDS, prompts


def test_prompt_ids_are_unique_and_every_kind_has_some() -> None:
    every = prompts()
    assert len({prompt.id for prompt in every}) == len(every) >= 24
    assert all(prompts(kind) for kind in KINDS)
    assert sum(len(prompts(kind)) for kind in KINDS) == len(every)
    assert all(prompt.text and prompt.provenance for prompt in every)


def test_multilingual_prompts_trigger_normalisers() -> None:
    text = "".join(prompt.text for prompt in prompts("multilingual"))
    assert unicodedata.normalize("NFC", text) != text
    assert all(character in text for character in "\u0301\u00a0\u2581\uff21\u3000\u200d")
    assert "  " in text


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="summarise, code, copy"):
        prompts("poetry")


@pytest.mark.parametrize("name", toys.NAMES)
def test_each_toy_vocabulary_has_one_eos_last(name: str) -> None:
    entry = toys.vocabulary(name)
    for side in (entry.target, entry.draft):
        assert side.count(None) == 1
        assert side[-1] is None
        assert all(side[:-1])
    assert entry.note


def test_the_toys_have_the_properties_they_are_named_for() -> None:
    doubled = toys.vocabulary("two-ids-one-string").target
    assert doubled[0] == doubled[1]
    apart = toys.vocabulary("nothing-shared")
    assert set(apart.target) & set(apart.draft) == {None}
    beyond = toys.vocabulary("draft-only-ids")
    assert set(beyond.draft) - set(beyond.target) == {"c", "ca"}


def test_an_unknown_toy_is_answered_with_the_list() -> None:
    with pytest.raises(ValueError, match="pair-ab"):
        toys.vocabulary("nope")
