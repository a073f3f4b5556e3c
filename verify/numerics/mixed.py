"""Drafts in another dtype than the declared one, recorded and replayed on real models, and counted beside it.

Idea: the decoder that is run draws its drafts from laws in bfloat16, the declared one from laws in float32; ratio and
residual are the declared ones in both. Every recording of the first is replayed by the second. The look-alike is the
declared decoder itself, whose recordings must replay to the last uniform. Counting is given the same tokens: their
probability integral transforms under the target's law.

Claims: SS-8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from draftproof.algorithms.drivers import RandomCoins
from draftproof.algorithms.laws import Law
from draftproof.algorithms.processors import Remembered
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.numerics.arithmetic import name_of
from draftproof.verify.numerics.evidence import Replayed
from draftproof.verify.numerics.precision import InPrecision, stored
from draftproof.verify.numerics.replay import DRAFT, STEP, Difference, Recording, record, replay
from draftproof.verify.numerics.rows import drafting
from draftproof.verify.settings import Setting
from draftproof.verify.statistics.pit import transform, uniformity

DECLARED, DRAWN = torch.float32, torch.bfloat16


@dataclass(frozen=True)
class DraftsIn(SpeculativeSampling):
    """Draws drafts from the drafter's law stored in `dtype`; ratio and residual use it as declared."""

    dtype: torch.dtype = DRAWN

    def propose(self, draft_law: Law) -> Program[int]:
        """A draw from the law in the other dtype."""
        token: int = yield Choose(stored(draft_law, self.dtype))
        return token


@dataclass
class _Pair:
    """What the recordings of one pair gave, before it is summed up."""

    recordings: int = 0
    tokens: int = 0
    drafts: int = 0
    own: int = 0
    differences: list[Difference] = field(default_factory=list)
    transforms: list[float] = field(default_factory=list)


def replay_mixed(
    settings: Sequence[Setting],
    seed: int = 0,
    drawn: torch.dtype = DRAWN,
    progress: Callable[[int], None] = lambda recordings: None,
) -> tuple[Replayed, ...]:
    """Records one output per setting (one setting per prompt, pairs mixed) with drafts in `drawn`, and replays it.

    `progress` is called with the number of recordings so far. Raises TypeError for models whose laws are no tensors.
    """
    pairs: dict[str, _Pair] = {}
    for number, setting in enumerate(settings):
        pair = pairs.setdefault(setting.name, _Pair())
        decoder = drafting(setting)
        # Each context is scored once, so that every run sees its law alike to the last bit.
        target, drafter = (InPrecision(Remembered(one), DECLARED) for one in (decoder.target, decoder.drafter))
        declared = SpeculativeSampling(target, drafter, decoder.lookahead)
        mixed = DraftsIn(target, drafter, decoder.lookahead, dtype=drawn)
        recordings = [
            record(one, setting.prompt, setting.max_new_tokens, RandomCoins(seed, number)) for one in (declared, mixed)
        ]
        own, found = (replay(declared, recording) for recording in recordings)
        pair.recordings += 1
        pair.own += not own.same
        pair.tokens += recordings[1].tokens
        pair.drafts += sum(event.kind == DRAFT for event in recordings[1].events)
        pair.differences += [found.difference] if found.difference else []
        pair.transforms += _transforms(declared, recordings[1], RandomCoins(seed, number, 1))
        progress(number + 1)
    return tuple(_summed(name, pair, drawn) for name, pair in pairs.items())


def _transforms(declared: SpeculativeSampling, recording: Recording, coins: RandomCoins) -> list[float]:
    """The transforms of the recorded tokens under the target's law, ordered by probability: uniform if they have it."""
    emitted = tuple(token for event in recording.events if event.kind == STEP for token in event.answer)
    tokens = emitted[: recording.tokens]
    [laws] = declared.target.laws([(recording.prompt, tokens[:-1])])
    found = []
    for law, token in zip(laws, tokens, strict=True):
        assert isinstance(law, TensorLaw)
        wide = TensorLaw(law.probabilities.to(torch.float64))
        found.append(transform(wide, token, wide.probabilities, coins.toss()))
    return found


def _summed(name: str, pair: _Pair, drawn: torch.dtype) -> Replayed:
    first = min(pair.differences, key=lambda one: one.number, default=None)
    return Replayed(
        pair=name,
        dtype=name_of(drawn),
        declared=name_of(DECLARED),
        recordings=pair.recordings,
        tokens=pair.tokens,
        drafts=pair.drafts,
        caught=len(pair.differences),
        own=pair.own,
        first=str(first) if first else None,
        p_value=uniformity(pair.transforms, "target probability").p_value,
    )
