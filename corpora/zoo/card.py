"""The zoo's manifest and model card: both are written from the same numbers, so that they cannot drift apart."""

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

from draftproof.corpora.zoo import text

NOTICE = "Python Software Foundation License Version 2; Copyright (c) 2001-2023 Python Software Foundation"

_CARD = """# The tiny model zoo

Written by `corpora/zoo/train.py`; do not edit by hand.

Four Llama-style language models, small enough to commit, with three different tokenizers. They exist to exercise
decoders with real logits, real tokenizers and a real end of text; they know nothing and are of no other use.

| model | parameters | vocabulary | hidden x layers | weights, bytes | seed | steps (epochs) |
|---|---|---|---|---|---|---|
{shapes}

| model | train, nats per token | held out, nats per token | train, bits per byte | held out, bits per byte |
|---|---|---|---|---|
{losses}

WordPiece drops case and white space, so its bits per byte flatter it.

## Tokenizers

{tokenizers}

`byte-bpe-small` has the same `tokenizer.json` as `byte-bpe`: it is its drafter. Where a tokenizer adds bos, it does so
in front only; pass `add_special_tokens=False` for bare ids. Literal text that spells a special token (say `</s>`)
becomes that token unless `split_special_tokens=True` is passed.

## Text

`pydoc_data/topics.py` of CPython {python}: {distinct} distinct paragraphs ({size} bytes), of which {held} are held out
and stored in `held_out.json`. SHA-256 of the joined topics: `{sha256}`.
A document is one paragraph between bos and eos, so each model does emit eos; documents are packed in random order. A
paragraph is held out by its own hash; near-repetitions between the two parts remain, so held-out losses are optimistic.

Licence of the text: {notice}. See `LICENSE-PSF.txt`.

## Made how

AdamW, one-cycle rate, {tokens} tokens a step, one CPU thread, no choice made by held-out loss. Weights are stored as
float16 and load as float32 (`config.json`); the losses are those of the stored weights. Everything, in
about fifteen minutes of one core or less:

    python -m draftproof.corpora.zoo.train --new-tokenizers

The same seed is promised to give the same weights only on the same machine with the same library versions. The
Unigram trainer's scores vary in the fourth decimal between runs, so tokenizers that exist are kept unless
`--new-tokenizers` is given.
"""


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented UTF-8 JSON with a final newline."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def files(folder: Path) -> dict[str, dict[str, Any]]:
    """Name, SHA-256 and size in bytes of every file of a model folder."""
    return {
        path.name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if path.is_file()
    }


def record(root: Path, name: str, entry: dict[str, Any], tokens_per_step: int) -> None:
    """Put one model's entry into `manifest.json` and write the held-out text and the card anew."""
    path = root / "manifest.json"
    models = json.loads(path.read_text(encoding="utf-8"))["models"] if path.exists() else {}
    models[name] = entry
    _, held_out = text.split()
    write_json(root / "held_out.json", {"licence": NOTICE, "paragraphs": held_out})
    manifest = {
        "text": {
            "source": "pydoc_data/topics.py of CPython",
            "python": platform.python_version(),
            "sha256": text.sha256_of(text.full_text()),
            "licence": NOTICE,
            "paragraphs": len(text.paragraphs()),
            "bytes": sum(len(paragraph.encode("utf-8")) for paragraph in text.paragraphs()),
            "held_out_paragraphs": len(held_out),
        },
        "tokens_per_step": tokens_per_step,
        "models": dict(sorted(models.items())),
    }
    write_json(path, manifest)
    (root / "README.md").write_text(render(manifest), encoding="utf-8")


def render(manifest: dict[str, Any]) -> str:
    """The model card as a function of the manifest alone."""
    shapes, losses, tokenizers = [], [], []
    for name, entry in manifest["models"].items():
        shape, train, held = entry["shape"], entry["loss"]["train"], entry["loss"]["held_out"]
        size = entry["files"]["model.safetensors"]["bytes"]
        shapes.append(
            f"| `{name}` | {entry['parameters']:,} | {entry['vocabulary']:,} | {shape['hidden']} x {shape['layers']} "
            f"| {size:,} | {entry['seed']} | {entry['steps']} ({entry['epochs']}) |"
        )
        losses.append(
            f"| `{name}` | {train['nats_per_token']:.3f} | {held['nats_per_token']:.3f} "
            f"| {train['bits_per_byte']:.3f} | {held['bits_per_byte']:.3f} |"
        )
        tokenizers.append(f"- `{name}` (bos {entry['bos']}, eos {entry['eos']}): {entry['tokenizer']}.")
    source = manifest["text"]
    return _CARD.format(
        shapes="\n".join(shapes),
        losses="\n".join(losses),
        tokenizers="\n".join(tokenizers),
        python=source["python"],
        distinct=f"{source['paragraphs']:,}",
        size=f"{source['bytes']:,}",
        held=source["held_out_paragraphs"],
        sha256=source["sha256"],
        notice=source["licence"],
        tokens=f"{manifest['tokens_per_step']:,}",
    )
