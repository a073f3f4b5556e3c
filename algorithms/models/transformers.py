"""Real models: any causal language model of the transformers library, on any device, behind `LanguageModel`.

One call is one forward pass, whatever the queries; the keys and values of earlier calls are reused by longest common
prefix (cache.py). Weights come from safetensors only and no code from a model's repository is ever run.

A law is the softmax of the logits at its position, in float64 (float32 on devices without it), on the model's device.
Departs from exactness: a law depends on the ids alone only up to the rounding of the forward pass, which differs with
the batch and with what was cached (about 1e-6 in float32; much more in half precision).
"""

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel

from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.laws import Law
from draftproof.algorithms.models.cache import Layout, Match, Pool, cover, left_padded, right_padded, uncroppable
from draftproof.algorithms.models.zoo import ModelError, first_line, resolve
from draftproof.algorithms.tensor_law import TensorLaw

CACHE_BYTES = 512 << 20
_CROPPABLE = frozenset({"DynamicLayer", "DynamicSlidingWindowLayer", "DummyLayer"})


def load_model(
    spec: str,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    revision: str | None = None,
    *,
    use_cache: bool = True,
) -> "TransformersModel":
    """The model of a spec (see zoo.py), in evaluation mode on a device.

    `dtype` None takes what the model declares; `revision` is a branch, tag or commit of a hub id.

    Raises ModelError where the spec means nothing, or the model cannot be loaded without running its own code.
    """
    place = resolve(spec)
    local = isinstance(place, Path)
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(place),
            dtype=dtype or "auto",
            revision=None if local else revision,
            local_files_only=local,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below, in words that name the tensor
        )
    except Exception as error:  # a damaged folder makes the libraries raise nearly anything
        raise ModelError(f"the model {spec} cannot be loaded from {place}: {first_line(error)}") from error
    model, info = loaded
    # transformers fills weights that are not there with random numbers: that would be another model.
    for what in ("missing_keys", "mismatched_keys"):
        if info.get(what):
            raise ModelError(
                f"the weights of {spec} do not fit its config.json: {what} {sorted(map(str, info[what]))[:3]}"
            )
    return TransformersModel(model.to(device), name=spec, use_cache=use_cache)


class TransformersModel:
    """A `LanguageModel` over a causal model of transformers."""

    def __init__(
        self,
        model: PreTrainedModel,
        name: str | None = None,
        eos: Iterable[int] | None = None,
        *,
        use_cache: bool = True,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """`model` is put into evaluation mode and must not be changed or trained afterwards.

        `eos` None takes the generation config's ids, else the config's; ids that the model lacks are left out.
        `cache_bytes` bounds the keys and values kept between calls (the newest batch is always kept).
        `use_cache=False` feeds every context whole: for models whose cache cannot be cropped.

        Raises ModelError for such models (Mamba and other recurrent ones) unless `use_cache=False`, for models with
        an encoder, and for an `eos` outside of the model's ids.
        """
        self.model = model.eval()
        config: Any = model.config.get_text_config(decoder=True)
        self.name = name or model.name_or_path or type(model).__name__
        self._size = int(config.vocab_size)
        self._longest: int | None = getattr(config, "max_position_embeddings", None)
        self._pool = Pool(cache_bytes) if use_cache else None
        self._eos = _declared_eos(model, self._size) if eos is None else frozenset(eos)
        if any(not 0 <= token < self._size for token in self._eos):
            raise ModelError(f"{self.name} has the ids 0..{self._size - 1}, and an EOS outside: {sorted(self._eos)}")
        if model.config.is_encoder_decoder:
            raise ModelError(f"{self.name} has an encoder; draftproof runs causal models only")
        # Names of arguments changed within transformers 5, and some models lack some.
        self._accepts = frozenset(inspect.signature(model.forward).parameters)
        self._cache_argument = "cache" if "cache" in self._accepts else "past_key_values"
        if use_cache and (self._cache_argument not in self._accepts or not _croppable(config)):
            raise uncroppable(self.name)

    @property
    def size(self) -> int:
        """Number of token ids, padding of the embedding included."""
        return self._size

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end an output."""
        return self._eos

    @torch.inference_mode()
    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """For each query the laws after its context and after each of its drafted tokens: one forward pass.

        Raises ModelError for an empty context, ids outside 0..size-1, more tokens than the model has positions, and
        logits that are no law (NaN, +inf, or all -inf).
        """
        if not queries:
            return []
        for query in queries:
            self._check(query)
        rows, row_of = cover(queries, self._pool.find if self._pool else lambda _: Match(None, 0, 0))
        layout = left_padded(rows) if self._pool else right_padded(rows)
        # The column, among the fed ones, of each query's first asked position.
        firsts = [
            layout.pads[row] - layout.prefix + len(context) - 1
            for row, (context, _) in zip(row_of, queries, strict=True)
        ]
        logits = self._forward(layout, layout.new - min(firsts))
        missing = layout.new - logits.shape[1]
        asked = [
            logits[row, first - missing : first - missing + len(drafted) + 1]
            for row, first, (_, drafted) in zip(row_of, firsts, queries, strict=True)
        ]
        counts = [len(drafted) + 1 for _, drafted in queries]
        precision = torch.float32 if logits.device.type == "mps" else torch.float64
        probabilities = torch.cat(asked).to(precision).softmax(-1)
        # A softmax has a NaN exactly where a logit is NaN or +inf, or all are -inf; asked once for the whole batch.
        if bool(probabilities.isnan().any()):
            self._complain(queries, asked)
        return [[TensorLaw(law) for law in part] for part in probabilities.split(counts)]

    def _forward(self, layout: Layout, keep: int) -> torch.Tensor:
        """Logits of (at least) the last `keep` fed columns, shape (rows, columns, size)."""
        device = self.model.device
        arguments: dict[str, Any] = {"use_cache": self._pool is not None, "return_dict": True}
        ids = [
            ((0,) * pad + row.tokens + (0,) * (layout.width - pad - len(row.tokens)))[layout.prefix :]
            for row, pad in zip(layout.rows, layout.pads, strict=True)
        ]
        columns = torch.arange(layout.width)
        pads = torch.tensor(layout.pads)[:, None]
        real = (columns >= pads) & (columns < pads + torch.tensor([len(row.tokens) for row in layout.rows])[:, None])
        if not bool(real.all()):
            arguments["attention_mask"] = real.long().to(device)
        if "position_ids" in self._accepts:
            arguments["position_ids"] = (columns[layout.prefix :] - pads).clamp_min(0).to(device)
        if "logits_to_keep" in self._accepts:
            arguments["logits_to_keep"] = keep
        cache = self._pool.prefix(layout) if self._pool else DynamicCache()
        if self._pool:
            arguments[self._cache_argument] = cache
        logits: torch.Tensor = self.model(input_ids=torch.tensor(ids, device=device), **arguments).logits
        if logits.shape[-1] != self._size:
            raise ModelError(f"{self.name} declares {self._size} ids but gives {logits.shape[-1]} logits")
        if self._pool:
            self._pool.keep(layout, cache, self.name)
        return logits

    def _check(self, query: Query) -> None:
        context, drafted = query
        if not context:
            raise ModelError(
                f"{self.name} was asked for a law after no ids at all; give a prompt, or a tokenizer with a BOS"
            )
        low, high = min(context + drafted), max(context + drafted)
        if low < 0 or high >= self._size:
            raise ModelError(f"{self.name} has the ids 0..{self._size - 1}, not {low if low < 0 else high}")
        length = len(context) + len(drafted)
        if self._longest is not None and 0 < self._longest < length:
            raise ModelError(f"{self.name} has {self._longest} positions; {length} tokens do not fit")

    def _complain(self, queries: Sequence[Query], asked: Sequence[torch.Tensor]) -> None:
        for (context, _), logits in zip(queries, asked, strict=True):
            for offset, row in enumerate(logits):
                if bool(row.isnan().any()):
                    what = "NaN"
                elif bool((row == float("inf")).any()):
                    what = "+inf"
                elif bool((row == -float("inf")).all()):
                    what = "only -inf"
                else:
                    continue
                raise ModelError(f"{self.name} gave {what} among its logits after {len(context) + offset} tokens")


def _declared_eos(model: PreTrainedModel, size: int) -> frozenset[int]:
    generation = getattr(model, "generation_config", None)
    declared = getattr(generation, "eos_token_id", None)
    if declared is None:
        declared = getattr(model.config.get_text_config(decoder=True), "eos_token_id", None)
    ids = () if declared is None else (declared,) if isinstance(declared, int) else tuple(declared)
    if not all(isinstance(token, int) for token in ids):
        raise ModelError(f"the model declares an EOS that is no token id: {declared!r}")
    return frozenset(token for token in ids if 0 <= token < size)


def _croppable(config: Any) -> bool:
    """Whether a model's own cache would have layers of plain keys and values only (a sliding window is fine)."""
    return {type(layer).__name__ for layer in DynamicCache(config=config).layers} <= _CROPPABLE
