"""Tokenizers of Hugging Face (the fast ones), behind `Tokenizer`, and the bytes that their tokens stand for.

Text is encoded without special tokens. A literal in the text that spells a special token comes out as the tokenizer
makes it, mostly as that token: this is the tokenizer's behaviour, and an audit should see it.

What a token's bytes are is read off the tokenizer's own decoder: the byte-level alphabet of GPT-2, U+2581 for a space
with `<0x0A>` for bytes (SentencePiece), or WordPiece's `##`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache as remember
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.models.zoo import ModelError, first_line, resolve

_META_SPACE = "\u2581"


def load_tokenizer(spec: str, revision: str | None = None, eos: Iterable[int] = ()) -> "FastTokenizer":
    """The tokenizer of a model spec (see zoo.py), or of a local folder that holds only a tokenizer.json.

    `eos` adds ids that end a text (those of the model's generation config, say).

    Raises ModelError where there is none, or none without running its own code.
    """
    folder = Path(spec).expanduser()
    bare = folder / "tokenizer.json"
    try:
        if bare.is_file() and not (folder / "config.json").is_file():
            if not (folder / "tokenizer_config.json").is_file():
                return FastTokenizer(PreTrainedTokenizerFast(tokenizer_file=str(bare)), name=spec, eos=eos)
            place: Path | str = folder
        else:
            place = resolve(spec)
        local = isinstance(place, Path)
        loaded = AutoTokenizer.from_pretrained(
            str(place),
            revision=None if local else revision,
            local_files_only=local,
            use_fast=True,
            trust_remote_code=False,
        )
    except ModelError:
        raise
    # The tokenizers library raises bare Exceptions for files that it cannot read.
    except Exception as error:
        raise ModelError(f"the tokenizer of {spec} cannot be loaded: {first_line(error)}") from error
    if not isinstance(loaded, PreTrainedTokenizerFast):
        raise ModelError(f"the tokenizer of {spec} is no fast tokenizer ({type(loaded).__name__})")
    return FastTokenizer(loaded, name=spec, eos=eos)


def check_fits(tokenizer: Tokenizer, model: LanguageModel) -> None:
    """Raises ModelError where the tokenizer has ids that the model lacks; a larger (padded) model is fine."""
    if tokenizer.size > model.size:
        raise ModelError(
            f"the tokenizer has ids up to {tokenizer.size - 1}, but the model only 0..{model.size - 1}: "
            f"they do not belong together"
        )


class FastTokenizer:
    """A `Tokenizer` over a fast tokenizer of Hugging Face, which must not be changed afterwards."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, name: str | None = None, eos: Iterable[int] = ()) -> None:
        """`eos` adds to the tokenizer's own EOS. A tokenizer without any has an empty `eos`, which is allowed."""
        self.name = name or tokenizer.name_or_path or type(tokenizer).__name__
        self._backend: Any = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        own = tokenizer.eos_token_id
        self._eos = frozenset(eos) | (frozenset() if own is None else {int(own)})
        ids = self._backend.get_vocab(with_added_tokens=True).values()
        self._size = max(ids) + 1 if ids else 0
        added = self._backend.get_added_tokens_decoder()
        self._special = self._eos | frozenset(token for token, entry in added.items() if entry.special)
        self._special |= frozenset(tokenizer.all_special_ids)
        self._start = _start(tokenizer, self._eos)
        self._spelling = _spelling(self._backend)

    @property
    def size(self) -> int:
        """The largest id, plus 1."""
        return self._size

    @property
    def eos(self) -> frozenset[int]:
        """Ids that end a text; may be empty."""
        return self._eos

    @property
    def start(self) -> tuple[int, ...]:
        """The ids the tokenizer puts before a text; its BOS where it puts none by itself but has one."""
        return self._start

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of a text, without special tokens.

        Raises ValueError where the text has a lone surrogate, since no UTF-8 text has one.
        """
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of each text, as `encode`, many at once."""
        for text in texts:
            _check_text(text)
        return [tuple(entry.ids) for entry in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Special tokens and ids without a token decode to nothing; spaces are not tidied up.

        (The decoder that is part of a tokenizer may itself drop spaces, as WordPiece's does; that is left alone.)
        """
        kept = [token for token in ids if 0 <= token < self._size and token not in self._eos]
        return str(self._backend.decode(kept, skip_special_tokens=True))

    def token_bytes(self, token: int) -> bytes | None:
        """The bytes a token stands for inside a text; None for special tokens and ids without a token.

        In WordPiece `##x` continues a word and is `x`; a bare `x` begins one, and inside a text a word begins after
        white space, which the tokenizer drops: so it is ` x`.
        """
        if not 0 <= token < self._size or token in self._special:
            return None
        piece = self._backend.id_to_token(token)
        return None if piece is None else self._spelling(piece)


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text has the lone surrogate U+{ord(text[error.start]):04X} at position {error.start}; "
            f"it is no Unicode text, and no tokenizer encodes it"
        ) from None


def _start(tokenizer: PreTrainedTokenizerFast, eos: frozenset[int]) -> tuple[int, ...]:
    empty = tokenizer.backend_tokenizer.encode("", add_special_tokens=True)
    # Only what the post-processor added, up to where the (empty) text stands: some put a space piece there.
    added: list[int] = []
    for token, special in zip(empty.ids, empty.special_tokens_mask, strict=True):
        if not special:
            break
        added.append(token)
    while added and (added[-1] in eos or added[-1] == tokenizer.sep_token_id):
        added.pop()
    bos = tokenizer.bos_token_id
    return tuple(added) or (() if bos is None else (int(bos),))


def _spelling(backend: Any) -> Callable[[str], bytes]:
    """How the bytes of a piece are read, by the tokenizer's decoder."""
    decoder = json.loads(backend.decoder.__getstate__()) if backend.decoder is not None else {}
    parts = {part["type"]: part for part in decoder.get("decoders", [decoder]) if part}
    if "ByteLevel" in parts:
        return _byte_level
    if "WordPiece" in parts:
        prefix = parts["WordPiece"]["prefix"]
        return lambda piece: (piece[len(prefix) :] if piece.startswith(prefix) else f" {piece}").encode()
    replaced = parts.get("Replace", {})
    spaces = "Metaspace" in parts or replaced.get("pattern") == {"String": _META_SPACE}
    fallback = "ByteFallback" in parts
    return lambda piece: _sentence_piece(piece, spaces, fallback)


def _sentence_piece(piece: str, spaces: bool, fallback: bool) -> bytes:
    if fallback and len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        try:
            return bytes.fromhex(piece[3:5])
        except ValueError:
            pass
    return (piece.replace(_META_SPACE, " ") if spaces else piece).encode()


def _byte_level(piece: str) -> bytes:
    # An added token may hold letters outside the alphabet; the library then takes the whole token literally.
    alphabet = _byte_alphabet()
    if all(letter in alphabet for letter in piece):
        return bytes(alphabet[letter] for letter in piece)
    return piece.encode()


@remember
def _byte_alphabet() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes: printable ones stand for themselves, the rest from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(rest)}
