"""Puts a stream of outputs to the test, chunk by chunk, and keeps what was seen as evidence.

One trial is one decoder on one stream. Wealth is watched after every token and a run may stop once it is decided; the
tests of a fixed sample are taken at the end. What follows an EOS in an output is filled with fresh uniforms, so that
the fixed-sample tests have a fixed number of independent transforms.
"""

from dataclasses import dataclass, field

import numpy as np

from draftproof.verify.evidence import Direction, OrderTest
from draftproof.verify.statistics.betting import Bettor, reached, stake
from draftproof.verify.statistics.bounds import seen_share, upper_bound
from draftproof.verify.statistics.ledger import level_of
from draftproof.verify.statistics.observation import ORDERS, SHARES, Observation
from draftproof.verify.statistics.pit import uniformity
from draftproof.verify.statistics.rows import Floats
from draftproof.verify.streams import Chunk, Stream


@dataclass
class Trial:
    """A stream under test; `alpha` is the level of the whole trial, `seed` and `number` make the auditor's uniforms."""

    stream: Stream
    alpha: float
    seed: int
    number: int = 0
    sequences: int = 0
    tokens: int = 0
    steps: int = 0
    drafted: int = 0
    trials: int = 0
    accepted: int = 0
    expected_acceptance: float = 0.0
    outside: int = 0
    borderline: int = 0
    seconds: float = 0.0
    refuted_after: int | None = None
    _values: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Starts with a wealth of 1."""
        count = len(self.stream.alternatives)
        self.bettor = Bettor(count)
        # Two sources: what fills up one output must not shift the uniforms of the next, or chunks would matter.
        self._uniforms, self._filling = (_uniforms(self.seed, self.number, use) for use in range(2))
        self._hits = np.zeros(count, dtype=np.int64)
        self._masses, self._distances = np.zeros(count), np.zeros(count)
        self._roots = np.zeros((count, len(SHARES)))

    def run(self, outputs: int, chunk: int, stop: bool = True) -> None:
        """Draws up to `outputs` outputs, `chunk` at a time; with `stop` no more than decide it."""
        while self.sequences < outputs and not (stop and self.refuted_after is not None):
            self.take(self.stream.draw(min(chunk, outputs - self.sequences)))

    def take(self, chunk: Chunk) -> None:
        """Tests one chunk."""
        observed = chunk.observed
        uniforms = self._uniforms.random((len(observed), len(ORDERS)))
        before = self.tokens
        self.bettor.take(observed, uniforms)
        if self.refuted_after is None:
            self._decide(chunk, before)
        self._values.append(self._filled(chunk, observed.below + uniforms * observed.cells))
        self._hits += observed.inside.sum(0)
        self._masses += observed.masses.sum(0)
        self._distances += observed.distances.sum(0)
        self._roots += _roots(observed)
        self.sequences += len(chunk.outputs)
        self.tokens += len(observed)
        self.steps += chunk.steps
        self.drafted += chunk.drafted
        self.trials += len(chunk.accepted)
        self.accepted += int(chunk.accepted.sum())
        self.expected_acceptance += float(chunk.rates.sum())
        self.outside += len(chunk.impossible)
        self.borderline += chunk.borderline
        self.seconds += chunk.seconds

    def _decide(self, chunk: Chunk, before: int) -> None:
        """A token outside the support convicts at once; else the wealth does where it reaches its level."""
        first = [index + 1 for index in chunk.impossible[:1]]
        hit = reached(self.bettor.last, level_of("wealth", self.alpha))
        first += [] if hit is None else [hit]
        if first:
            self.refuted_after = before + min(first)

    def _filled(self, chunk: Chunk, values: Floats) -> Floats:
        missing = len(chunk.outputs) * self.stream.limit - len(values)
        return np.concatenate([np.minimum(values, 1), self._filling.random((missing, len(ORDERS)))])

    @property
    def log_wealth(self) -> float:
        """The largest log-wealth (base e) that was reached; infinite for a token outside the support."""
        return float("inf") if self.outside else float(self.bettor.total.max(initial=0.0))

    def tests(self) -> tuple[OrderTest, ...]:
        """The fixed-sample tests of all transforms, in every order."""
        values = self.values
        return tuple(uniformity(values[:, index].tolist(), order) for index, order in enumerate(ORDERS) if len(values))

    @property
    def values(self) -> Floats:
        """All transforms, (sequences * limit, orders)."""
        return np.concatenate([np.zeros((0, len(ORDERS))), *self._values])

    def directions(self) -> tuple[Direction, ...]:
        """What the outputs say about each fault; faults that could not have changed a single token are left out.

        Tokens at a processor's threshold say nothing, so total variations and bounds are per token of the others.
        """
        tested = self.tokens - self.borderline
        if not tested or not self.stream.alternatives:
            return ()
        positions = self.sequences * self.stream.limit
        level = level_of("wealth", self.alpha)
        own = stake(len(self.stream.alternatives))
        finals = self.bettor.by_alternative[-1]
        found = []
        for index, alternative in enumerate(self.stream.alternatives):
            distance = float(self._distances[index]) / tested
            if not distance:
                continue
            share = seen_share(self._roots[index], self.sequences, level, own)
            bound = upper_bound(int(self._hits[index]), float(self._masses[index]), positions)
            found.append(
                Direction(
                    name=alternative.name,
                    log_wealth=float(finals[index]),
                    distance=distance,
                    seen=None if share is None else share * distance,
                    bound=min(1.0, max(0.0, bound * positions / tested)),
                )
            )
        return tuple(found)


def _uniforms(seed: int, *stream: int) -> np.random.Generator:
    """Uniforms of the auditor's own; the decoder's coins have other keys (RandomCoins)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(1, *stream))))


def _roots(observed: Observation) -> Floats:
    """The root of each output's likelihood ratio, summed over outputs, (alternatives, shares)."""
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.array(SHARES) * (observed.ratios[:, :, None] - 1))
    outputs = np.add.reduceat(logs, np.flatnonzero(observed.places == 0), axis=0)
    roots: Floats = np.exp(np.minimum(0.5 * outputs, 300)).sum(0)  # a larger one bounds nothing either
    return roots
