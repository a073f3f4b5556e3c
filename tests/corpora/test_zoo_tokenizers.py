"""The zoo's tokenizers: one is encode-injective, two are not, and transformers loads them as they were written."""

import json

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from draftproof.corpora import zoo
from draftproof.corpora.prompts import prompts

each_model = pytest.mark.parametrize("name", zoo.NAMES)
HARD = ["", " ", "\n", "a  b", "e\u0301", "\x00\x7f\ufffd\U0010ffff", "\u2019s  ' s"]
TEXTS = [prompt.text for prompt in prompts()] + HARD


def raw(name: str) -> Tokenizer:
    """The tokenizer without transformers around it."""
    return Tokenizer.from_file(str(zoo.folder(name) / "tokenizer.json"))


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Bare ids, no special tokens added."""
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


@each_model
def test_auto_tokenizer_is_fast_and_unchanged(name: str) -> None:
    entry, bare = zoo.manifest()["models"][name], raw(name)
    loaded = AutoTokenizer.from_pretrained(zoo.folder(name), local_files_only=True)
    assert loaded.is_fast
    assert (loaded.bos_token_id, loaded.eos_token_id, len(loaded)) == (entry["bos"], entry["eos"], entry["vocabulary"])
    for text in TEXTS:
        bare_ids = ids(bare, text)
        assert loaded.encode(text, add_special_tokens=False) == bare_ids
        assert loaded.encode(text) == bare.encode(text).ids
        assert loaded.decode(bare_ids) == bare.decode(bare_ids, skip_special_tokens=False)


@each_model
def test_encoding_adds_at_most_bos(name: str) -> None:
    tokenizer = raw(name)
    added = [] if name.startswith("byte-bpe") else [zoo.manifest()["models"][name]["bos"]]
    assert tokenizer.encode("a word").ids == added + ids(tokenizer, "a word")


@pytest.mark.parametrize("text", TEXTS)
def test_byte_bpe_round_trips(text: str) -> None:
    tokenizer = raw("byte-bpe")
    assert tokenizer.decode(ids(tokenizer, text)) == text


def test_byte_bpe_has_every_byte() -> None:
    tokens = raw("byte-bpe").get_vocab()
    assert sum(len(token) == 1 for token in tokens) == 256


def test_the_byte_bpe_pair_shares_one_tokenizer() -> None:
    files = [zoo.manifest()["models"][name]["files"]["tokenizer.json"] for name in ("byte-bpe", "byte-bpe-small")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("unigram", "a\u2581b", "a b"),
        ("unigram", " a", "a"),
        ("unigram", "\uff21", "A"),
        ("unigram", "x\u00a0y", "x y"),
        ("wordpiece", "Else", "else"),
        ("wordpiece", "caf\u00e9", "cafe"),
        ("wordpiece", "a\nb", "a  b"),
    ],
)
def test_not_injective_on_this_pair(name: str, one: str, other: str) -> None:
    assert one != other
    assert ids(raw(name), one) == ids(raw(name), other)


def test_byte_bpe_separates_the_pairs() -> None:
    tokenizer = raw("byte-bpe")
    assert ids(tokenizer, "a\u2581b") != ids(tokenizer, "a b")
    assert ids(tokenizer, "e\u0301") != ids(tokenizer, "\u00e9")


def test_unigram_spells_unseen_characters_in_bytes() -> None:
    tokenizer = raw("unigram")
    found = ids(tokenizer, "\u6771")
    assert [tokenizer.id_to_token(index) for index in found[-3:]] == ["<0xE6>", "<0x9D>", "<0xB1>"]
    assert tokenizer.decode(found) == "\u6771"
    assert json.loads(tokenizer.to_str())["model"]["byte_fallback"]


def test_unigram_spells_the_names_of_byte_pieces_in_letters() -> None:
    tokenizer = raw("unigram")
    for byte in range(256):
        name = f"<0x{byte:02X}>"
        assert tokenizer.token_to_id(name) not in ids(tokenizer, name)
        assert tokenizer.decode(ids(tokenizer, name)) == name


@each_model
def test_special_tokens_in_text_can_be_split(name: str) -> None:
    loaded = AutoTokenizer.from_pretrained(zoo.folder(name), local_files_only=True)
    text = f"a{loaded.eos_token}"
    assert loaded.encode(text)[-1] == loaded.eos_token_id
    assert loaded.eos_token_id not in loaded.encode(text, split_special_tokens=True)
