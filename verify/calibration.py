"""Calibration: audits of right decoders, many of them, and how often each test refutes what is right.

A null audit is a trial of a right decoder (or of a right look-alike) on a toy. Each test gives a p-value, for bets the
inverse of the largest wealth, and how many of them fall to a level or below is compared with the level: inside the
99.9 % binomial band for a test whose level is exact, not above it for one that only promises not to exceed its level.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from scipy import stats

from draftproof.verify.claims import ACCEPTANCE
from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS
from draftproof.verify.statistics.bounds import p_value
from draftproof.verify.statistics.ledger import BUDGET, PARTS
from draftproof.verify.statistics.observation import ORDERS
from draftproof.verify.statistics.uniformity import cramer_von_mises, kolmogorov_smirnov, neyman_smooth
from draftproof.verify.streams import ToyStream
from draftproof.verify.toys import battery
from draftproof.verify.trials import Trial

LEVELS = (1e-2, 1e-3)
BAND = 0.999


@dataclass(frozen=True)
class LevelCount:
    """How many of `audits` null audits a test refuted at a level; the band is for a test of exactly this level."""

    test: str
    exact: bool
    level: float
    audits: int
    refuted: int
    lowest: int
    highest: int

    @property
    def holds(self) -> bool:
        """Whether the level holds: no more than the band allows, and for an exact test no fewer either."""
        return self.refuted <= self.highest and (not self.exact or self.refuted >= self.lowest)


@dataclass(frozen=True)
class CalibrationEvidence:
    """Counts by test and level, and what they were counted on."""

    subjects: tuple[str, ...]
    audits: int
    tokens: int
    seed: int
    counts: tuple[LevelCount, ...]

    @property
    def holds(self) -> bool:
        """Whether every level holds."""
        return all(count.holds for count in self.counts)


Test = Callable[[str, Trial], float | None]
"""The p-value of a null audit of the decoder of this name; None where the audit does not test this."""


def _order(index: int, test: Callable[[np.ndarray], Any]) -> Test:
    return lambda name, trial: float(test(trial.values[:, index]).p_value)


def _acceptance(name: str, trial: Trial) -> float | None:
    if name not in ACCEPTANCE:
        return None
    positions = trial.sequences * trial.stream.limit
    return p_value(trial.accepted, trial.expected_acceptance, trial.trials, positions)


def _wealth(name: str, trial: Trial) -> float:
    return float(np.exp(-trial.log_wealth))


def _audit(name: str, trial: Trial) -> float:
    """The least budget at which the trial refutes, as the ledger shares it."""
    tests = trial.tests()
    accepted = _acceptance(name, trial)
    least = [_wealth(name, trial) / PARTS["wealth"]]
    least += [] if accepted is None else [accepted / PARTS["acceptance"]]
    return min([*least, *(test.p_value * len(tests) / PARTS["uniformity"] for test in tests)])


TESTS: Mapping[str, tuple[bool, Test]] = {
    "the whole audit of a decoder": (False, _audit),
    "bets (largest wealth)": (False, _wealth),
    "acceptance identity": (False, _acceptance),
    **{
        f"{name}, in the order of {order}": (exact, _order(index, test))
        for name, exact, test in (
            ("Kolmogorov-Smirnov", True, kolmogorov_smirnov),
            ("Cramer-von Mises", False, cramer_von_mises),
            ("Neyman's smooth test", False, neyman_smooth),
        )
        for index, order in enumerate(ORDERS)
    },
}
"""Tests by name; whether the level is exact, and the p-value of a trial."""


def right_streams(seed: int) -> Iterator[tuple[str, ToyStream]]:
    """One stream for every right decoder and look-alike, on the first toy of its battery."""
    for name, build in BUILDERS.items():
        toy = next(iter(battery(name)))
        yield name, ToyStream(toy.setting, build(toy.setting), name, seed)
    for control in CONTROLS.values():
        if not control.wrong:
            toy = next(control.battery())
            yield control.name, ToyStream(toy.setting, control.build(toy.setting), control.like, seed)


def calibrate(
    audits: int,
    outputs: int = 80,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> CalibrationEvidence:
    """Runs null audits of `outputs` outputs each, the right decoders in turn, and counts refutations."""
    streams = list(right_streams(seed))
    tokens = 0
    found: dict[str, list[float]] = {test: [] for test in TESTS}
    for number, (name, stream) in zip(range(audits), cycle(streams)):
        stream.restart(seed, number)
        trial = Trial(stream, BUDGET, seed, number)
        trial.run(outputs, outputs, stop=False)
        tokens += trial.tokens
        for test, (_, value) in TESTS.items():
            p_value_found = value(name, trial)
            found[test] += [] if p_value_found is None else [p_value_found]
        progress(number + 1)
    return CalibrationEvidence(
        subjects=tuple(name for name, _ in streams),
        audits=audits,
        tokens=tokens,
        seed=seed,
        counts=tuple(
            _count(test, exact, level, found[test]) for level in (*LEVELS, BUDGET) for test, (exact, _) in TESTS.items()
        ),
    )


def _count(test: str, exact: bool, level: float, values: list[float]) -> LevelCount:
    low, high = stats.binom.interval(BAND, len(values), level)
    refuted = sum(value <= level for value in values)
    return LevelCount(test, exact, level, len(values), refuted, int(low), int(high))
