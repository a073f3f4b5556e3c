"""The frame around every decoder: states, steps, limits, and the whole-output program.

A decoder says what one step does; this module says how steps are strung together and where an output ends. Because a
step depends on nothing but its state, the enumerate driver may merge equal states and stays exact.

Departs from the papers: lookahead is cut to what the length limit can still use, a function of the committed length.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.laws import Mass
from draftproof.algorithms.requests import Program


class DecoderError(ValueError):
    """A decoder cannot be built or run as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One drafted token that was put to the test. `rate()` is its acceptance probability before it was drafted."""

    accepted: bool
    rate: Callable[[], Mass]


@dataclass(frozen=True, slots=True)
class Step:
    """What one draft-and-verify round did.

    `emitted` may reach beyond the end of the output; `decode` cuts it. `memory` is what the next step conditions on
    besides the committed ids: None for every right decoder, and what some wrong ones get wrong.
    """

    emitted: tuple[int, ...]
    drafted: int = 0
    trials: tuple[Trial, ...] = ()
    memory: Hashable = None


@dataclass(frozen=True, slots=True)
class State:
    """Where an output stands: prompt and committed ids, the prompt's length, and how many ids may still come."""

    tokens: tuple[int, ...]
    prompt_length: int
    remaining: int
    memory: Hashable = None

    @property
    def generated(self) -> tuple[int, ...]:
        """The committed ids after the prompt."""
        return self.tokens[self.prompt_length :]

    def lookahead(self, wanted: int) -> int:
        """How many tokens are worth drafting: the last id of a step is never a drafted one."""
        return max(0, min(wanted, self.remaining - 1))

    def after(self, step: Step, eos: frozenset[int]) -> "State":
        """The state after a step: its ids up to the first EOS or the limit, whatever was emitted beyond.

        Raises DecoderError where the step emitted nothing, which would never end.
        """
        kept: list[int] = []
        for token in step.emitted[: self.remaining]:
            kept.append(token)
            if token in eos:
                return State(self.tokens + tuple(kept), self.prompt_length, 0)
        if not kept:
            raise DecoderError("a step emitted no token")
        return State(self.tokens + tuple(kept), self.prompt_length, self.remaining - len(kept), step.memory)


class Decoder(Protocol):
    """A decoder: one target, and a program for one step."""

    @property
    def name(self) -> str:
        """The name used in reports."""
        ...

    @property
    def target(self) -> LanguageModel:
        """The model whose law the output must have."""
        ...

    def step(self, state: State) -> Program[Step]:
        """The program of one step; it emits at least one token."""
        ...


@dataclass(frozen=True, slots=True)
class Output:
    """The generated ids, EOS included where one ended the output, with counts of steps, drafted and accepted tokens."""

    tokens: tuple[int, ...]
    steps: int
    drafted: int
    accepted: int


def begin(prompt: tuple[int, ...], max_new_tokens: int) -> State:
    """The state before the first step.

    Raises DecoderError where `max_new_tokens` is below 1.
    """
    if max_new_tokens < 1:
        raise DecoderError(f"max_new_tokens must be at least 1, not {max_new_tokens}")
    return State(tuple(prompt), len(prompt), max_new_tokens)


def decode(
    decoder: Decoder,
    prompt: tuple[int, ...],
    max_new_tokens: int,
    observe: Callable[[State, Step], None] = lambda state, step: None,
) -> Program[Output]:
    """The whole-output program: steps until EOS or `max_new_tokens` ids.

    `observe` is called with each state and the step taken from it.
    """
    state = begin(prompt, max_new_tokens)
    steps = drafted = accepted = 0
    while state.remaining:
        step = yield from decoder.step(state)
        observe(state, step)
        state = state.after(step, decoder.target.eos)
        steps, drafted = steps + 1, drafted + step.drafted
        accepted += sum(trial.accepted for trial in step.trials)
    return Output(state.generated, steps, drafted, accepted)


def check_lookahead(lookahead: int) -> None:
    """Raises DecoderError where lookahead is not a whole number of at least 1."""
    if lookahead < 1 or lookahead != int(lookahead):
        raise DecoderError(f"lookahead must be a whole number of at least 1 drafted token per step, not {lookahead}")
