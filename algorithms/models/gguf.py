"""GGUF to safetensors: the slow part of loading a quantised model, done once.

transformers dequantises a GGUF file and rebuilds its tokenizer in half a minute or more; the same model as float32
safetensors with a tokenizer.json loads in seconds. The law of the converted model is by definition the one that is
audited: it is the dequantised model, not the original one before quantisation.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from draftproof.algorithms.models.wheels import FetchError

Convert = Callable[[Path, Path], None]
"""Writes the model in a GGUF file (first) into an empty folder (second), in the format of transformers."""

_NEEDED = ("config.json", "model.safetensors", "tokenizer.json")


def convert(gguf_file: Path, folder: Path) -> None:
    """Writes the model of a GGUF file as float32 safetensors, config.json and tokenizer.json into a folder.

    No code of the model's authors is run and nothing is unpickled. The work is done by a Python process of its own,
    kept off the network: it takes about four times the model's float32 size of memory, which its end gives back, and
    transformers' chatter stays out of the caller's output.

    Raises FetchError if transformers cannot read the file, runs out of memory or leaves something out.
    """
    command = [sys.executable, "-P", "-m", "draftproof.algorithms.models.gguf", str(gguf_file), str(folder)]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode < 0:
        raise FetchError(
            f"the conversion of {gguf_file.name} was stopped by signal {-done.returncode}; signal 9 mostly means that "
            f"memory ran out"
        )
    if done.returncode > 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise FetchError(f"transformers could not convert {gguf_file.name}: {lines[-1].strip()}")
    for needed in _NEEDED:
        if not (folder / needed).is_file():
            raise FetchError(f"transformers wrote no {needed} for {gguf_file.name}")
    # The safetensors library writes for the owner only, whatever the umask; a cache may be shared.
    (folder / "model.safetensors").chmod((folder / "config.json").stat().st_mode)


def _write(gguf_file: Path, folder: Path) -> None:
    # Here and not above: importing transformers takes seconds that callers of `convert` need not spend.
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = str(gguf_file.parent)
    AutoTokenizer.from_pretrained(source, gguf_file=gguf_file.name).save_pretrained(folder)
    # Recent versions may keep the weights packed, depending on what else is installed; older ones know no such option.
    dense = {"quantization_config": transformers.GgufConfig(dequantize=True)} if _may_pack(transformers) else {}
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf_file.name, dtype=torch.float32, **dense)
    # transformers saves no model that came from GGUF, dense or not, so the weights move to a model that did not.
    config = AutoConfig.from_pretrained(source, gguf_file=gguf_file.name)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict(), strict=True)
    plain.save_pretrained(folder)
    saved = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).state_dict()
    for name, weight in loaded.state_dict().items():
        if not torch.equal(weight, saved[name]):
            raise ValueError(f"the weight {name} was not saved as it was loaded")


def _may_pack(library: ModuleType) -> bool:
    return hasattr(library, "GgufConfig")


if __name__ == "__main__":
    _write(Path(sys.argv[1]), Path(sys.argv[2]))
