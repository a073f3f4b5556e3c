"""One token as the driver draws it: by hand, against every coin of the driver that runs, and at its thresholds."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from draftproof.algorithms import drivers
from draftproof.algorithms.decoding import Decoder, State
from draftproof.algorithms.drivers import ScriptEnded, run_script, without_residuals
from draftproof.algorithms.laws import LawError
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.requests import Accept, Choose, Program
from draftproof.algorithms.slrs import Slrs
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.string_law import NONE, Walk
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify import exact
from draftproof.verify.controls.draft import CONTROLS as DRAFTS
from draftproof.verify.controls.residual import CONTROLS as RESIDUALS
from draftproof.verify.controls.smoke import CONTROLS as SMOKE
from draftproof.verify.numerics.driver_step import (
    COIN_BITS,
    Draft,
    bonus_deviation,
    draft_of_walk,
    drawn,
    emitted,
    step_deviation,
)
from draftproof.verify.numerics.rationals import Rationals, exactly, total_variation
from draftproof.verify.settings import Setting

NOTHING = Fraction(1, 2**200)
"""What the kept bits may cost."""


def law(*masses: float, dtype: torch.dtype = torch.float64) -> TensorLaw:
    return TensorLaw(torch.tensor(masses, dtype=torch.float64).to(dtype))


def random_law(seed: int, size: int, spread: float = 1.5, dtype: torch.dtype = torch.float32) -> TensorLaw:
    generator = torch.Generator().manual_seed(seed)
    return TensorLaw((torch.randn(size, generator=generator) * spread).to(dtype).softmax(0))


def entries(vector: Rationals) -> list[Fraction]:
    return [vector[index] for index in range(len(vector))]


def distance(found: Rationals, counted: list[Fraction]) -> Fraction:
    """Total variation."""
    return sum((abs(one - other) for one, other in zip(entries(found), counted, strict=True)), Fraction(0)) / 2


def point(token: int, size: int) -> Rationals:
    """The law of one token."""
    return Rationals(np.array([int(other == token) for other in range(size)], dtype=object), 1)


def draft_of(draft: TensorLaw, coin_bits: int = COIN_BITS) -> Draft:
    """A token drawn from the law that is declared."""
    return Draft(drawn(draft, coin_bits), draft)


def emitted_by(target: TensorLaw, draft: TensorLaw, coin_bits: int = COIN_BITS) -> Rationals:
    return emitted(target, draft_of(draft, coin_bits), coin_bits)[0]


# By hand.


def test_thirds_by_coins_of_eighths() -> None:
    target, draft = law(2 / 3, 1 / 3), law(1 / 3, 2 / 3)
    # Of the coins k/8 three lie below 1/3, and six below 2/3.
    assert entries(drawn(draft, 3)) == [Fraction(3, 8), Fraction(5, 8)]
    assert entries(drawn(target, 3)) == [Fraction(6, 8), Fraction(2, 8)]
    # The first id is kept always, the second with four coins of eight; what is recovered is the first id.
    assert entries(emitted_by(target, draft, 3)) == [Fraction(3, 8) + Fraction(5, 16), Fraction(5, 16)]
    assert 0 <= step_deviation(target, draft_of(draft, 3), 3) - (Fraction(11, 16) - Fraction(2, 3)) < NOTHING
    assert bonus_deviation(target, 3) == Fraction(6, 8) - Fraction(2, 3)


def test_masses_that_are_powers_of_two_lose_nothing() -> None:
    target, draft = law(0.25, 0.75), law(0.5, 0.5)
    assert bonus_deviation(target) == bonus_deviation(draft) == 0
    assert entries(emitted_by(target, draft)) == [Fraction(1, 4), Fraction(3, 4)]
    assert step_deviation(target, draft_of(draft)) < NOTHING


def test_a_draft_whose_total_is_not_one_costs_what_it_lacks() -> None:
    # Of total 7/8: drawn by 2/7 and 5/7, kept by 1 and 4/5, so 1/7 is left for the first id.
    target, draft = law(0.5, 0.5), law(0.25, 0.625)
    assert step_deviation(target, draft_of(draft)) == pytest.approx(1 / 14, abs=1e-15)


def test_ids_that_one_law_lacks() -> None:
    few, more = law(0.5, 0.5), law(0.25, 0.25, 0.5)
    assert entries(emitted_by(few, more)) == [Fraction(1, 2), Fraction(1, 2), 0]
    assert entries(emitted_by(more, few)) == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]


def test_a_walk_that_may_end_without_a_token() -> None:
    # Two drafts, half of all, yield the second id, half nothing. It is kept; recovered is either id, equally likely.
    walk = Walk({(): law(0.25, 0.25, 0.5)}, {(0,): 1, (1,): 1, (2,): NONE}, {1: 0.5, NONE: 0.5})
    draft = draft_of_walk(walk, 2)
    assert entries(draft.drawn) == [0, Fraction(1, 2)]
    assert draft.declared.probabilities.tolist() == [0.0, 0.5]
    found, _ = emitted(law(0.25, 0.75), draft)
    assert distance(found, [Fraction(1, 4), Fraction(3, 4)]) < Fraction(1, 2**52)


def test_a_walk_without_any_draft_is_rejected() -> None:
    walk = Walk({(): law(0.0, 0.0)}, {(): NONE}, {NONE: 1})
    assert entries(emitted(law(0.25, 0.75), draft_of_walk(walk, 2))[0]) == [Fraction(1, 4), Fraction(3, 4)]


# Against every coin, on the text that runs.


def every_coin(law: TensorLaw, coin_bits: int) -> list[Fraction]:
    counts = Counter(law.quantile(coin / 2**coin_bits) for coin in range(2**coin_bits))
    return [Fraction(counts[token], 2**coin_bits) for token in range(law.size)]


MASSES = st.lists(st.just(0.0) | st.floats(1e-6, 1) | st.floats(1e-310, 1e-300), min_size=1, max_size=6).filter(any)
BITS = st.integers(1, 9)


@given(masses=MASSES, coin_bits=BITS, dtype=st.sampled_from((torch.float64, torch.float32)))
@example(masses=[5e-324, 0.0, 5e-324], coin_bits=9, dtype=torch.float64)
@example(masses=[0.5, 2.0**-70, 0.5], coin_bits=9, dtype=torch.float64)
def test_a_draw_is_what_every_coin_gives(masses: list[float], coin_bits: int, dtype: torch.dtype) -> None:
    drawn_from = law(*masses, dtype=dtype)
    if drawn_from.empty:  # too small for float32
        return
    assert entries(drawn(drawn_from, coin_bits)) == every_coin(drawn_from, coin_bits)


@given(sums=st.lists(st.integers(0, 64), min_size=1, max_size=12), data=st.data(), coin_bits=BITS)
def test_running_sums_that_are_not_monotone_are_searched_as_they_are(
    sums: list[int], data: st.DataObject, coin_bits: int
) -> None:
    masses = data.draw(st.lists(st.sampled_from((0.0, 1.0)), min_size=len(sums), max_size=len(sums)).filter(any))
    scanned = law(*masses)
    scanned.__dict__["cumulative"] = torch.tensor([*sums[:-1], sums[-1] + 1], dtype=torch.float64) / 7
    assert entries(drawn(scanned, coin_bits)) == every_coin(scanned, coin_bits)


def by_coins(coin_bits: int) -> Callable[[Choose | Accept], list[tuple[int, Fraction]]]:
    """The answers to a request that the coins of the sample driver give, each with its share of them."""
    coins = [coin / 2**coin_bits for coin in range(2**coin_bits)]

    def branches(request: Any) -> list[tuple[int, Fraction]]:
        if isinstance(request, Choose):
            counts = Counter(request.law.quantile(coin) for coin in coins)
            return [(token, Fraction(count, len(coins))) for token, count in counts.items()]
        found, reach = [], Fraction(1)
        for count, probability in enumerate(request.probabilities):
            success = Fraction(sum(coin < probability for coin in coins), len(coins))
            found.append((count, reach * (1 - success)))
            reach *= success
        return [(count, share) for count, share in [*found, (len(request.probabilities), reach)] if share]

    return branches


@pytest.fixture
def first_by_coins(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Fraction]]:
    """The law of the first token that a step emits, each draw answered as the sample driver answers each coin."""

    def first(decoder: Decoder, tokens: tuple[int, ...], remaining: int, coin_bits: int, size: int) -> list[Fraction]:
        def program() -> Program[int]:
            step = yield from decoder.step(State(tokens, len(tokens), remaining))
            return step.emitted[0]

        monkeypatch.setattr(exact, "branches", by_coins(coin_bits))
        found = exact.law_of(lambda: without_residuals(program()))
        return [found.get(token, Fraction(0)) for token in range(size)]

    return first


WRONG = [control for control in (*RESIDUALS, *SMOKE) if control.wrong and not control.processors]


def one_row(target: TensorLaw, draft: TensorLaw) -> SpeculativeSampling:
    """The decoder on two models that answer with these laws everywhere."""

    def always(answer: TensorLaw) -> Any:
        return TableModel(answer.size, lambda context: answer)

    return SpeculativeSampling(always(target), always(draft), 1)


def one_row_setting(target: TensorLaw, draft: TensorLaw) -> Setting:
    """The same as a setting, for controls: they need no tokenizer."""
    right, none = one_row(target, draft), cast(Any, None)
    return Setting("one row", right.target, none, right.drafter, none, (), 1, 1, 2)


@pytest.mark.parametrize(("trials", "coin_bits"), [(2, 3), (2, 7), (1, 8), (0, 8)])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_what_every_coin_of_the_decoder_gives(
    first_by_coins: Callable[..., list[Fraction]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    trials: int,
    coin_bits: int,
) -> None:
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", trials)
    target, draft = random_law(seed, 3 + seed % 2), random_law(seed + 50, 4)
    if seed == 1:
        target.probabilities[1] = draft.probabilities[2] = 0
    if seed == 2:  # a draft of larger total, so that tokens are rejected and nothing is left to recover
        draft = TensorLaw(target.probabilities * 1.25)
    found, slack = emitted(target, draft_of(draft, coin_bits), coin_bits)
    brute = first_by_coins(one_row(target, draft), (), 2, coin_bits, len(found))
    assert distance(found, brute) <= slack < NOTHING
    assert found.total == 1


def test_a_step_is_what_every_script_of_the_driver_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing between decoder and driver here: all scripts of coins 0, 1/4, 1/2, 3/4, as far as each is used.
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", 1)
    target, draft = law(0.6, 0.3, 0.1), law(0.2, 0.3, 0.5)
    decoder = one_row(target, draft)
    found: Counter[int] = Counter()
    scripts: list[tuple[float, ...]] = [()]
    while scripts:
        script = scripts.pop()
        try:
            step = run_script(decoder.step(State((), 0, 2)), script)
        except ScriptEnded:
            scripts += [(*script, coin / 4) for coin in range(4)]
            continue
        found[step.emitted[0]] += 4 ** (10 - len(script))
    assert found.total() == 4**10
    assert [Fraction(found[token], 4**10) for token in range(3)] == entries(emitted_by(target, draft, 2))


@pytest.mark.parametrize("name", ["speculative-sampling", "tli", "union", "slem", "slrs", "slrs-length"])
@pytest.mark.parametrize("seed", range(3))
def test_decoders_on_toys_draw_their_first_token_so(
    toys: Any, first_by_coins: Callable[..., list[Fraction]], monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", 1)
    decoder = toys.decoder(name, seed, 1, in_floats=True)
    [[target]] = decoder.target.laws([((0,), ())])
    bits = 6
    if isinstance(decoder, Slrs):
        draft = draft_of_walk(run_script(decoder.drafting.walk((0,)), ()), target.size, bits)
        found, _ = emitted(target, draft, bits)
    elif isinstance(decoder, SpeculativeSampling):
        [[drafted]] = decoder.drafter.laws([((0,), ())])
        found = drawn(target, bits) if drafted.empty else emitted(target, draft_of(drafted, bits), bits)[0]
    else:
        found = drawn(target, bits)
    brute = first_by_coins(decoder, (0,), 2, bits, len(found))
    assert distance(found, brute) < NOTHING
    # The last token of an output is not drafted.
    undrafted = first_by_coins(decoder, (0,), 1, bits, target.size)
    assert undrafted == entries(drawn(target, bits))


@pytest.mark.parametrize("control", WRONG, ids=lambda control: control.name)
def test_a_changed_rule_is_another_law(
    first_by_coins: Callable[..., list[Fraction]], monkeypatch: pytest.MonkeyPatch, control: Any
) -> None:
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", 2)
    target, draft = law(0.1, 0.25, 0.65), law(0.6, 0.15, 0.25)
    brute = first_by_coins(control.build(one_row_setting(target, draft)), (), 2, 7, 3)
    assert distance(emitted_by(target, draft, 7), brute) > Fraction(1, 100)


@pytest.mark.parametrize("control", DRAFTS, ids=lambda control: control.name)
def test_a_draft_that_is_not_the_declared_one_is_counted_as_it_is_drawn(
    first_by_coins: Callable[..., list[Fraction]], monkeypatch: pytest.MonkeyPatch, control: Any
) -> None:
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", 2)
    target, declared = law(0.1, 0.25, 0.65), law(0.6, 0.15, 0.25)
    proposals = {
        "argmax-draft": point(declared.argmax(), 3),
        "filtered-draft": drawn(declared.restrict(declared.ranked(2)), 7),
        "low-confidence-kept": drawn(declared, 7),
    }
    draft = Draft(proposals[control.name], declared)
    found, _ = emitted(target, draft, 7)
    assert distance(found, first_by_coins(control.build(one_row_setting(target, declared)), (), 2, 7, 3)) < NOTHING
    right = step_deviation(target, draft_of(declared, 7), 7)
    assert (step_deviation(target, draft, 7) > 2 * right) == control.wrong


def test_a_token_drawn_though_it_is_declared_impossible_is_kept() -> None:
    found, _ = emitted(law(0.25, 0.5, 0.25), Draft(point(0, 3), law(0.0, 1.0, 0.0)))
    assert entries(found) == [1, 0, 0]


def test_what_a_wrong_draft_costs_by_hand() -> None:
    # The second id always, though declared as a half: of P = (1/4, 3/4) it is kept, and nothing else is ever emitted.
    target, declared = law(0.25, 0.75), law(0.5, 0.5)
    assert step_deviation(target, Draft(point(1, 2), declared)) == Fraction(1, 4)
    assert step_deviation(target, draft_of(declared)) < NOTHING
    # P in another order, and a draft of it: what is emitted is another law altogether.
    other = emitted_by(law(0.75, 0.25), declared)
    assert total_variation(other, exactly(target.probabilities)) == Fraction(1, 2)


# At the thresholds of all 53 bits.


def test_the_last_coin_below_a_threshold_and_the_first_that_is_not() -> None:
    target, draft = random_law(5, 6), random_law(6, 6)
    decoder = one_row(target, draft)

    def step(*coins: int) -> tuple[int, ...]:
        script = [coin / 2**COIN_BITS for coin in coins]
        return run_script(decoder.step(State((), 0, 2)), [*script, *[0.5, 0.0] * 4_000]).emitted

    assert decoder.target.size == 6
    below = kept = 0
    for token, count in enumerate(drawn(draft).numerators):
        # Coin 0 accepts whatever is drafted.
        assert step(below, 0)[0] == step(below + count - 1, 0)[0] == token
        if target[token] < draft[token]:
            # Such a token is never recovered: all of its mass is the coins that accept it.
            accepting = emitted(target, Draft(point(token, 6), draft))[0][token] * 2**COIN_BITS
            assert accepting.denominator == 1
            assert step(below, int(accepting) - 1)[0] == token != step(below, int(accepting))[0]
            kept += 1
        below += count
    assert below == 2**COIN_BITS
    assert kept >= 2


# Where little is left to recover.


def test_a_table_that_ends_in_masses_too_small_for_its_sum() -> None:
    # The loop keeps one try in ten, so that the table is asked; its first id takes all that floats can tell.
    target, draft = law(0.1, 2.0**-70, 0.9), law(0.0, 0.0, 1.0)
    assert step_deviation(target, draft_of(draft)) < 1e-15


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_nearly_equal_laws_deviate_by_rounding(dtype: torch.dtype) -> None:
    target = random_law(1, 50, dtype=dtype)
    nudged = target.probabilities.clone()
    nudged[::2] = torch.nextafter(nudged[::2], torch.ones(25, dtype=dtype))
    assert step_deviation(target, draft_of(TensorLaw(nudged))) < 4 * torch.finfo(dtype).eps
    assert step_deviation(target, draft_of(target)) < 1e-14
    far = random_law(2, 50, dtype=dtype)
    assert total_variation(emitted_by(far, target), exactly(target.probabilities).normalised()) > 0.3


def test_a_table_whose_coins_all_fail_ends_at_its_last_id(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is left of the sum, rounded, may be more than the last excess: its coin may fail.
    monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", 0)
    for seed in range(20):
        target, draft = (random_law(start + seed, 9, dtype=torch.float64) for start in (0, 100))
        assert emitted_by(target, draft).total == 1


def test_what_the_kept_bits_lose_is_within_the_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    target, draft = law(0.5, 0.3, 0.2), law(0.4, 0.25, 0.35)

    def after(trials: int) -> tuple[Rationals, Fraction]:
        monkeypatch.setattr(drivers, "RESIDUAL_TRIALS", trials)
        return emitted(target, draft_of(draft, 4), 4)

    # Every trial takes the same share of what is left from the table's law to the loop's, so three laws give them all.
    none, one, two = (entries(after(trials)[0]) for trials in range(3))
    share = (two[0] - one[0]) / (one[0] - none[0])
    assert 0 < share < 1
    whole = (1 - share**100) / (1 - share)
    exact_law = [start + (next_ - start) * whole for start, next_ in zip(none, one, strict=True)]
    found, slack = after(100)
    assert 0 < distance(found, exact_law) <= slack
    deviation = total_variation(found, exactly(target.probabilities).normalised())
    assert step_deviation(target, draft_of(draft, 4), 4) == deviation + slack


@given(data=st.data(), size=st.integers(1, 6))
def test_it_is_a_law_on_the_targets_support(data: st.DataObject, size: int) -> None:
    weights = st.lists(st.just(0.0) | st.floats(1e-12, 1), min_size=size, max_size=size).filter(any)
    target, draft = (TensorLaw.checked(law(*data.draw(weights)).probabilities) for _ in range(2))
    found, slack = emitted(target, draft_of(draft))
    assert found.total == 1
    assert slack < NOTHING
    for token in range(size):
        assert found[token] >= 0
        assert found[token] == 0 or target[token] > 0  # claim SS-3
    assert step_deviation(target, draft_of(draft)) < 1e-11


def test_a_quarter_of_a_million_ids_take_seconds() -> None:
    target, draft = random_law(0, 262_144, 3.0), random_law(1, 262_144, 3.0)
    assert 0 < bonus_deviation(target) < 1e-10
    assert 0 < step_deviation(target, draft_of(draft)) < 1e-6


# Refusals.

BAD = [law(0.0, 0.0), law(0.5, math.nan), law(0.5, math.inf), law(1.5, -0.5)]
NAMES = ["empty", "nan", "infinite", "negative"]


@pytest.mark.parametrize("bad", BAD, ids=NAMES)
def test_what_is_no_law_is_refused(bad: TensorLaw) -> None:
    with pytest.raises(LawError, match="no mass, or one that is negative, NaN or infinite"):
        drawn(bad)
    with pytest.raises(LawError):
        bonus_deviation(bad)
    with pytest.raises(LawError):
        step_deviation(bad, draft_of(law(0.5, 0.5)))


@pytest.mark.parametrize("bad", BAD[1:], ids=NAMES[1:])
def test_what_is_no_declared_law_is_refused(bad: TensorLaw) -> None:
    with pytest.raises(LawError, match="negative, NaN or infinite"):
        step_deviation(law(0.5, 0.5), Draft(point(0, 2), bad))


def test_a_walk_of_fractions_is_refused(toys: Any) -> None:
    with pytest.raises(TypeError, match="not ExactLaw"):
        draft_of_walk(Walk({(): toys.exact(1)}, {(0,): 0}, {0: 1}), 1)
