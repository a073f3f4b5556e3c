"""psi: the law of the first target token of a drafted text."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms import string_law
from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.laws import Mass
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.string_law import NONE, FirstToken, FixedLookahead, PsiTooLarge, StopAtLength
from draftproof.corpora.toys import NAMES, vocabulary
from draftproof.verify.exact import answered, law_of

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)


def uniform(size: int, eos: frozenset[int] = frozenset()) -> TableModel:
    return explicit({}, size, eos, otherwise={token: Fraction(1, size) for token in range(size)})


def psi(drafting: FirstToken, committed: tuple[int, ...] = ()) -> dict[int, Mass]:
    return answered(drafting.law(committed))  # type: ignore[type-var]


def first_token(draft: tuple[str | None, ...], target: tuple[str | None, ...], rule: Any) -> FirstToken:
    draft_tokenizer = ToyTokenizer(draft)
    return FirstToken(uniform(len(draft), draft_tokenizer.eos), draft_tokenizer, ToyTokenizer(target), rule)


# By hand. SLRS-3's laws: D = {a, b}, T = {a, b, ab}, Q uniform.


def test_psi_of_two_tokens_by_hand() -> None:
    drafting = first_token(("a", "b"), ("a", "b", "ab"), FixedLookahead(2))
    assert psi(drafting) == {0: QUARTER, 1: HALF, 2: QUARTER}  # aa; ba, bb; ab


def test_psi_of_one_token_by_hand() -> None:
    assert psi(first_token(("a", "b"), ("a", "b", "ab"), FixedLookahead(1))) == {0: HALF, 1: HALF}


def test_psi_of_three_tokens_by_hand() -> None:
    drafting = first_token(("a", "b"), ("a", "b", "aba"), FixedLookahead(3))
    assert psi(drafting) == {0: Fraction(3, 8), 1: HALF, 2: Fraction(1, 8)}


def test_psi_with_context_dependent_laws_by_hand() -> None:
    drafter = explicit({(): {0: THIRD, 1: 2 * THIRD}, (0,): {1: Fraction(1)}, (1,): {0: HALF, 1: HALF}}, 2)
    tokenizer = ToyTokenizer(("a", "b", "ab"))
    drafting = FirstToken(drafter, ToyTokenizer(("a", "b")), tokenizer, FixedLookahead(2))
    assert psi(drafting) == {1: 2 * THIRD, 2: THIRD}


def test_the_drafter_continues_the_committed_text() -> None:
    drafter = explicit({(0, 1): {1: Fraction(1)}}, 2)  # the drafter's ids of "ab"
    drafting = FirstToken(drafter, ToyTokenizer(("a", "b")), ToyTokenizer(("ab", "b")), FixedLookahead(1))
    assert drafting.context((0,)) == (0, 1)
    assert psi(drafting, (0,)) == {1: 1}


def test_a_draft_without_a_target_token_has_an_outcome_of_its_own() -> None:
    assert psi(first_token(("a", "c"), ("a", "b"), FixedLookahead(1))) == {0: HALF, NONE: HALF}
    assert psi(first_token(("a", "c"), ("a", "b"), FixedLookahead(2))) == {0: 3 * QUARTER, NONE: QUARTER}  # ca is a


def test_a_drafter_with_nothing_to_propose_yields_none() -> None:
    silent = FirstToken(explicit({}, 1, otherwise={}), ToyTokenizer(("a",)), ToyTokenizer(("a",)), FixedLookahead(2))
    assert psi(silent) == {NONE: 1}
    assert run_script(silent.draft(()), []) == NONE


def test_a_drafter_that_falls_silent_has_drafted_what_it_has() -> None:
    drafter = explicit({(): {0: HALF, 1: HALF}, (0,): {}, (1,): {1: Fraction(1)}}, 2)
    drafting = FirstToken(drafter, ToyTokenizer(("a", "b")), ToyTokenizer(("a", "b", "bb")), FixedLookahead(2))
    assert psi(drafting) == {0: HALF, 2: HALF}


def test_an_eos_drafted_first_is_the_targets_eos() -> None:
    drafting = first_token(("a", None), (None, "a"), FixedLookahead(2))
    assert psi(drafting) == {0: HALF, 1: HALF}


def test_an_eos_ends_the_draft_and_adds_no_text() -> None:
    drafting = first_token(("a", None), ("a", "aa", None), FixedLookahead(2))
    assert psi(drafting) == {0: QUARTER, 1: QUARTER, 2: HALF}  # a EOS; a a; EOS


def test_an_eos_adds_no_text_whatever_its_tokenizer_spells() -> None:
    drafter = uniform(2, frozenset({1}))
    drafting = FirstToken(drafter, ToyTokenizer(("a", "b")), ToyTokenizer(("a", "b", None)), FixedLookahead(1))
    assert psi(drafting) == {0: HALF, 2: HALF}


def test_an_eos_is_none_where_the_target_has_none() -> None:
    assert psi(first_token(("a", None), ("a",), FixedLookahead(2))) == {0: HALF, NONE: HALF}


def test_stopping_at_a_length_by_hand() -> None:
    drafting = first_token(("a", "aa"), ("a", "aa", "aaa"), StopAtLength(2, 3))
    assert psi(drafting) == {1: 3 * QUARTER, 2: QUARTER}  # aa, or a then a; a then aa
    short = first_token(("a", "b"), ("a", "b", "ab", "abb"), StopAtLength(5, 2))
    assert psi(short) == {0: QUARTER, 1: HALF, 2: QUARTER}  # the lookahead ends it first


@pytest.mark.parametrize(("characters", "lookahead"), [(2, 2), (2, 5)])
def test_a_token_of_two_letters_has_three_stopped_drafts(toys: Any, characters: int, lookahead: int) -> None:
    """SLRS-7: D = T = {a, aa}, t = aa: not the 2 compositions of aa."""
    drafting = first_token(("a", "aa"), ("a", "aa"), StopAtLength(characters, lookahead))
    drafts = law_of(lambda: toys.choices(drafting.draft(())))
    assert drafts == {((1,), 1): HALF, ((0, 0), 1): QUARTER, ((0, 1), 1): QUARTER}


def test_a_token_that_greedy_matching_never_gives_has_no_draft() -> None:
    reached = psi(first_token(("a", "b"), ("a", "b", "ab", "ab"), FixedLookahead(2)))
    assert 3 not in reached  # the second id of "ab" is not canonical
    assert sum(reached.values()) == 1


# The forward passes.


def test_a_level_of_the_tree_is_one_request(toys: Any) -> None:
    drafter = toys.Counting(uniform(2))
    tokenizer = ToyTokenizer(("a", "b"))
    run_script(FirstToken(drafter, tokenizer, tokenizer, FixedLookahead(3)).law(()), [])
    assert [len(call) for call in drafter.calls] == [1, 2, 4]


def test_a_tree_that_is_too_large_says_what_to_change() -> None:
    drafting = first_token(("a", "b"), ("a", "b"), FixedLookahead(2))  # 3 contexts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_law, "CONTEXTS_LIMIT", 3)
        assert sum(psi(drafting).values()) == 1
        patch.setattr(string_law, "CONTEXTS_LIMIT", 2)
        with pytest.raises(PsiTooLarge, match="more than 2 draft contexts; lower the lookahead"):
            psi(drafting)


def test_a_tree_with_too_many_drafts_is_refused_before_their_texts_are_encoded() -> None:
    drafting = first_token(("a", "b"), ("a", "b"), FixedLookahead(2))  # 2 drafts of one token, 4 of two
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_law, "DRAFTS_LIMIT", 6)
        assert sum(psi(drafting).values()) == 1
        patch.setattr(string_law, "DRAFTS_LIMIT", 5)
        with pytest.raises(PsiTooLarge, match="more than 5 drafts; lower the lookahead or truncate"):
            psi(drafting)


# Properties.


def rules(lookahead: int) -> tuple[Any, ...]:
    return FixedLookahead(lookahead), StopAtLength(2, lookahead), StopAtLength(3, lookahead)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(30))
def test_psi_is_the_law_of_drafting_and_sums_to_one(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.toy(seed, 3)
    for rule in rules(lookahead):
        drafting = FirstToken(toy.drafter, toy.draft_tokenizer, toy.tokenizer, rule)
        for committed in ((), (0,), (2, 1)):
            law = psi(drafting, committed)
            assert sum(law.values()) == 1
            assert all(mass > 0 for mass in law.values())
            assert law_of(lambda drafting=drafting, committed=committed: drafting.draft(committed)) == law  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_psi_on_the_toy_vocabularies(toys: Any, name: str) -> None:
    strings = vocabulary(name)
    tokenizer, draft_tokenizer = ToyTokenizer(strings.target), ToyTokenizer(strings.draft)
    drafter = toys.model(f"drafter {name}", draft_tokenizer.size, draft_tokenizer.eos)
    drafting = FirstToken(drafter, draft_tokenizer, tokenizer, FixedLookahead(2))
    for committed in ((), (0,)):
        assert law_of(lambda committed=committed: drafting.draft(committed)) == psi(drafting, committed)  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(15))
def test_float_psi_is_near_the_exact_one(toys: Any, seed: int) -> None:
    toy = toys.toy(seed, 3)
    exact, floats = (
        psi(FirstToken(drafter, toy.draft_tokenizer, toy.tokenizer, FixedLookahead(3)))
        for drafter in (toy.drafter, toys.Floats(toy.drafter))
    )
    assert set(exact) == set(floats)
    assert all(abs(floats[token] - exact[token]) < 1e-14 for token in exact)
