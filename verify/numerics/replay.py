"""Replay: the same uniforms again, through the decoder that was declared. The first different answer convicts.

A decoder whose drafts come from bfloat16 laws while float32 ones are declared is off by a total variation of a tenth of
a percent: no count of a few hundred tokens sees it. But a run is a function of its uniforms. Recorded, they drive the
declared decoder through the same run, choice by choice, and a draw that falls between the thresholds of two dtypes
shows the difference at once.

Claims: SS-8.
But: both runs must see the same laws to the last bit. A forward pass rounds differently with what was cached, so wrap
models in `processors.Remembered`, which asks for each context once. A replay needs the uniforms: it is for one's own
engine, or one that takes uniforms from outside. Draws are told apart by the model asked last: where the drafter is the
target itself, drafts are called tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from draftproof.algorithms.decoding import Decoder, Step, begin
from draftproof.algorithms.drivers import Coins, Script, ScriptEnded, sample
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, Together

DRAFT, ACCEPTANCE, TOKEN, STEP = "draft", "acceptance", "token", "step"
"""Kinds of answers: a drafted token, how many were accepted, a token of target or residual, what was emitted."""

END, UNIFORM = "end", "uniform"
"""How a run stops: it is done, or it wants a uniform that the recording does not have."""

_SAID = {
    DRAFT: "drafts {}",
    ACCEPTANCE: "accepts {} drafted",
    TOKEN: "draws {}",
    STEP: "emits {}",
    END: "ends after {} uniforms",
    UNIFORM: "wants uniform {}",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One answer of a run. `position` counts the ids of the output before it, those drafted in this step included."""

    kind: str
    position: int
    answer: Any

    def __str__(self) -> str:
        return _SAID[self.kind].format(self.answer)


class RecordingCoins:
    """Coins that remember what they tossed."""

    def __init__(self, coins: Coins) -> None:
        """Tosses `coins`."""
        self._coins = coins
        self.tossed: list[float] = []

    def toss(self) -> float:
        """The next uniform."""
        self.tossed.append(self._coins.toss())
        return self.tossed[-1]


@dataclass(frozen=True)
class Recording:
    """A run: its prompt and limit, the uniforms it used, and its answers, the last of them that it ended."""

    prompt: tuple[int, ...]
    max_new_tokens: int
    uniforms: tuple[float, ...]
    events: tuple[Event, ...]

    @property
    def tokens(self) -> int:
        """How many ids were generated."""
        return self.events[-1].position


@dataclass(frozen=True)
class Difference:
    """The first answers that differ. `number` counts the declared decoder's answers of this kind, from 1."""

    number: int
    recorded: Event
    replayed: Event

    def __str__(self) -> str:
        said = f"the recording {self.recorded}, the declared decoder {self.replayed}"
        return f"differs at {self.replayed.kind} {self.number}: {said} (position {self.replayed.position})"


@dataclass(frozen=True)
class Replay:
    """What a replay showed: the first difference, or None; and how many answers of each kind it got to."""

    difference: Difference | None
    answers: tuple[tuple[str, int], ...]

    @property
    def same(self) -> bool:
        """Whether every answer agreed."""
        return self.difference is None

    def __str__(self) -> str:
        counts = ", ".join(f"{kind} {count}" for kind, count in self.answers if kind != END)
        return str(self.difference) if self.difference else f"same, up to {counts}"


def record(decoder: Decoder, prompt: tuple[int, ...], max_new_tokens: int, coins: Coins) -> Recording:
    """Runs a decoder under the sample driver and writes down its uniforms and answers.

    Raises DecoderError where `max_new_tokens` is below 1.
    """
    recording = RecordingCoins(coins)
    events: list[Event] = []
    generated = sample(_run(decoder, prompt, max_new_tokens, events.append), recording)
    events.append(Event(END, generated, len(recording.tossed)))
    return Recording(prompt, max_new_tokens, tuple(recording.tossed), tuple(events))


def replay(decoder: Decoder, recording: Recording) -> Replay:
    """Runs the declared decoder on the uniforms of a recording, up to the first answer that differs.

    Of the decoder that was recorded, on the same laws, every answer agrees, and it ends with the same uniform.
    """
    recorded: Iterator[Event] = iter(recording.events)
    answers: Counter[str] = Counter()
    script = Script(recording.uniforms)

    def compare(event: Event) -> None:
        answers[event.kind] += 1
        expected = next(recorded)  # the last one is END, which no event but the last equals
        if expected != event:
            raise _Differs(Difference(answers[event.kind], expected, event))

    try:
        generated = sample(_run(decoder, recording.prompt, recording.max_new_tokens, compare), script)
        compare(Event(END, generated, script.used))
    except _Differs as found:
        return Replay(found.difference, tuple(answers.items()))
    except ScriptEnded:
        expected = next(recorded)
        wanted = Event(UNIFORM, expected.position, script.used + 1)
        return Replay(Difference(script.used + 1, expected, wanted), tuple(answers.items()))
    return Replay(None, tuple(answers.items()))


class _Differs(Exception):
    """Ends a replay at its first difference."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


def _run(decoder: Decoder, prompt: tuple[int, ...], max_new_tokens: int, note: Callable[[Event], None]) -> Program[int]:
    """The steps of decoding.decode, with a note of every answer by chance and of every step; how many ids came out."""
    state = begin(prompt, max_new_tokens)
    while state.remaining:
        committed = len(state.generated)
        step = yield from _noted(decoder, decoder.step(state), committed, note)
        note(Event(STEP, committed, step.emitted))
        state = state.after(step, decoder.target.eos)
    return len(state.generated)


def _noted(decoder: Decoder, program: Program[Step], committed: int, note: Callable[[Event], None]) -> Program[Step]:
    answer: Any = None
    drafted = place = committed
    of_target = False
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = yield request
        match request:
            case Laws(model):
                of_target = model is decoder.target
            case Together(requests):
                of_target = any(one.model is decoder.target for one in requests)
            case Accept():
                note(Event(ACCEPTANCE, committed, answer))
                place = committed + answer
            case Choose() if not of_target:
                note(Event(DRAFT, drafted, answer))
                drafted += 1
            case Choose() | ChooseResidual():
                note(Event(TOKEN, place, answer))
                place += 1
