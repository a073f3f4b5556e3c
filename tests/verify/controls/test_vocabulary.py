"""Mutant 15 and look-alikes C5 and C6: the exact distance of TLI-4, and TLI by other ways."""

from fractions import Fraction

import pytest

from draftproof.algorithms.laws import IdMap
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.corpora.toys import vocabulary
from draftproof.verify.controls import CONTROLS
from draftproof.verify.controls.vocabulary import LastWriterWins, MaskedUnion
from draftproof.verify.exact import output_law, prefixes, total_variation
from draftproof.verify.settings import BUILDERS, Setting
from draftproof.verify.toys import battery

QUARTER, EIGHTH = Fraction(1, 4), Fraction(1, 8)
X, Y = 0, 1
# Two draft ids for x, a quarter each.
TWINS = Setting(
    "twins",
    explicit({}, 2, otherwise={X: 3 * EIGHTH, Y: 5 * EIGHTH}),
    ToyTokenizer(("x", "y")),
    explicit({}, 3, otherwise={0: QUARTER, 1: QUARTER, 2: 2 * QUARTER}),
    ToyTokenizer(("x", "x", "y")),
    prompt=(),
    lookahead=1,
    psi_lookahead=1,
    max_new_tokens=2,
)


def first_token(name: str) -> dict[tuple[int, ...], Fraction]:
    build = CONTROLS[name].build if name in CONTROLS else BUILDERS[name]
    return prefixes(output_law(build(TWINS), (), 2), 1)


def test_seeing_one_of_two_merged_ids_is_off_by_one_eighth() -> None:
    # x is drafted with 1/2 and seen with 1/4, so it is always accepted.
    right = {(X,): 3 * EIGHTH, (Y,): 5 * EIGHTH}
    assert first_token("last-writer-wins") == {(X,): 4 * EIGHTH, (Y,): 4 * EIGHTH}
    assert total_variation(first_token("last-writer-wins"), right) == EIGHTH
    assert first_token("merged-after-draw") == first_token("tli") == right


def test_the_last_id_of_a_token_is_its_last_writer() -> None:
    decoder = CONTROLS["last-writer-wins"].build(TWINS)
    assert isinstance(decoder, LastWriterWins)
    assert dict(decoder.shared) == {0: X, 1: X, 2: Y}
    assert dict(decoder.last_writers) == {0: 2, 1: X, 2: Y}  # 2 is an id that neither model has
    assert isinstance(decoder.last_writers, IdMap)


def test_the_last_writer_deviates_only_where_ids_are_merged() -> None:
    build = CONTROLS["last-writer-wins"].build
    for toy in battery("tli", ("pair-ab", "two-ids-one-string", "draft-only-ids")):
        if toy.name.endswith(("0", "1")):
            setting = toy.setting
            assert output_law(build(setting), (), toy.max_new_tokens) == output_law(
                BUILDERS["tli"](setting), (), toy.max_new_tokens
            )


@pytest.mark.parametrize("name", ["pair-aba", "draft-only-ids", "nothing-shared", "twins-on-both-sides"])
def test_the_masked_union_drafts_as_tli_does(name: str) -> None:
    for toy in battery("union", (name,)):
        setting = toy.setting
        masked = CONTROLS["union-masked"].build(setting)
        assert isinstance(masked.drafter, MaskedUnion)
        [[law]] = masked.drafter.laws([((), ())])
        [[raw]] = setting.drafter.laws([((), ())])
        shared = set(vocabulary(name).target)
        kept = {token for token in raw.support() if vocabulary(name).draft[token] in shared}
        assert law.empty == (not kept)
        assert all(token < setting.target.size for token in law.support())
        if name != "nothing-shared":
            [[tli_law]] = BUILDERS["tli"](setting).drafter.laws([((), ())])
            assert dict(tli_law.items()) == dict(law.items())


def test_the_toys_of_mutant_15_have_twins_on_both_sides() -> None:
    twins = vocabulary("twins-on-both-sides")
    assert (twins.target.count("a"), twins.draft.count("a")) == (2, 1)
    assert (twins.target.count("b"), twins.draft.count("b")) == (1, 2)
    assert CONTROLS["last-writer-wins"].vocabularies == (twins.name,)
