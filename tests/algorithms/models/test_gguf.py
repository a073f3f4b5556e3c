"""Conversion of GGUF files with the real transformers: a tiny one made here, and the fetched models."""

from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.algorithms.models import zoo
from draftproof.algorithms.models.gguf import convert
from draftproof.algorithms.models.wheels import FetchError

HIDDEN, INNER, VOCABULARY = 64, 128, 260


def write_tiny_llama(path: Path) -> dict[str, np.ndarray]:
    """Writes a one-layer Llama with a byte-level vocabulary, one weight of it quantised.

    Gives the weights as they were before quantisation.
    """
    import gguf
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(32)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HIDDEN // 2)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["<s>", "</s>", "<unk>", *bytes_to_unicode().values(), "he"])
    writer.add_token_types([3, 3, 2] + [1] * 257)
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    shapes = {
        "token_embd.weight": (VOCABULARY, HIDDEN),
        "output.weight": (VOCABULARY, HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.ffn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_k.weight": (HIDDEN // 2, HIDDEN),
        "blk.0.attn_v.weight": (HIDDEN // 2, HIDDEN),
        "blk.0.attn_output.weight": (HIDDEN, HIDDEN),
        "blk.0.ffn_gate.weight": (INNER, HIDDEN),
        "blk.0.ffn_up.weight": (INNER, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, INNER),
    }
    weights = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    for name, weight in weights.items():
        if name == "blk.0.ffn_down.weight":
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quantize(weight, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


@pytest.mark.slow
def test_tiny_model_keeps_its_weights_and_tokenizer(tmp_path: Path) -> None:
    from safetensors.numpy import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, folder = tmp_path / "source", tmp_path / "converted"
    source.mkdir()
    folder.mkdir()
    weights = write_tiny_llama(source / "tiny.gguf")
    convert(source / "tiny.gguf", folder)

    saved = load_file(folder / "model.safetensors")
    np.testing.assert_array_equal(saved["model.embed_tokens.weight"], weights["token_embd.weight"])
    np.testing.assert_array_equal(saved["lm_head.weight"], weights["output.weight"])
    down = saved["model.layers.0.mlp.down_proj.weight"]
    assert down.dtype == np.float32
    np.testing.assert_allclose(down, weights["blk.0.ffn_down.weight"], atol=0.03)

    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("hehé", add_special_tokens=False).input_ids
    assert tokenizer.decode(ids) == "hehé"
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert getattr(model.config, "quantization_config", None) is None


@pytest.mark.slow
def test_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"no such thing")
    folder = tmp_path / "converted"
    folder.mkdir()
    with pytest.raises(FetchError, match=r"could not convert broken\.gguf: "):
        convert(tmp_path / "broken.gguf", folder)


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_fetched_model_loads_and_goes_on_with_a_text(name: str) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        folder = zoo.resolve(name)
    except zoo.ModelError as error:
        pytest.skip(str(error))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    assert model.config.vocab_size == len(tokenizer)
    prompt = tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        out = model.generate(**prompt, max_new_tokens=6, do_sample=False)
    assert tokenizer.decode(out[0], skip_special_tokens=True).startswith("The capital of France is ")
    law = model(**prompt).logits[0, -1].softmax(-1)
    assert law.isfinite().all()
