"""Token-level intersection: the drafter given the shared tokens, on the target's ids."""

from fractions import Fraction
from typing import Any

import pytest
import torch

from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.algorithms.tli import MappedDrafter, tli
from draftproof.algorithms.vocabulary import Vocabularies
from draftproof.corpora.toys import NAMES, vocabulary

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
X, Y, Z = 0, 1, 2
TOKENIZER = ToyTokenizer(("x", "y", "z"))
DRAFT_TOKENIZER = ToyTokenizer(("y", "x", "out"))
# Claim TLI-3: P = (1/4, 1/4, 1/2) first, then all z; Q = x 1/2, y 1/4, out 1/4.
TARGET = explicit({(): {X: QUARTER, Y: QUARTER, Z: HALF}}, 3, otherwise={Z: Fraction(1)})
DRAFTER = explicit({}, 3, otherwise={0: QUARTER, 1: HALF, 2: QUARTER})


def mapped(drafter: Any, tokenizer: ToyTokenizer, draft_tokenizer: ToyTokenizer) -> MappedDrafter:
    return MappedDrafter(drafter, Vocabularies(tokenizer, draft_tokenizer, tokenizer.size, draft_tokenizer.size))


def test_the_restricted_law_by_hand() -> None:
    drafter = mapped(DRAFTER, TOKENIZER, DRAFT_TOKENIZER)
    assert drafter.laws([((), ())]) == [[ExactLaw({X: Fraction(2, 3), Y: THIRD}, 3)]]
    assert (drafter.size, drafter.eos) == (3, frozenset())


def test_one_step_by_hand(toys: Any) -> None:
    # x drafted (2/3), kept with 1/4 / 2/3; y drafted (1/3), kept with 1/4 / 1/3; the residual is all z.
    emitted = toys.emitted(tli(TARGET, TOKENIZER, DRAFTER, DRAFT_TOKENIZER, 1), (), 2)
    assert emitted == {(X, Z): QUARTER, (Y, Z): QUARTER, (Z,): HALF}


def test_masses_of_draft_ids_with_one_target_id_are_summed(toys: Any) -> None:
    twice = ToyTokenizer(("x", "x", "y"))
    drafter = explicit({}, 3, otherwise={0: QUARTER, 1: HALF, 2: QUARTER})
    assert mapped(drafter, TOKENIZER, twice).laws([((), ())]) == [[ExactLaw({X: 3 * QUARTER, Y: QUARTER}, 3)]]
    toys.assert_lossless(tli(TARGET, TOKENIZER, drafter, twice, 2), 3)


def test_a_context_without_shared_mass_ends_the_draft(toys: Any) -> None:
    drafter = explicit({}, 3, otherwise={2: Fraction(1)})
    assert mapped(drafter, TOKENIZER, DRAFT_TOKENIZER).laws([((), ())])[0][0].empty
    emitted = toys.emitted(tli(TARGET, TOKENIZER, drafter, DRAFT_TOKENIZER, 2), (), 3)
    assert emitted == {(X,): QUARTER, (Y,): QUARTER, (Z,): HALF}


def test_the_drafter_sees_its_own_ids(toys: Any) -> None:
    drafter = toys.Counting(DRAFTER)
    model = mapped(drafter, ToyTokenizer(("x", "y", "outx", None)), DRAFT_TOKENIZER)
    laws = model.laws([((0, 1), (0,)), ((2,), ())])
    assert drafter.calls == [(((1, 0), ()), ((1, 0, 1), ()), ((2, 1), ()))]  # "outx" has no counterpart: re-encoded
    assert [len(row) for row in laws] == [2, 1]


def test_end_of_text_is_shared(toys: Any) -> None:
    tokenizer, draft_tokenizer = ToyTokenizer(("x", None)), ToyTokenizer((None, "x"))
    drafter = explicit({}, 2, frozenset({0}), otherwise={0: HALF, 1: HALF})
    target = explicit({}, 2, frozenset({1}), otherwise={0: THIRD, 1: 2 * THIRD})
    assert mapped(drafter, tokenizer, draft_tokenizer).laws([((), ())]) == [[ExactLaw({0: HALF, 1: HALF}, 2)]]
    toys.assert_lossless(tli(target, tokenizer, drafter, draft_tokenizer, 2), 4)


def test_nothing_shared_is_an_error() -> None:
    with pytest.raises(DecoderError, match="share no token"):
        tli(TARGET, TOKENIZER, DRAFTER, ToyTokenizer(("u", "v", "w")), 1)


def test_float_laws_are_mapped_alike(toys: Any) -> None:
    for seed in range(20):
        toy = toys.toy(seed, 3)
        exact, floats = (
            mapped(model, toy.tokenizer, toy.draft_tokenizer).laws([((), (0, 1))])[0]
            for model in (toy.drafter, toys.Floats(toy.drafter))
        )
        for law, tensor in zip(exact, floats, strict=True):
            assert isinstance(tensor, TensorLaw)
            assert torch.allclose(tensor.probabilities, toys.tensor_law(law).probabilities)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(36))
def test_its_output_law_is_the_targets(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.toy(seed, 2 + seed % 2)
    decoder = tli(toy.target, toy.tokenizer, toy.drafter, toy.draft_tokenizer, lookahead)
    toys.assert_lossless(decoder, 4 if seed % 2 == 0 else 3, (0,))


@pytest.mark.parametrize("name", NAMES)
def test_on_the_toy_vocabularies(toys: Any, name: str) -> None:
    strings = vocabulary(name)
    tokenizer, draft_tokenizer = ToyTokenizer(strings.target), ToyTokenizer(strings.draft)
    target = toys.model(f"target {name}", tokenizer.size, tokenizer.eos)
    drafter = toys.model(f"drafter {name}", draft_tokenizer.size, draft_tokenizer.eos)
    if not set(strings.target) & set(strings.draft) - {None}:
        with pytest.raises(DecoderError, match="share no token"):
            tli(target, tokenizer, drafter, draft_tokenizer, 2)
    else:
        toys.assert_lossless(tli(target, tokenizer, drafter, draft_tokenizer, 2), 3)


@pytest.mark.parametrize("seed", range(20))
def test_restriction_never_lowers_the_overlap(toys: Any, seed: int) -> None:
    toy = toys.toy(seed, 3)
    [[law]] = toy.target.laws([((), ())])
    [[draft]] = TableModel(toy.drafter.size, toy.drafter.rule).laws([((), ())])
    vocabularies = Vocabularies(toy.tokenizer, toy.draft_tokenizer, toy.tokenizer.size, toy.draft_tokenizer.size)
    restricted = MappedDrafter(toy.drafter, vocabularies).image(draft)
    if not restricted.empty:
        assert law.overlap(restricted) >= law.overlap(draft.pushforward(vocabularies.union))
