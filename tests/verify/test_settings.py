"""Settings, and the decoders that are built of them."""

from dataclasses import replace

import pytest

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.processors import Processed, TopK
from draftproof.algorithms.slrs import Slrs
from draftproof.verify.settings import BUILDERS, SHARED_VOCABULARY, autoregressive
from draftproof.verify.toys import random_toy

COMMON = ("a", "b", None)
SETTING = random_toy("setting", COMMON, COMMON, 0).setting


@pytest.mark.parametrize("name", BUILDERS)
def test_each_decoder_is_built_under_its_name(name: str) -> None:
    decoder = BUILDERS[name](SETTING)
    assert decoder.name == name
    assert decoder.target is SETTING.target


def test_the_specification_is_the_targets_own_law() -> None:
    assert autoregressive(SETTING) == Autoregressive(SETTING.target)


def test_slrs_declares_a_truncated_drafter_only_where_that_is_asked() -> None:
    whole, cut = (BUILDERS["slrs"](replace(SETTING, psi_top_k=top_k)) for top_k in (None, 2))
    assert isinstance(whole, Slrs)
    assert isinstance(cut, Slrs)
    assert whole.drafting.drafter is SETTING.drafter
    assert cut.drafting.drafter == Processed(SETTING.drafter, (TopK(2),))


@pytest.mark.parametrize("name", BUILDERS)
def test_each_refuses_a_lookahead_below_1(name: str) -> None:
    with pytest.raises(DecoderError, match="lookahead"):
        BUILDERS[name](replace(SETTING, lookahead=0, psi_lookahead=0))


def test_only_decoders_of_one_vocabulary_refuse_two() -> None:
    two = random_toy("two", ("a", "b", "ab", None), ("a", None), 0).setting
    for name, build in BUILDERS.items():
        if name in SHARED_VOCABULARY:
            with pytest.raises(DecoderError, match="different vocabularies"):
                build(two)
        else:
            build(two)
