"""Pairs: found, loaded once, checked to fit, and suited to decoders."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.models.zoo import ModelError
from draftproof.algorithms.processors import Processed, Temperature
from draftproof.corpora.zoo import folder
from draftproof.verify.pairs import PAIRS, REAL, ZOO, Library, Pair, suited, with_prompt
from draftproof.verify.settings import BUILDERS
from draftproof.verify.toys import random_toy


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


def test_a_pair_is_named_target_first() -> None:
    assert Pair("big", "small").name == "big with small"


def test_models_and_tokenizers_are_loaded_once(library: Library) -> None:
    assert library.model("zoo:unigram") is library.model("zoo:unigram")
    assert library.tokenizer("zoo:unigram") is library.tokenizer("zoo:unigram")
    assert library.tokenizer("zoo:byte-bpe-small@1").encode("as") == library.tokenizer("zoo:byte-bpe-small").encode(
        "as"
    )


@pytest.mark.parametrize("spec", ["zoo:nothing", "/no/such/folder", "gemma4"])
def test_unknown_models_are_refused_before_anything_is_loaded(spec: str) -> None:
    library = Library()
    for pair in (Pair(spec, "zoo:unigram"), Pair("zoo:unigram", spec)):
        with pytest.raises(ModelError):
            library.check(pair)
    assert not library._models


def test_an_ended_model_is_checked_as_its_whole() -> None:
    Library().check(Pair("zoo:byte-bpe", "zoo:byte-bpe@2"))
    with pytest.raises(ModelError, match="holds no model"):
        Library().check(Pair("zoo:byte-bpe", "zoo:nothing@2"))


def test_a_tokenizer_of_another_model_is_refused(library: Library, tmp_path: Path) -> None:
    place = shutil.copytree(folder("byte-bpe-small"), tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(str(place))
    tokenizer.add_tokens([f"<extra {count}>" for count in range(9)])
    tokenizer.save_pretrained(str(place))
    with pytest.raises(ModelError, match="do not belong together"):
        library.tokenizer(str(place))


def test_one_vocabulary_is_found_out(library: Library) -> None:
    assert library.pair("zoo:byte-bpe", "zoo:byte-bpe-small").one_vocabulary
    assert library.pair("zoo:byte-bpe", "zoo:byte-bpe@1").one_vocabulary
    assert not library.pair("zoo:byte-bpe", "zoo:unigram").one_vocabulary
    for pair in ZOO:
        assert library.pair(pair.target, pair.drafter) == pair


def test_a_swapped_token_is_another_vocabulary(library: Library, tmp_path: Path) -> None:
    place = shutil.copytree(folder("byte-bpe-small"), tmp_path / "model")
    content = json.loads((place / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    (place / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    assert not library.pair("zoo:byte-bpe-small", str(place)).one_vocabulary


def test_a_setting_for_sampling(library: Library) -> None:
    setting = library.setting(ZOO[1], 5, 7)
    assert (setting.name, setting.lookahead, setting.psi_lookahead, setting.max_new_tokens) == (ZOO[1].name, 5, 2, 7)
    assert setting.target is library.model("zoo:byte-bpe")
    assert setting.drafter is library.model("zoo:unigram")
    assert setting.psi_top_k == 8
    assert setting.prompt == setting.target_tokenizer.start
    assert library.setting(ZOO[1], 1, 7).psi_lookahead == 1


def test_a_truncated_setting_has_laws_in_fractions(library: Library) -> None:
    setting = with_prompt(library.truncated(ZOO[0], 2, 3, top_k=3), "The")
    for model in (setting.target, setting.drafter):
        [[law, *_]] = model.laws([(setting.prompt, (5,))])
        assert isinstance(law, ExactLaw)
        assert len(law.support()) == 3
        assert sum((mass for _, mass in law.items()), Fraction(0)) == 1
    assert setting.psi_top_k is None


def test_processors_stand_before_every_model() -> None:
    library = Library(processors=(Temperature(0.5),))
    setting = library.setting(ZOO[0], 2, 3)
    assert isinstance(setting.target, Processed)
    assert isinstance(setting.drafter, Processed)
    assert setting.target.processors == setting.drafter.processors == (Temperature(0.5),)


def test_a_prompt_is_start_ids_and_text(library: Library) -> None:
    setting = library.setting(ZOO[0], 2, 3)
    start = setting.target_tokenizer.start
    assert with_prompt(setting, "The").prompt == start + setting.target_tokenizer.encode("The")
    assert start
    assert with_prompt(setting, "").prompt == start


def test_a_prompt_without_ids_is_refused() -> None:
    setting = random_toy("prompt", ("a", None), ("a", None), 0).setting
    assert isinstance(setting.target_tokenizer, ToyTokenizer)
    assert with_prompt(setting, "aa").prompt == (0, 0)
    for text in ("", "z"):
        with pytest.raises(ModelError, match="no ids"):
            with_prompt(setting, text)


def test_a_prompt_that_is_no_text_is_refused(library: Library) -> None:
    with pytest.raises(ModelError, match="surrogate"):
        with_prompt(library.setting(ZOO[0], 2, 3), "a\udc80")


def test_decoders_have_the_pairs_they_are_for() -> None:
    for pairs in PAIRS.values():
        assert suited(pairs, "speculative-sampling") == tuple(pair for pair in pairs if pair.one_vocabulary)
        for decoder in set(BUILDERS) - {"speculative-sampling"}:
            assert suited(pairs, decoder) == tuple(pair for pair in pairs if not pair.one_vocabulary)
    assert PAIRS == {"zoo": ZOO, "real": REAL}


def test_a_pair_of_ones_own_serves_every_decoder_that_can_use_it() -> None:
    one, two = Pair("x", "y", one_vocabulary=True), Pair("x", "z")
    assert suited((one,), "slem") == suited((one,), "speculative-sampling") == (one,)
    assert suited((two,), "slem") == (two,)
    assert suited((two,), "speculative-sampling") == ()
    assert suited((), "slem") == ()


def test_a_setting_may_be_given_another_prompt(library: Library) -> None:
    setting = library.setting(ZOO[0], 2, 3)
    assert replace(with_prompt(setting, "The"), prompt=setting.prompt) == setting
