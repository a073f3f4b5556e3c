"""Real laws to measure on: target and draft law at every position of sampled outputs.

Contexts come from the decoder's own outputs, so each is as frequent here as in use.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.algorithms.laws import Law
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.numerics.closed_forms import as_law
from draftproof.verify.settings import BUILDERS, Setting


@dataclass(frozen=True, eq=False)
class Row:
    """P and Q after one context, as float64 laws of one size on the CPU."""

    pair: str
    target: torch.Tensor
    draft: torch.Tensor


def rows(
    settings: Sequence[Setting],
    outputs: int = 1,
    seed: int = 0,
    progress: Callable[[int], None] = lambda rows: None,
) -> Iterator[Row]:
    """The laws along `outputs` sampled outputs per setting (one setting per prompt), positions in order.

    The decoder is speculative sampling where the two models have as many ids, else TLI; a position where the drafter
    has nothing to propose is passed over. `progress` is called with the number of rows so far. Raises TypeError for
    models whose laws are no tensors.
    """
    found = 0
    for number, setting in enumerate(settings):
        decoder = drafting(setting)
        programs = [decode(decoder, setting.prompt, setting.max_new_tokens) for _ in range(outputs)]
        coins = [RandomCoins(seed, number, repeat) for repeat in range(outputs)]
        for output in sample_batch(programs, coins):
            query = (setting.prompt, output.tokens[:-1])
            [target_laws], [draft_laws] = decoder.target.laws([query]), decoder.drafter.laws([query])
            for target_law, draft_law in zip(target_laws, draft_laws, strict=True):
                if not draft_law.empty:
                    found += 1
                    yield Row(setting.name, _law(target_law), _law(draft_law))
                    progress(found)


def drafting(setting: Setting) -> SpeculativeSampling:
    """The decoder by whose drafts a setting is measured: speculative sampling, or TLI for two vocabularies."""
    name = "speculative-sampling" if setting.target.size == setting.drafter.size else "tli"
    decoder = BUILDERS[name](setting)
    assert isinstance(decoder, SpeculativeSampling)
    return decoder


def _law(law: Law) -> torch.Tensor:
    if not isinstance(law, TensorLaw):
        raise TypeError(f"measuring needs laws in floats, not {type(law).__name__}")
    return as_law(law.probabilities)
