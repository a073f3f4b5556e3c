"""Drafts from another law than the declared one (SS-8), and epsilons (SS-9): by hand, enumerated, in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.exact import output_law, prefixes, total_variation
from draftproof.verify.numerics.closed_forms import as_law, distance, emitted, ratio, residual
from draftproof.verify.numerics.mismatch import mismatch, mismatched, replayed_differently, with_epsilon

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ROUNDING = 1e-13


@dataclass(frozen=True)
class DraftsFrom(SpeculativeSampling):
    """Declares the drafter's law and draws from another."""

    sampled: ExactLaw = field(default_factory=lambda: ExactLaw({0: Fraction(1)}, 1))

    def propose(self, draft_law: Law) -> Program[int]:
        token: int = yield Choose(self.sampled)
        return token


@dataclass(frozen=True)
class AlsoForgetsTheResidual(DraftsFrom):
    """And has a fault besides: the recovered token comes from P."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        token: int = yield Choose(target_laws[position])
        return token


def first_token(
    target: ExactLaw, drafted: ExactLaw, declared: ExactLaw, build: type[DraftsFrom] = DraftsFrom
) -> dict[tuple[int, ...], Fraction]:
    models = (explicit({}, law.size, otherwise=dict(law.items())) for law in (target, declared))
    return prefixes(output_law(build(*models, 1, sampled=drafted), (), 2), 1)


def as_outcomes(law: ExactLaw) -> dict[tuple[int, ...], Fraction]:
    return {(token,): mass for token, mass in law.items()}


def floats(law: ExactLaw) -> torch.Tensor:
    return torch.tensor([float(law[token]) for token in range(law.size)], dtype=torch.float64)


WEIGHTS = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)


def law_of_weights(weights: list[int]) -> ExactLaw:
    return ExactLaw.normalised({token: Fraction(weight) for token, weight in enumerate(weights)}, len(weights))


# SS-8.


def test_a_mismatch_by_hand(toys: Any) -> None:
    # a is drafted for sure and kept with (1/4)/(1/2) = 1/2, else the residual (0, 1/4), all b.
    target, declared, drafted = toys.exact("1/4", "3/4"), toys.exact("1/2", "1/2"), toys.exact(1, 0)
    found = first_token(target, drafted, declared)
    assert found == {(0,): HALF, (1,): HALF}
    assert total_variation(found, as_outcomes(target)) == QUARTER
    assert total_variation(as_outcomes(drafted), as_outcomes(declared)) == HALF
    closed = mismatch(floats(target), floats(drafted), floats(declared))
    assert (closed.cost, closed.bound) == (0.25, 0.5)


@pytest.mark.parametrize("masses", [("1/2", "1/2"), ("1/3", "2/3"), ("1/7", "6/7")])
def test_the_bound_is_attained_where_every_draft_is_accepted(toys: Any, masses: tuple[str, str]) -> None:
    target, drafted = toys.exact(*masses), toys.exact(1, 0)
    found = first_token(target, drafted, declared=target)
    assert found == as_outcomes(drafted)
    assert total_variation(found, as_outcomes(target)) == total_variation(as_outcomes(drafted), as_outcomes(target)) > 0


@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_the_output_is_never_further_off_than_the_drafts(p: list[int], q: list[int], declared: list[int]) -> None:
    target, drafted, said = law_of_weights(p), law_of_weights(q), law_of_weights(declared)
    found = first_token(target, drafted, said)
    cost, bound = (
        total_variation(one, as_outcomes(law)) for one, law in ((found, target), (as_outcomes(drafted), said))
    )
    assert sum(found.values()) == 1
    assert cost <= bound
    closed = mismatch(floats(target), floats(drafted), floats(said))
    assert closed.cost == pytest.approx(float(cost), abs=ROUNDING)
    assert closed.bound == pytest.approx(float(bound), abs=ROUNDING)
    law = mismatched(floats(target), floats(drafted), floats(said))
    assert law.tolist() == pytest.approx([float(found.get((token,), 0)) for token in range(3)], abs=ROUNDING)


@given(WEIGHTS, WEIGHTS)
def test_what_is_declared_truly_costs_nothing(p: list[int], q: list[int]) -> None:
    target, draft = law_of_weights(p), law_of_weights(q)
    assert first_token(target, draft, draft) == as_outcomes(target)
    assert mismatch(floats(target), floats(draft), floats(draft)).cost < ROUNDING


def test_another_fault_breaks_the_bound(toys: Any) -> None:
    target, draft = toys.exact("3/4", "1/4"), toys.exact("1/4", "3/4")
    found = first_token(target, draft, draft, AlsoForgetsTheResidual)
    # b is kept with 3/4 of 1/3; half of all drafts are rejected, and P is drawn instead of the residual a.
    assert found == {(0,): QUARTER + HALF * Fraction(3, 4), (1,): QUARTER + HALF * QUARTER}
    assert total_variation(found, as_outcomes(target)) == Fraction(1, 8)  # where the bound is 0


@pytest.mark.parametrize("seed", range(8))
def test_longer_outputs_are_off_by_at_most_the_sum_over_their_drafts(toys: Any, seed: int) -> None:
    toy = toys.common(seed)
    lookahead, tokens = 2, 3
    drafted = law_of_weights([1, 1, 2])
    decoder = DraftsFrom(toy.target, toy.drafter, lookahead, sampled=drafted)
    expected = output_law(SpeculativeSampling(toy.target, toy.drafter, lookahead), (), tokens)
    contexts = [(), *((a,) for a in range(3)), *((a, b) for a in range(3) for b in range(3))]
    laws = [law for [law] in toy.drafter.laws([(context, ()) for context in contexts])]
    worst = max(total_variation(dict(drafted.items()), dict(law.items())) for law in laws if not law.empty)
    drafts = lookahead + (lookahead - 1)  # three tokens take at most a draft of two and one of one
    assert total_variation(output_law(decoder, (), tokens), expected) <= drafts * worst


# What a replay sees of it.


def test_a_uniform_that_draws_another_token_by_hand() -> None:
    # Thresholds at 1/4 and 1/2: uniforms between them draw b from the one and a from the other.
    one, other = (torch.tensor(masses, dtype=torch.float64) for masses in ((0.25, 0.75, 0), (0.5, 0.5, 0)))
    assert replayed_differently(one, other) == replayed_differently(other, one) == 0.25
    assert replayed_differently(one, one) == 0
    # A mass moved from the first to the last id shifts all thresholds between: half of the uniforms draw a neighbour.
    even = torch.full((4,), 0.25, dtype=torch.float64)
    shifted = torch.tensor([0.125, 0.25, 0.25, 0.375], dtype=torch.float64)
    assert replayed_differently(even, shifted) == 0.375
    assert distance(even, shifted) == 0.125


@given(WEIGHTS, WEIGHTS)
def test_a_replay_sees_at_least_the_total_variation(p: list[int], q: list[int]) -> None:
    one, other = floats(law_of_weights(p)), floats(law_of_weights(q))
    assert distance(one, other) - ROUNDING <= replayed_differently(one, other) <= 1


# SS-9.


def test_an_epsilon_of_a_quarter_costs_a_sixteenth() -> None:
    target, draft = (torch.tensor(masses, dtype=torch.float64) for masses in ((0.75, 0.25), (0.25, 0.75)))
    # a, drafted with 1/4, is kept for sure; b, with 3/4, with 1/4 over 1. The residual is all a.
    assert with_epsilon(target, draft, 0.25).tolist() == [0.25 + 0.5625, 0.1875]
    assert distance(with_epsilon(target, draft, 0.25), target) == 1 / 16
    assert distance(with_epsilon(target, draft, 0.0), target) == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_smaller_epsilon_costs_less(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    target, draft = (torch.randn(2, 500, generator=generator, dtype=torch.float64) * 2).softmax(-1)
    costs = [distance(with_epsilon(target, draft, epsilon), target) for epsilon in (0, 1e-10, 1e-7, 1e-4, 1e-2)]
    assert costs == sorted(costs)
    assert costs[0] < ROUNDING < costs[1]


# The parts.


@given(WEIGHTS, WEIGHTS)
def test_the_parts_are_those_of_exact_laws(p: list[int], q: list[int]) -> None:
    target, draft = law_of_weights(p), law_of_weights(q)
    expected = [target.acceptance(token, draft[token]) for token in range(3)]
    assert ratio(floats(target), floats(draft)).tolist() == pytest.approx(list(map(float, expected)), abs=ROUNDING)
    left, found = target.residual(draft), residual(floats(target), floats(draft))
    if left.empty:  # rounding may leave a residual of equal laws, on the target's support all the same
        assert bool((found[floats(target) == 0] == 0).all())
    else:
        assert found.tolist() == pytest.approx([float(left[token]) for token in range(3)], abs=1e-12)


def test_what_is_rejected_is_recovered() -> None:
    draft, recovered = (torch.tensor(masses, dtype=torch.float64) for masses in ((0.5, 0.5, 0), (0, 0, 1)))
    assert emitted(draft, torch.tensor([1, 0.5, 1], dtype=torch.float64), recovered).tolist() == [0.5, 0.25, 0.25]


def test_laws_are_made_of_weights() -> None:
    assert as_law(torch.tensor([1, 3], dtype=torch.float16)).tolist() == [0.25, 0.75]
    for weights in ([0.0, 0.0], [1.0, -0.5], [1.0, float("nan")], [1.0, float("inf")]):
        with pytest.raises(LawError, match="finite, non-negative masses with a positive sum"):
            as_law(torch.tensor(weights))
