"""SLRS: the first target token of a drafted text, kept with min(1, P / psi)."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import State, Step, decode
from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.requests import Program
from draftproof.algorithms.slrs import Slrs
from draftproof.algorithms.string_law import FirstToken, FixedLookahead, StopAtLength
from draftproof.corpora.toys import NAMES, vocabulary
from draftproof.verify.exact import law_of

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
A, B, AB = 0, 1, 2
TOKENIZER, DRAFT_TOKENIZER = ToyTokenizer(("a", "b", "ab")), ToyTokenizer(("a", "b"))
FIXED = FixedLookahead(2)
TARGET = explicit({}, 3, otherwise={A: HALF, B: QUARTER, AB: QUARTER})
DRAFTER = explicit({}, 2, otherwise={0: HALF, 1: HALF})


def slrs(target: Any = TARGET, drafter: Any = DRAFTER, rule: Any = FIXED) -> Slrs:
    return Slrs(target, FirstToken(drafter, DRAFT_TOKENIZER, TOKENIZER, rule))


def outcomes(decoder: Slrs, remaining: int = 2) -> dict[Any, Fraction]:
    """The law of a step's token, whether it was accepted, and the rate at which it was going to be."""

    def program() -> Program[tuple[tuple[int, ...], tuple[tuple[bool, Fraction], ...]]]:
        step: Step = yield from decoder.step(State((), 0, remaining))
        return step.emitted, tuple((trial.accepted, trial.rate()) for trial in step.trials)

    return law_of(program)


def test_one_step_by_hand(toys: Any) -> None:
    # psi = (1/4, 1/2, 1/4): a and ab are kept, b with 1/2; the residual of mass 1/4 is all a.
    rate = 3 * QUARTER
    assert outcomes(slrs()) == {
        ((A,), ((True, rate),)): QUARTER,
        ((B,), ((True, rate),)): QUARTER,
        ((AB,), ((True, rate),)): QUARTER,
        ((A,), ((False, rate),)): QUARTER,
    }
    assert toys.emitted(slrs(), (), 2) == {(A,): HALF, (B,): QUARTER, (AB,): QUARTER}


def test_a_draft_without_a_target_token_is_a_rejection() -> None:
    # The drafter's c spells nothing: psi = (1/2, NONE 1/2). Residual: P - psi = b 1/4, ab 1/4, of mass 1/2.
    drafting = FirstToken(DRAFTER, ToyTokenizer(("a", "c")), TOKENIZER, FixedLookahead(1))
    rate = HALF
    assert outcomes(Slrs(TARGET, drafting)) == {
        ((A,), ((True, rate),)): HALF,
        ((B,), ((False, rate),)): QUARTER,
        ((AB,), ((False, rate),)): QUARTER,
    }


def test_the_last_token_is_not_drafted(toys: Any) -> None:
    drafter = toys.Counting(DRAFTER)
    assert outcomes(slrs(drafter=drafter), remaining=1) == {((A,), ()): HALF, ((B,), ()): QUARTER, ((AB,), ()): QUARTER}
    assert drafter.calls == []


def test_psi_is_walked_once_per_step(toys: Any) -> None:
    drafter = toys.Counting(DRAFTER)
    # Draft b, b; reject; try b twice in vain, then keep a. Then the last token.
    script = [0.5, 0.5, 0.9, 0.5, 0.0, 0.6, 0.0, 0.0, 0.0, 0.0]
    output = run_script(decode(slrs(drafter=drafter), (), 2), script)
    assert output.tokens == (A, A)
    assert (output.drafted, output.accepted) == (1, 0)
    assert [len(call) for call in drafter.calls] == [1, 2]  # the two levels of psi, along which the draft is drawn


def test_a_coin_of_zero_does_not_accept_a_token_of_target_mass_zero() -> None:
    target = explicit({}, 3, otherwise={B: Fraction(1)})
    output = run_script(decode(slrs(target), (), 2), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert (output.tokens, output.accepted) == ((B, B), 0)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(32))
def test_its_output_law_is_the_targets(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.toy(seed, 2 + seed % 2)
    for rule in (FixedLookahead(lookahead), StopAtLength(2, lookahead)):
        decoder = Slrs(toy.target, FirstToken(toy.drafter, toy.draft_tokenizer, toy.tokenizer, rule))
        toys.assert_lossless(decoder, 4 if seed % 2 == 0 else 3, (0,))


@pytest.mark.parametrize("name", NAMES)
def test_on_the_toy_vocabularies(toys: Any, name: str) -> None:
    strings = vocabulary(name)
    tokenizer, draft_tokenizer = ToyTokenizer(strings.target), ToyTokenizer(strings.draft)
    target = toys.model(f"target {name}", tokenizer.size, tokenizer.eos)
    drafter = toys.model(f"drafter {name}", draft_tokenizer.size, draft_tokenizer.eos)
    toys.assert_lossless(Slrs(target, FirstToken(drafter, draft_tokenizer, tokenizer, FixedLookahead(2))), 3)
