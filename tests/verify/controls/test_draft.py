"""Mutants 1 and 2 and look-alike C7, by hand."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Program
from draftproof.algorithms.speculative_sampling import Drafted, SpeculativeSampling
from draftproof.verify.controls.draft import CONFIDENCE, ArgmaxDraft, FilteredDraft, LowConfidenceKept
from draftproof.verify.exact import output_law, prefixes

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
TARGET = explicit({}, 3, otherwise={0: THIRD, 1: THIRD, 2: THIRD})
DRAFTER = explicit({}, 3, otherwise={0: HALF, 1: QUARTER, 2: QUARTER})


def first_token(decoder: Any) -> dict[tuple[int, ...], Fraction]:
    return prefixes(output_law(decoder, (), 2), 1)


def test_an_argmax_draft_by_hand() -> None:
    # 0 is always drafted and accepted with 2/3; the residual is half 1, half 2.
    assert first_token(ArgmaxDraft(TARGET, DRAFTER, 1)) == {(0,): 2 * THIRD, (1,): THIRD / 2, (2,): THIRD / 2}


def test_a_filtered_draft_by_hand() -> None:
    # 0 is drafted with 2/3 and accepted with 2/3, 1 with 1/3 and always; what is rejected becomes 1 or 2 evenly.
    lost = 2 * THIRD * THIRD
    assert first_token(FilteredDraft(TARGET, DRAFTER, 1)) == {
        (0,): 2 * THIRD * 2 * THIRD,
        (1,): THIRD + lost / 2,
        (2,): lost / 2,
    }


def test_drafting_stops_after_a_token_of_low_confidence(toys: Any) -> None:
    # 0 has draft mass 1/2 and goes on; 1 and 2, of 1/4 each, are kept and end the draft.
    drafter = toys.Counting(DRAFTER)
    emitted = toys.emitted(LowConfidenceKept(DRAFTER, drafter, 2), (), 9)
    assert {len(tokens) for tokens, mass in emitted.items() if tokens[0] == 0} == {3}  # equal laws: all is accepted
    assert {len(tokens) for tokens, mass in emitted.items() if tokens[0] != 0} == {2}
    assert HALF > CONFIDENCE > QUARTER


class LowConfidenceDropped(SpeculativeSampling):
    """The wrong way to stop: the token of low confidence is dropped, and a bonus token is drawn in its place."""

    def draft(self, context: tuple[int, ...], count: int) -> Program[Drafted]:
        drafted, laws = yield from super().draft(context, count)
        kept = next(
            (n for n, (token, law) in enumerate(zip(drafted, laws, strict=True)) if law[token] < CONFIDENCE), count
        )
        return drafted[:kept], laws[:kept]


@pytest.mark.parametrize("seed", range(6))
def test_keeping_the_token_is_exact(toys: Any, seed: int) -> None:
    toy = toys.common(seed)
    toys.assert_lossless(LowConfidenceKept(toy.target, toy.drafter, 3), 4)


def test_dropping_the_token_is_not() -> None:
    # 0 is drafted with 1/2 and kept; else the first token is drawn from the target: 0 has mass 1/2 + 1/2 * 1/2.
    assert first_token(LowConfidenceDropped(DRAFTER, DRAFTER, 1)) == {
        (0,): 3 * QUARTER,
        (1,): QUARTER / 2,
        (2,): QUARTER / 2,
    }
