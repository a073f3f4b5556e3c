"""The memoised driver is the sample driver, toss by toss."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import State, Step, decode
from draftproof.algorithms.drivers import RandomCoins, Script, sample
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.memoised import Memoised
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.speculative_sampling import SpeculativeSampling

HALVES = TableModel(2, lambda context: ExactLaw({0: Fraction(1, 2), 1: Fraction(1, 2)}, 2))
THIRDS = TableModel(2, lambda context: ExactLaw({0: Fraction(1, 3), 1: Fraction(2, 3)}, 2))


def test_a_worked_example() -> None:
    # Draft 1 (coin 0.5 >= 1/3), ratio (1/2) / (2/3) = 3/4 > 0.7: accepted; the bonus coin 0.2 draws 0.
    output = Memoised(SpeculativeSampling(HALVES, THIRDS, 1)).sample((), 2, Script((0.5, 0.7, 0.2)))
    assert output.tokens == (1, 0)
    assert (output.steps, output.drafted, output.accepted) == (1, 1, 1)


def test_a_coin_on_a_threshold_falls_as_in_the_sample_driver() -> None:
    # 1/3 has no float: the coin just below it draws 0, the coin just above draws 1, in both drivers.
    below = float(Fraction(1, 3))
    assert Fraction(below) < Fraction(1, 3)
    above = 1 / 3 + 2**-54
    for coin in (below, above):
        script = (coin, 0.99, 0.1, 0.1, 0.1)
        memoised = Memoised(SpeculativeSampling(THIRDS, THIRDS, 1)).sample((), 1, Script(script))
        assert memoised == sample(decode(SpeculativeSampling(THIRDS, THIRDS, 1), (), 1), Script(script))


@pytest.mark.parametrize("name", ["speculative-sampling", "slem", "slrs", "slrs-length", "tli", "union"])
def test_equal_coins_give_equal_outputs_steps_and_counts(toys: Any, name: str) -> None:
    toy = toys.common(7) if name == "speculative-sampling" else toys.toy(7)
    decoder = toys.decoders[name](toy, 2)
    memoised = Memoised(decoder)
    for seed in range(40):
        seen: list[tuple[State, Step]] = []
        found = memoised.sample((), 4, RandomCoins(seed), lambda *step, seen=seen: seen.append(step))
        expected: list[tuple[State, Step]] = []
        program = decode(decoder, (), 4, lambda *step, expected=expected: expected.append(step))
        assert found == sample(program, RandomCoins(seed))
        assert [(state, step.emitted) for state, step in seen] == [(state, step.emitted) for state, step in expected]


def test_a_step_that_was_taken_before_runs_no_model(toys: Any) -> None:
    target = toys.Counting(HALVES)
    memoised = Memoised(SpeculativeSampling(target, THIRDS, 1))
    memoised.sample((), 2, RandomCoins(0))
    calls = len(target.calls)
    memoised.sample((), 2, RandomCoins(0))
    assert len(target.calls) == calls > 0


def test_laws_in_floats_are_refused(toys: Any) -> None:
    memoised = Memoised(SpeculativeSampling(toys.Floats(HALVES), toys.Floats(THIRDS), 1))
    with pytest.raises(TypeError, match="not in fractions"):
        memoised.sample((), 2, RandomCoins(0))
