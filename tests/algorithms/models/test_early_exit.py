"""A model ended early, against one that has the first layers only."""

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.models.early_exit import early_exit, without_layers
from draftproof.algorithms.models.transformers import TransformersModel
from draftproof.algorithms.models.zoo import ModelError
from draftproof.algorithms.tensor_law import TensorLaw

SHAPE = {
    "vocab_size": 19,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,
    "eos_token_id": 2,
}
QUERIES: list[Query] = [((3, 4, 5), (6, 7)), ((3, 4), ()), ((1,) * 12, (2, 3, 4))]


def llama(layers: int) -> LlamaForCausalLM:
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(**SHAPE, num_hidden_layers=layers))


def gemma3(layers: int) -> Gemma3ForCausalLM:
    torch.manual_seed(2)
    types = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"][:layers]
    return Gemma3ForCausalLM(
        Gemma3TextConfig(**SHAPE, num_hidden_layers=layers, layer_types=types, head_dim=8, sliding_window=4)
    )


MAKERS = {"llama": llama, "gemma3": gemma3}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def probabilities(model: TransformersModel, queries: list[Query]) -> torch.Tensor:
    laws = [law for part in model.laws(queries) for law in part]
    return torch.stack([law.probabilities for law in laws if isinstance(law, TensorLaw)])


def truncated(whole: PreTrainedModel, make, layers: int) -> PreTrainedModel:
    """A model built with so few layers, given the tensors of the whole one's first layers."""
    short = make(layers)
    names = set(short.state_dict())
    short.load_state_dict({name: tensor for name, tensor in whole.state_dict().items() if name in names})
    return short.eval()


@EACH
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_it_is_the_model_of_the_first_layers(make, layers: int) -> None:
    whole = TransformersModel(make(4), "whole")
    ended = early_exit(whole, layers)
    expected = TransformersModel(truncated(whole.model, make, layers), use_cache=False)
    torch.testing.assert_close(probabilities(ended, QUERIES), probabilities(expected, QUERIES), atol=1e-6, rtol=0)
    # Again, now out of its cache, and one token on.
    longer: list[Query] = [(context + drafted, (8,)) for context, drafted in QUERIES]
    torch.testing.assert_close(probabilities(ended, longer), probabilities(expected, longer), atol=1e-6, rtol=0)
    assert (ended.name, ended.size, ended.eos) == (f"whole@{layers}", 19, frozenset({2}))


@EACH
def test_the_whole_model_is_left_as_it_is(make) -> None:
    whole = TransformersModel(make(4), "whole")
    before = probabilities(whole, QUERIES)
    config = whole.model.config.to_dict()
    ended = early_exit(whole, 2)
    other = probabilities(ended, QUERIES)
    assert float((other - before).abs().max()) > 1e-3
    fresh = TransformersModel(whole.model, "whole")
    assert torch.equal(probabilities(fresh, QUERIES), probabilities(TransformersModel(make(4)), QUERIES))
    torch.testing.assert_close(probabilities(whole, QUERIES), before, atol=1e-6, rtol=0)
    assert whole.model.config.to_dict() == config
    assert len(whole.model.model.layers) == 4


def test_nothing_is_copied() -> None:
    whole = TransformersModel(llama(3), "whole")
    ended = early_exit(whole, 2)
    assert {id(one) for one in ended.model.parameters()} < {id(one) for one in whole.model.parameters()}


def test_an_ended_model_may_be_ended_again() -> None:
    whole = TransformersModel(llama(4), "whole")
    twice, once = early_exit(early_exit(whole, 3), 1), early_exit(whole, 1)
    assert torch.equal(probabilities(twice, QUERIES), probabilities(once, QUERIES))


@pytest.mark.parametrize("layers", [-1, 0, 3, 9])
def test_bad_numbers_of_layers_are_refused(layers: int) -> None:
    with pytest.raises(ModelError, match=rf"whole has 3 layers; it can be ended after 1..2, not {layers}"):
        early_exit(TransformersModel(llama(3), "whole"), layers)


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=19, n_embd=16, n_layer=2, n_head=4, n_positions=64))
    with pytest.raises(ModelError, match="no list of layers"):
        early_exit(TransformersModel(model, "gpt2"), 1)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("zoo:byte-bpe@2", ("zoo:byte-bpe", 2)),
        ("zoo:byte-bpe", ("zoo:byte-bpe", None)),
        ("a@b@3", ("a@b", 3)),
        ("owner/name@x", ("owner/name@x", None)),
        ("@3", ("@3", None)),
        ("model@-1", ("model@-1", None)),
    ],
)
def test_specs(spec: str, expected: tuple[str, int | None]) -> None:
    assert without_layers(spec) == expected
