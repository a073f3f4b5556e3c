"""Replays: the same uniforms find a mixed dtype within a few drafts, where counting the same tokens sees nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from draftproof.algorithms.decoding import Decoder, DecoderError, decode
from draftproof.algorithms.drivers import RandomCoins, Script, sample
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.processors import Remembered
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.corpora.prompts import prompts
from draftproof.verify.numerics.precision import InPrecision, stored
from draftproof.verify.numerics.replay import (
    ACCEPTANCE,
    DRAFT,
    END,
    STEP,
    TOKEN,
    UNIFORM,
    Event,
    Recording,
    record,
    replay,
)
from draftproof.verify.pairs import ZOO, Library, with_prompt
from draftproof.verify.settings import Setting

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
A, B = 0, 1
TARGET = explicit({(): {A: QUARTER, B: 3 * QUARTER}, (A,): {A: Fraction(1)}, (B,): {B: Fraction(1)}}, 2)
DRAFTER = explicit({}, 2, otherwise={A: HALF, B: HALF})
RIGHT = SpeculativeSampling(TARGET, DRAFTER, 1)


class DraftsInBfloat16(SpeculativeSampling):
    """Drafts are drawn from the law in bfloat16; ratio and residual use it as declared."""

    def propose(self, draft_law: Law) -> Program[int]:
        token: int = yield Choose(stored(draft_law, torch.bfloat16))
        return token


class AcceptsMore(SpeculativeSampling):
    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return tuple(min(1, ratio * 2) for ratio in super().ratios(drafted, draft_laws, target_laws))


class AcceptsAll(SpeculativeSampling):
    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return (1,) * len(drafted)


class RecoversFromTarget(SpeculativeSampling):
    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        token: int = yield Choose(target_laws[position])
        return token


class BonusIsArgmax(SpeculativeSampling):
    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        return target_laws[-1].argmax()
        yield


# By hand.


def test_a_recording_by_hand() -> None:
    # Draft a, reject it (coin 1/2 against 1/2); the residual is all b (one trial: draw b, keep it). Then b, undrafted.
    recording = record(RIGHT, (), 2, Script([0.1, 0.5, 0.9, 0.1, 0.3]))
    assert recording.uniforms == (0.1, 0.5, 0.9, 0.1, 0.3)
    assert recording.events == (
        Event(DRAFT, 0, A),
        Event(ACCEPTANCE, 0, 0),
        Event(TOKEN, 0, B),
        Event(STEP, 0, (B,)),
        Event(ACCEPTANCE, 1, 0),
        Event(TOKEN, 1, B),
        Event(STEP, 1, (B,)),
        Event(END, 2, 5),
    )
    assert recording.tokens == 2
    assert replay(RIGHT, recording).same
    assert str(replay(RIGHT, recording)) == "same, up to draft 1, acceptance 2, token 2, step 2"


def first_difference(decoder: Decoder, uniforms: Iterable[float], tokens: int = 2) -> str:
    """Records the decoder on these uniforms and replays the right one."""
    return str(replay(RIGHT, record(decoder, (), tokens, Script(uniforms))))


def test_a_draft_from_another_law() -> None:
    other = SpeculativeSampling(TARGET, explicit({}, 2, otherwise={A: QUARTER, B: 3 * QUARTER}), 1)
    assert first_difference(other, [0.3, 0.0, 0.0]) == (
        "differs at draft 1: the recording drafts 1, the declared decoder drafts 0 (position 0)"
    )


def test_another_acceptance() -> None:
    assert first_difference(AcceptsMore(TARGET, DRAFTER, 1), [0.1, 0.7, 0.0]) == (
        "differs at acceptance 1: the recording accepts 1 drafted, the declared decoder accepts 0 drafted (position 0)"
    )


def test_another_recovered_token() -> None:
    assert first_difference(RecoversFromTarget(TARGET, DRAFTER, 1), [0.1, 0.6, 0.1, 0.0]) == (
        "differs at uniform 5: the recording draws 0, the declared decoder wants uniform 5 (position 0)"
    )


def test_another_bonus() -> None:
    target, drafter = (explicit({}, 2, otherwise={A: QUARTER, B: 3 * QUARTER}) for _ in range(2))
    declared = SpeculativeSampling(target, drafter, 1)
    recording = record(BonusIsArgmax(target, drafter, 1), (), 2, Script([0.9, 0.0]))
    assert recording.events[-2] == Event(STEP, 0, (B, B))
    longer = replace(recording, uniforms=(*recording.uniforms, 0.0))
    assert str(replay(declared, longer)) == (
        "differs at token 1: the recording emits (1, 1), the declared decoder draws 0 (position 1)"
    )


def test_an_end_elsewhere() -> None:
    recording = record(RIGHT, (), 2, Script([0.9, 0.0, 0.0]))
    assert str(replay(RIGHT, replace(recording, uniforms=(0.9, 0.0)))) == (
        "differs at uniform 3: the recording draws 1, the declared decoder wants uniform 3 (position 1)"
    )
    longer = replace(recording, uniforms=(0.9, 0.0, 0.0, 0.5), events=(*recording.events[:-1], Event(END, 2, 4)))
    assert str(replay(RIGHT, longer)) == (
        "differs at end 1: the recording ends after 4 uniforms, the declared decoder ends after 3 uniforms (position 2)"
    )
    assert replay(RIGHT, replace(recording, uniforms=())).difference.replayed.kind == UNIFORM  # type: ignore[union-attr]


def test_there_must_be_something_to_record() -> None:
    with pytest.raises(DecoderError, match="at least 1"):
        record(RIGHT, (), 0, Script([]))


# On toys: every decoder agrees with itself.


@pytest.mark.parametrize("name", ["speculative-sampling", "tli", "union", "slem", "slrs"])
@pytest.mark.parametrize("in_floats", [False, True])
def test_a_decoder_replays_itself_and_records_what_it_decodes(toys: Any, name: str, in_floats: bool) -> None:
    events = 0
    for seed in range(10):
        decoder = toys.decoder(name, seed, 2, in_floats)
        recording = record(decoder, (), 6, RandomCoins(seed))
        again = replay(decoder, recording)
        assert again.same, again
        emitted = [token for event in recording.events if event.kind == STEP for token in event.answer]
        assert tuple(emitted[: recording.tokens]) == sample(decode(decoder, (), 6), RandomCoins(seed)).tokens
        assert recording.events[-1] == Event(END, recording.tokens, len(recording.uniforms))
        events += len(recording.events)
    assert events > 50


@pytest.mark.parametrize("name", ["tli", "union", "slem", "slrs"])
def test_another_draft_law_shows_in_the_drafts(toys: Any, name: str) -> None:
    kinds = set()
    for seed in range(30):
        toy = toys.toy(seed)
        other = replace(toy, drafter=toys.model(f"other {seed}", toy.drafter.size, toy.drafter.eos))
        found = replay(toys.decoders[name](toy, 2), record(toys.decoders[name](other, 2), (), 6, RandomCoins(seed)))
        if found.difference:
            kinds.add(found.difference.replayed.kind)
    assert DRAFT in kinds


# Bfloat16 drafts behind a float32 declaration, on a pair of the zoo.

TOKENS = 48


@pytest.fixture(scope="module")
def settings() -> list[Setting]:
    """Eight prompts; laws are remembered, so that every run sees them alike to the last bit, and stored in float32."""
    setting = Library().setting(ZOO[0], 3, TOKENS)
    target, drafter = (InPrecision(Remembered(model), torch.float32) for model in (setting.target, setting.drafter))
    texts = [prompt.text for kind in ("documentation", "code", "copy", "summarise") for prompt in prompts(kind)][:8]
    return [replace(with_prompt(setting, text), target=target, drafter=drafter) for text in texts]


def recordings(build: type[SpeculativeSampling], settings: Sequence[Setting]) -> list[Recording]:
    return [
        record(build(one.target, one.drafter, one.lookahead), one.prompt, TOKENS, RandomCoins(0, number))
        for number, one in enumerate(settings)
    ]


def replays(build: type[SpeculativeSampling], settings: Sequence[Setting], seen: Sequence[Recording]) -> Iterator[Any]:
    for one, recording in zip(settings, seen, strict=True):
        yield replay(build(one.target, one.drafter, one.lookahead), recording)


def transforms(settings: Sequence[Setting], seen: Sequence[Recording]) -> np.ndarray:
    """Randomised probability integral transforms of all tokens under the declared target law, uniform if it holds."""
    coins, values = RandomCoins(1), []
    for one, recording in zip(settings, seen, strict=True):
        tokens = tuple(token for event in recording.events if event.kind == STEP for token in event.answer)
        tokens = tokens[: recording.tokens]
        [laws] = one.target.laws([(one.prompt, tokens[:-1])])
        for law, token in zip(laws, tokens, strict=True):
            assert isinstance(law, TensorLaw)
            masses = law.probabilities.double()
            below = masses[masses > masses[token]].sum()
            values.append(float(below + coins.toss() * masses[token]))
    return np.array(values)


def test_a_mixed_dtype_differs_at_once_and_the_declared_one_nowhere(settings: list[Setting]) -> None:
    right, mixed = recordings(SpeculativeSampling, settings), recordings(DraftsInBfloat16, settings)
    assert 200 < sum(recording.tokens for recording in right) < 400
    assert all(one.same for one in replays(SpeculativeSampling, settings, right))
    assert all(one.same for one in replays(DraftsInBfloat16, settings, mixed))

    found = [one.difference for one in replays(SpeculativeSampling, settings, mixed) if one.difference]
    assert len(found) >= 3
    for one in found:
        said = r"differs at draft \d+: the recording drafts \d+, the declared decoder drafts \d+ \(position \d+\)"
        assert re.fullmatch(said, str(one))
        assert one.number <= 60
        # The uniform fell between the thresholds of neighbours in the two dtypes.
        assert one.recorded.answer != one.replayed.answer


def test_counting_as_many_tokens_sees_nothing(settings: list[Setting]) -> None:
    for build in (SpeculativeSampling, DraftsInBfloat16):
        values = transforms(settings, recordings(build, settings))
        counts, _ = np.histogram(values, bins=20, range=(0, 1))
        assert stats.kstest(values, "uniform").pvalue > 1e-3
        assert stats.chisquare(counts).pvalue > 1e-3
    # A gross fault it does see in as many tokens.
    gross = transforms(settings, recordings(AcceptsAll, settings))
    assert stats.kstest(gross, "uniform").pvalue < 1e-9
