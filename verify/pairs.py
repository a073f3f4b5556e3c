"""Pairs of models by name, loaded once, and the settings made of them: sampled whole, or truncated to be enumerated."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.models.early_exit import early_exit, without_layers
from draftproof.algorithms.models.tokenizers import FastTokenizer, check_fits, load_tokenizer
from draftproof.algorithms.models.transformers import TransformersModel, load_model
from draftproof.algorithms.models.zoo import ModelError, resolve
from draftproof.algorithms.processors import Processed, Processor, Rationalise, Remembered, TopK
from draftproof.verify.settings import SHARED_VOCABULARY, Setting


@dataclass(frozen=True)
class Pair:
    """A target and a drafter by their specs (zoo.py); `one_vocabulary` where they share a tokenizer."""

    target: str
    drafter: str
    one_vocabulary: bool = False

    @property
    def name(self) -> str:
        """The pair's name in reports: target first."""
        return f"{_shown(self.target)} with {_shown(self.drafter)}"


ZOO = (
    Pair("zoo:byte-bpe", "zoo:byte-bpe-small", one_vocabulary=True),
    Pair("zoo:byte-bpe", "zoo:unigram"),
    Pair("zoo:unigram", "zoo:byte-bpe"),
    Pair("zoo:wordpiece", "zoo:unigram"),
)
REAL = (
    Pair("smollm2", "smollm2@10", one_vocabulary=True),
    Pair("gemma3", "smollm2"),
    Pair("smollm2", "gemma3"),
)
PAIRS = {"zoo": ZOO, "real": REAL}
"""Named sets of pairs. `smollm2@10` is SmolLM2 ended after its tenth layer: a drafter of the same vocabulary."""


def _shown(spec: str) -> str:
    """A spec without the place where a folder lies: reports are the same on every machine."""
    return Path(spec).name if Path(spec).is_dir() else spec


@dataclass
class Library:
    """Models and tokenizers, each loaded once; `processors` apply to every model, target and drafter alike."""

    device: str = "cpu"
    dtype: str = "float32"
    processors: tuple[Processor, ...] = ()
    _models: dict[str, TransformersModel] = field(default_factory=dict)
    _tokenizers: dict[str, FastTokenizer] = field(default_factory=dict)

    def model(self, spec: str) -> TransformersModel:
        """The model of a spec. Raises ModelError."""
        if spec not in self._models:
            whole, layers = without_layers(spec)
            if layers is None:
                self._models[spec] = load_model(spec, device=self.device, dtype=self.dtype)
            else:
                self._models[spec] = early_exit(self.model(whole), layers)
        return self._models[spec]

    def tokenizer(self, spec: str) -> FastTokenizer:
        """The tokenizer of a spec, checked to fit its model. Raises ModelError."""
        if spec not in self._tokenizers:
            tokenizer = load_tokenizer(without_layers(spec)[0], eos=self.model(spec).eos)
            check_fits(tokenizer, self.model(spec))
            self._tokenizers[spec] = tokenizer
        return self._tokenizers[spec]

    def check(self, pair: Pair) -> None:
        """Raises ModelError where a model of the pair is not here; loads nothing."""
        for spec in (pair.target, pair.drafter):
            resolve(without_layers(spec)[0])

    def pair(self, target: str, drafter: str) -> Pair:
        """A pair of two specs; finds out whether they share a vocabulary."""
        return Pair(target, drafter, _same_vocabulary(self.tokenizer(target), self.tokenizer(drafter)))

    def setting(self, pair: Pair, lookahead: int, max_new_tokens: int) -> Setting:
        """The pair with its full laws, for sampling; the prompt is still the target's start ids alone."""
        return Setting(
            pair.name,
            self._processed(pair.target),
            self.tokenizer(pair.target),
            self._processed(pair.drafter),
            self.tokenizer(pair.drafter),
            prompt=self.tokenizer(pair.target).start,
            lookahead=lookahead,
            psi_lookahead=min(2, lookahead),
            max_new_tokens=max_new_tokens,
            psi_top_k=8,
        )

    def truncated(self, pair: Pair, lookahead: int, max_new_tokens: int, top_k: int) -> Setting:
        """The pair with laws cut to their `top_k` likeliest tokens and taken as fractions, each context scored once."""

        def cut(model: LanguageModel) -> LanguageModel:
            return Remembered(Processed(model, (TopK(top_k), Rationalise())))

        whole = self.setting(pair, lookahead, max_new_tokens)
        return replace(whole, target=cut(whole.target), drafter=cut(whole.drafter), psi_top_k=None)

    def _processed(self, spec: str) -> LanguageModel:
        return Processed(self.model(spec), self.processors) if self.processors else self.model(spec)


def _same_vocabulary(one: Tokenizer, other: Tokenizer) -> bool:
    return one.size == other.size and all(
        one.token_bytes(token) == other.token_bytes(token) for token in range(one.size)
    )


def with_prompt(setting: Setting, text: str) -> Setting:
    """The setting after a prompt text.

    Raises ModelError where the prompt is no Unicode text, or has no ids at all: a model has no law after nothing.
    """
    try:
        prompt = setting.target_tokenizer.start + setting.target_tokenizer.encode(text)
    except ValueError as error:
        raise ModelError(f"a prompt cannot be encoded: {error}") from None
    if not prompt:
        raise ModelError(f"the prompt {text!r} has no ids under the target's tokenizer, and it has no start token")
    return replace(setting, prompt=prompt)


def suited(pairs: tuple[Pair, ...], decoder: str) -> tuple[Pair, ...]:
    """The pairs a decoder runs on: speculative sampling needs one vocabulary, the others are for two."""
    if decoder in SHARED_VOCABULARY:
        return tuple(pair for pair in pairs if pair.one_vocabulary)
    different = tuple(pair for pair in pairs if not pair.one_vocabulary)
    return different or pairs
