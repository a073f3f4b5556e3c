"""The frame around every decoder, and what holds of every decoder whatever it does in a step."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import (
    DecoderError,
    Output,
    State,
    Step,
    Trial,
    begin,
    check_lookahead,
    decode,
)
from draftproof.algorithms.drivers import RandomCoins, run_script, sample, sample_batch
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.requests import Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.string_law import FixedLookahead, StopAtLength
from draftproof.verify.exact import law_of, output_law, total_variation

DECODERS = ("speculative-sampling", "tli", "union", "slem", "slrs", "slrs-length")
EOS = frozenset({9})


# States by hand.


def test_an_output_begins_with_its_prompt() -> None:
    state = begin((3, 4), 5)
    assert (state.tokens, state.generated, state.remaining, state.memory) == ((3, 4), (), 5, None)


@pytest.mark.parametrize("limit", [0, -1])
def test_an_output_has_at_least_one_token(limit: int) -> None:
    with pytest.raises(DecoderError, match="max_new_tokens must be at least 1"):
        begin((), limit)
    with pytest.raises(DecoderError, match="max_new_tokens must be at least 1"):
        run_script(decode(Says((1,)), (), limit), [])
    with pytest.raises(DecoderError, match="max_new_tokens must be at least 1"):
        output_law(Says((1,)), (), limit)


@pytest.mark.parametrize(
    ("emitted", "remaining", "generated", "left"),
    [
        ((1, 2), 5, (1, 2), 3),
        ((1, 2, 3), 2, (1, 2), 0),  # the limit cuts
        ((1, 9, 2), 5, (1, 9), 0),  # EOS cuts
        ((9,), 5, (9,), 0),
        ((1, 2, 9), 2, (1, 2), 0),  # an EOS beyond the limit does not count
        ((1, 9), 2, (1, 9), 0),
        ((9, 9), 5, (9,), 0),
    ],
)
def test_a_step_is_cut_at_eos_and_at_the_limit(
    emitted: tuple[int, ...], remaining: int, generated: tuple[int, ...], left: int
) -> None:
    after = State((7,), 1, remaining).after(Step(emitted), EOS)
    assert (after.generated, after.remaining) == (generated, left)


def test_memory_goes_from_a_step_to_the_next_state() -> None:
    assert State((), 0, 3).after(Step((1,), memory="kept"), EOS).memory == "kept"
    assert State((), 0, 3, memory="old").after(Step((1,)), EOS).memory is None


def test_a_step_without_a_token_is_an_error() -> None:
    with pytest.raises(DecoderError, match="no token"):
        State((), 0, 3).after(Step(()), EOS)
    with pytest.raises(DecoderError, match="no token"):
        run_script(decode(Says(()), (), 3), [])


def test_the_last_token_of_a_step_is_never_a_drafted_one() -> None:
    assert [State((), 0, remaining).lookahead(3) for remaining in (1, 2, 3, 4, 5)] == [0, 1, 2, 3, 3]


# Whole outputs by hand.


ENDING = TableModel(10, lambda context: ExactLaw({0: Fraction(1)}, 10), EOS)


@dataclass(frozen=True)
class Says:
    """A decoder that says the same in every step and asks for nothing."""

    says: tuple[int, ...]
    target: LanguageModel = ENDING
    name: str = "says"

    def step(self, state: State) -> Program[Step]:
        trials = (Trial(True, lambda: 1), Trial(False, lambda: 1))
        return Step(self.says, 2, trials)
        yield


def test_steps_are_strung_together_and_counted() -> None:
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    program = decode(Says((1, 2)), (5,), 3, lambda state, step: seen.append((state.tokens, step.emitted)))
    assert run_script(program, []) == Output((1, 2, 1), steps=2, drafted=4, accepted=2)
    assert seen == [((5,), (1, 2)), ((5, 1, 2), (1, 2))]


def test_eos_inside_a_step_ends_the_output() -> None:
    assert run_script(decode(Says((1, 9, 2)), (), 10), []) == Output((1, 9), steps=1, drafted=2, accepted=1)


def test_eos_in_the_prompt_does_not_end_the_output() -> None:
    assert run_script(decode(Says((1,)), (9,), 2), []).tokens == (1, 1)


# Lookahead.


@pytest.mark.parametrize("lookahead", [0, -1, 1.5])
def test_lookahead_is_a_whole_number_of_at_least_one(lookahead: Any) -> None:
    with pytest.raises(DecoderError, match="lookahead must be"):
        check_lookahead(lookahead)
    with pytest.raises(DecoderError, match="lookahead must be"):
        FixedLookahead(lookahead)
    with pytest.raises(DecoderError, match="lookahead must be"):
        StopAtLength(2, lookahead)
    check_lookahead(1)


@pytest.mark.parametrize("lookahead", [0, -1])
@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder_refuses_a_lookahead_below_one(toys: Any, name: str, lookahead: int) -> None:
    with pytest.raises(DecoderError, match="lookahead must be"):
        toys.decoder(name, 1, lookahead)


# Every decoder, on scripts.


def assert_a_run_is_right(toys: Any, decoder: Any, script: list[float], limit: int) -> None:
    coins = toys.Cycle(script)
    output = sample(decode(decoder, (0,), limit), coins)
    assert 1 <= len(output.tokens) <= limit
    assert len(output.tokens) == limit or output.tokens[-1] in decoder.target.eos
    assert not set(output.tokens[:-1]) & decoder.target.eos
    [laws] = decoder.target.laws([((0,), output.tokens[:-1])])
    assert all(law[token] > 0 for law, token in zip(laws, output.tokens, strict=True))
    assert run_script(decode(decoder, (0,), limit), coins.tossed) == output


@pytest.mark.parametrize("in_floats", [False, True], ids=["fractions", "floats"])
@pytest.mark.parametrize("name", DECODERS)
def test_every_script_gives_possible_tokens_ends_and_replays(toys: Any, name: str, in_floats: bool) -> None:
    @given(script=toys.scripts, seed=st.integers(0, 10**4), lookahead=st.integers(1, 3), limit=st.integers(1, 5))
    def holds(script: list[float], seed: int, lookahead: int, limit: int) -> None:
        assert_a_run_is_right(toys, toys.decoder(name, seed, lookahead, in_floats), script, limit)

    holds()


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("in_floats", [False, True], ids=["fractions", "floats"])
@pytest.mark.parametrize("name", DECODERS)
def test_extreme_coins_alone_give_possible_tokens(toys: Any, name: str, in_floats: bool, uniform: float) -> None:
    for seed in range(12):
        assert_a_run_is_right(toys, toys.decoder(name, seed, 2, in_floats), [uniform], 4)


@pytest.mark.parametrize("name", DECODERS)
def test_random_float_runs_emit_ids_of_the_target(toys: Any, name: str) -> None:
    for seed in range(6):
        decoder = toys.decoder(name, seed, 3, in_floats=True)
        outputs = sample_batch(
            [decode(decoder, (), 6) for _ in range(20)], [RandomCoins(seed, stream) for stream in range(20)]
        )
        for output in outputs:
            assert all(0 <= token < decoder.target.size for token in output.tokens)
            assert 0 <= output.accepted <= output.drafted
            [laws] = decoder.target.laws([((), output.tokens[:-1])])
            assert all(law[token] > 0 for law, token in zip(laws, output.tokens, strict=True))


@pytest.mark.parametrize("name", DECODERS)
def test_float_runs_take_the_same_way_as_exact_ones(toys: Any, name: str) -> None:
    same = sum(
        sample(decode(toys.decoder(name, seed, 2), (), 4), RandomCoins(5, seed))
        == sample(decode(toys.decoder(name, seed, 2, in_floats=True), (), 4), RandomCoins(5, seed))
        for seed in range(25)
    )
    assert same == 25


@pytest.mark.parametrize("name", DECODERS)
def test_the_acceptance_rates_of_trials_are_right_on_average(toys: Any, name: str) -> None:
    """Trials of a step accept, in expectation, as often as their rates say."""
    for seed in range(8):
        decoder = toys.decoder(name, seed, 2)

        def program(decoder: Any = decoder) -> Program[tuple[tuple[bool, Fraction], ...]]:
            step: Step = yield from decoder.step(State((0,), 0, 3))
            return tuple((trial.accepted, trial.rate()) for trial in step.trials)

        law = law_of(program)
        accepted = sum(mass * sum(one for one, _ in trials) for trials, mass in law.items())
        assert accepted == sum(mass * sum(rate for _, rate in trials) for trials, mass in law.items())


@pytest.mark.parametrize("name", DECODERS)
def test_no_step_commits_more_than_one_token_beyond_its_draft(toys: Any, name: str) -> None:
    for seed in range(6):
        steps: list[tuple[State, Step]] = []
        decoder = toys.decoder(name, seed, 2)

        def note(state: State, step: Step, steps: list[tuple[State, Step]] = steps) -> None:
            steps.append((state, step))

        sample(decode(decoder, (), 6, note), RandomCoins(seed))
        for state, step in steps:
            assert 1 <= len(step.emitted) <= step.drafted + 1
            assert len(step.emitted) <= state.remaining or name == "slrs"
            assert step.memory is None


# The comparison itself can fail.


@dataclass(frozen=True)
class AcceptsAll(SpeculativeSampling):
    """Wrong: it keeps whatever is drafted."""

    def ratios(self, drafted: Any, draft_laws: Any, target_laws: Any) -> tuple[Fraction, ...]:
        return (Fraction(1),) * len(drafted)


def test_a_decoder_that_accepts_everything_is_told_apart(toys: Any) -> None:
    target = explicit({}, 2, otherwise={0: Fraction(1, 4), 1: Fraction(3, 4)})
    drafter = explicit({}, 2, otherwise={0: Fraction(1, 2), 1: Fraction(1, 2)})
    wrong = AcceptsAll(target, drafter, 1)
    assert total_variation(output_law(wrong, (), 2), output_law(Autoregressive(target), (), 2)) == Fraction(1, 4)
    with pytest.raises(AssertionError):
        toys.assert_lossless(wrong, 2)
