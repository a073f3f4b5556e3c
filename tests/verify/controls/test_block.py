"""Look-alike C4: block verification keeps more than the rule token by token does, and no law changes."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import Step, begin
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.block import BlockVerification
from draftproof.verify.exact import law_of, output_law, total_variation

A, B = 0, 1
THIRD = Fraction(1, 3)
TARGET = explicit({}, 2, otherwise={A: THIRD, B: 2 * THIRD})
DRAFTER = explicit({}, 2, otherwise={A: 2 * THIRD, B: THIRD})


def accepted(decoder: Any, remaining: int) -> Fraction:
    """The expected number of accepted tokens of the first step."""

    def program() -> Program[int]:
        step: Step = yield from decoder.step(begin((), remaining))
        return sum(trial.accepted for trial in step.trials)

    return sum((number * mass for number, mass in law_of(program).items()), Fraction(0))


def test_the_papers_example_accepts_eleven_ninths() -> None:
    # Sun et al., section 2: token by token 10/9 of two drafted tokens are accepted, as a block 11/9.
    assert accepted(SpeculativeSampling(TARGET, DRAFTER, 2), 3) == Fraction(10, 9)
    assert accepted(BlockVerification(TARGET, DRAFTER, 2), 3) == Fraction(11, 9)


def test_one_step_by_hand(toys: Any) -> None:
    # Weights: a 1/2, b 1 (ratio 2, cut), aa 1/4, ab 1, ba 1/2, bb 1. After a, 1/2 P - Q is nowhere positive: a alone
    # is kept with 0; after b, P - Q leaves b 1/3: b alone is kept with (1/3) / (1/3 + 0) = 1.
    emitted = toys.emitted(BlockVerification(TARGET, DRAFTER, 2), (), 3)
    ninth = THIRD * THIRD
    two = {(A, A): 4 * ninth * Fraction(1, 4), (A, B): 2 * ninth, (B, A): 2 * ninth / 2, (B, B): ninth}
    expected = {(*kept, last): mass * TARGET.law(())[last] for kept, mass in two.items() for last in (A, B)}
    expected[B, B] = 2 * ninth / 2  # b a with a failed: the residual after b is all b
    expected[B,] = 4 * ninth * Fraction(3, 4)  # a a with both failed: the residual at the start is all b
    assert emitted == expected


@pytest.mark.parametrize("seed", range(12))
def test_it_is_exact_and_accepts_no_less(toys: Any, seed: int) -> None:
    toy = toys.common(seed)
    decoder = BlockVerification(toy.target, toy.drafter, 3)
    toys.assert_lossless(decoder, 4)
    assert accepted(decoder, 4) >= accepted(SpeculativeSampling(toy.target, toy.drafter, 3), 4)


def test_equal_laws_accept_everything() -> None:
    assert accepted(BlockVerification(TARGET, TARGET, 3), 4) == 3


class WithoutTheResidualsWeight(BlockVerification):
    """The wrong block: what is drawn after the kept prefix is the residual of the rule token by token."""

    def verify(self, *arguments: Any) -> Program[Step]:
        _, drafted, draft_laws, target_laws = arguments
        step = yield from super().verify(*arguments)
        kept = sum(trial.accepted for trial in step.trials)
        if kept == len(drafted):
            return step
        last = yield from self.recover(kept, drafted, draft_laws, target_laws)
        return Step((*drafted[:kept], last), len(drafted), step.trials)


def test_the_weight_is_needed_in_the_residual(toys: Any) -> None:
    deviating = []
    for seed in range(12):
        toy = toys.common(seed)
        law, expected = (
            output_law(one, (), 4)
            for one in (WithoutTheResidualsWeight(toy.target, toy.drafter, 3), Autoregressive(toy.target))
        )
        deviating.append(total_variation(law, expected) > 0)
    assert any(deviating)


@given(st.lists(st.integers(1, 5), min_size=6, max_size=6))
def test_rates_are_the_chances_that_a_prefix_is_kept(weights: list[int]) -> None:
    target, drafter = (
        explicit({}, 3, otherwise={token: Fraction(weight, sum(part)) for token, weight in enumerate(part)})
        for part in (weights[:3], weights[3:])
    )
    decoder = BlockVerification(target, drafter, 2)

    def program() -> Program[Any]:
        step: Step = yield from decoder.step(begin((), 3))
        return tuple((trial.accepted, trial.rate()) for trial in step.trials)

    law = law_of(program)
    for place in range(2):
        measured = sum(mass for trials, mass in law.items() if trials[place][0])
        assert measured == sum(mass * trials[place][1] for trials, mass in law.items())
