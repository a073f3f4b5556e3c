"""The zoo's three tokenizers, trained on the training paragraphs.

Idea: one tokenizer that is encode-injective (byte-level BPE) and two that are not, in the two ways met in practice:
a Unigram model behind NFKC and U+2581 (SentencePiece style) and a WordPiece model behind lower-casing (BERT style).

The library's WordPiece trainer numbers its pieces in hash order and its Unigram trainer's scores vary in the fourth
decimal from run to run. Pieces are therefore put into a fixed order here, and `train.py` keeps a tokenizer that exists.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

META_SPACE = "\u2581"


@dataclass(frozen=True)
class Recipe:
    """How to build one tokenizer and what its special tokens are called; `says` is its line in the model card."""

    build: Callable[[Sequence[str]], Tokenizer]
    bos: str
    eos: str
    says: str
    unk: str | None = None
    pad: str | None = None


def byte_bpe(texts: Sequence[str]) -> Tokenizer:
    """Byte-level BPE over the complete byte alphabet, no normaliser, no prefix space: encode-injective.

    No bos is added when encoding, as in GPT-2.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def unigram(texts: Sequence[str]) -> Tokenizer:
    """Unigram behind NFKC and Metaspace, with byte fallback: not encode-injective. Encoding adds `<s>` in front.

    The 256 byte pieces stand for characters that the training text lacks; they are not learnt. Their score and that of
    the special pieces lie so far below every learnt piece that the search never matches them in literal text such as
    "<0x41>", nor "</s>" once `split_special_tokens` lets it through: it is spelt by learnt pieces.
    """
    specials = ["<unk>", "<s>", "</s>"]
    normalizer = normalizers.NFKC()
    pre_tokenizer = pre_tokenizers.Metaspace(replacement=META_SPACE, prepend_scheme="always", split=True)
    learner = Tokenizer(models.Unigram())
    learner.normalizer, learner.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.UnigramTrainer(
        vocab_size=904, special_tokens=specials, unk_token=specials[0], show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    pieces = json.loads(learner.to_str())["model"]["vocab"]
    learnt: list[tuple[str, float]] = [(piece, score) for piece, score in pieces if piece not in specials]
    learnt.sort(key=lambda entry: (-round(entry[1], 2), entry[0]))
    floor = 10 * min(score for _, score in learnt)
    vocabulary = [(piece, floor) for piece in specials]
    vocabulary += [(f"<0x{byte:02X}>", floor) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(vocabulary + learnt, unk_id=0, byte_fallback=True))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(META_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def wordpiece(texts: Sequence[str]) -> Tokenizer:
    """Lower-casing, accent-stripping WordPiece: not encode-injective. Encoding adds `[CLS]` in front, nothing behind.

    White space is dropped by the pre-tokenizer, so newlines and indentation cannot be decoded.
    """
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    learner = Tokenizer(models.WordPiece(unk_token=specials[1]))
    learner.normalizer, learner.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.WordPieceTrainer(
        vocab_size=1100, special_tokens=specials, continuing_subword_prefix="##", show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    ordered = specials + sorted(set(learner.get_vocab()) - set(specials))
    vocabulary = {piece: index for index, piece in enumerate(ordered)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=specials[1], continuing_subword_prefix="##"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 2)])
    return tokenizer


BYTE_BPE = Recipe(
    byte_bpe,
    bos="<|endoftext|>",
    eos="<|endoftext|>",
    says="byte-level BPE, complete byte alphabet, no normaliser, no prefix space: encode-injective; adds no bos",
)
UNIGRAM = Recipe(
    unigram,
    bos="<s>",
    eos="</s>",
    unk="<unk>",
    says="Unigram behind NFKC and Metaspace, byte fallback: not encode-injective (U+2581 and space, NFKC, a leading "
    "space); adds bos",
)
WORDPIECE = Recipe(
    wordpiece,
    bos="[CLS]",
    eos="[SEP]",
    unk="[UNK]",
    pad="[PAD]",
    says="lower-casing, accent-stripping WordPiece: not encode-injective and drops newlines; adds bos",
)
