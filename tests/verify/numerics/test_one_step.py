"""The law of one step in floats: by hand, against every coin tossed, and on a vocabulary of 262,144 ids."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.laws import LawError
from draftproof.verify.numerics.arithmetic import PRECISIONS, Arithmetic
from draftproof.verify.numerics.one_step import PARTS, by_inversion, coins_below, deviation, one_step
from draftproof.verify.numerics.rationals import Rationals, exactly, total_variation

EVERY = tuple(way(dtype) for dtype in PRECISIONS for way in (Arithmetic.wide, Arithmetic.narrow))
EACH = pytest.mark.parametrize("arithmetic", EVERY, ids=str)


def law(*masses: float, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(masses, dtype=torch.float64).to(dtype)


def random_law(seed: int, size: int, spread: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(size, generator=generator, dtype=torch.float64) * spread).softmax(0)


def entries(vector: Rationals) -> list[Fraction]:
    return [vector[index] for index in range(len(vector))]


# By hand.


@EACH
def test_masses_that_are_powers_of_two_lose_nothing(arithmetic: Arithmetic) -> None:
    target, draft = law(0.25, 0.75, dtype=arithmetic.dtype), law(0.5, 0.5, dtype=arithmetic.dtype)
    found = deviation(law(0.25, 0.75), target, draft, arithmetic)
    assert (found.total, found.parts) == (0, (0,) * len(PARTS))
    assert entries(found.step.kept) == [Fraction(1, 4), Fraction(1, 2)]
    assert entries(found.step.recovered) == [0, 1]
    assert found.step.acceptance == Fraction(3, 4)


def test_a_third_in_bfloat16() -> None:
    # Stored as 171/512 and 342/512, which is 1/3 to 2/3 as ever. The running sums are 171/512 and, rounded, 1.
    third = law(1 / 3, 2 / 3, dtype=torch.bfloat16)
    declared = torch.tensor([1.0, 2.0], dtype=torch.float64)
    by_real_coins = by_inversion(third, Arithmetic.narrow(torch.bfloat16), None)
    assert entries(by_real_coins) == [Fraction(171, 512), Fraction(341, 512)]
    # Of the 256 coins k/256, those with k < 85.5 lie below 171/512.
    found = deviation(declared, third, third, Arithmetic.narrow(torch.bfloat16))
    assert entries(found.step.law) == [Fraction(86, 256), Fraction(170, 256)]
    assert found.total == Fraction(86, 256) - Fraction(1, 3) == Fraction(1, 384)
    assert dict(zip(PARTS, found.parts, strict=True)) == {
        "storing the target's law": 0,
        "totals that are not 1": 0,
        "ratio": 0,
        "residual": 0,
        "running sums": Fraction(171, 512) - Fraction(1, 3),
        "coins": Fraction(86, 256) - Fraction(171, 512),
    }


def test_the_ratio_rounds() -> None:
    # 3/8 over 5/8 is 3/5, in bfloat16 154/256 = 77/128.
    target, draft = law(0.375, 0.625, dtype=torch.bfloat16), law(0.625, 0.375, dtype=torch.bfloat16)
    arithmetic = Arithmetic(torch.bfloat16, torch.float64, 53)
    found = deviation(law(0.375, 0.625), target, draft, arithmetic)
    assert entries(found.step.kept) == [Fraction(5, 8) * Fraction(77, 128), Fraction(3, 8)]
    assert found.total == found.parts[PARTS.index("ratio")] == Fraction(5, 8) * (Fraction(77, 128) - Fraction(3, 5))


def test_a_law_without_rescaling_gives_its_missing_mass_to_the_last_id() -> None:
    short = law(0.25, 0.5, 0.125, 0.0)
    plain = Arithmetic(torch.float64, torch.float64, 53)
    assert entries(by_inversion(short, plain, 53)) == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4), 0]
    rescaled = by_inversion(short, Arithmetic.wide(torch.float64), None)
    assert total_variation(rescaled, exactly(short).normalised()) < Fraction(1, 2**52)


def test_coins_lie_strictly_below_a_threshold() -> None:
    thresholds = law(0.0, 5e-324, 0.25, math.nextafter(0.25, 1), 1.0)
    assert entries(coins_below(thresholds, 2)) == [0, Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), 1]


def test_a_narrow_running_sum_never_draws_what_is_too_small_for_it() -> None:
    # Behind a sum of 1/2 the next bfloat16 is 2^-8 further: a mass of 2^-10 does not move it.
    weights = law(0.5, 2.0**-10, 0.5 - 2.0**-10, dtype=torch.bfloat16)
    assert entries(by_inversion(weights, Arithmetic.narrow(torch.bfloat16), None))[1] == 0
    assert entries(by_inversion(weights, Arithmetic.wide(torch.bfloat16), None))[1] > 0


# Against every coin.


def drawn(weights: torch.Tensor, coin: float, arithmetic: Arithmetic) -> int:
    sums = weights.cumsum(0, dtype=arithmetic.sums)
    if arithmetic.rescaled:
        sums = sums / sums[-1]
    for token in range(len(weights)):
        if float(sums[token]) > coin:
            return token
    return max(token for token in range(len(weights)) if weights[token] > 0)


def every_coin(
    target: torch.Tensor, draft: torch.Tensor, arithmetic: Arithmetic, strictly: bool = True
) -> list[Fraction]:
    """The law by tossing every triple of coins, one token after another."""
    coins = [coin / 2**arithmetic.coin_bits for coin in range(2**arithmetic.coin_bits)]
    excess = (target - draft).clamp_min(0)
    residual = excess / excess.sum() if excess.sum() > 0 else target
    counts = [0] * len(target)
    recovered = [drawn(residual, coin, arithmetic) for coin in coins]
    for coin in coins:
        token = drawn(draft, coin, arithmetic)
        ratio = min(1.0, float(target[token] / draft[token]))
        for acceptance in coins:
            if acceptance < ratio or (acceptance == ratio and not strictly):
                counts[token] += len(coins)
            else:
                for other in recovered:
                    counts[other] += 1
    return [Fraction(count, len(coins) ** 3) for count in counts]


@pytest.mark.parametrize("seed", range(4))
@EACH
def test_the_law_is_what_every_coin_gives(arithmetic: Arithmetic, seed: int) -> None:
    target, draft = random_law(seed, 6, 1.5).to(arithmetic.dtype), random_law(seed + 100, 6, 1.5).to(arithmetic.dtype)
    if seed % 2:
        target[1], draft[2] = 0, 0
    few = Arithmetic(arithmetic.dtype, arithmetic.sums, 5, arithmetic.rescaled)
    assert entries(one_step(target, draft, few).law) == every_coin(target, draft, few)


def test_a_coin_that_accepts_its_own_ratio_is_seen() -> None:
    target, draft = law(0.25, 0.75), law(0.5, 0.5)
    arithmetic = Arithmetic(torch.float64, torch.float64, 5)
    assert entries(one_step(target, draft, arithmetic).law) == every_coin(target, draft, arithmetic) == [0.25, 0.75]
    assert every_coin(target, draft, arithmetic, strictly=False)[0] == Fraction(1, 2) * Fraction(17, 32)


# SS-4: near-equal laws.


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_residual_that_vanishes_in_floats_is_the_targets_law(dtype: torch.dtype) -> None:
    # Q is P but for one mass that is an ulp higher: a token may be rejected, and P - Q is positive nowhere.
    target = law(0.25, 0.75, dtype=dtype)
    draft = torch.stack((target[0], torch.nextafter(target[1], torch.tensor(1.0, dtype=dtype))))
    step = one_step(target, draft, Arithmetic.wide(dtype))
    assert step.empty_residual
    assert 0 < step.fallback < 1.5 * torch.finfo(dtype).eps
    assert total_variation(step.recovered, exactly(target)) < Fraction(1, 2**50)
    assert step.law.total == 1
    assert bool(((target - draft).clamp_min(0) / (target - draft).clamp_min(0).sum()).isnan().all())


@EACH
def test_equal_laws_ask_for_no_residual(arithmetic: Arithmetic) -> None:
    target = random_law(3, 50).to(arithmetic.dtype)
    step = one_step(target, target, arithmetic)
    assert (step.empty_residual, step.fallback, step.acceptance) == (True, 0, 1)
    assert total_variation(step.law, by_inversion(target, arithmetic, arithmetic.coin_bits)) == 0


# Properties.

WEIGHTS = st.lists(st.floats(1e-9, 1) | st.just(0.0), min_size=2, max_size=8)


@given(data=st.data(), arithmetic=st.sampled_from(EVERY))
def test_it_is_a_law_on_the_targets_support(data: st.DataObject, arithmetic: Arithmetic) -> None:
    size = data.draw(st.integers(2, 8))
    masses = st.lists(st.floats(1e-9, 1) | st.just(0.0), min_size=size, max_size=size).filter(any)
    declared, drafted = (torch.tensor(data.draw(masses), dtype=torch.float64) for _ in range(2))
    declared, drafted = declared / declared.sum(), drafted / drafted.sum()
    target, draft = declared.to(arithmetic.dtype), drafted.to(arithmetic.dtype)
    found = deviation(declared, target, draft, arithmetic)
    emitted = found.step.law
    assert emitted.total == found.step.recovered.total == 1
    for token in range(size):
        assert emitted[token] >= 0
        assert emitted[token] == 0 or target[token] > 0  # claim SS-3, in floats
    assert len(found.parts) == len(PARTS)
    assert 0 <= found.total <= sum(found.parts)
    assert found.total == total_variation(emitted, exactly(declared).normalised())


@pytest.mark.parametrize("seed", range(3))
def test_more_bits_come_closer(seed: int) -> None:
    declared, drafted = random_law(seed, 1_000), random_law(seed + 7, 1_000)
    totals = [
        float(deviation(declared, declared.to(dtype), drafted.to(dtype), Arithmetic.wide(dtype)).total)
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64)
    ]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > 1e-4
    assert totals[-1] < 1e-13


def test_a_quarter_of_a_million_ids_take_seconds_and_narrow_sums_ruin_them() -> None:
    declared, drafted = random_law(0, 262_144), random_law(1, 262_144)
    target, draft = declared.to(torch.bfloat16), drafted.to(torch.bfloat16)
    wide = deviation(declared, target, draft, Arithmetic.wide(torch.bfloat16))
    narrow = deviation(declared, target, draft, Arithmetic.narrow(torch.bfloat16))
    assert 1e-4 < wide.total < 1e-2
    assert wide.parts[:4] == narrow.parts[:4]
    assert narrow.total > Fraction(1, 4)
    assert narrow.parts[PARTS.index("running sums")] > Fraction(1, 4)


# Refusals.


@pytest.mark.parametrize(
    ("target", "draft", "message"),
    [
        (law(0.5, 0.5), law(0.5, 0.25, 0.25), "laws of one shape"),
        (law(0.5, 0.5).reshape(1, 2), law(0.5, 0.5).reshape(1, 2), "laws of one shape"),
        (law(0.5, 0.5, dtype=torch.float32), law(0.5, 0.5), "stored in float32, not in float64"),
        (law(0.5, 0.5), law(0.0, 0.0), "without mass"),
        (law(0.5, math.nan), law(0.5, 0.5), "negative, NaN or infinite"),
        (law(0.5, 0.5), law(1.5, -0.5), "negative, NaN or infinite"),
        (law(0.5, 0.5), law(0.5, math.inf), "negative, NaN or infinite"),
    ],
)
def test_what_is_no_pair_of_laws_is_refused(target: torch.Tensor, draft: torch.Tensor, message: str) -> None:
    with pytest.raises(LawError, match=message):
        one_step(target, draft, Arithmetic.wide(torch.float64))


def test_the_declared_law_has_the_same_ids() -> None:
    with pytest.raises(LawError, match="has 3 ids, the target's 2"):
        deviation(law(0.5, 0.25, 0.25), law(0.5, 0.5), law(0.5, 0.5), Arithmetic.wide(torch.float64))


def test_nothing_is_drawn_from_nothing() -> None:
    with pytest.raises(LawError, match="the law is empty"):
        by_inversion(law(0.0), Arithmetic.wide(torch.float64), None)
