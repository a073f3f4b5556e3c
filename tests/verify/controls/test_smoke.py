"""The smoke set, by hand, on one pair of laws."""

from fractions import Fraction

import pytest

from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.processors import Processed, TopK
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.smoke import (
    AbsoluteResidual,
    AlwaysAccepts,
    FirstUnverified,
    InvertedRatio,
    NoCoin,
    RejectedIsEmitted,
    ReversedResidual,
)
from draftproof.verify.controls.verify import BonusOnlyProcessed
from draftproof.verify.exact import output_law, prefixes

# P = (6, 1, 1)/8, Q = (2, 3, 3)/8: ratios 1, 1/3, 1/3; rejected with 1/2; (P - Q)+ is all 0, (Q - P)+ half 1, half 2.
TARGET = explicit({}, 3, otherwise={0: Fraction(6, 8), 1: Fraction(1, 8), 2: Fraction(1, 8)})
DRAFTER = explicit({}, 3, otherwise={0: Fraction(2, 8), 1: Fraction(3, 8), 2: Fraction(3, 8)})


@pytest.mark.parametrize(
    ("kind", "eighths"),
    [
        (SpeculativeSampling, (6, 1, 1)),
        (AlwaysAccepts, (2, 3, 3)),
        (FirstUnverified, (2, 3, 3)),
        (RejectedIsEmitted, (2, 3, 3)),
        (InvertedRatio, (2, 3, 3)),  # 0 is kept with 1/3, 1 and 2 always; what is rejected is 0 again
        (NoCoin, (8, 0, 0)),
        (AbsoluteResidual, (4, 2, 2)),  # half kept as (2, 1, 1)/8, half from (4, 2, 2)/8
        (ReversedResidual, (2, 3, 3)),
    ],
)
def test_the_first_token_by_hand(kind: type[SpeculativeSampling], eighths: tuple[int, ...]) -> None:
    law = prefixes(output_law(kind(TARGET, DRAFTER, 1), (), 2), 1)
    assert law == {(token,): Fraction(mass, 8) for token, mass in enumerate(eighths) if mass}


def test_an_inverted_ratio_is_not_the_drafters_law_in_general() -> None:
    target = explicit({}, 3, otherwise={0: Fraction(1, 2), 1: Fraction(1, 2)})
    drafter = explicit({}, 3, otherwise={0: Fraction(1, 4), 2: Fraction(3, 4)})
    law = prefixes(output_law(InvertedRatio(target, drafter, 1), (), 2), 1)
    # 2 is kept always, though the target never says it; 0 is kept with 1/2, else drawn from (1/4, 1/2) normalised.
    assert law == {(2,): Fraction(3, 4), (0,): Fraction(1, 8) + Fraction(1, 24), (1,): Fraction(1, 12)}


def test_only_the_first_token_is_unverified() -> None:
    one = FirstUnverified(TARGET, DRAFTER, 2).ratios((1, 1), [DRAFTER.law(())] * 2, [TARGET.law(())] * 2)
    assert one == (1, Fraction(1, 3))
    assert FirstUnverified(TARGET, DRAFTER, 2).ratios((), [], [TARGET.law(())]) == ()


def test_a_mask_on_the_bonus_row_alone_lets_masked_tokens_through() -> None:
    masked = Processed(TARGET, (TopK(1),))
    law = output_law(BonusOnlyProcessed(masked, DRAFTER, 1), (), 2)
    assert prefixes(law, 1) == {(token,): Fraction(mass, 8) for token, mass in enumerate((6, 1, 1))}
    assert {output[1] for output in law} == {0}  # the last token is a bonus, or drawn after nothing drafted
