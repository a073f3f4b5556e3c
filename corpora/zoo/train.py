"""Trains the tiny model zoo: `python -m draftproof.corpora.zoo.train [--only NAME ...] [--new-tokenizers]`.

Idea: four Llama-style models small enough to commit, from a text that every CPython carries. Each is seeded and trained
for a fixed number of steps; no choice is made by looking at the held-out loss. One CPU thread, because two are many
times slower where the cores are shared. Weights are stored as float16 and load as float32, as `config.json` says;
the recorded losses are those of the stored weights.
"""

import argparse
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from draftproof.corpora.zoo import card, evaluation, text
from draftproof.corpora.zoo import tokenizer_recipes as recipes

THREADS = 1
TOKENS_PER_STEP = 2048
PEAK_RATE, WEIGHT_DECAY, WARM_UP = 2e-3, 0.1, 0.05


@dataclass(frozen=True)
class Spec:
    """Shape and budget of one model; `tokenizer_of` names a model whose tokenizer file is shared."""

    recipe: recipes.Recipe
    hidden: int
    inner: int
    layers: int
    steps: int
    seed: int
    tokenizer_of: str | None = None


SPECS = {
    "byte-bpe": Spec(recipes.BYTE_BPE, hidden=128, inner=384, layers=4, steps=1000, seed=1),
    "byte-bpe-small": Spec(
        recipes.BYTE_BPE, hidden=64, inner=160, layers=2, steps=700, seed=2, tokenizer_of="byte-bpe"
    ),
    "unigram": Spec(recipes.UNIGRAM, hidden=128, inner=384, layers=3, steps=1000, seed=3),
    "wordpiece": Spec(recipes.WORDPIECE, hidden=128, inner=352, layers=3, steps=1000, seed=4),
}


def make_tokenizer(folder: Path, spec: Spec, training: Sequence[str], renew: bool) -> Tokenizer:
    """Write `tokenizer.json` (kept when it exists, unless `renew`) and `tokenizer_config.json`; return the former."""
    path, recipe = folder / "tokenizer.json", spec.recipe
    if spec.tokenizer_of is not None:
        shutil.copyfile(folder.parent / spec.tokenizer_of / "tokenizer.json", path)
    elif renew or not path.exists():
        path.write_text(recipe.build(training).to_str(pretty=True) + "\n", encoding="utf-8")
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": evaluation.CONTEXT,
        "clean_up_tokenization_spaces": False,
        "bos_token": recipe.bos,
        "eos_token": recipe.eos,
    }
    settings |= {f"{role}_token": token for role in ("unk", "pad") if (token := getattr(recipe, role)) is not None}
    card.write_json(folder / "tokenizer_config.json", settings)
    return Tokenizer.from_file(str(path))


def batches(documents: list[list[int]], seed: int, steps: int) -> Iterator[torch.Tensor]:
    """`steps` batches cut from an endless stream of the documents in seeded random order.

    Rows have 256 tokens; every fourth batch has rows of 512. Where bos is eos one token stands between two documents.
    """
    random, stream = Random(seed), list[int]()
    for step in range(steps):
        while len(stream) < TOKENS_PER_STEP:
            for ids in random.sample(documents, len(documents)):
                stream += ids[1:] if stream and stream[-1] == ids[0] else ids
        length = evaluation.CONTEXT if step % 4 == 3 else evaluation.CONTEXT // 2
        yield torch.tensor(stream[:TOKENS_PER_STEP]).view(-1, length)
        del stream[:TOKENS_PER_STEP]


def fit(spec: Spec, size: int, documents: list[list[int]]) -> LlamaForCausalLM:
    """A model of the given shape trained on `documents` (ids from bos to eos); the seed decides on one machine."""
    torch.manual_seed(spec.seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=size,
            hidden_size=spec.hidden,
            intermediate_size=spec.inner,
            num_hidden_layers=spec.layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=evaluation.CONTEXT,
            tie_word_embeddings=True,
            bos_token_id=documents[0][0],
            eos_token_id=documents[0][-1],
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=spec.steps, pct_start=WARM_UP)
    for step, batch in enumerate(batches(documents, spec.seed, spec.steps), start=1):
        value = model(input_ids=batch, labels=batch, use_cache=False).loss
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"  step {step} of {spec.steps}: {value.item():.3f} nats per token", flush=True)
    return model


def make(name: str, folder: Path, renew: bool) -> dict[str, Any]:
    """Train and save the model `name` in `folder`; return its manifest entry, measured on the stored weights."""
    spec = SPECS[name]
    training, held_out = text.split()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(folder, spec, training, renew)
    vocabulary = tokenizer.get_vocab()
    bos, eos = vocabulary[spec.recipe.bos], vocabulary[spec.recipe.eos]
    documents = [evaluation.document(tokenizer, paragraph, bos, eos) for paragraph in training]
    fit(spec, len(vocabulary), documents).half().save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    card.write_json(folder / "config.json", config | {"dtype": "float32"})
    stored = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    every = len(training) // len(held_out)
    return {
        "parameters": stored.num_parameters(),
        "vocabulary": len(vocabulary),
        "bos": bos,
        "eos": eos,
        "tokenizer": spec.recipe.says,
        "shape": {"hidden": spec.hidden, "inner": spec.inner, "layers": spec.layers, "context": evaluation.CONTEXT},
        "seed": spec.seed,
        "steps": spec.steps,
        "epochs": round(spec.steps * TOKENS_PER_STEP / sum(map(len, documents)), 1),
        "loss": {
            "train": asdict(evaluation.loss(stored, tokenizer, training[::every], bos, eos)),
            "held_out": asdict(evaluation.loss(stored, tokenizer, held_out, bos, eos)),
        },
        "files": card.files(folder),
    }


def main() -> None:
    """Train what was asked for, then write the held-out text, the manifest and the model card."""
    parser = argparse.ArgumentParser(description="Train the tiny model zoo.")
    parser.add_argument("--only", nargs="+", choices=list(SPECS), default=list(SPECS))
    parser.add_argument("--new-tokenizers", action="store_true", help="learn the tokenizers again, too")
    parser.add_argument("--any-text", action="store_true", help="accept another CPython release's topics")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    if text.sha256_of(text.full_text()) != text.EXPECTED_SHA256 and not options.any_text:
        parser.error("this CPython's pydoc_data/topics.py differs from 3.11.7's; pass --any-text to train on it")
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True)
    for name in options.only:
        started = time.monotonic()
        print(name, flush=True)
        entry = make(name, options.out / name, options.new_tokenizers)
        card.record(options.out, name, entry, TOKENS_PER_STEP)
        print(f"  {time.monotonic() - started:.0f} s, {entry['loss']}", flush=True)


if __name__ == "__main__":
    main()
