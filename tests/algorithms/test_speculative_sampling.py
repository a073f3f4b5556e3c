"""Speculative sampling emits the target's law."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import DecoderError, State, decode
from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.processors import MinP, Processed, Temperature, TopK, TopP
from draftproof.algorithms.speculative_sampling import SpeculativeSampling

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
A, B = 0, 1
TARGET = explicit({(): {A: QUARTER, B: 3 * QUARTER}, (A,): {A: Fraction(1)}, (B,): {B: Fraction(1)}}, 2)
DRAFTER = explicit({}, 2, otherwise={A: HALF, B: HALF})


def test_one_step_by_hand(toys: Any) -> None:
    # a drafted (1/2): kept with (1/4)/(1/2) = 1/2, bonus a; else the residual, which is all b. b drafted: kept.
    emitted = toys.emitted(SpeculativeSampling(TARGET, DRAFTER, 1), (), 2)
    assert emitted == {(A, A): QUARTER, (B,): QUARTER, (B, B): HALF}


def test_the_acceptance_rate_by_hand() -> None:
    script = [0.0, 0.5]  # draft a, and the coin equals its probability 1/2: rejected
    steps = []
    output = run_script(
        decode(SpeculativeSampling(TARGET, DRAFTER, 1), (), 2, lambda _, step: steps.append(step)),
        [*script, 0.9, 0.0, 0.0],
    )
    assert output.tokens == (B, B)
    [trial] = steps[0].trials
    assert (trial.accepted, trial.rate()) == (False, 3 * QUARTER)  # min(1/4, 1/2) + min(3/4, 1/2)


def test_the_last_token_is_not_drafted(toys: Any) -> None:
    drafter = toys.Counting(DRAFTER)
    decoder = SpeculativeSampling(TARGET, drafter, 3)
    assert toys.emitted(decoder, (), 1) == {(A,): QUARTER, (B,): 3 * QUARTER}
    assert drafter.calls == []


def test_a_step_is_one_target_pass(toys: Any) -> None:
    target = toys.Counting(explicit({}, 2, otherwise={A: HALF, B: HALF}))
    output = run_script(decode(SpeculativeSampling(target, DRAFTER, 3), (B,), 4), [0.0] * 7)
    assert output.tokens == (A, A, A, A)
    assert target.calls == [(((B,), (A, A, A)),)]
    assert (output.steps, output.drafted, output.accepted) == (1, 3, 3)


def test_drafting_stops_at_eos(toys: Any) -> None:
    drafter = toys.Counting(explicit({}, 2, otherwise={B: Fraction(1)}))
    target = explicit({}, 2, frozenset({B}), otherwise={A: HALF, B: HALF})
    assert toys.emitted(SpeculativeSampling(target, drafter, 3), (), 9) == {
        (B, A): QUARTER,  # what follows the EOS is cut off by the frame
        (B, B): QUARTER,
        (A,): HALF,
    }
    assert max(len(context) for call in drafter.calls for context, _ in call) == 0


def test_a_drafter_with_nothing_to_propose_leaves_the_targets_law(toys: Any) -> None:
    silent = explicit({}, 2, otherwise={})
    assert toys.emitted(SpeculativeSampling(TARGET, silent, 3), (), 5) == {(A,): QUARTER, (B,): 3 * QUARTER}


@pytest.mark.parametrize("same", [0.0, 1 - 2**-53])
def test_equal_laws_accept_everything(same: float) -> None:
    output = run_script(decode(SpeculativeSampling(DRAFTER, DRAFTER, 4), (), 5), [same] * 9)
    assert (output.steps, output.accepted) == (1, 4)


def test_a_coin_of_zero_does_not_accept_a_token_of_target_mass_zero() -> None:
    target = explicit({}, 2, otherwise={B: Fraction(1)})
    output = run_script(decode(SpeculativeSampling(target, DRAFTER, 1), (), 2), [0.0] * 6)
    assert output.tokens == (B, B)
    assert output.accepted == 0


def test_a_drafter_of_a_smaller_vocabulary_is_refused() -> None:
    with pytest.raises(DecoderError, match="the drafter has 2 ids, the target 3"):
        SpeculativeSampling(explicit({}, 3), explicit({}, 2), 1)


def test_a_drafter_of_a_larger_vocabulary_is_not(toys: Any) -> None:
    # a and b (1/3 each) are kept and followed by a bonus; the foreign 2 is rejected, and its residual is (1/6, 1/6).
    target = explicit({}, 2, otherwise={A: HALF, B: HALF})
    drafter = explicit({}, 3, otherwise={token: Fraction(1, 3) for token in range(3)})
    sixth = Fraction(1, 6)
    assert toys.emitted(SpeculativeSampling(target, drafter, 2), (), 2) == {
        (A, A): sixth,
        (A, B): sixth,
        (B, A): sixth,
        (B, B): sixth,
        (A,): sixth,
        (B,): sixth,
    }
    toys.assert_lossless(SpeculativeSampling(target, drafter, 2), 4)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("seed", range(36))
def test_its_output_law_is_the_targets(toys: Any, seed: int, lookahead: int) -> None:
    toy = toys.common(seed, size=2 + seed % 3)
    toys.assert_lossless(SpeculativeSampling(toy.target, toy.drafter, lookahead), 4 if seed % 3 < 2 else 3, (0,))


@pytest.mark.parametrize("seed", range(6))
def test_processed_models_are_models(toys: Any, seed: int) -> None:
    toy = toys.common(seed)
    for processors in ((Temperature(0),), (Temperature(0.5), TopK(2)), (TopP(0.6),), (MinP(0.5),)):
        target = Processed(toy.target, processors)
        toys.assert_lossless(SpeculativeSampling(target, toy.drafter, 2), 3)
        toys.assert_lossless(SpeculativeSampling(target, Processed(toy.drafter, processors), 2), 3)


def test_models_may_be_built_from_rules(toys: Any) -> None:
    model = TableModel(2, lambda context: toys.exact("1/3", "2/3") if len(context) % 2 else toys.exact("1/2", "1/2"))
    toys.assert_lossless(SpeculativeSampling(model, DRAFTER, 3), 4)


def test_steps_depend_on_committed_ids_alone(toys: Any) -> None:
    decoder = SpeculativeSampling(TARGET, DRAFTER, 1)
    assert decoder.context(State((A, B), 1, 3, memory=("anything",))) == (A, B)
