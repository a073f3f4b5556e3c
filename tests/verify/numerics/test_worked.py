"""The worked examples, enumerated."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.verify.numerics.bounds import epsilon_bound
from draftproof.verify.numerics.worked import epsilon_cost, mismatch_cost, worked

SHARES = st.fractions(0, 1, max_denominator=12).map(lambda share: (share, 1 - share))


def test_every_example_is_as_stated() -> None:
    assert [(one.claim, one.found) for one in worked()] == [("SS-8", "1/2"), ("SS-8", "1/4"), ("SS-9", "1/16")]
    assert all(one.found == one.stated for one in worked())


def test_an_epsilon_by_hand() -> None:
    # Drafts are a with 1/4, kept for sure, and b with 3/4, kept with (1/4) / (3/4 + 1/4); the residual is all a.
    three, quarter = Fraction(3, 4), Fraction(1, 4)
    kept_b = three * quarter / 1
    assert epsilon_cost((three, quarter), (quarter, three), quarter) == quarter - kept_b
    assert epsilon_cost((three, quarter), (quarter, three), Fraction(0)) == 0


@given(SHARES, SHARES, SHARES)
def test_a_mismatch_costs_at_most_what_is_misdeclared(
    target: tuple[Fraction, Fraction], drawn: tuple[Fraction, Fraction], declared: tuple[Fraction, Fraction]
) -> None:
    bound = abs(drawn[0] - declared[0])
    assert mismatch_cost(target, drawn, declared) <= bound
    if all(declared):  # else a draft of mass 0 under P is rejected, and less than the bound is lost
        assert mismatch_cost(declared, drawn, declared) == bound
    assert mismatch_cost(target, declared, declared) == 0


@given(SHARES, SHARES, st.fractions(0, 1, max_denominator=12))
def test_an_epsilon_costs_at_most_its_bound(
    target: tuple[Fraction, Fraction], draft: tuple[Fraction, Fraction], epsilon: Fraction
) -> None:
    bound = 2 * epsilon / (1 + 2 * epsilon)
    assert epsilon_cost(target, draft, epsilon) <= bound
    assert epsilon_bound(float(epsilon), 2) == pytest.approx(float(bound))
