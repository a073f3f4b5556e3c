"""A model ended after its first layers: a drafter of the same vocabulary, made of the target itself.

The first layers, the final norm and the head are the whole model's own tensors; nothing is copied. In specs:
`SPEC@LAYERS`.
"""

import copy
import re
from pathlib import Path

from torch import nn

from draftproof.algorithms.models.transformers import TransformersModel
from draftproof.algorithms.models.zoo import ModelError

_LAYERS = re.compile(r"(?P<spec>.+)@(?P<layers>\d+)")


def without_layers(spec: str) -> tuple[str, int | None]:
    """A spec without its `@LAYERS`, and the number of layers; None where the spec names a whole model."""
    found = None if Path(spec).is_dir() else _LAYERS.fullmatch(spec)
    return (found["spec"], int(found["layers"])) if found else (spec, None)


def early_exit(whole: TransformersModel, layers: int) -> TransformersModel:
    """The model ended after its first `layers` layers.

    Raises ModelError for a number outside 1..(layers of the whole) - 1, or a model whose layers are not found.
    """
    stack = getattr(whole.model, "model", None)
    blocks = getattr(stack, "layers", None)
    if not isinstance(stack, nn.Module) or not isinstance(blocks, nn.ModuleList):
        raise ModelError(f"{whole.name} cannot be ended early: it keeps no list of layers at model.layers")
    if not 1 <= layers < len(blocks):
        raise ModelError(
            f"{whole.name} has {len(blocks)} layers; it can be ended after 1..{len(blocks) - 1}, not {layers}"
        )
    model, short = copy.copy(whole.model), copy.copy(stack)
    # Shallow copies share their dictionaries of submodules, which must differ from here on.
    model._modules, short._modules = dict(whole.model._modules), dict(stack._modules)
    model.config = short.config = copy.deepcopy(whole.model.config)
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:layers]
    short.layers = blocks[:layers]
    model.model = short
    return TransformersModel(model, f"{whole.name}@{layers}", whole.eos)
