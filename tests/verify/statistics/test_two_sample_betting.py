"""The sequential two-sample test: by hand, fair under equality, and quick where laws differ."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from draftproof.verify.statistics import two_sample_betting
from draftproof.verify.statistics.kernels import KERNELS
from draftproof.verify.statistics.two_sample_betting import LARGEST_STAKE, log_wealth, payoffs, wealth_of

ALPHA = 1e-6
LAW = (0.4, 0.3, 0.2, 0.1)


def words(source: np.random.Generator, count: int, weights: tuple[float, ...] = LAW) -> np.ndarray:
    return source.choice(4, size=(count, 3), p=weights)


def test_payoffs_by_hand() -> None:
    # After the pair (a, b) the witness is 1 on a and -1 on b; the next pairs are (a, b), (b, a), (a, a).
    first, second = ["a", "a", "b", "a"], ["b", "b", "a", "a"]
    # Totals on a are 1, 2, 1 before pairs 1, 2, 3, and as large on b with the other sign, so f is 1/2 and -1/2.
    assert payoffs(first, second).tolist() == [0.0, 1.0, -1.0, 0.0]


def test_wealth_by_hand() -> None:
    # Stakes 0, 0, 1 / 2, 1 / 3: what was won, over one more than the squares.
    assert wealth_of(np.array([0.0, 1.0, -1.0, 1.0])) == pytest.approx(
        [0.0, 0.0, 0.0, math.log(1 / 2), math.log(1 / 2)]
    )
    wealth = wealth_of(np.ones(50))
    assert np.exp(np.diff(wealth)[-1]) == pytest.approx(1 + LARGEST_STAKE)
    assert (wealth_of(-np.ones(50)) == 0).all()  # it never bets against its own witness


def test_an_output_that_was_never_seen_is_worth_what_its_likes_are() -> None:
    assert payoffs(["aa", "ab"], ["bb", "cc"])[1] == pytest.approx(0.0 - 0.0)  # ab: one position each way
    assert payoffs(["aa", "ac"], ["bb", "cb"])[1] == pytest.approx(0.25 + 0.25)


@pytest.mark.parametrize("kernel", KERNELS)
@given(data=st.data())
def test_nothing_is_learned_from_the_future(kernel: str, data: st.DataObject) -> None:
    pairs = data.draw(
        st.lists(st.tuples(st.text("abc", max_size=3), st.text("abc", max_size=3)), min_size=2, max_size=9)
    )
    cut = data.draw(st.integers(1, len(pairs) - 1))
    first, second = zip(*pairs, strict=True)
    wide = "abcabc"  # keeps the common width, of which the kernels make a share
    whole = payoffs([*first, wide], [*second, wide], kernel)
    part = payoffs([*first[:cut], wide], [*second[:cut], wide], kernel)
    assert whole[:cut] == pytest.approx(part[:cut])
    assert np.abs(whole).max() <= 1


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.text("ab", max_size=3)), min_size=1, max_size=9))
def test_exchanging_the_outputs_of_the_last_pair_turns_its_payoff(pairs: list[tuple[str, str]]) -> None:
    # This is why wealth is a martingale: both orders are equally likely if the laws are equal.
    first, second = (list(sample) for sample in zip(*pairs, strict=True))
    before = payoffs(first, second)
    first[-1], second[-1] = second[-1], first[-1]
    after = payoffs(first, second)
    assert after[:-1] == pytest.approx(before[:-1])
    assert after[-1] == pytest.approx(-before[-1])


def test_the_mean_wealth_over_all_exchanges_is_one() -> None:
    first, second = ["ab", "ba", "aa", "b", "ab", "a"], ["bb", "bb", "ab", "a", "b", "bb"]
    wealths = []
    for exchanged in range(2 ** len(first)):
        swap = [bool(exchanged >> place & 1) for place in range(len(first))]
        one = [b if s else a for a, b, s in zip(first, second, swap, strict=True)]
        other = [a if s else b for a, b, s in zip(first, second, swap, strict=True)]
        wealths.append(np.exp(log_wealth(one, other)[-1]))
    assert np.mean(wealths) == pytest.approx(1.0)
    assert np.std(wealths) > 0.1


def test_equal_laws_are_rarely_refuted_at_any_time() -> None:
    source = np.random.default_rng(1)
    runs, level = 2_000, 0.05
    crossed = sum(log_wealth(words(source, 60), words(source, 60)).max() >= math.log(1 / level) for _ in range(runs))
    assert crossed <= stats.binom.isf(1e-9, runs, level)


@pytest.mark.parametrize("kernel", KERNELS)
def test_different_laws_reach_a_small_level_and_equal_ones_do_not(kernel: str) -> None:
    source = np.random.default_rng(2)
    first, other = words(source, 1_500), words(source, 1_500, (0.25, 0.25, 0.25, 0.25))
    wealth = log_wealth(first, other, kernel)
    assert wealth.shape == (1_501,)
    assert wealth[0] == 0.0
    assert wealth.max() >= math.log(1 / ALPHA)  # a permutation test would need a million relabellings
    assert log_wealth(first, words(source, 1_500), kernel).max() < math.log(1 / ALPHA)  # else a false alarm of 1e-6


def test_smaller_differences_cost_more_pairs() -> None:
    costs = []
    for weights in ((0.2, 0.2, 0.2, 0.4), (0.33, 0.28, 0.22, 0.17)):
        source = np.random.default_rng(3)
        wealth = log_wealth(words(source, 4_000), words(source, 4_000, weights))
        costs.append(int(np.argmax(wealth >= math.log(1 / ALPHA))))
    assert 0 < costs[0] < costs[1]


def test_samples_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        log_wealth(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="two samples"):
        log_wealth([], [])


def test_long_runs_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(4)
    first, second = words(source, 300), words(source, 300)
    whole = payoffs(first, second)
    monkeypatch.setattr(two_sample_betting, "PART", 1_000)
    assert payoffs(first, second) == pytest.approx(whole)


def test_thousands_of_distinct_outputs_are_no_trouble() -> None:
    source = np.random.default_rng(5)
    first, second = source.integers(0, 1_000, (2, 2_000, 4))
    assert log_wealth(first, second).max() < math.log(1 / ALPHA)
