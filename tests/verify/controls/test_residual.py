"""Mutants 3, 4, 5, 6 and 9 and look-alike C3: by hand, and by the noise or coin that two draws share."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.controls.residual import (
    RecoversFromNextRow,
    ResidualIsTarget,
    ResidualSoftmaxed,
    SharedCoin,
    SharedNoise,
    SiblingsTried,
    above,
    shared_noise,
)
from draftproof.verify.exact import law_of, total_variation

MODEL = explicit({}, 3, otherwise={0: Fraction(1)})  # never asked: rows are given
FALSE_ALARM = 1e-9
DRAWS = 200_000


def recovered(
    kind: type[SpeculativeSampling], target: Law, draft: Law, rejected: int, following: Law | None = None
) -> dict[int, Fraction]:
    """The law of the recovered token after a rejection at the first position."""
    decoder = kind(MODEL, MODEL, 1)
    return law_of(lambda: decoder.recover(0, (rejected,), (draft,), (target, following or target)))


# P = (1/2, 1/2, 0), Q = (0, 1/4, 3/4): the residual is (2/3, 1/3), the token 2 is always rejected.


@pytest.fixture
def target(toys: Any) -> Law:
    return toys.exact("1/2", "1/2", 0)


@pytest.fixture
def draft(toys: Any) -> Law:
    return toys.exact(0, "1/4", "3/4")


def test_shared_noise_by_hand(target: Law, draft: Law) -> None:
    # The clock of 0 runs from the start at rate 2/3, that of 1 from 3/4 t on at rate 1/3. None has rung by 3/4 t with
    # probability exp(-t/2), 2/3 on average; then 1 rings first with 1/3.
    assert recovered(SharedNoise, target, draft, 2) == {0: Fraction(7, 9), 1: Fraction(2, 9)}


def test_a_shared_coin_by_hand(toys: Any) -> None:
    # 0 is accepted below 1/2. Of the residual's running sum (1 up to 1/3, 2 up to 1) the half above 1/2 is all 2.
    target, draft = toys.exact("1/4", "1/4", "1/2"), toys.exact("1/2", "1/8", "3/8")
    assert target.residual(draft) == toys.exact(0, "1/2", "1/2")
    assert recovered(SharedCoin, target, draft, 0) == {2: 1}
    # A token that is always rejected leaves the coin uniform, and the residual right.
    assert recovered(SharedCoin, toys.exact("1/2", "1/2", 0), toys.exact(0, "1/4", "3/4"), 2) == {
        0: Fraction(2, 3),
        1: Fraction(1, 3),
    }


def test_the_residual_forgotten_by_hand(target: Law, draft: Law) -> None:
    assert recovered(ResidualIsTarget, target, draft, 2) == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_the_residual_softmaxed_by_hand(target: Law, draft: Law) -> None:
    law = recovered(ResidualSoftmaxed, target, draft, 2)
    whole = math.exp(0.5) + math.exp(0.25) + 1
    assert {token: float(mass) for token, mass in law.items()} == pytest.approx(
        {0: math.exp(0.5) / whole, 1: math.exp(0.25) / whole, 2: 1 / whole}, abs=1e-15
    )
    assert all(isinstance(mass, Fraction) for mass in law.values())
    assert sum(law.values()) == 1


def test_the_next_row_by_hand(toys: Any, target: Law, draft: Law) -> None:
    assert recovered(RecoversFromNextRow, target, draft, 2, toys.exact(0, 0, 1)) == {2: 1}


def test_siblings_draw_from_the_residual(target: Law, draft: Law) -> None:
    assert recovered(SiblingsTried, target, draft, 2) == {0: Fraction(2, 3), 1: Fraction(1, 3)}


def test_siblings_are_tried_against_what_is_left(target: Law, draft: Law) -> None:
    # What is left of P is (2/3, 1/3) for the first sibling, (8/9, 1/9) for the second. Q draws 1 below 1/4, else 2.
    def tried(*uniforms: float) -> int:
        decoder = SiblingsTried(MODEL, MODEL, 1)
        return run_script(decoder.recover(0, (2,), (draft,), (target,)), uniforms)

    assert tried(0.2, 0.99) == 1  # min(1, (1/3) / (1/4)) = 1
    assert tried(0.3, 0.0, 0.2, 0.44) == 1  # 2 is never kept; then 1 is, below (1/9) / (1/4) = 4/9
    assert tried(0.3, 0.0, 0.2, 0.45, 0.0, 0.0) == 0


LAWS = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


def law(weights: list[int]) -> ExactLaw:
    return ExactLaw.normalised({token: Fraction(weight) for token, weight in enumerate(weights)}, len(weights))


@given(LAWS, LAWS)
def test_each_law_of_a_recovered_token_is_a_law(one: list[int], other: list[int]) -> None:
    target, draft = law(one), law(other)
    for token in draft.support():
        if target.acceptance(token, draft[token]) == 1:
            continue  # never rejected
        residual = dict(target.residual(draft).items())
        assert recovered(SiblingsTried, target, draft, token) == residual
        for kind in (SharedNoise, SharedCoin):
            found = recovered(kind, target, draft, token)
            assert sum(found.values()) == 1
            assert set(found) <= set(residual)  # all of them only for the noise
        assert set(recovered(SharedNoise, target, draft, token)) == set(residual)


@pytest.mark.parametrize(
    "kind", [SharedNoise, SharedCoin, ResidualIsTarget, ResidualSoftmaxed, SiblingsTried, RecoversFromNextRow]
)
def test_equal_laws_which_only_rounding_rejects_give_some_token(kind: type[SpeculativeSampling], toys: Any) -> None:
    equal = toys.tensor_law(toys.exact("1/2", "1/2", 0))
    assert set(recovered(kind, equal, equal, 0)) <= {0, 1, 2}


# Noise and coin themselves.


def gumbel_draws(target: Law, draft: Law, seed: int) -> np.ndarray:
    """How often each token is recovered, over DRAWS draws with noise that drafting and recovering share."""
    source = np.random.default_rng(seed)
    masses = np.array([[float(one[token]) for token in range(one.size)] for one in (target, draft)])
    noise = source.gumbel(size=(DRAWS, target.size))
    with np.errstate(divide="ignore"):
        drafted = (np.log(masses[1]) + noise).argmax(axis=1)
        recovered = (np.log(np.maximum(masses[0] - masses[1], 0)) + noise).argmax(axis=1)
    ratio = np.minimum(1, masses[0] / np.where(masses[1] > 0, masses[1], 1))[drafted]
    rejected = source.random(DRAWS) >= ratio
    return np.bincount(recovered[rejected], minlength=target.size)


def fits(counts: np.ndarray, expected: Callable[[int], float], alarm: float) -> bool:
    """Whether no count is off by more than its binomial law explains; false alarms at most `alarm`."""
    return all(
        binomtest(int(count), int(counts.sum()), expected(token)).pvalue >= alarm / len(counts)
        for token, count in enumerate(counts)
    )


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        ([2, 2, 0], [0, 1, 3]),
        ([8, 5, 3, 2, 2], [2, 3, 3, 6, 6]),
        ([1, 4, 3, 2, 0, 6], [4, 1, 1, 1, 6, 3]),
    ],
)
def test_shared_noise_gives_the_law_of_the_formula(target: list[int], draft: list[int]) -> None:
    # Of the fixed seed; for another one it would raise a false alarm with probability at most 1e-9.
    one, other = law(target), law(draft)
    counts = gumbel_draws(one, other, seed=5)
    assert counts.sum() > DRAWS / 10
    assert fits(counts, lambda token: float(shared_noise(one, other)[token]), FALSE_ALARM)
    # The test is able to fail: it refutes the residual, which fresh noise would give.
    assert not fits(counts, lambda token: float(one.residual(other)[token]), FALSE_ALARM)


@given(LAWS, st.integers(0, 59))
def test_above_a_level_is_the_law_of_the_quantile_there(weights: list[int], level: int) -> None:
    whole = law(weights)
    cells = 60 * sum(weights)  # running sums and level are borders of cells
    coins = [Fraction(2 * cell + 1, 2 * cells) for cell in range(level * cells // 60, cells)]
    drawn = [whole.quantile(coin) for coin in coins]
    found = above(whole, Fraction(level, 60))
    assert {token: Fraction(drawn.count(token), len(coins)) for token in set(drawn)} == dict(found.items())


def test_above_a_level_that_rounding_leaves_nothing_of_is_the_last_id(toys: Any) -> None:
    tenths = toys.tensor_law(toys.exact(*["1/10"] * 10))
    assert dict(above(tenths, 1 - 2**-53).items()) == {9: 1.0}


@given(LAWS, LAWS)
def test_shared_noise_in_floats_is_that_in_fractions(one: list[int], other: list[int]) -> None:
    target, draft = law(one), law(other)
    dense = [
        TensorLaw(torch.tensor([float(part[token]) for token in range(4)], dtype=torch.float64))
        for part in (target, draft)
    ]
    if not target.residual(draft).empty:
        exact, floats = shared_noise(target, draft), shared_noise(dense[0], dense[1])
        assert total_variation(dict(exact.items()), dict(floats.items())) < 1e-12
