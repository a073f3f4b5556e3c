"""Drafts in bfloat16 behind a float32 declaration, on pairs of the zoo: replay tells them from declared ones."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from draftproof.algorithms.laws import Law
from draftproof.algorithms.requests import Choose, Program
from draftproof.corpora.prompts import prompts
from draftproof.verify.numerics import mixed
from draftproof.verify.numerics.evidence import Replayed
from draftproof.verify.numerics.mixed import DraftsIn, replay_mixed
from draftproof.verify.pairs import ZOO, Library, with_prompt
from draftproof.verify.settings import Setting

TEXTS = [prompt.text for prompt in prompts("documentation")][:3]


def fresh() -> list[Setting]:
    """A pair of one vocabulary and one of two, after three prompts each."""
    library = Library()
    return [with_prompt(library.setting(pair, 3, 24), text) for pair in ZOO[:2] for text in TEXTS]


@pytest.fixture(scope="module")
def found() -> tuple[Replayed, ...]:
    return replay_mixed(fresh(), seed=1)


def test_every_pair_is_caught_and_the_declared_decoder_is_not(found: Sequence[Replayed]) -> None:
    assert [one.pair for one in found] == [pair.name for pair in ZOO[:2]]
    for one in found:
        assert (one.dtype, one.declared, one.recordings) == ("bfloat16", "float32", 3)
        assert 1 <= one.caught <= 3
        assert one.own == 0
        assert str(one.first).startswith("differs at draft ")
        assert 24 < one.tokens <= 72
        assert one.drafts >= one.tokens / 4
        assert one.p_value > 1e-3


def test_drafts_in_the_declared_dtype_are_never_caught() -> None:
    seen: list[int] = []
    for one in replay_mixed(fresh()[:2], seed=1, drawn=torch.float32, progress=seen.append):
        assert (one.caught, one.first, one.own) == (0, None, 0)
    assert seen == [1, 2]


def test_it_is_a_function_of_its_arguments(found: Sequence[Replayed]) -> None:
    assert replay_mixed(fresh(), seed=1) == found
    assert replay_mixed(fresh(), seed=2) != found
    assert replay_mixed([]) == ()


def test_a_replay_that_does_not_agree_with_itself_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(mixed.SpeculativeSampling):
        """Draws from another law each time."""

        drawn = 0

        def propose(self, draft_law: Law) -> Program[int]:
            Forgetful.drawn += 1
            token: int = yield Choose(draft_law.power(1 / Forgetful.drawn))
            return token

    monkeypatch.setattr(mixed, "SpeculativeSampling", Forgetful)
    [one] = replay_mixed(fresh()[:3], seed=1)
    assert one.own > 0


def test_the_law_drafts_are_drawn_from_is_stored_in_the_dtype(toys: Any) -> None:
    law = toys.tensor_law(toys.exact("1/3", "2/3"))
    request = next(DraftsIn(toys.toy(0).target, toys.toy(0).target, 1).propose(law))
    assert isinstance(request, Choose)
    assert request.law.probabilities.dtype == torch.bfloat16  # type: ignore[attr-defined]
