"""How the losses in the manifest are measured; `train.py` and the tests use this one function.

Idea: every paragraph is scored alone, from bos to eos. Bits per byte divide by the bytes of the original paragraph,
so they can be compared between tokenizers that keep the text; WordPiece drops case and white space, which flatters it.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer

CONTEXT = 512


@dataclass(frozen=True)
class Loss:
    """Cross-entropy of a set of paragraphs: nats per token, bits per byte, and the number of tokens predicted."""

    nats_per_token: float
    bits_per_byte: float
    tokens: int


def document(tokenizer: Tokenizer, paragraph: str, bos: int, eos: int) -> list[int]:
    """Ids of one paragraph between bos and eos; whether the tokenizer itself adds bos does not matter."""
    ids: list[int] = tokenizer.encode(paragraph, add_special_tokens=False).ids
    return [bos, *ids, eos]


def _windows(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids) - 1, CONTEXT - 1):
        yield ids[start : start + CONTEXT]


@torch.inference_mode()
def loss(model: Any, tokenizer: Tokenizer, paragraphs: Iterable[str], bos: int, eos: int) -> Loss:
    """Loss of `model` on `paragraphs`, each scored alone; longer ones are cut into windows of `CONTEXT` tokens.

    `model` is a causal language model of transformers whose weights are float32.
    """
    model.eval()
    nats, tokens, size = 0.0, 0, 0
    for paragraph in paragraphs:
        size += len(paragraph.encode("utf-8"))
        for window in _windows(document(tokenizer, paragraph, bos, eos)):
            batch = torch.tensor([window])
            logits = model(input_ids=batch, use_cache=False).logits[0, :-1]
            nats += float(torch.nn.functional.cross_entropy(logits, batch[0, 1:], reduction="sum"))
            tokens += len(window) - 1
    return Loss(round(nats / tokens, 4), round(nats / math.log(2) / size, 4), tokens)
