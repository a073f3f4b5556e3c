"""Two vocabularies side by side: what they share, and how one's ids become the other's."""

from fractions import Fraction

import pytest

from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.vocabulary import Vocabularies

TARGET = ToyTokenizer(("a", "b", "ab", "a", None))
DRAFTER = ToyTokenizer((None, "b", "a", "c", "b", "abc", None))


def vocabularies(target: ToyTokenizer = TARGET, drafter: ToyTokenizer = DRAFTER) -> Vocabularies:
    return Vocabularies(target, drafter, target.size, drafter.size)


def test_tokens_are_shared_by_their_strings_by_hand() -> None:
    # Both ids of "b" share one; of the two target ids of "a" the lowest is taken; both EOS ids end the target's text.
    assert dict(vocabularies().shared) == {0: 4, 1: 1, 2: 0, 4: 1, 6: 4}
    assert vocabularies().shared.size == 5


def test_masses_of_merged_ids_are_summed() -> None:
    law = ExactLaw({token: Fraction(1, 5) for token in (0, 1, 2, 4, 6)}, 7)
    image = law.pushforward(vocabularies().shared)
    assert image == ExactLaw({0: Fraction(1, 5), 1: Fraction(2, 5), 4: Fraction(2, 5)}, 5)


def test_foreign_ids_come_after_the_targets_by_hand() -> None:
    assert dict(vocabularies().union) == {0: 4, 1: 1, 2: 0, 3: 5, 4: 1, 5: 6, 6: 4}
    assert vocabularies().union.size == 7


def test_every_draft_id_has_a_place_in_the_union() -> None:
    assert set(vocabularies().union) == set(range(7))


def test_ids_of_padded_models_are_in_neither_vocabulary() -> None:
    padded = Vocabularies(TARGET, DRAFTER, 8, 10)
    assert dict(padded.shared) == dict(vocabularies().shared)
    assert [padded.union[token] for token in (3, 5, 7, 8, 9)] == [8, 9, 10, 11, 12]
    assert padded.union.size == 13


def test_models_smaller_than_their_tokenizers_share_what_they_have() -> None:
    assert set(Vocabularies(ToyTokenizer(("a", "b")), ToyTokenizer(("b", "a")), 1, 2).shared) == {1}
    assert set(Vocabularies(ToyTokenizer(("a", "b")), ToyTokenizer(("b", "a")), 2, 1).shared) == {0}


def test_end_of_text_without_counterpart_is_foreign() -> None:
    never_ends = vocabularies(ToyTokenizer(("a",)), ToyTokenizer(("a", None)))
    assert dict(never_ends.shared) == {0: 0}
    assert dict(never_ends.union) == {0: 0, 1: 1}


def test_empty_strings_are_not_shared() -> None:
    assert dict(vocabularies(ToyTokenizer(("", "a")), ToyTokenizer(("a", ""))).shared) == {0: 1}


@pytest.mark.parametrize(
    ("tokens", "context"),
    [
        ((), ()),
        ((0, 1), (2, 1)),  # counterparts, the lowest of two for "b"
        ((2,), (2, 1)),  # "ab" has none: re-encoded
        ((3, 0), (2, 2)),  # the second id of "a" has none
        ((2, 3), (2, 1, 2)),  # a run without counterparts is encoded in one piece
        ((4, 0), (2,)),  # end-of-text is left out
        ((2, 0, 2), (2, 1, 2, 2, 1)),
        ((99,), ()),
    ],
)
def test_committed_ids_become_the_drafters_by_hand(tokens: tuple[int, ...], context: tuple[int, ...]) -> None:
    assert vocabularies().drafter_context(tokens) == context


def test_a_run_without_counterparts_is_encoded_in_one_piece() -> None:
    pair = vocabularies(ToyTokenizer(("xa", "bx", "c")), ToyTokenizer(("x", "ab", "a", "b", "c")))
    assert pair.drafter_context((0, 1)) == (0, 1, 0)
    assert pair.drafter_context((0, 2, 1)) == (0, 2, 4, 3, 0)


class Started(ToyTokenizer):
    """A tokenizer whose model expects an id before any text."""

    @property
    def start(self) -> tuple[int, ...]:
        return (9,)


def test_the_drafters_start_comes_first() -> None:
    assert vocabularies(TARGET, Started(("a", "b"))).drafter_context((0, 2)) == (9, 0, 0, 1)
    assert vocabularies(TARGET, Started(("a", "b"))).drafter_context(()) == (9,)


def test_an_empty_intersection_is_an_error() -> None:
    vocabularies().check_intersection("tli")
    for disjoint in (ToyTokenizer(("c",)), ToyTokenizer(("c", None))):
        with pytest.raises(DecoderError, match="tli: target and drafter share no token"):
            vocabularies(TARGET, disjoint).check_intersection("tli")
