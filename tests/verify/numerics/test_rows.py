"""Rows: target and draft law along the decoder's own outputs."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample
from draftproof.algorithms.models.table import explicit
from draftproof.verify.numerics.rows import drafting, rows
from draftproof.verify.pairs import ZOO, Library, with_prompt
from draftproof.verify.settings import Setting
from draftproof.verify.toys import random_toy

ONE = ("a", "b", "c", None)


def setting(toys: Any, draft: tuple[str | None, ...] = ONE, seed: int = 2) -> Setting:
    made = random_toy("rows", ONE, draft, seed).setting
    return replace(made, target=toys.Floats(made.target), drafter=toys.Floats(made.drafter), prompt=(0,))


def test_they_are_the_laws_at_every_position_of_the_output(toys: Any) -> None:
    one = replace(setting(toys), max_new_tokens=9)
    decoder = drafting(one)
    output = sample(decode(decoder, one.prompt, 9), RandomCoins(5, 0, 0)).tokens
    found = list(rows([one], seed=5))
    contexts = [(*one.prompt, *output[:place]) for place in range(len(output))]
    laws = [(one.target.laws([(c, ())])[0][0], one.drafter.laws([(c, ())])[0][0]) for c in contexts]
    kept = [(target, draft) for target, draft in laws if not draft.empty]
    assert len(found) == len(kept) > 3
    for row, (target, draft) in zip(found, kept, strict=True):
        assert row.pair == one.name
        assert torch.allclose(row.target, target.probabilities, rtol=0, atol=1e-15)
        assert torch.allclose(row.draft, draft.probabilities, rtol=0, atol=1e-15)


def test_where_nothing_is_proposed_there_is_no_row(toys: Any) -> None:
    one = setting(toys)
    silent = replace(one, drafter=toys.Floats(explicit({}, 4, otherwise={})))
    assert list(rows([silent])) == []


def test_two_vocabularies_are_measured_by_their_shared_tokens(toys: Any) -> None:
    one = setting(toys, ("b", "a", "ab", "c", None))
    assert drafting(one).name == "tli"
    assert drafting(setting(toys)).name == "speculative-sampling"
    for row in rows([one], outputs=4):
        assert row.draft.shape == row.target.shape == (4,)
        assert row.draft.sum() == pytest.approx(1)


def test_a_seed_settles_them_and_each_setting_has_coins_of_its_own(toys: Any) -> None:
    one = replace(setting(toys), max_new_tokens=30, prompt=(1,))

    def seen(seed: int) -> list[list[float]]:
        return [row.target.tolist() for row in rows([one, one], outputs=2, seed=seed)]

    assert seen(0) == seen(0) != seen(1)
    counts: list[int] = []
    total = len(list(rows([one, one], outputs=2, progress=counts.append)))
    assert counts == list(range(1, total + 1))
    alone = [row.target.tolist() for row in rows([one], outputs=2)]
    assert seen(0)[: len(alone)] == alone
    assert seen(0)[len(alone) :] != alone


def test_fractions_are_refused() -> None:
    exact = replace(random_toy("rows", ONE, ONE, 2).setting, prompt=(0,))
    with pytest.raises(TypeError, match="laws in floats, not ExactLaw"):
        list(rows([exact]))


def test_a_pair_of_the_zoo() -> None:
    one = with_prompt(Library().setting(ZOO[0], 3, 6), "def f(x):")
    found = list(rows([one]))
    assert 1 <= len(found) <= 6
    for row in found:
        assert row.target.shape == row.draft.shape == (one.target.size,)
        assert row.target.dtype == row.draft.dtype == torch.float64
