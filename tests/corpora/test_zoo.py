"""The zoo's files, checksums, sizes and losses."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from draftproof.corpora import zoo
from draftproof.corpora.zoo import card, evaluation

each_model = pytest.mark.parametrize("name", zoo.NAMES)


@each_model
def test_files_match_the_manifest(name: str) -> None:
    zoo.verify(name)
    assert set(zoo.manifest()["models"][name]["files"]) == {path.name for path in zoo.folder(name).iterdir()}
    assert not [path for path in zoo.folder(name).iterdir() if path.suffix not in {".json", ".safetensors"}]


@each_model
def test_models_stay_small(name: str) -> None:
    entry = zoo.manifest()["models"][name]
    assert entry["parameters"] <= 1_500_000
    assert entry["files"]["model.safetensors"]["bytes"] < 3_000_000


@each_model
def test_loads_offline_with_the_recorded_ids(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    entry = zoo.manifest()["models"][name]
    model = AutoModelForCausalLM.from_pretrained(zoo.folder(name), local_files_only=True)
    assert model.dtype == torch.float32
    assert model.num_parameters() == entry["parameters"]
    assert (model.config.bos_token_id, model.config.eos_token_id) == (entry["bos"], entry["eos"])
    assert model.config.vocab_size == entry["vocabulary"]
    assert model.config.max_position_embeddings == evaluation.CONTEXT


@each_model
def test_the_held_out_loss_is_as_recorded(name: str) -> None:
    entry = zoo.manifest()["models"][name]
    model = AutoModelForCausalLM.from_pretrained(zoo.folder(name), dtype=torch.float32)
    tokenizer = Tokenizer.from_file(str(zoo.folder(name) / "tokenizer.json"))
    found = evaluation.loss(model, tokenizer, zoo.held_out(), entry["bos"], entry["eos"])
    stated = entry["loss"]["held_out"]
    assert found.tokens == stated["tokens"]
    assert found.nats_per_token == pytest.approx(stated["nats_per_token"], abs=2e-3)
    assert found.bits_per_byte == pytest.approx(stated["bits_per_byte"], abs=2e-3)


def test_the_drafter_is_weaker_than_its_target() -> None:
    models = zoo.manifest()["models"]
    target, drafter = (models[name]["loss"]["held_out"]["nats_per_token"] for name in ("byte-bpe", "byte-bpe-small"))
    assert drafter > target + 0.2


@each_model
@torch.inference_mode()
def test_the_model_ends_paragraphs(name: str) -> None:
    """After at least one held-out paragraph in four, eos has probability over 0.2."""
    entry = zoo.manifest()["models"][name]
    model = AutoModelForCausalLM.from_pretrained(zoo.folder(name), dtype=torch.float32)
    tokenizer = Tokenizer.from_file(str(zoo.folder(name) / "tokenizer.json"))
    probabilities = []
    for paragraph in zoo.held_out()[:40]:
        ids = evaluation.document(tokenizer, paragraph, entry["bos"], entry["eos"])[:-1]
        if len(ids) <= evaluation.CONTEXT:
            law = model(input_ids=torch.tensor([ids])).logits[0, -1].softmax(-1)
            probabilities.append(float(law[entry["eos"]]))
    assert sum(probability > 0.2 for probability in probabilities) > len(probabilities) / 4


def test_the_card_is_what_the_manifest_renders_to() -> None:
    stored = (zoo.folder("unigram").parent / "README.md").read_text(encoding="utf-8")
    assert stored == card.render(zoo.manifest())


def test_an_unknown_name_is_answered_with_the_list() -> None:
    with pytest.raises(ValueError, match="byte-bpe, byte-bpe-small, unigram, wordpiece"):
        zoo.folder("gpt")


def test_verify_names_a_file_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(zoo.manifest()), encoding="utf-8")
    (tmp_path / "unigram").mkdir()
    monkeypatch.setattr(zoo, "_HERE", tmp_path)
    with pytest.raises(zoo.ZooError, match=r"config\.json is missing"):
        zoo.verify("unigram")
    (tmp_path / "unigram" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(zoo.ZooError, match=r"config\.json has SHA-256 44136f"):
        zoo.verify("unigram")
