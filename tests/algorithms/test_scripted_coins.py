"""Coins under control: whatever the uniforms, every decoder stays within the target's support, ends, and is sane.

Coins are aimed: each toss is 0, the largest uniform, or a threshold of the request at hand (a running sum of the law, a
probability to accept) or a neighbour of it. Every run is then replayed as a script of the uniforms that it used.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from draftproof.algorithms import drivers
from draftproof.algorithms.decoding import Decoder, Output, State, Step, decode
from draftproof.algorithms.drivers import run_script, sample, without_residuals
from draftproof.algorithms.interfaces import LanguageModel, Query, WrappedModel
from draftproof.algorithms.laws import Law, LawError, Mass
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.models.transformers import TransformersModel
from draftproof.algorithms.models.zoo import ModelError
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.exact import answered

NAMES = ("speculative-sampling", "tli", "union", "slem", "slrs")
EACH = pytest.mark.parametrize("name", NAMES)
LAST = 1 - 2**-53
TRIALS = 6
LIMIT = 6


@pytest.fixture(autouse=True, scope="module")
def few_trials() -> Iterator[None]:
    """Constant coins would fail a thousand times in the rejection loop before the table is walked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drivers, "RESIDUAL_TRIALS", TRIALS)
        yield


# Aimed coins.

AIMS = ("zero", "last", "at", "below", "above")
aims = st.lists(st.tuples(st.sampled_from(AIMS), st.integers(0, 7)), min_size=1, max_size=10)
Aims = Sequence[tuple[str, int]]


@dataclass
class Aimed:
    """Coins aimed at the thresholds of the request at hand, by a list of aims that repeats."""

    aims: Aims
    thresholds: list[float] = field(default_factory=list)
    tossed: list[float] = field(default_factory=list)

    def toss(self) -> float:
        aim, index = self.aims[len(self.tossed) % len(self.aims)]
        threshold = self.thresholds[index % len(self.thresholds)]
        uniform = {
            "zero": 0.0,
            "last": LAST,
            "at": threshold,
            "below": math.nextafter(threshold, -1),
            "above": math.nextafter(threshold, 2),
        }[aim]
        self.tossed.append(min(max(uniform, 0.0), LAST))
        return self.tossed[-1]


def aimed(program: Program[Any], coins: Aimed) -> Program[Any]:
    """The same program, telling the coins where the thresholds of each request lie."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value
        match request:
            case Choose(law):
                coins.thresholds = [float(reached) for reached in accumulate(mass for _, mass in law.items())]
            case Accept(probabilities) if probabilities:
                coins.thresholds = [float(probability) for probability in probabilities]
        answer = yield request


def checked(program: Program[Any]) -> Program[Any]:
    """The same program, each of whose requests for chance is held to be one: no NaN, nothing negative, sums of 1."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value
        match request:
            case Choose(law):
                assert_law(law)
            case Accept(probabilities):
                assert all(0 <= probability <= 1 for probability in probabilities), probabilities
            case ChooseResidual(law, draft_mass):
                assert_law(law)
                masses = {token: answered(draft_mass(token)) for token in law.support()}
                assert all(mass >= 0 and math.isfinite(mass) for mass in masses.values()), masses
                left = [max(0, law[token] - mass) for token, mass in masses.items()]
                assert all(0 <= excess / sum(left) <= 1 for excess in left if sum(left))
        answer = yield request


def assert_law(law: Law) -> None:
    masses = [mass for _, mass in law.items()]
    assert masses
    assert all(math.isfinite(mass) and mass > 0 for mass in masses), masses
    assert abs(sum(masses) - 1) < 1e-9


@dataclass
class Run:
    """A run: its output, its coins, and each state with the step taken from it."""

    output: Output
    uniforms: tuple[float, ...]
    steps: list[tuple[State, Step]]


def run(decoder: Decoder, aiming: Aims, limit: int = LIMIT, prompt: tuple[int, ...] = (0,)) -> Run:
    coins = Aimed(aiming)
    steps: list[tuple[State, Step]] = []
    program = decode(decoder, prompt, limit, lambda state, step: steps.append((state, step)))
    output = sample(aimed(without_residuals(checked(program)), coins), coins)
    return Run(output, tuple(coins.tossed), steps)


def assert_sound(decoder: Decoder, aiming: Aims, lookahead: int, limit: int = LIMIT) -> Run:
    """Every property that holds for all coins; each assertion names the promise it holds."""
    prompt = (0,)
    seen = run(decoder, aiming, limit, prompt)
    tokens, target = seen.output.tokens, decoder.target

    # Emitted tokens lie in the target's support, given what was emitted before (SS-3).
    for place, token in enumerate(tokens):
        assert law_after(target, (*prompt, *tokens[:place]))[token] > 0

    # It ends: each step commits a token, nothing comes after EOS, and only EOS or the limit ends it.
    assert 1 <= seen.output.steps <= len(tokens) <= limit
    assert not any(token in target.eos for token in tokens[:-1])
    assert len(tokens) == limit or tokens[-1] in target.eos

    # What is committed is never rewritten.
    committed = [state.tokens for state, _ in seen.steps] + [prompt + tokens]
    assert committed[0] == prompt
    for before, after in pairwise(committed):
        assert len(after) > len(before)
        assert after[: len(before)] == before

    # Coins: one for each token drafted, drawn or tested, two for each try of the loop, the table walked at most once.
    most = sum(lookahead + step.drafted + 1 + 2 * TRIALS + target.size for _, step in seen.steps)
    assert len(seen.uniforms) <= most

    # A run is a function of its uniforms: the script driver gives the same.
    assert run_script(decode(decoder, prompt, limit), seen.uniforms) == seen.output
    return seen


def law_after(model: LanguageModel, context: tuple[int, ...]) -> Law:
    return model.laws([(context, ())])[0][0]


# Kinds of laws.


@dataclass(frozen=True)
class Nudged(WrappedModel):
    """The model's float laws with masses moved by an ulp up or down, or not at all, as a function of the context."""

    model: LanguageModel
    seed: int

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [
            [self._nudged(law, (*context, *drafted[:place])) for place, law in enumerate(laws)]
            for (context, drafted), laws in zip(queries, self.model.laws(queries), strict=True)
        ]

    def _nudged(self, law: Law, context: tuple[int, ...]) -> Law:
        assert isinstance(law, TensorLaw)
        dice = random.Random(f"{self.seed}/{context}")
        masses = [
            math.nextafter(mass, dice.choice((0, mass, 1))) if mass else mass for mass in law.probabilities.tolist()
        ]
        return TensorLaw(torch.tensor(masses, dtype=torch.float64))


def in_floats(toys: Any, toy: Any, seed: int) -> Any:
    return toys.floats(toy)


def equal(toys: Any, toy: Any, seed: int) -> Any:
    return replace(toys.floats(toy), drafter=toys.floats(toy).target)


def an_ulp_apart(toys: Any, toy: Any, seed: int) -> Any:
    target = toys.floats(toy).target
    return replace(toy, target=target, drafter=Nudged(target, seed))


def both_nudged(toys: Any, toy: Any, seed: int) -> Any:
    target = toys.floats(toy).target
    return replace(toy, target=Nudged(target, seed), drafter=Nudged(target, seed + 1))


def in_half_precision(toys: Any, toy: Any, seed: int) -> Any:
    return replace(toy, target=Halved(toys.floats(toy).target), drafter=Halved(toys.floats(toy).drafter))


@dataclass(frozen=True)
class Halved(WrappedModel):
    """The model's laws stored in bfloat16, renormalised."""

    model: LanguageModel

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [
            [TensorLaw.checked(law.probabilities.to(torch.bfloat16).double()) for law in laws]  # type: ignore[attr-defined]
            for laws in self.model.laws(queries)
        ]


KINDS: dict[str, Callable[[Any, Any, int], Any]] = {
    "in fractions": lambda toys, toy, seed: toy,
    "in floats": in_floats,
    "equal": equal,
    "an ulp apart": an_ulp_apart,
    "nudged both": both_nudged,
    "rounded to bfloat16": in_half_precision,
}


@EACH
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(aiming=aims, seed=st.integers(0, 40), lookahead=st.integers(1, 3))
def test_whatever_the_coins_a_decoder_is_sound(
    toys: Any, name: str, kind: str, aiming: Aims, seed: int, lookahead: int
) -> None:
    toy = KINDS[kind](toys, toys.common(seed), seed)
    assert_sound(toys.decoders[name](toy, lookahead), aiming, lookahead)


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize("floats", [False, True])
@given(aiming=aims, seed=st.integers(0, 40), lookahead=st.integers(1, 3))
def test_nor_do_two_vocabularies_matter(
    toys: Any, name: str, floats: bool, aiming: Aims, seed: int, lookahead: int
) -> None:
    toy = toys.floats(toys.toy(seed)) if floats else toys.toy(seed)
    # The prompt is an id of the target that is no EOS: id 0 may be, and then there is nothing to ask.
    if 0 not in toy.target.eos:
        assert_sound(toys.decoders[name](toy, lookahead), aiming, lookahead)


@EACH
@pytest.mark.parametrize("uniform", [0.0, 2**-53, 0.5, LAST])
@pytest.mark.parametrize("seed", range(6))
def test_coins_that_never_change(toys: Any, name: str, uniform: float, seed: int) -> None:
    decoder = toys.decoders[name](toys.floats(toys.common(seed)), 2)
    coins = toys.Cycle([uniform])
    output = sample(decode(decoder, (0,), LIMIT), coins)
    assert 1 <= len(output.tokens) <= LIMIT
    assert run_script(decode(decoder, (0,), LIMIT), coins.tossed) == output


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_the_aims_hit(toys: Any, name: str, kind: str) -> None:
    """Not vacuous: over the seeds, drafts are accepted and rejected, coins lie on thresholds, residuals are drawn."""
    accepted = rejected = ties = 0
    for seed in range(12):
        toy = KINDS[kind](toys, toys.common(seed), seed)
        for aiming in ([("at", 0)], [("zero", 0)], [("below", 1), ("at", 2)], [("below", 0), ("last", 0)]):
            seen = assert_sound(toys.decoders[name](toy, 2), aiming, 2)
            accepted += sum(trial.accepted for _, step in seen.steps for trial in step.trials)
            rejected += sum(not trial.accepted for _, step in seen.steps for trial in step.trials)
            ties += sum(0 < uniform < LAST for uniform in seen.uniforms)
    assert accepted > 10
    assert ties > 10
    # Of laws that are equal or an ulp apart no coin but the largest can reject.
    assert rejected > 10 or kind in ("equal", "an ulp apart", "nudged both")


# Equal laws.


@pytest.mark.parametrize("name", ["speculative-sampling", "tli", "union"])
@given(aiming=aims, seed=st.integers(0, 40))
def test_equal_laws_reject_nothing(toys: Any, name: str, aiming: Aims, seed: int) -> None:
    toy = equal(toys, toys.common(seed), seed)
    seen = run(toys.decoders[name](toy, 3), aiming)
    assert all(trial.accepted for _, step in seen.steps for trial in step.trials)


# A smaller limit: what the text promises is that drafts are cut to what the limit can use, and nothing else changes.


@EACH
@pytest.mark.parametrize("floats", [False, True])
@given(aiming=aims, seed=st.integers(0, 40), limit=st.integers(1, 5), lookahead=st.integers(1, 3))
def test_a_smaller_limit_changes_nothing_before_it_cuts_a_draft(
    toys: Any, name: str, floats: bool, aiming: Aims, seed: int, limit: int, lookahead: int
) -> None:
    toy = toys.floats(toys.common(seed)) if floats else toys.common(seed)
    compare_limits(toys.decoders[name](toy, lookahead), aiming, limit)


def compare_limits(decoder: Decoder, aiming: Aims, limit: int) -> None:
    """Steps agree until one of the smaller run could not draft as it liked, and the outputs as far as they go."""
    short, long = run(decoder, aiming, limit), run(decoder, aiming, limit + 3)
    free = list(takewhile(lambda taken: taken[1].drafted < taken[0].remaining - 1, short.steps))
    assert [step.emitted for _, step in free] == [step.emitted for _, step in long.steps[: len(free)]]
    known = sum(len(step.emitted) for _, step in free)
    agreed = min(known, limit)
    assert short.output.tokens[:agreed] == long.output.tokens[:agreed]


def test_slrs_gives_the_same_output_but_for_its_last_token(toys: Any) -> None:
    """One token a step, and only the last is not drafted: so a longer run repeats all but the last of a shorter."""
    for seed in range(20):
        decoder = toys.decoders["slrs"](toys.common(seed), 2)
        for aiming in ([("at", 1), ("below", 0)], [("above", 0)], [("below", 3), ("zero", 0), ("at", 2)]):
            outputs = [run(decoder, aiming, limit).output.tokens for limit in range(1, 6)]
            for short, long in pairwise(outputs):
                assert long[: len(short) - 1] == short[:-1]


# Each property fails for a decoder that lacks it.


class AcceptsAll(SpeculativeSampling):
    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return (1,) * len(drafted)


class DividesZeroByZero(SpeculativeSampling):
    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return (math.nan,) * len(drafted)


class WastesCoins(SpeculativeSampling):
    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        for _ in range(100):
            yield Choose(target_laws[-1])
        return (yield from super().bonus(target_laws))


class LooksAtTheLimit(SpeculativeSampling):
    def step(self, state: State) -> Program[Step]:
        if state.remaining % 2:
            yield Choose(law_after(self.target, state.tokens))
        return (yield from super().step(state))


class Unnormalised(SpeculativeSampling):
    def propose(self, draft_law: Law) -> Program[int]:
        assert isinstance(draft_law, TensorLaw)
        token: int = yield Choose(TensorLaw(draft_law.probabilities / 2))
        return token


EVERY_AIM = [[(aim, index)] for aim in AIMS for index in range(3)] + [[("below", 0), ("last", 0), ("at", 1)]]


@pytest.mark.parametrize("wrong", [AcceptsAll, DividesZeroByZero, WastesCoins, Unnormalised])
def test_an_unsound_decoder_is_seen(toys: Any, wrong: type[SpeculativeSampling]) -> None:
    def run_all(build: type[SpeculativeSampling]) -> None:
        for seed in range(8):
            toy = toys.floats(toys.common(seed))
            for aiming in EVERY_AIM:
                assert_sound(build(toy.target, toy.drafter, 2), aiming, 2)

    run_all(SpeculativeSampling)
    with pytest.raises(AssertionError):
        run_all(wrong)


def test_a_decoder_that_looks_at_the_limit_is_seen(toys: Any) -> None:
    def run_all(build: type[SpeculativeSampling]) -> None:
        for seed in range(20):
            toy = toys.common(seed)
            for aiming in EVERY_AIM:
                compare_limits(build(toy.target, toy.drafter, 1), aiming, 5)

    run_all(SpeculativeSampling)
    with pytest.raises(AssertionError):
        run_all(LooksAtTheLimit)


# Models whose logits are -inf or NaN.

LETTERS = ToyTokenizer((*"abcdefgh", None))
MASKED = (1, 4, 7)


def letters_model(seed: int, spoil: Callable[[torch.Tensor], None] = lambda logits: None) -> TransformersModel:
    """A tiny model over eight letters and EOS; `spoil` changes its logits, shape (rows, columns, 9), in place."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=9,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.5,
        eos_token_id=8,
    )
    model = LlamaForCausalLM(config)

    def hook(module: Any, arguments: Any, output: Any) -> Any:
        spoil(output.logits)
        return output

    model.register_forward_hook(hook)
    return TransformersModel(model, name=f"letters {seed}")


def masked(logits: torch.Tensor) -> None:
    logits[..., MASKED] = -math.inf


def letters_toy(toys: Any, target: TransformersModel, drafter: TransformersModel) -> Any:
    return replace(toys.common(1), target=target, tokenizer=LETTERS, drafter=drafter, draft_tokenizer=LETTERS)


@EACH
@settings(max_examples=12)
@given(aiming=aims)
def test_logits_of_minus_infinity_are_never_tokens(toys: Any, name: str, aiming: Aims) -> None:
    toy = letters_toy(toys, letters_model(0, masked), letters_model(1))
    lookahead = 1 if name == "slrs" else 2
    output = run(toys.decoders[name](toy, lookahead), aiming).output
    assert not set(output.tokens) & set(MASKED)


def spoiled_after(calls: int, value: float) -> Callable[[torch.Tensor], None]:
    """Spoils one logit of every forward pass but the first `calls`."""
    seen = 0

    def spoil(logits: torch.Tensor) -> None:
        nonlocal seen
        seen += 1
        banned(logits)
        if seen > calls:
            logits[..., 3] = value

    return spoil


@EACH
@pytest.mark.parametrize("who", ["target", "drafter"])
@pytest.mark.parametrize("calls", [0, 2])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_an_error_and_never_a_token(
    toys: Any, name: str, who: str, calls: int, value: float
) -> None:
    models = {"target": letters_model(0, banned), "drafter": letters_model(1, banned)}
    models[who] = letters_model(2, spoiled_after(calls, value))
    toy = letters_toy(toys, **models)
    steps: list[Step] = []
    program = decode(toys.decoders[name](toy, 1), (0,), 12, lambda _, step: steps.append(step))
    with pytest.raises(ModelError, match=r"letters 2 gave (NaN|\+inf) among its logits after \d+ tokens"):
        sample(program, toys.Cycle([0.3, 0.6]))
    assert (len(steps) == 0) == (calls == 0)


def banned(logits: torch.Tensor) -> None:
    """No EOS: the output is long enough to reach the spoiled pass."""
    logits[..., 8] = -math.inf


NOT_A_LAW = ([0.5, math.nan, 0.5], [math.nan, 0.5, 0.5], [0.5, 0.5, math.nan])


def of_floats(masses: Sequence[float]) -> Any:
    """A model of one's own that hands out these masses as a law, unchecked."""

    @dataclass(frozen=True)
    class Broken(WrappedModel):
        model: LanguageModel

        def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
            law = TensorLaw(torch.tensor(masses, dtype=torch.float64))
            return [[law] * (len(drafted) + 1) for _, drafted in queries]

    return Broken


@pytest.mark.parametrize(
    ("name", "who"),
    [(name, who) for name in NAMES for who in ("target", "drafter")],
)
def test_a_law_with_a_nan_is_an_error_and_never_a_token(toys: Any, name: str, who: str) -> None:
    toy = toys.floats(toys.common(0))  # three letters, no EOS
    for masses in NOT_A_LAW:
        broken = replace(toy, **{who: of_floats(masses)(getattr(toy, who))})
        for uniform in (0.0, 0.3, 0.9):
            with pytest.raises((LawError, ModelError)):
                sample(decode(toys.decoders[name](broken, 1), (0,), 3), toys.Cycle([uniform]))


def test_equal_laws_in_fractions_have_no_residual_to_draw(toys: Any) -> None:
    law = TableModel(2, lambda context: toys.exact("1/3", "2/3"))
    decoder = SpeculativeSampling(law, law, 3)
    for aiming in EVERY_AIM:
        seen = assert_sound(decoder, aiming, 3)
        assert seen.output.accepted == seen.output.drafted
        assert Fraction(seen.output.steps) == 2  # 3 + 1 tokens, then 1 + 1
