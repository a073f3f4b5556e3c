"""Twins: the same drafter with every string twice."""

from fractions import Fraction
from typing import Any

from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.verify.comparison import compare
from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS
from draftproof.verify.toys import battery
from draftproof.verify.twins import TwinnedModel, TwinnedTokenizer, with_twins


def test_a_law_by_hand(toys: Any) -> None:
    model = TwinnedModel(toys.model("twins", 3, (2,)))
    [[law], [inner, _]] = model.laws([((), ()), ((4,), (0,))])
    plain = model.model.law(())
    assert [law[token] for token in range(6)] == [
        plain[0] * Fraction(3, 4),
        plain[1] * Fraction(3, 4),
        plain[2],
        plain[0] / 4,
        plain[1] / 4,
        0,
    ]
    assert inner[3] == model.model.law((1,))[0] / 4
    [[floats]] = TwinnedModel(toys.Floats(model.model)).laws([((), ())])
    assert [floats[token] for token in range(6)] == [float(law[token]) for token in range(6)]
    assert (model.size, model.eos) == (6, frozenset({2}))
    assert isinstance(model, LanguageModel)


def test_a_tokenizer_by_hand() -> None:
    tokenizer = TwinnedTokenizer(ToyTokenizer(("a", "b", None)))
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.encode("ab") == (0, 1)
    assert tokenizer.decode((0, 4, 3)) == "aba"
    assert [tokenizer.token_bytes(token) for token in range(6)] == [b"a", b"b", None, b"a", b"b", None]
    assert (tokenizer.size, tokenizer.eos, tokenizer.start) == (6, frozenset({2}), ())


def test_right_maps_are_lossless_on_twins_and_the_last_writer_is_not() -> None:
    setting = with_twins(next(iter(battery("speculative-sampling"))).setting)
    assert compare(setting, BUILDERS["tli"]).total_variation == "0"
    assert compare(setting, BUILDERS["union"]).total_variation == "0"
    assert compare(setting, CONTROLS["merged-after-draw"].build).total_variation == "0"
    assert compare(setting, CONTROLS["last-writer-wins"].build).total_variation != "0"
