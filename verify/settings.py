"""A setting: everything a decoder needs to run, and the builders that make each decoder from one.

A decoder is audited by name on many settings: toys, the zoo, real pairs. On a setting whose two tokenizers are one,
speculative sampling runs too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import Decoder
from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.processors import Processed, Processor, TopK
from draftproof.algorithms.slem import ModelDrafter, Slem
from draftproof.algorithms.slrs import Slrs
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.string_law import FirstToken, FixedLookahead
from draftproof.algorithms.tli import tli
from draftproof.algorithms.union import union


@dataclass(frozen=True)
class Setting:
    """Two models with their tokenizers, a prompt in target ids, and limits.

    `psi_lookahead` is the fixed lookahead of SLRS, whose cost grows with its power; `psi_top_k` truncates the drafter
    for SLRS (the truncated law is then the declared one), None where it is small enough.
    """

    name: str
    target: LanguageModel
    target_tokenizer: Tokenizer
    drafter: LanguageModel
    draft_tokenizer: Tokenizer
    prompt: tuple[int, ...]
    lookahead: int
    psi_lookahead: int
    max_new_tokens: int
    psi_top_k: int | None = None

    @property
    def text_drafter(self) -> ModelDrafter:
        """The drafter on the string level."""
        return ModelDrafter(self.drafter, self.draft_tokenizer)


def processed(setting: Setting, processors: tuple[Processor, ...]) -> Setting:
    """The setting with processors on target and drafter: the processed laws are the declared ones."""
    if not processors:
        return setting
    return replace(
        setting, target=Processed(setting.target, processors), drafter=Processed(setting.drafter, processors)
    )


def _slrs(setting: Setting) -> Decoder:
    drafter = setting.drafter if setting.psi_top_k is None else Processed(setting.drafter, (TopK(setting.psi_top_k),))
    rule = FixedLookahead(setting.psi_lookahead)
    return Slrs(setting.target, FirstToken(drafter, setting.draft_tokenizer, setting.target_tokenizer, rule))


BUILDERS: dict[str, Callable[[Setting], Decoder]] = {
    "speculative-sampling": lambda s: SpeculativeSampling(s.target, s.drafter, s.lookahead),
    "slem": lambda s: Slem(s.target, s.target_tokenizer, s.text_drafter, s.lookahead),
    "slrs": _slrs,
    "tli": lambda s: tli(s.target, s.target_tokenizer, s.drafter, s.draft_tokenizer, s.lookahead),
    "union": lambda s: union(s.target, s.target_tokenizer, s.drafter, s.draft_tokenizer, s.lookahead),
}
"""Decoders by name."""

SHARED_VOCABULARY = frozenset({"speculative-sampling"})
"""Decoders that need target and drafter to have one vocabulary."""


def autoregressive(setting: Setting) -> Decoder:
    """The specification on a setting."""
    return Autoregressive(setting.target)
