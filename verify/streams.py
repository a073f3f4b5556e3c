"""Streams of outputs under test: chunks of a decoder's outputs, with the numbers that the tests read.

A stream on a toy samples with the memoised driver and works out each output's numbers once; a stream on float models
runs batches and reads the laws again in a pass of its own over the finished outputs, so that a fault in how a decoder
asks for laws, caches them or conditions on them is seen as well as a fault in its coins.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from draftproof.algorithms.decoding import Decoder, Output, State, Step, decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.memoised import Memoised
from draftproof.algorithms.processors import Processed
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.settings import SHARED_VOCABULARY, Setting
from draftproof.verify.statistics.alternatives import ALTERNATIVES, Alternative
from draftproof.verify.statistics.observation import Observation, joined, observe
from draftproof.verify.statistics.rows import Floats, read_rows, sources


@dataclass(frozen=True)
class Chunk:
    """Outputs with the numbers of their tokens, and the trials of their steps.

    `impossible` are the tokens (indices into the chunk) of target probability 0; `borderline` counts those at places
    where rounding decides what a processor keeps, which are neither tested nor held against the decoder. `accepted`
    and `rates` (trials,) are the outcomes of tests of drafted tokens and the acceptance probabilities before them.
    """

    outputs: tuple[tuple[int, ...], ...]
    observed: Observation
    impossible: tuple[int, ...]
    accepted: npt.NDArray[np.bool_]
    rates: Floats
    steps: int
    drafted: int
    borderline: int = 0
    seconds: float = 0.0


class Stream(Protocol):
    """A decoder's outputs, chunk by chunk."""

    alternatives: tuple[Alternative, ...]
    limit: int

    def draw(self, outputs: int) -> Chunk:
        """The next `outputs` outputs, at least one."""
        ...


def alternatives_for(setting: Setting, like: str, rejected: bool = True) -> tuple[Alternative, ...]:
    """The faults whose law can be read on a setting; `rejected`: whether laws after rejected tokens may be read."""
    has = {
        "raw": isinstance(setting.target, Processed),
        "frozen": isinstance(setting.target, Processed),
        "declared": like not in SHARED_VOCABULARY and like != "union",
        "rejected": rejected,
        None: True,
    }
    return tuple(alternative for alternative in ALTERNATIVES.values() if has[alternative.needs])


def _extras(alternatives: Sequence[Alternative]) -> frozenset[str]:
    return frozenset(alternative.needs for alternative in alternatives if alternative.needs)


@dataclass(frozen=True)
class _Read:
    """One output's numbers, worked out once on a toy."""

    observed: Observation
    impossible: tuple[int, ...]
    borderline: int = 0


class ToyStream:
    """Outputs of a decoder on exact laws."""

    def __init__(self, setting: Setting, decoder: Decoder, like: str, seed: int) -> None:
        """`like` names the decoder that `decoder` is, or is like; `seed` makes the coins; laws must be in fractions."""
        self.setting = setting
        self.alternatives = alternatives_for(setting, like)
        self.limit = setting.max_new_tokens
        self._decoder = Memoised(decoder)
        self._coins = RandomCoins(seed, 0)
        self._sources = sources(setting, like)
        self._read: dict[tuple[int, ...], _Read] = {}
        self._trials: dict[int, tuple[Step, list[bool], list[float]]] = {}

    def restart(self, seed: int, *stream: int) -> None:
        """New coins, as `RandomCoins(seed, 0, *stream)` tosses them; everything worked out is kept."""
        self._coins = RandomCoins(seed, 0, *stream)

    def draw(self, outputs: int) -> Chunk:
        """The next outputs."""
        began = time.perf_counter()
        accepted: list[bool] = []
        rates: list[float] = []

        def note(state: State, step: Step) -> None:
            if id(step) not in self._trials:
                self._trials[id(step)] = (
                    step,
                    [t.accepted for t in step.trials],
                    [float(t.rate()) for t in step.trials],
                )
            _, outcomes, chances = self._trials[id(step)]
            accepted.extend(outcomes)
            rates.extend(chances)

        drawn = [self._decoder.sample(self.setting.prompt, self.limit, self._coins, note) for _ in range(outputs)]
        read = [self._numbers(output.tokens) for output in drawn]
        return _chunk(drawn, read, accepted, rates, time.perf_counter() - began)

    def _numbers(self, tokens: tuple[int, ...]) -> _Read:
        if tokens not in self._read:
            rows = read_rows(self.setting, self._sources, tokens, _extras(self.alternatives))
            impossible = tuple(int(place) for place in np.flatnonzero(rows.observed == 0))
            self._read[tokens] = _Read(observe(rows, self.alternatives), impossible)
        return self._read[tokens]


class PairStream:
    """Outputs of a decoder on float models, one setting per prompt, `repeats` outputs of each in turn."""

    def __init__(
        self,
        settings: Sequence[Setting],
        decoder: Decoder,
        like: str,
        seed: int,
        repeats: int = 8,
        rounding: float = 1e-3,
        rejected: bool = True,
    ) -> None:
        """`rounding` is the relative error of a probability that the model's floats explain (see `Sampling`).

        Raises TypeError for laws in fractions, ValueError for settings that differ in the length of their outputs.
        """
        [[law]] = settings[0].target.laws([(settings[0].prompt, ())])
        if not isinstance(law, TensorLaw):
            raise TypeError("this stream tests laws in floats; exact laws are enumerated, or sampled by ToyStream")
        if len({setting.max_new_tokens for setting in settings}) > 1:
            raise ValueError("the settings of one stream need one limit of tokens: positions are counted by it")
        self.settings = settings
        self.alternatives = alternatives_for(settings[0], like, rejected)
        self.limit = settings[0].max_new_tokens
        self._decoder = decoder
        self._seed = seed
        self._rounding = rounding
        self._sources = sources(settings[0], like)
        self._jobs = self._forever(repeats)
        self._drawn = 0

    def _forever(self, repeats: int) -> Iterator[Setting]:
        if repeats < 1:
            raise ValueError(f"{repeats} outputs of each prompt make no stream")
        while True:
            for setting in self.settings:
                for _ in range(repeats):
                    yield setting

    def draw(self, outputs: int) -> Chunk:
        """The next outputs, as one batch. Each has coins of its own."""
        jobs = [next(self._jobs) for _ in range(outputs)]
        trials: list[list[tuple[bool, float]]] = [[] for _ in jobs]
        lost = [0.0]  # seconds spent on noting trials, which are not the decoder's
        programs = [
            decode(self._decoder, job.prompt, job.max_new_tokens, partial(_note, mine, lost))
            for job, mine in zip(jobs, trials, strict=True)
        ]
        coins = [RandomCoins(self._seed, self._drawn + number) for number in range(outputs)]
        began = time.perf_counter()
        drawn = sample_batch(programs, coins)
        seconds = time.perf_counter() - began - lost[0]
        self._drawn += outputs
        read = [self._numbers(job, output.tokens) for job, output in zip(jobs, drawn, strict=True)]
        flat = [trial for mine in trials for trial in mine]
        return _chunk(drawn, read, [one for one, _ in flat], [rate for _, rate in flat], seconds)

    def _numbers(self, setting: Setting, tokens: tuple[int, ...]) -> _Read:
        rows = read_rows(setting, self._sources, tokens, _extras(self.alternatives))
        unclear = self._unclear(setting, tokens)
        zeros = [int(place) for place in np.flatnonzero(rows.observed == 0)]
        impossible = tuple(place for place in zeros if tokens[place] not in unclear.get(place, frozenset()))
        return _Read(observe(rows, self.alternatives, tuple(unclear)), impossible, len(unclear))

    def _unclear(self, setting: Setting, tokens: tuple[int, ...]) -> dict[int, frozenset[int]]:
        """Places at which rounding may decide what the target's processors keep, with the ids that it may let in.

        The laws alone say so, not the tokens, or the bets would not be fair. Processors keep the likeliest ids, so it
        is enough to raise those cut off, which are as good as the likeliest of them, and to lower the least kept one.
        """
        target: LanguageModel = setting.target
        if not isinstance(target, Processed):
            return {}
        query = (setting.prompt, tokens[:-1])
        found: dict[int, frozenset[int]] = {}
        for place, (whole, kept) in enumerate(zip(target.model.laws([query])[0], target.laws([query])[0], strict=True)):
            assert isinstance(whole, TensorLaw)
            history = setting.prompt + tokens[:place]
            support = kept.support()
            cut = whole.reweighted(dict.fromkeys(support, 0.0))
            if cut.empty:  # nothing was cut off
                continue
            doubtful = {tokens[place], cut.argmax()} - set(support)
            let_in = {
                token
                for token in doubtful
                if target.process(whole.reweighted({token: 1 + self._rounding}), history)[token] > 0
            }
            least = min(support, key=lambda token: whole[token])
            lowered = target.process(whole.reweighted({least: 1 - self._rounding}), history)
            if cut.argmax() in let_in or not lowered[least]:
                found[place] = frozenset(let_in)
        return found


def _note(trials: list[tuple[bool, float]], lost: list[float], state: State, step: Step) -> None:
    began = time.perf_counter()
    trials.extend((trial.accepted, float(trial.rate())) for trial in step.trials)
    lost[0] += time.perf_counter() - began


def _chunk(
    drawn: Sequence[Output], read: Sequence[_Read], accepted: Sequence[bool], rates: Sequence[float], seconds: float
) -> Chunk:
    if not drawn:
        raise ValueError("a chunk needs at least one output")
    starts = np.cumsum([0, *(len(output.tokens) for output in drawn)])
    return Chunk(
        outputs=tuple(output.tokens for output in drawn),
        observed=joined([one.observed for one in read]),
        impossible=tuple(
            int(start) + place for start, one in zip(starts, read, strict=False) for place in one.impossible
        ),
        accepted=np.array(accepted, dtype=bool),
        rates=np.array(rates, dtype=float),
        steps=sum(output.steps for output in drawn),
        drafted=sum(output.drafted for output in drawn),
        borderline=sum(one.borderline for one in read),
        seconds=seconds,
    )
