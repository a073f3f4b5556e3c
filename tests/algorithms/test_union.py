"""The union-vocabulary baseline: a drafted id that the target lacks is always rejected."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import State, Step
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.requests import Program
from draftproof.algorithms.union import UnionDrafter, union
from draftproof.algorithms.vocabulary import Vocabularies
from draftproof.corpora.toys import NAMES, vocabulary
from draftproof.verify.exact import law_of

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
X, Y, Z, OUT = 0, 1, 2, 3
TOKENIZER = ToyTokenizer(("x", "y", "z"))
DRAFT_TOKENIZER = ToyTokenizer(("y", "x", "out"))
TARGET = explicit({(): {X: QUARTER, Y: QUARTER, Z: HALF}}, 3, otherwise={Z: Fraction(1)})
DRAFTER = explicit({}, 3, otherwise={0: QUARTER, 1: HALF, 2: QUARTER})


def test_the_extended_law_and_its_overlap_by_hand() -> None:
    drafter = UnionDrafter(DRAFTER, Vocabularies(TOKENIZER, DRAFT_TOKENIZER, 3, 3))
    [[law]] = drafter.laws([((), ())])
    assert drafter.size == 4
    assert law == ExactLaw({X: HALF, Y: QUARTER, OUT: QUARTER}, 4)
    [[target_law]] = TARGET.laws([((), ())])
    assert target_law.overlap(law) == HALF  # 1/4 + 1/4 + 0
    assert target_law.residual(law) == ExactLaw({Z: Fraction(1)}, 3)


def test_one_step_by_hand(toys: Any) -> None:
    # x (1/2) is kept with 1/2, y (1/4) with 1, the foreign one (1/4) never; the residual is all z.
    emitted = toys.emitted(union(TARGET, TOKENIZER, DRAFTER, DRAFT_TOKENIZER, 1), (), 2)
    assert emitted == {(X, Z): QUARTER, (Y, Z): QUARTER, (Z,): HALF}


def test_a_foreign_draft_is_always_rejected_and_never_scored(toys: Any) -> None:
    foreign = explicit({}, 3, otherwise={2: Fraction(1)})
    target = toys.Counting(TARGET)
    decoder = union(target, TOKENIZER, foreign, DRAFT_TOKENIZER, 3)

    def program() -> Program[tuple[tuple[int, ...], int, tuple[tuple[bool, Fraction], ...]]]:
        step: Step = yield from decoder.step(State((), 0, 5))
        return step.emitted, step.drafted, tuple((trial.accepted, trial.rate()) for trial in step.trials)

    rejected = ((False, Fraction(0)),)
    assert law_of(program) == {
        ((X,), 1, rejected): QUARTER,
        ((Y,), 1, rejected): QUARTER,
        ((Z,), 1, rejected): HALF,
    }
    assert all(call == (((), ()),) for call in target.calls)


def test_a_foreign_id_after_shared_ones_ends_the_draft(toys: Any) -> None:
    drafter = explicit({(): {1: Fraction(1)}, (1,): {2: Fraction(1)}}, 3)
    target = explicit({}, 3, otherwise={X: HALF, Y: HALF})
    emitted = toys.emitted(union(target, TOKENIZER, drafter, DRAFT_TOKENIZER, 3), (), 9)
    assert emitted == {(X, X): QUARTER, (X, Y): QUARTER, (Y,): HALF}


def test_disjoint_vocabularies_still_give_the_targets_law(toys: Any) -> None:
    toys.assert_lossless(union(TARGET, TOKENIZER, DRAFTER, ToyTokenizer(("u", "v", "w")), 2), 3)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(36))
def test_its_output_law_is_the_targets(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.toy(seed, 2 + seed % 2)
    decoder = union(toy.target, toy.tokenizer, toy.drafter, toy.draft_tokenizer, lookahead)
    toys.assert_lossless(decoder, 4 if seed % 2 == 0 else 3, (0,))


@pytest.mark.parametrize("name", NAMES)
def test_on_the_toy_vocabularies(toys: Any, name: str) -> None:
    strings = vocabulary(name)
    tokenizer, draft_tokenizer = ToyTokenizer(strings.target), ToyTokenizer(strings.draft)
    target = toys.model(f"target {name}", tokenizer.size, tokenizer.eos)
    drafter = toys.model(f"drafter {name}", draft_tokenizer.size, draft_tokenizer.eos)
    toys.assert_lossless(union(target, tokenizer, drafter, draft_tokenizer, 2), 3)
