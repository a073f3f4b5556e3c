"""The sample driver: runs decoder programs, one or a batch, on random or on given uniforms.

Every draw is by inversion of one float64 uniform in [0, 1), so a run is a function of its coins: a script of uniforms
replays it. In a batch all pending `Laws` of one model become one forward pass, and each program has coins of its own,
so what it emits does not depend on its neighbours (but for the rounding of batched models).

Claims: SS-3, SS-4, SLRS-6.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from draftproof.algorithms.interfaces import LanguageModel, Query
from draftproof.algorithms.laws import Mass
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, Together

Result = TypeVar("Result")

RESIDUAL_TRIALS = 1_000
"""Draws tried by the rejection loop before it falls back to walking the law's whole support."""


class Coins(Protocol):
    """A source of uniforms in [0, 1)."""

    def toss(self) -> float:
        """The next uniform."""
        ...


class RandomCoins:
    """Independent float64 uniforms; streams of one seed never overlap (Philox, SeedSequence spawn keys)."""

    def __init__(self, seed: int, *stream: int) -> None:
        """`seed` and each of `stream` are non-negative integers."""
        self._generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=stream)))

    def toss(self) -> float:
        """The next uniform."""
        return float(self._generator.random())


class ScriptEnded(Exception):
    """The program asked for more uniforms than the script holds."""


class Script:
    """Given uniforms, for replays and property tests; `used` counts the tosses."""

    def __init__(self, uniforms: Iterable[float]) -> None:
        """Raises ValueError where a uniform is outside [0, 1)."""
        self._uniforms = tuple(uniforms)
        self.used = 0
        if any(not 0 <= uniform < 1 for uniform in self._uniforms):
            raise ValueError("the uniforms of a script lie in [0, 1)")

    def toss(self) -> float:
        """The next uniform. Raises ScriptEnded when there is none left."""
        if self.used == len(self._uniforms):
            raise ScriptEnded(f"the program asks for more than {self.used} uniforms")
        self.used += 1
        return self._uniforms[self.used - 1]


def rejection_loop(request: ChooseResidual) -> Program[int]:
    """Draws from the residual without a table: try t ~ law, keep it with probability (1 - draft_mass(t) / law(t))+.

    Kept draws have the residual's law; over all steps at most one trial per step is expected (algorithms.md, SLRS-6).
    After RESIDUAL_TRIALS failures the support is walked, which is exact too; if nothing is left, the residual is
    empty up to rounding and the draw is from `law` (claim SS-4).
    """
    for _ in range(RESIDUAL_TRIALS):
        token: int = yield Choose(request.law)
        mass = request.law[token]
        drafted = yield from request.draft_mass(token)
        if (yield Accept((max(0, 1 - drafted / mass),))):
            return token
    return (yield from residual_by_table(request))


def residual_by_table(request: ChooseResidual) -> Program[int]:
    """Draws from the residual by asking `draft_mass` of the law's whole support."""
    excess: dict[int, Mass] = {}
    for token in request.law.support():
        drafted = yield from request.draft_mass(token)
        excess[token] = max(0, request.law[token] - drafted)
    total: Mass = sum(excess.values())
    if not total:
        drawn: int = yield Choose(request.law)
        return drawn
    # A chain of two-way coins draws from the table by requests alone: stop at t with probability excess / what is left.
    left: Mass = total
    for token, mass in excess.items():
        if mass and (yield Accept((min(1, mass / left),))):
            return token
        left -= mass
    return max(token for token, mass in excess.items() if mass)


def without_residuals(program: Program[Result]) -> Program[Result]:
    """The same program with each `ChooseResidual` answered by the rejection loop."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = (yield from rejection_loop(request)) if isinstance(request, ChooseResidual) else (yield request)


@dataclass
class _Run:
    """A program under way: it waits for `pending`, or has `result`."""

    program: Program[Any]
    coins: Coins
    pending: tuple[Laws, ...] = ()
    bundled: bool = False
    done: bool = False
    result: Any = field(default=None)

    def advance(self, answer: Any) -> None:
        """Runs on to the next request for laws, tossing coins on the way."""
        while True:
            try:
                request = self.program.send(answer)
            except StopIteration as stop:
                self.done, self.result, self.pending = True, stop.value, ()
                return
            match request:
                case Laws():
                    self.pending, self.bundled = (request,), False
                    return
                case Together(requests):
                    self.pending, self.bundled = requests, True
                    return
                case Choose(law):
                    answer = law.quantile(self.coins.toss())
                case Accept(probabilities):
                    answer = _successes(probabilities, self.coins)
                case _:
                    raise TypeError(f"{request!r} is no request")


def _successes(probabilities: Sequence[Any], coins: Coins) -> int:
    for count, probability in enumerate(probabilities):
        if not coins.toss() < probability:
            return count
    return len(probabilities)


def sample_batch(programs: Sequence[Program[Result]], coins: Sequence[Coins]) -> list[Result]:
    """Runs programs side by side; all pending `Laws` of one model are one call of it.

    `coins` has one source per program. Returns the programs' results in order.
    """
    runs = [_Run(without_residuals(program), source) for program, source in zip(programs, coins, strict=True)]
    for run in runs:
        run.advance(None)
    while waiting := [run for run in runs if not run.done]:
        answers = _answer([request for run in waiting for request in run.pending])
        for run in waiting:
            mine, answers = answers[: len(run.pending)], answers[len(run.pending) :]
            run.advance(mine if run.bundled else mine[0])
    return [run.result for run in runs]


def _answer(requests: Sequence[Laws]) -> list[Any]:
    """Answers requests for laws with one call per model; equal queries are asked once."""
    queries: dict[int, dict[Query, None]] = {}
    models: dict[int, LanguageModel] = {}
    for request in requests:
        models[id(request.model)] = request.model
        queries.setdefault(id(request.model), {})[request.context, request.drafted] = None
    answers = {
        (key, query): laws
        for key, asked in queries.items()
        for query, laws in zip(asked, models[key].laws(tuple(asked)), strict=True)
    }
    return [answers[id(request.model), (request.context, request.drafted)] for request in requests]


def sample(program: Program[Result], coins: Coins) -> Result:
    """Runs one program."""
    return sample_batch([program], [coins])[0]


def run_script(program: Program[Result], uniforms: Iterable[float]) -> Result:
    """Runs one program on given uniforms. Raises ScriptEnded where they do not suffice."""
    return sample(program, Script(uniforms))
