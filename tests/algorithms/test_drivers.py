"""The sample driver: strict coins, scripts, batches, and the rejection loop."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms import drivers
from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import (
    RandomCoins,
    Script,
    ScriptEnded,
    rejection_loop,
    residual_by_table,
    run_script,
    sample,
    sample_batch,
    without_residuals,
)
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, Together, mass_in
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.exact import law_of

LAST = 1 - 2**-53
HALF = Fraction(1, 2)


def accept(*probabilities: Any) -> Program[Any]:
    return (yield Accept(probabilities))


def choose(law: Law) -> Program[Any]:
    return (yield Choose(law))


def choose_residual(request: ChooseResidual) -> Program[Any]:
    return (yield request)


@pytest.fixture
def few_trials() -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drivers, "RESIDUAL_TRIALS", 3)
        yield 3


# Coins.


@pytest.mark.parametrize(
    ("coin", "probability", "succeeds"),
    [
        (0.0, 0, False),
        (0.0, 0.0, False),
        (0.0, Fraction(0), False),
        (0.0, 5e-324, True),
        (0.5, 0.5, False),
        (0.5, HALF, False),
        (math.nextafter(0.5, 0), 0.5, True),
        (0.5, math.nextafter(0.5, 1), True),
        (LAST, 1, True),
        (LAST, LAST, False),
        (1 / 3, Fraction(1, 3), True),  # the float lies below the fraction
    ],
)
def test_a_coin_succeeds_strictly_below_its_probability(coin: float, probability: Any, succeeds: bool) -> None:
    assert run_script(accept(probability), [coin]) == int(succeeds)


def test_coins_are_tossed_until_the_first_failure() -> None:
    script = Script([0.1, 0.6, 0.0])
    assert sample(accept(0.5, 0.5, 0.5), script) == 1
    assert script.used == 2
    assert run_script(accept(0.5, 0.5), [0.4, 0.4]) == 2
    assert run_script(accept(), []) == 0


def test_a_draw_is_the_quantile_of_one_coin() -> None:
    law = ExactLaw({1: HALF, 3: HALF}, 5)
    assert [run_script(choose(law), [coin]) for coin in (0, 0.25, 0.5, LAST)] == [1, 1, 3, 3]


def test_a_script_that_ends_says_so() -> None:
    with pytest.raises(ScriptEnded, match="more than 1 uniforms"):
        run_script(accept(1, 1), [0.5])


@pytest.mark.parametrize("uniform", [1.0, -1e-300, math.nan, math.inf])
def test_a_script_holds_uniforms_only(uniform: float) -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        Script([0.5, uniform])


def test_random_coins_are_uniforms_that_depend_on_seed_and_stream_alone() -> None:
    def tosses(*key: int) -> list[float]:
        coins = RandomCoins(*key)
        return [coins.toss() for _ in range(200)]

    assert tosses(7, 1, 2) == tosses(7, 1, 2)
    streams = [tosses(7), tosses(7, 0), tosses(7, 1), tosses(7, 0, 1), tosses(7, 1, 0), tosses(8)]
    assert len({toss for stream in streams for toss in stream}) == 200 * len(streams)
    assert all(0 <= toss < 1 for stream in streams for toss in stream)
    assert all(0.4 < sum(stream) / 200 < 0.6 for stream in streams)


def test_what_is_no_request_is_refused() -> None:
    def program() -> Program[None]:
        yield "a coin, please"  # type: ignore[misc]

    with pytest.raises(TypeError, match="is no request"):
        sample(program(), Script([]))


# Batches.


def ask(model: Any, *contexts: tuple[int, ...]) -> Program[list[int]]:
    """Asks for one law after another and draws from each."""
    drawn = []
    for context in contexts:
        [law] = yield Laws(model, context)
        drawn.append((yield Choose(law)))
    return drawn


def test_all_pending_requests_of_a_batch_are_one_call_and_equal_queries_are_asked_once(toys: Any) -> None:
    model = toys.Counting(toys.model("batch", 3, ()))
    programs = [ask(model, (0,), (0, 1)), ask(model, (0,)), ask(model, (1,), (2,), (0,))]
    results = sample_batch(programs, [Script([0.1] * 3) for _ in programs])
    assert model.calls == [
        (((0,), ()), ((1,), ())),
        (((0, 1), ()), ((2,), ())),
        (((0,), ()),),
    ]
    assert [len(result) for result in results] == [2, 1, 3]
    assert results[0][0] == results[1][0] == results[2][2]


def test_models_are_called_apart(toys: Any) -> None:
    one, other = (toys.Counting(toys.model(name, 3, ())) for name in ("one", "other"))
    sample_batch([ask(one, (0,)), ask(other, (0,)), ask(one, (0,))], [Script([0.5]) for _ in range(3)])
    assert one.calls == other.calls == [(((0,), ()),)]


def test_requests_put_together_are_one_call_answered_in_order(toys: Any) -> None:
    model = toys.Counting(toys.model("together", 3, ()))

    def program() -> Program[Any]:
        nothing = yield Together(())
        return nothing, (yield Together((Laws(model, (1,)), Laws(model, (0,), (2,)), Laws(model, (1,)))))

    def alone() -> Program[Any]:
        return (yield Laws(model, (1,)))

    (nothing, [first, second, third]), single = sample_batch([program(), alone()], [Script([]), Script([])])
    assert nothing == []
    assert first == third == single == model.model.laws([((1,), ())])[0]
    assert second == model.model.laws([((0,), (2,))])[0]
    assert model.calls[0] == (((1,), ()),)
    assert model.calls[1] == (((1,), ()), ((0,), (2,)))


def test_an_empty_batch_is_done() -> None:
    assert sample_batch([], []) == []


def test_each_program_needs_coins_of_its_own() -> None:
    with pytest.raises(ValueError, match="shorter"):
        sample_batch([accept(1), accept(1)], [Script([0.5])])


@pytest.mark.parametrize("name", ["speculative-sampling", "tli", "union", "slem", "slrs"])
@pytest.mark.parametrize("in_floats", [False, True])
def test_a_batch_emits_what_its_programs_emit_alone(toys: Any, name: str, in_floats: bool) -> None:
    decoders = [toys.decoder(name, seed, lookahead, in_floats) for seed in range(3) for lookahead in (1, 3)]

    def programs() -> list[Program[Any]]:
        return [decode(decoder, (), 5) for decoder in decoders for _ in range(3)]

    coins = [RandomCoins(1, stream) for stream in range(len(programs()))]
    together = sample_batch(programs(), coins)
    alone = [sample(program, RandomCoins(1, stream)) for stream, program in enumerate(programs())]
    assert together == alone
    assert len(set(together)) > 1


# The rejection loop.


def trials(program: Program[int]) -> Program[tuple[int, int, bool]]:
    """The program's draw, with how many draws from the law were tried and whether the table was walked."""
    tries = coins = 0
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value, tries, coins > tries
        tries += isinstance(request, Choose)
        coins += isinstance(request, Accept)
        answer = yield request


TARGET = ExactLaw({0: Fraction(1, 2), 1: Fraction(1, 3), 2: Fraction(1, 6)}, 4)
DRAFT = ExactLaw({0: Fraction(1, 4), 2: Fraction(1, 2), 3: Fraction(1, 4)}, 4)
# The residual by hand: (1/4, 1/3, 0, 0), of mass 7/12.


def test_the_nth_trial_keeps_a_token_with_its_excess_times_the_mass_of_n_failures(few_trials: int) -> None:
    law = law_of(lambda: trials(rejection_loop(ChooseResidual(TARGET, mass_in(DRAFT)))))
    rejected = Fraction(7, 12)  # P(a trial keeps its token) = P(reject)
    for trial in range(1, few_trials + 1):
        assert law[0, trial, False] == Fraction(1, 4) * (1 - rejected) ** (trial - 1)
        assert law[1, trial, False] == Fraction(1, 3) * (1 - rejected) ** (trial - 1)
    # What is left goes by the table, in the same proportions: so does the whole, for any number of trials.
    assert law[0, few_trials, True] == Fraction(3, 7) * (1 - rejected) ** few_trials
    assert law[1, few_trials, True] == Fraction(4, 7) * (1 - rejected) ** few_trials
    assert sum(law.values()) == 1


def random_law(toys: Any, seed: int) -> ExactLaw:
    [[law]] = toys.model("residual", 4, ()).laws([((seed,), ())])
    assert isinstance(law, ExactLaw)
    return law


@pytest.mark.parametrize(
    "draw", [rejection_loop, residual_by_table, lambda request: without_residuals(choose_residual(request))]
)
def test_loop_and_table_have_the_residuals_law(few_trials: int, toys: Any, draw: Callable[[Any], Program[int]]) -> None:
    for seed in range(0, 60, 2):
        law, draft = random_law(toys, seed), random_law(toys, seed + 1)
        residual = law.residual(draft)
        expected = dict((law if residual.empty else residual).items())
        request = ChooseResidual(law, mass_in(draft))
        assert law_of(lambda request=request: draw(request)) == expected  # type: ignore[misc]
        assert law_of(lambda request=request: choose_residual(request)) == expected  # type: ignore[misc]


def test_at_most_one_trial_per_step_is_expected(toys: Any) -> None:
    """P(reject) times the expected number of trials is 1 (or 0): SLRS-6, here with the loop cut at n trials."""
    for seed in range(0, 40, 2):
        law, draft = random_law(toys, seed), random_law(toys, seed + 1)
        rejected = 1 - law.overlap(draft)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drivers, "RESIDUAL_TRIALS", 4)
            tried = law_of(lambda law=law, draft=draft: trials(rejection_loop(ChooseResidual(law, mass_in(draft)))))  # type: ignore[misc]
        expected = sum(mass * tries for (_, tries, _), mass in tried.items())
        assert rejected * expected == (1 - (1 - rejected) ** 4 if rejected else 0)


def test_the_chain_of_coins_draws_from_a_table_of_three() -> None:
    law = ExactLaw({token: Fraction(1, 4) for token in range(4)}, 4)
    draft = ExactLaw({3: Fraction(1)}, 4)
    request = ChooseResidual(law, mass_in(draft))
    assert law_of(lambda: residual_by_table(request)) == dict.fromkeys(range(3), Fraction(1, 3))


def test_a_script_reaches_the_table(few_trials: int) -> None:
    # Three times token 2, whose mass is all drafted: never kept. Then the chain 3/7, 1: fail, succeed.
    request = ChooseResidual(TARGET, mass_in(DRAFT))
    coins = Script([LAST, 0.0] * few_trials + [0.5, 0.0])
    assert sample(rejection_loop(request), coins) == 1
    assert coins.used == 2 * few_trials + 2
    assert run_script(rejection_loop(request), [LAST, 0.0] * few_trials + [0.25]) == 0
    assert run_script(rejection_loop(request), [LAST, 0.0] * few_trials + [0.5, LAST]) == 1


@pytest.mark.parametrize("uniform", [0.0, 0.3, LAST])
def test_a_thousand_failures_are_the_end_of_the_loop(toys: Any, uniform: float) -> None:
    coins = toys.Cycle([uniform])
    assert TARGET.residual(DRAFT)[sample(choose_residual(ChooseResidual(TARGET, mass_in(DRAFT))), coins)] > 0
    assert len(coins.tossed) <= 2 * drivers.RESIDUAL_TRIALS + 3


def test_draft_masses_are_asked_only_of_tokens_that_are_tried() -> None:
    asked = []

    def draft_mass(token: int) -> Program[Fraction]:
        asked.append(token)
        return DRAFT[token]
        yield

    assert run_script(rejection_loop(ChooseResidual(TARGET, draft_mass)), [0.6, 0.0]) == 1
    assert asked == [1]


FLOATS = st.lists(st.floats(1e-6, 1) | st.just(0.0), min_size=2, max_size=5).filter(any)


@given(weights=FLOATS, script=st.lists(st.sampled_from([0.0, 0.3, 0.7, LAST]), min_size=1, max_size=5), data=st.data())
def test_laws_that_differ_by_an_ulp_give_no_nan_and_no_endless_loop(
    toys: Any, weights: list[float], script: list[float], data: st.DataObject
) -> None:
    law = TensorLaw.checked(torch.tensor(weights, dtype=torch.float64))
    ulps = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(weights), max_size=len(weights)))
    nudged = [
        math.nextafter(mass, 2 * ulp) if ulp and mass else mass
        for mass, ulp in zip(law.probabilities.tolist(), ulps, strict=True)
    ]
    draft = TensorLaw(torch.tensor(nudged, dtype=torch.float64))
    assert not bool(law.residual(draft).probabilities.isnan().any())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drivers, "RESIDUAL_TRIALS", 20)
        for request in (ChooseResidual(law, mass_in(draft)), ChooseResidual(law, mass_in(law))):
            assert law[sample(choose_residual(request), toys.Cycle(script))] > 0


@given(weights=FLOATS, script=st.lists(st.sampled_from([0.0, 0.3, 0.7, LAST]), min_size=1, max_size=6), data=st.data())
def test_the_table_of_float_laws_draws_positive_excess_only(
    toys: Any, weights: list[float], script: list[float], data: st.DataObject
) -> None:
    law = TensorLaw.checked(torch.tensor(weights, dtype=torch.float64))
    others = data.draw(st.lists(st.floats(0, 1), min_size=len(weights), max_size=len(weights)).filter(any))
    draft = TensorLaw.checked(torch.tensor(others, dtype=torch.float64))
    token = sample(residual_by_table(ChooseResidual(law, mass_in(draft))), toys.Cycle(script))
    if any(law[other] > draft[other] for other in range(law.size)):
        assert law[token] > draft[token]
    else:
        assert law[token] > 0
