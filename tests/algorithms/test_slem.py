"""SLEM: the target's own draws, matched against the tokens of a drafted text."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import State, decode
from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.text import PromptLookup
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.slem import ModelDrafter, Proposal, Slem
from draftproof.corpora.toys import NAMES, vocabulary
from draftproof.verify.exact import law_of

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
A, B = 0, 1
TOKENIZER, DRAFT_TOKENIZER = ToyTokenizer(("a", "b")), ToyTokenizer(("ab", "a"))
TARGET = explicit({}, 2, otherwise={A: THIRD, B: 2 * THIRD})
DRAFTER = explicit({}, 2, otherwise={0: HALF, 1: HALF})


@dataclass(frozen=True)
class Writes:
    """A text drafter that always proposes the same."""

    text: str
    ended: bool = False

    def propose(self, text: str, lookahead: int) -> Program[Proposal]:
        return Proposal(self.text, self.ended)
        yield


@dataclass(frozen=True)
class Babbles:
    """A text drafter that draws one of its texts, whatever was asked."""

    texts: tuple[str, ...]
    law: Any

    def propose(self, text: str, lookahead: int) -> Program[Proposal]:
        choice = yield Choose(self.law)
        return Proposal(self.texts[choice], ended=choice == 0)


def test_one_step_by_hand(toys: Any) -> None:
    # Half the drafts are "ab": candidates a, b; the other half "a".
    emitted = toys.emitted(Slem(TARGET, TOKENIZER, ModelDrafter(DRAFTER, DRAFT_TOKENIZER), 1), (), 3)
    assert emitted == {
        (B,): 2 * THIRD,
        (A, A): Fraction(1, 9),  # a mismatch after "ab", or the bonus after "a"
        (A, B): Fraction(1, 9),  # the bonus after "a"
        (A, B, A): Fraction(1, 27),
        (A, B, B): Fraction(2, 27),
    }


def test_a_step_is_one_target_pass_over_all_candidates(toys: Any) -> None:
    target = toys.Counting(TARGET)
    output = run_script(decode(Slem(target, TOKENIZER, Writes("aab"), 1), (B,), 9), [0.0, 0.9] + [0.9] * 8)
    assert output.tokens[:2] == (A, B)
    assert target.calls[0] == (((B,), (A, A, B)),)
    assert output.steps == 8


def test_its_trials_are_its_matches() -> None:
    steps = []
    run_script(
        decode(Slem(TARGET, TOKENIZER, Writes("ab"), 1), (), 3, lambda _, step: steps.append(step)), [0.0, 0.0, 0.0]
    )
    assert [(trial.accepted, trial.rate()) for trial in steps[0].trials] == [(True, THIRD), (False, 2 * THIRD)]
    assert (steps[0].emitted, steps[0].drafted) == ((A, A), 2)


def test_candidates_are_cut_to_what_the_limit_can_use(toys: Any) -> None:
    target = toys.Counting(TARGET)
    decoder = Slem(target, TOKENIZER, Writes("aaaaaa"), 5)
    for remaining, offered in ((1, 0), (2, 1), (4, 3), (9, 6)):
        toys.emitted(decoder, (), remaining)
        assert target.calls[-1] == (((), (A,) * offered),)


def test_an_ended_draft_proposes_eos(toys: Any) -> None:
    tokenizer = ToyTokenizer(("a", None))
    target = explicit({}, 2, frozenset({1}), otherwise={0: HALF, 1: HALF})
    decoder = Slem(target, tokenizer, Writes("a", ended=True), 1)
    counting = toys.Counting(target)
    toys.emitted(Slem(counting, tokenizer, Writes("a", ended=True), 1), (), 9)
    assert counting.calls[0] == (((), (0, 1)),)
    toys.assert_lossless(decoder, 4)


def test_an_ended_draft_of_a_target_that_never_ends_is_only_text(toys: Any) -> None:
    target = toys.Counting(TARGET)
    toys.emitted(Slem(target, TOKENIZER, Writes("a", ended=True), 1), (), 9)
    assert target.calls[0] == (((), (A,)),)


def test_the_targets_ids_are_never_encoded_again() -> None:
    # "aa" is one id of its own, and the committed (a, a) is not the target's encoding of it.
    tokenizer = ToyTokenizer(("a", "aa"))
    target = explicit({(0, 0): {1: Fraction(1)}, (0,): {0: Fraction(1)}}, 2)
    assert run_script(decode(Slem(target, tokenizer, Writes(""), 1), (0,), 2), [0.5, 0.5]).tokens == (0, 1)


# Drafting with a model.


def proposals(drafter: ModelDrafter, text: str, lookahead: int) -> dict[Proposal, Fraction]:
    return law_of(lambda: drafter.propose(text, lookahead))


def test_a_models_proposals_by_hand() -> None:
    drafter = ModelDrafter(DRAFTER, DRAFT_TOKENIZER)
    assert proposals(drafter, "a", 1) == {Proposal("ab"): HALF, Proposal("a"): HALF}
    quarter = Fraction(1, 4)
    assert proposals(drafter, "", 2) == {Proposal(text): quarter for text in ("abab", "aba", "aab", "aa")}


def test_a_models_eos_ends_the_proposal() -> None:
    tokenizer = ToyTokenizer(("a", None))
    model = explicit({(0,): {0: HALF, 1: HALF}, (0, 0): {1: Fraction(1)}}, 2, frozenset({1}))
    assert proposals(ModelDrafter(model, tokenizer), "a", 3) == {Proposal("", True): HALF, Proposal("a", True): HALF}


def test_a_model_may_have_nothing_to_propose() -> None:
    model = explicit({(): {0: Fraction(1)}, (0,): {}}, 2)
    assert proposals(ModelDrafter(model, TOKENIZER), "", 3) == {Proposal("a"): 1}
    assert proposals(ModelDrafter(model, TOKENIZER), "a", 3) == {Proposal(""): 1}


# The law.


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(36))
def test_its_output_law_is_the_targets(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.toy(seed, 2 + seed % 2)
    decoder = Slem(toy.target, toy.tokenizer, ModelDrafter(toy.drafter, toy.draft_tokenizer), lookahead)
    toys.assert_lossless(decoder, 4 if seed % 2 == 0 else 3, (0,))


@pytest.mark.parametrize("seed", range(30))
def test_any_text_drafter_will_do(toys: Any, seed: int) -> None:
    toy = toys.toy(seed, 3)
    for drafter in (
        Writes("abaabz"),
        Writes("", ended=True),
        Babbles(("b", "aab", ""), toys.exact("1/3", "1/3", "1/3")),
        PromptLookup(most=3, least=1, characters=2),
    ):
        toys.assert_lossless(Slem(toy.target, toy.tokenizer, drafter, 2), 3, (0, 1, 0))


@pytest.mark.parametrize("name", NAMES)
def test_on_the_toy_vocabularies(toys: Any, name: str) -> None:
    strings = vocabulary(name)
    tokenizer, draft_tokenizer = ToyTokenizer(strings.target), ToyTokenizer(strings.draft)
    target = toys.model(f"target {name}", tokenizer.size, tokenizer.eos)
    drafter = ModelDrafter(toys.model(f"drafter {name}", draft_tokenizer.size, draft_tokenizer.eos), draft_tokenizer)
    toys.assert_lossless(Slem(target, tokenizer, drafter, 2), 3)


def test_what_it_conditions_on_are_the_committed_ids() -> None:
    assert Slem(TARGET, TOKENIZER, Writes(""), 1).context(State((A, B), 1, 3, memory=(9,))) == (A, B)
