"""Prompts for decoders and tokenizer audits, by kind.

Idea: decoders differ most where the output repeats the input (copy, code, summarise) and where a normaliser rewrites it
(multilingual), and the zoo is at home in the style of the Python reference (documentation). All texts are our own.
"""

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KINDS", "Prompt", "prompts"]

KINDS = ("summarise", "code", "copy", "multilingual", "documentation")


@dataclass(frozen=True)
class Prompt:
    """One prompt; `id` is unique, `kind` is one of `KINDS`, `provenance` says where the text comes from."""

    id: str
    kind: str
    text: str
    provenance: str


def prompts(kind: str | None = None) -> tuple[Prompt, ...]:
    """All prompts in file order, or those of one kind. Raises `ValueError` when `kind` is not in `KINDS`."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"no prompts of kind {kind!r}; there are {', '.join(KINDS)}")
    lines = (Path(__file__).resolve().parent / "prompts.jsonl").read_text(encoding="utf-8").split("\n")
    every = (Prompt(**json.loads(line)) for line in lines if line)
    return tuple(prompt for prompt in every if kind is None or prompt.kind == kind)
