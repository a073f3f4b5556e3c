"""Fast tokenizers: ids, text, and the bytes of tokens, on tokenizers built here, on the zoo's, and on real ones."""

import pytest
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Backend
from transformers import PreTrainedTokenizerFast

from draftproof.algorithms.interfaces import Tokenizer
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.models.tokenizers import FastTokenizer, check_fits, load_tokenizer
from draftproof.algorithms.models.zoo import ModelError
from draftproof.corpora.zoo import NAMES, folder

TEXT = ["the cat sat on the mat", "the hat of the cat", "naïve café, 日本"]


def byte_bpe(**more):
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend.train_from_iterator(
        TEXT, trainers.BpeTrainer(special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False)
    )
    return FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, **{"eos_token": "<end>", **more}))


def unigram():
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words = ["▁", "▁the", "▁cat", "t", "h", "e", "s", "▁s", "at"]
    backend = Backend(models.Unigram([(piece, -9.0) for piece in pieces] + [(word, -2.0) for word in words], 0, True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return FastTokenizer(
        PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    )


def wordpiece(**specials):
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s", "##at", ".", "c"]
    backend = Backend(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    specials = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", **specials}
    return FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, **specials))


def spelled(tokenizer, ids):
    return b"".join(tokenizer.token_bytes(token) for token in ids)


@pytest.mark.parametrize("maker", [byte_bpe, unigram, wordpiece])
def test_they_are_tokenizers(maker):
    tokenizer = maker()
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.encode("") == ()
    assert tokenizer.decode(()) == ""
    assert tokenizer.encode_all([]) == []
    assert tokenizer.encode_all(TEXT) == [tokenizer.encode(text) for text in TEXT]
    assert all(0 <= token < tokenizer.size for text in TEXT for token in tokenizer.encode(text))
    assert tokenizer.token_bytes(-1) is None
    assert tokenizer.token_bytes(tokenizer.size) is None


def test_byte_level_bytes_join_to_the_text():
    tokenizer = byte_bpe()
    for text in [*TEXT, "a  b\n\t", "".join(map(chr, range(0x250))), "😀\0\x7f\xad"]:
        ids = tokenizer.encode(text)
        assert spelled(tokenizer, ids) == text.encode()
        assert tokenizer.decode(ids) == text
    singles = [tokenizer.token_bytes(token) for token in range(tokenizer.size)]
    assert {bytes([byte]) for byte in range(256)} <= set(singles)


def test_spaces_are_not_tidied_up():
    tokenizer = byte_bpe(clean_up_tokenization_spaces=True)
    assert tokenizer.decode(tokenizer.encode("we 're , do n't .")) == "we 're , do n't ."


def test_byte_level_added_tokens():
    backend = Backend(models.BPE({"a": 0, "Ġ": 1}, []))
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<pad>"])
    backend.add_tokens([AddedToken("Ġa", normalized=False), AddedToken("日a", normalized=False)])
    tokenizer = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    # A token with letters outside the byte alphabet is taken literally, as the library's own decoder does.
    assert [tokenizer.token_bytes(token) for token in range(5)] == [b"a", b" ", None, b" a", "日a".encode()]
    assert [tokenizer.decode([token]) for token in range(5)] == ["a", " ", "", " a", "日a"]


def test_unigram_bytes():
    tokenizer = unigram()
    ids = tokenizer.encode("the cats\n日")
    assert spelled(tokenizer, ids) == " the cats\n日".encode()
    assert tokenizer.decode(ids) == "the cats\n日"
    assert tokenizer.token_bytes(3 + 0x0A) == b"\n"
    assert tokenizer.token_bytes(3 + 0xFF) == b"\xff"
    assert tokenizer.token_bytes(3 + 256) == b" "
    assert [tokenizer.token_bytes(token) for token in range(3)] == [None] * 3


def test_hex_literals_are_bytes_only_with_byte_fallback():
    backend = Backend(models.Unigram([("<0x0A>", -1.0), ("▁<0xZZ>", -1.0)], None, False))
    backend.decoder = decoders.Metaspace()
    plain = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert [plain.token_bytes(token) for token in range(2)] == [b"<0x0A>", b" <0xZZ>"]
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    fallback = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert [fallback.token_bytes(token) for token in range(2)] == [b"\n", b" <0xZZ>"]


def test_without_a_decoder_a_piece_is_its_text():
    tokenizer = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=Backend(models.WordLevel({"▁é": 0}, "▁é"))))
    assert tokenizer.token_bytes(0) == "▁é".encode()


def test_wordpiece_bytes():
    tokenizer = wordpiece()
    ids = tokenizer.encode("The cats")
    assert spelled(tokenizer, ids) == b" the cats"
    assert tokenizer.decode(ids) == "the cats"
    assert [tokenizer.token_bytes(token) for token in range(3)] == [None] * 3


def test_start():
    assert byte_bpe().start == ()
    # A BOS that the post-processor does not put, and one that is the EOS as well.
    assert byte_bpe(bos_token="<end>").start == (0,)
    assert unigram().start == (1,)
    assert wordpiece().start == (1,)
    assert wordpiece(eos_token="[SEP]").start == (1,)


def test_eos():
    assert byte_bpe().eos == {0}
    assert unigram().eos == {2}
    assert unigram().encode("the") == (260,)
    assert wordpiece().eos == frozenset()
    assert FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=Backend(models.BPE())), eos=[7]).eos == {7}


def test_eos_decodes_to_nothing_even_if_it_is_not_special():
    backend = Backend(models.WordLevel({"stop": 0, "go": 1}, "go"))
    tokenizer = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend), eos=[0])
    assert tokenizer.decode([1, 0]) == "go"
    assert tokenizer.token_bytes(0) is None


def test_literals_of_special_tokens_come_out_as_the_tokenizer_makes_them():
    tokenizer = byte_bpe()
    ids = tokenizer.encode("a<end>b")
    assert 0 in ids
    assert tokenizer.decode(ids) == "ab"


def test_padded_ids_decode_to_nothing():
    tokenizer = byte_bpe()
    ids = tokenizer.encode("the")
    assert tokenizer.decode([*ids, tokenizer.size, tokenizer.size + 100]) == "the"


def test_ids_with_holes():
    backend = Backend(models.WordLevel({"a": 0, "b": 5}, "a"))
    tokenizer = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert tokenizer.size == 6
    assert tokenizer.token_bytes(3) is None
    assert tokenizer.decode([0, 3, 5]) == "a b"


def test_truncation_and_padding_of_the_file_are_off():
    backend = Backend(models.WordLevel({"a": 0}, "a"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.enable_truncation(2)
    backend.enable_padding()
    tokenizer = FastTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert tokenizer.encode_all(["a a a", "a"]) == [(0, 0, 0), (0,)]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates(text):
    tokenizer = byte_bpe()
    with pytest.raises(ValueError, match=r"lone surrogate U\+D"):
        tokenizer.encode(text)
    with pytest.raises(ValueError, match="at position"):
        tokenizer.encode_all(["fine", text])


def sized(size):
    return TableModel(size, lambda context: None)


def test_check_fits():
    tokenizer = wordpiece()
    check_fits(tokenizer, sized(tokenizer.size))
    check_fits(tokenizer, sized(tokenizer.size + 64))
    with pytest.raises(ModelError, match=r"ids up to 8, but the model only 0\.\.7"):
        check_fits(tokenizer, sized(8))


def test_load_tokenizer(tmp_path):
    with pytest.raises(ModelError, match="no model"):
        load_tokenizer(str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_tokenizer(str(tmp_path))
    backend = Backend(models.WordLevel({"a": 0, "b": 1}, "a"))
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(str(tmp_path), eos=[1])
    assert tokenizer.encode("b") == (1,)
    assert tokenizer.eos == {1}
    PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="a").save_pretrained(tmp_path)
    assert load_tokenizer(str(tmp_path)).start == (0,)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_the_zoo(name):
    if not (folder(name) / "tokenizer.json").is_file():
        pytest.skip(f"zoo:{name} is not built")
    tokenizer = load_tokenizer(str(folder(name)))
    assert len(tokenizer.eos) == 1
    assert len(tokenizer.start) == 1
    ids = tokenizer.encode("the values of a list")
    assert tokenizer.decode(ids) == "the values of a list"
    assert spelled(tokenizer, ids).strip() == b"the values of a list"
    assert tokenizer.decode([*tokenizer.start, *ids, *tokenizer.eos]) == "the values of a list"


REAL_TEXT = "Hello,  world!\n\n日本語 naïve 😀 don't \x01 <table> x\t\t\r\n"


@pytest.mark.real
@pytest.mark.parametrize("spec", ["smollm2", "gemma3"])
def test_real_tokenizers(spec):
    tokenizer = load_tokenizer(spec)
    ids = tokenizer.encode(REAL_TEXT)
    assert spelled(tokenizer, ids) == REAL_TEXT.encode()
    assert tokenizer.decode(ids) == REAL_TEXT
    assert len(tokenizer.start) == len(tokenizer.eos) == 1
    assert tokenizer.size == {"smollm2": 49152, "gemma3": 262144}[spec]
    # Every token decodes alone to its own bytes, where these are text.
    for token in range(0, tokenizer.size, 17):
        content = tokenizer.token_bytes(token)
        expected = b"" if content is None else content
        assert tokenizer.decode([token]) == expected.decode(errors="replace")
