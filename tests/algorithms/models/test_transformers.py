"""Cached, batched laws of transformers models against single uncached forward passes."""

import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.models.transformers import TransformersModel, load_model
from draftproof.algorithms.models.zoo import ModelError
from draftproof.corpora.zoo import NAMES, folder
from draftproof.corpora.zoo import folder as zoo_folder

SIZE = 23
SHAPE = {"vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 3, "intermediate_size": 32}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
# Large weights: laws that are far from uniform, so that a wrong state shows.
SCALE = {"initializer_range": 0.4}


def llama(**more):
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(**SHAPE, **HEADS, **SCALE, eos_token_id=2, **more))


def gemma3(**more):
    torch.manual_seed(2)
    layers = ["sliding_attention", "full_attention", "sliding_attention"]
    config = Gemma3TextConfig(**SHAPE, **HEADS, **SCALE, head_dim=8, sliding_window=8, layer_types=layers, **more)
    return Gemma3ForCausalLM(config)


def gpt2(**more):
    torch.manual_seed(3)
    return GPT2LMHeadModel(GPT2Config(vocab_size=SIZE, n_embd=16, n_layer=2, n_head=4, n_positions=64, **SCALE, **more))


def bloom():
    torch.manual_seed(4)
    return BloomForCausalLM(BloomConfig(vocab_size=SIZE, hidden_size=16, n_layer=2, n_head=4, **SCALE))


def mamba():
    torch.manual_seed(5)
    return MambaForCausalLM(MambaConfig(vocab_size=SIZE, hidden_size=16, num_hidden_layers=2, **SCALE))


MAKERS = {
    "llama": llama,
    "llama-eager": lambda: llama(attn_implementation="eager"),
    "gemma3": gemma3,
    "gemma3-eager": lambda: gemma3(attn_implementation="eager"),
    "gpt2": gpt2,
    "bloom": bloom,
}


@pytest.fixture(autouse=True)
def one_thread():
    """The models are tiny: threads only get into each other's way."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Counter:
    """Counts forward passes and the tokens fed in them."""

    def __init__(self, model):
        self.shapes = []
        model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, module, args, kwargs):
        self.shapes.append(tuple(kwargs["input_ids"].shape))


def plain(model, query):
    """The laws of a query from one forward pass of its own, without cache, mask or position ids."""
    context, drafted = query
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([context + drafted]), use_cache=False).logits[0]
    return logits[len(context) - 1 :].double().softmax(-1)


def assert_same(model, queries, answers, within=1e-5):
    assert len(answers) == len(queries)
    for query, laws in zip(queries, answers, strict=True):
        expected = plain(model, query)
        assert len(laws) == len(query[1]) + 1
        got = torch.stack([law.probabilities for law in laws])
        assert got.dtype == torch.float64
        assert float((got - expected).abs().max()) < within


def random_calls(seed, calls=25):
    """Batches of queries as decoders make them: growing, rejected, cropped, repeated, and unrelated ones."""
    source = random.Random(seed)

    def ids(low, high):
        return tuple(source.randrange(SIZE) for _ in range(source.randint(low, high)))

    live = [ids(1, 12) for _ in range(3)]
    for _ in range(calls):
        queries = []
        for _ in range(source.choice([1, 1, 2, 5])):
            index = source.randrange(len(live))
            drafted = ids(0, 4)
            queries.append((live[index], drafted))
            kept = live[index] + drafted[: source.randint(0, len(drafted))] + ids(0, 1)
            if source.random() < 0.2:
                kept = kept[: source.randint(1, len(kept))]
            if source.random() < 0.1 or len(kept) > 50:
                kept = ids(1, 12)
            live[index] = kept
        if source.random() < 0.3:
            queries.append(source.choice(queries))
        yield queries


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_cached_laws_are_those_of_single_uncached_passes(maker, seed):
    model = MAKERS[maker]()
    subject = TransformersModel(model)
    assert isinstance(subject, LanguageModel)
    for queries in random_calls(seed):
        assert_same(model, queries, subject.laws(queries))


def test_the_laws_do_depend_on_the_far_context():
    # Else the tests above would pass whatever the cache holds; for Gemma3 beyond the sliding window of 8.
    for maker in MAKERS.values():
        model = maker()
        left, right = (plain(model, ((first, *range(1, 15)), ())) for first in (0, 20))
        assert float((left - right).abs().max()) > 1e-4


def test_ragged_batch_is_one_forward_pass():
    model = llama()
    subject = TransformersModel(model)
    counter = Counter(model)
    queries = [(tuple(range(1, 2 + row)), tuple(range(row % 3))) for row in range(8)]
    queries = [((row, *context), drafted) for row, (context, drafted) in enumerate(queries)]
    assert len(subject.laws(queries)) == 8
    assert len(counter.shapes) == 1
    assert counter.shapes[0][0] == 8
    answers = subject.laws(queries)
    assert len(counter.shapes) == 2
    # Everything is cached: no more than each query's own drafted tokens and the token before them.
    assert counter.shapes[1] == (8, 3)
    assert_same(model, queries, answers)


def test_draft_and_verify_feeds_only_new_tokens():
    model = llama()
    subject = TransformersModel(model)
    counter = Counter(model)
    source = random.Random(0)
    context = tuple(range(10))
    subject.laws([(context, ())])
    assert counter.shapes == [(1, 10)]
    for _ in range(10):
        drafted = tuple(source.randrange(SIZE) for _ in range(4))
        counter.shapes.clear()
        answers = subject.laws([(context, drafted)])
        # The law after the context has to be computed, so its last token is fed again at most.
        assert counter.shapes == [(1, 5)]
        assert_same(model, [(context, drafted)], answers)
        context += drafted[: source.randint(0, 3)] + (source.randrange(SIZE),)


def test_a_tree_of_contexts_shares_rows():
    model = llama()
    subject = TransformersModel(model)
    counter = Counter(model)
    stem = (1, 2, 3)
    queries = [(stem, ()), ((*stem, 4), ()), ((*stem, 4, 5), ()), ((*stem, 6), ()), ((*stem, 4, 5), ())]
    answers = subject.laws(queries)
    assert counter.shapes == [(2, 5)]
    assert_same(model, queries, answers)


def test_nothing_asked():
    assert TransformersModel(llama()).laws([]) == []


def test_bfloat16_laws_are_float64():
    model = llama().bfloat16()
    (law,) = TransformersModel(model).laws([((1, 2, 3), ())])[0]
    assert law.probabilities.dtype == torch.float64
    assert abs(float(law.probabilities.sum()) - 1) < 1e-12


def test_recurrent_models_are_refused_with_the_way_out():
    with pytest.raises(ModelError, match=r"cannot be cropped .* use_cache=False"):
        TransformersModel(mamba())


@pytest.mark.parametrize("maker", [*MAKERS.values(), mamba])
def test_without_cache(maker):
    model = maker()
    subject = TransformersModel(model, use_cache=False)
    for queries in random_calls(1, 8):
        assert_same(model, queries, subject.laws(queries))


def test_encoder_decoder_models_are_refused():
    config = T5Config(vocab_size=SIZE, d_model=8, d_ff=8, num_layers=1, num_heads=1, d_kv=8)
    for use_cache in (True, False):
        with pytest.raises(ModelError, match="encoder"):
            TransformersModel(T5ForConditionalGeneration(config), use_cache=use_cache)


@pytest.mark.parametrize("query", [((), ()), ((), (1, 2))])
def test_empty_context(query):
    with pytest.raises(ModelError, match=r"no ids at all; give a prompt, or a tokenizer with a BOS"):
        TransformersModel(llama()).laws([((1,), ()), query])


@pytest.mark.parametrize("token", [-1, SIZE])
def test_ids_outside(token):
    for query in (((token,), ()), ((1,), (token,))):
        with pytest.raises(ModelError, match=rf"ids 0\.\.{SIZE - 1}, not {token}"):
            TransformersModel(llama()).laws([query])


@pytest.mark.parametrize("maker", [llama, gemma3, gpt2])
def test_too_long(maker):
    subject = TransformersModel(maker(), name="short")
    assert len(subject.laws([((1,) * 60, (1,) * 4)])[0]) == 5
    with pytest.raises(ModelError, match="short has 64 positions; 65 tokens do not fit"):
        subject.laws([((1,) * 60, (1,) * 5)])


@pytest.mark.parametrize(
    ("value", "words"), [("nan", "NaN"), ("inf", r"\+inf"), ("-inf", "only -inf")], ids=["nan", "inf", "all-inf"]
)
def test_logits_that_are_no_law(value, words):
    model = llama()

    def spoil(module, args, output):
        output.logits[-1, -1, slice(None) if value == "-inf" else 3] = float(value)
        return output

    model.register_forward_hook(spoil)
    with pytest.raises(ModelError, match=rf"broken gave {words} among its logits after 5 tokens"):
        TransformersModel(model, name="broken").laws([((9,), ()), ((1, 2, 3), (4, 5))])


def test_a_masked_token_is_a_law():
    model = llama()

    def mask(module, args, output):
        output.logits[..., 3] = -torch.inf
        return output

    model.register_forward_hook(mask)
    (law,) = TransformersModel(model).laws([((1, 2), ())])[0]
    assert law[3] == 0
    assert 3 not in law.support()


def test_eos():
    model = llama()
    assert TransformersModel(model).eos == {2}
    model.generation_config.eos_token_id = [5, 6, 1000]
    assert TransformersModel(model).eos == {5, 6}
    assert TransformersModel(model, eos=()).eos == frozenset()
    with pytest.raises(ModelError, match="EOS outside"):
        TransformersModel(model, eos=[SIZE])
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    assert TransformersModel(model).eos == frozenset()


def test_load_model_from_a_folder(tmp_path):
    model = llama()
    model.save_pretrained(tmp_path)
    subject = load_model(str(tmp_path))
    query = ((1, 2, 3), (4,))
    assert_same(model, [query], subject.laws([query]))
    assert subject.size == SIZE
    assert subject.name == str(tmp_path)
    assert load_model(str(tmp_path), dtype="bfloat16").model.dtype == torch.bfloat16


def test_missing_folders_and_weights(tmp_path):
    with pytest.raises(ModelError, match="no model"):
        load_model(str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_model(str(tmp_path))
    model = llama()
    model.config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(str(tmp_path))


def test_pickled_weights_are_refused(tmp_path):
    model = llama()
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(str(tmp_path))


def test_a_model_that_brings_code_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"model_type": "of-its-own", "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"}}'
    )
    (tmp_path / "own.py").write_text("raise SystemExit('code of a model was run')\n")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(str(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_the_zoo(name):
    if not (folder(name) / "model.safetensors").is_file():
        pytest.skip(f"zoo:{name} is not built")
    subject = load_model(f"zoo:{name}")
    queries = [((5, 6, 7), (8, 9)), ((5, 6, 7, 8, 1), (2,)), ((5, 6, 7, 8, 9, 10), ())]
    for query in queries:
        assert_same(subject.model, [query], subject.laws([query]))
    assert_same(subject.model, queries, subject.laws(queries))


@pytest.mark.gpu
@pytest.mark.parametrize("maker", MAKERS)
def test_on_a_gpu(maker):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    model, twin = MAKERS[maker](), MAKERS[maker]()
    subject = TransformersModel(model.to("cuda"))
    for queries in random_calls(1):
        answers = subject.laws(queries)
        for query, laws in zip(queries, answers, strict=True):
            got = torch.stack([law.probabilities for law in laws])
            assert got.device.type == "cuda"
            assert float((got.cpu() - plain(twin, query)).abs().max()) < 1e-3


@pytest.mark.real
@pytest.mark.parametrize("spec", ["smollm2", "gemma3"])
def test_real_models(spec):
    subject = load_model(spec)
    text = tuple(range(300, 330))
    # More tokens than Gemma's sliding window of 512, so that the mask has to apply it to the cached states.
    long = tuple(1000 + (7 * i) % 500 for i in range(600 if spec == "gemma3" else 60))
    for queries in ([(text, (331,))], [((*text, 331, 332), (5, 6)), (long, ())], [((*long, 9), (8, 7)), (text, (1,))]):
        assert_same(subject.model, queries, subject.laws(queries), within=1e-4)


def test_weights_that_do_not_fit_their_config_are_refused_and_never_made_up(tmp_path: Path) -> None:
    """transformers would fill in random numbers: the audited model would not be the user's."""
    whole = zoo_folder("byte-bpe-small")
    tensors = load_file(whole / "model.safetensors")
    for name, spoilt in {
        "missing": {key: tensor for key, tensor in tensors.items() if "layers.0.mlp.up_proj" not in key},
        "mismatched": {
            key: tensor[:, :-1].contiguous() if "layers.0.mlp.up_proj" in key else tensor
            for key, tensor in tensors.items()
        },
    }.items():
        folder = tmp_path / name
        shutil.copytree(whole, folder)
        save_file(spoilt, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match=f"do not fit its config.json: {name}_keys .*up_proj"):
            load_model(str(folder))


def test_a_damaged_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    for name, file, content in (
        ("weights", "model.safetensors", b"\xff" * 64),
        ("config", "config.json", b'{"model_type": "llama", "hidden_size": -1}'),
        ("eos", "generation_config.json", b'{"eos_token_id": "x"}'),
    ):
        folder = tmp_path / name
        shutil.copytree(zoo_folder("byte-bpe-small"), folder)
        (folder / file).write_bytes(content)
        with pytest.raises(ModelError) as refusal:
            load_model(str(folder))
        assert len(str(refusal.value).splitlines()) == 1
