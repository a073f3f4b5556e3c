"""Trials: wealth is a martingale by exact sums, convicts at its level, at one token, and what a pass says is true.

Simulations are seeded and held against binomial bounds of false alarm 1e-9.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS, Setting
from draftproof.verify.statistics import betting
from draftproof.verify.statistics.alternatives import ALTERNATIVES, Alternative, predict
from draftproof.verify.statistics.betting import BINS, GIVEN_BINS, Bettor, stake
from draftproof.verify.statistics.bounds import interval, seen_share
from draftproof.verify.statistics.ledger import PARTS, level_of
from draftproof.verify.statistics.observation import ORDERS, SHARES, Observation, observe
from draftproof.verify.statistics.rows import Rows, read_rows, sources
from draftproof.verify.streams import Chunk, ToyStream, alternatives_for
from draftproof.verify.toys import Toy, battery
from draftproof.verify.trials import Trial

NAME = "speculative-sampling"
TOYS = tuple(battery(NAME))
ALPHA = 1e-6


def stream_of(setting: Setting, control: str, seed: int = 0) -> ToyStream:
    build = BUILDERS[control] if control in BUILDERS else CONTROLS[control].build
    return ToyStream(setting, build(setting), NAME, seed)


# The martingale, by enumeration.

FULL = ((4, 2, 1, 1), (1, 2, 4, 1), (2, 1, 1, 4), (1, 1, 1, 1), (3, 3, 1, 1), (1, 4, 2, 1))
SPARSE = ((4, 0, 1, 0), (0, 2, 4, 1), (2, 0, 0, 0), (0, 1, 1, 0), (3, 0, 1, 1), (0, 4, 0, 1))


def small(rows: tuple[tuple[int, ...], ...]) -> Setting:
    """Four letters without EOS; the drafter has the rows the other way round, so that it never ranks as the target."""
    letters = ("a", "b", "c", "d")
    wide = tuple(rows[place % len(rows)] for place in range(2 * (len(letters) + 1)))
    turned = tuple(row[::-1] for row in wide)
    return Toy("small", letters, letters, wide, turned, lookahead=2, max_new_tokens=3).setting


SETTINGS = {"every token possible": small(FULL), "some tokens excluded": small(SPARSE)}
EACH = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


@dataclass
class Enumerated:
    """A bettor with a past, and the next token of an output: all its values, all its uniforms."""

    setting: Setting
    past: Bettor
    prefix: tuple[int, ...]
    uniforms: np.ndarray

    def wealths(self, token: int) -> Iterator[tuple[float, Bettor]]:
        """The bettor after the token, with the weight of each uniform: exact for factors of degree 3 within bins."""
        rules = alternatives_for(self.setting, NAME)
        models = sources(self.setting, NAME)
        seen = observe(read_rows(self.setting, models, (*self.prefix, token), ("rejected",)), rules)
        bins = np.arange(max(*BINS, GIVEN_BINS) + 1) / max(*BINS, GIVEN_BINS)
        ends = ((bins[:, None] - seen.below[-1]) / seen.cells[-1]).ravel()
        ends = np.unique(np.concatenate([[0.0, 1.0], ends[(ends > 0) & (ends < 1)]]))
        nodes, weights = np.polynomial.legendre.leggauss(2)
        for begin, end in pairwise(ends):
            for node, weight in zip(nodes, weights, strict=True):
                bettor = copy.deepcopy(self.past)
                coin = begin + (end - begin) * (node + 1) / 2
                bettor.take(seen, np.vstack([self.uniforms, np.full((1, len(ORDERS)), coin)]))
                yield (end - begin) * weight / 2, bettor

    def law(self) -> np.ndarray:
        [[law]] = self.setting.target.laws([(self.prefix, ())])
        return np.array([float(law[token]) for token in range(law.size)])

    def means(self, emitted: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Mean wealth after one more token of a law: in all, of the plug-in bettors, by alternative."""
        total, plug_in, by_alternative = 0.0, 0.0, 0.0
        for token in np.flatnonzero(emitted):
            for weight, bettor in self.wealths(int(token)):
                mass = emitted[token] * weight
                total += mass * np.exp(bettor.total[-1])
                plug_in += mass * np.exp(bettor.plug_in[-1])
                by_alternative = by_alternative + mass * np.exp(bettor.by_alternative[-1])
        return total, plug_in, np.asarray(by_alternative)


def after(
    setting: Setting, outputs: int, prefix: tuple[int, ...], seed: int
) -> tuple[Enumerated, float, float, np.ndarray]:
    """A bettor after some outputs and a prefix of the next one, with its wealth there."""
    rules = alternatives_for(setting, NAME)
    past, source = Bettor(len(rules)), np.random.default_rng(seed)
    stream = ToyStream(setting, BUILDERS[NAME](setting), NAME, seed)
    if outputs:
        seen = stream.draw(outputs).observed
        past.take(seen, source.random((len(seen), len(ORDERS))))
    uniforms = source.random((len(prefix), len(ORDERS)))
    there = copy.deepcopy(past)
    if prefix:
        rows = read_rows(setting, sources(setting, NAME), prefix, ("rejected",))
        there.take(observe(rows, rules), uniforms)
    enumerated = Enumerated(setting, past, prefix, uniforms)
    if not there.tokens:
        return enumerated, 1.0, 1.0, np.ones(len(rules))
    return enumerated, np.exp(there.total[-1]), np.exp(there.plug_in[-1]), np.exp(there.by_alternative[-1])


PASTS = [(0, ()), (0, (2,)), (3, ()), (3, (0,)), (40, (2, 1))]


@EACH
@pytest.mark.parametrize(("outputs", "prefix"), PASTS)
def test_the_mean_wealth_after_a_token_is_the_wealth_before(
    setting: Setting, outputs: int, prefix: tuple[int, ...]
) -> None:
    """Over all tokens and uniforms; where the target excludes a token, what a fault gives to it is lost to the bet."""
    enumerated, *before = after(setting, outputs, prefix, seed=outputs)
    law = enumerated.law()
    total, plug_in, by_alternative = enumerated.means(law)
    assert plug_in == pytest.approx(before[1], rel=1e-9)
    assert (by_alternative <= before[2] * (1 + 1e-9)).all()
    assert total <= before[0] * (1 + 1e-9)
    if setting is SETTINGS["every token possible"]:
        assert by_alternative == pytest.approx(before[2], rel=1e-9)
        assert total == pytest.approx(before[0], rel=1e-9)


def test_a_law_that_is_not_the_target_makes_wealth_grow() -> None:
    """The check above refutes what it should: after the same past, tokens of a fault's law raise the mean."""
    setting = SETTINGS["every token possible"]
    enumerated, total, _, by_alternative = after(setting, 3, (2,), seed=3)
    rows = read_rows(setting, sources(setting, NAME), (2, 0), ("rejected",))
    rules = alternatives_for(setting, NAME)
    index = [rule.name for rule in rules].index("leans-to-drafter")
    grown = enumerated.means(predict(rules[index], rows)[-1])
    assert grown[2][index] > 1.05 * by_alternative[index]
    assert grown[0] > 1.001 * total


def test_a_bettor_that_peeks_is_not_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """A histogram that has counted the value it bets on wins on the right law, and the check above would say so."""

    class Peeks(betting.Histogram):
        def factors(self, values: np.ndarray, given: np.ndarray) -> np.ndarray:
            bins = np.minimum((values * self.bins).astype(np.int64), self.bins - 1)
            np.add.at(self._counts, (given, bins), 1)
            return super().factors(values, given)

    monkeypatch.setattr(betting, "Histogram", Peeks)
    enumerated, _, plug_in, _ = after(SETTINGS["every token possible"], 3, (0,), seed=3)
    assert enumerated.means(enumerated.law())[1] > 1.01 * plug_in


@EACH
def test_bets_on_a_fault_are_fair_over_whole_outputs(setting: Setting) -> None:
    """Each bet and each dilution, after each token: the sum over all outputs of P times wealth is 1, or less."""
    rules = alternatives_for(setting, NAME)
    models = sources(setting, NAME)
    for length in range(1, setting.max_new_tokens + 1):
        mean = np.zeros((len(rules), len(SHARES)))
        for output in np.ndindex(*[4] * length):
            rows = read_rows(setting, models, output, ("rejected",))
            mass = float(np.prod(rows.observed))
            if mass:
                ratios = observe(rows, rules).ratios[:, :, None]
                mean += mass * np.prod(1 + np.array(SHARES) * (ratios - 1), axis=0)
        assert (mean <= 1 + 1e-9).all()
        if setting is SETTINGS["every token possible"]:
            assert mean == pytest.approx(np.ones_like(mean))


# Conviction, by hand.


class Told:
    """A stream of one fault, whose chunks are written by hand: outputs of `limit` tokens with these ratios."""

    alternatives = (ALTERNATIVES["always-accept"],)

    def __init__(
        self, ratios: Sequence[float], limit: int, impossible: Sequence[int] = (), borderline: int = 0
    ) -> None:
        self.limit = limit
        self.ratios, self.impossible, self.borderline = list(ratios), list(impossible), borderline
        self.drawn = 0

    def draw(self, outputs: int) -> Chunk:
        start, count = self.drawn * self.limit, outputs * self.limit
        self.drawn += outputs
        ratios = np.array(self.ratios[start : start + count])[:, None]
        nothing = np.zeros_like(ratios)
        orders = np.zeros((count, len(ORDERS)))
        places = np.tile(np.arange(self.limit), outputs)
        return Chunk(
            outputs=((0,) * self.limit,) * outputs,
            observed=Observation(ratios, nothing.astype(bool), nothing, nothing, orders, orders + 1, places),
            impossible=tuple(one - start for one in self.impossible if start <= one < start + count),
            accepted=np.zeros(0, dtype=bool),
            rates=np.zeros(0),
            steps=outputs,
            drafted=0,
            borderline=self.borderline,
        )


def test_wealth_convicts_at_the_ledgers_share_of_the_level() -> None:
    """A bet of half the stake on ratios of 4: after n tokens the wealth is about 4^n / 12 (one share of six)."""
    trial = Trial(Told([4.0] * 20, 1), 1e-3, seed=0)
    trial.run(20, 1, stop=False)
    wealth = np.exp(trial.bettor.total)
    assert (wealth >= 0.5 * np.mean([(1 + 3 * share) ** np.arange(1, 21) for share in SHARES], axis=0)).all()
    level = PARTS["wealth"] * 1e-3
    assert level_of("wealth", 1e-3) == level
    assert trial.refuted_after == 1 + int(np.argmax(wealth >= 1 / level))
    assert wealth[trial.refuted_after - 2] < 1 / level <= wealth[trial.refuted_after - 1]
    # The same path at the levels that it just reaches and just misses.
    peak = float(wealth.max())
    for alpha, convicted in ((1.001 / peak / PARTS["wealth"], True), (0.999 / peak / PARTS["wealth"], False)):
        again = Trial(Told([4.0] * 20, 1), alpha, seed=0)
        again.run(20, 7)
        assert (again.refuted_after is not None) is convicted


@pytest.mark.parametrize("chunk", [1, 2, 10])
def test_a_token_outside_the_support_convicts_at_once(chunk: int) -> None:
    trial = Trial(Told([1.0] * 40, 4, impossible=[21, 30]), 1e-300, seed=0)
    trial.run(10, chunk, stop=False)
    assert (trial.refuted_after, trial.outside, trial.tokens) == (22, 2, 40)
    assert trial.log_wealth == math.inf
    stopped = Trial(Told([1.0] * 40, 4, impossible=[21, 30]), 1e-300, seed=0)
    stopped.run(10, chunk)
    assert stopped.refuted_after == 22
    assert stopped.sequences == chunk * math.ceil(6 / chunk)  # no further than the chunk of the sixth output


@pytest.mark.parametrize(("won_at", "outside_at", "convicted_after"), [(5, 9, 6), (9, 5, 6), (5, 30, 6), (30, 30, 31)])
def test_what_comes_first_convicts(won_at: int, outside_at: int, convicted_after: int) -> None:
    ratios = [1.0] * 40
    ratios[won_at] = 1e300
    trial = Trial(Told(ratios, 4, impossible=[outside_at]), ALPHA, seed=0)
    trial.run(10, 10, stop=False)
    assert trial.refuted_after == convicted_after


@pytest.mark.parametrize("ratio", [0.0, 1e300, 5e-324])
def test_wealth_is_a_number_after_the_most_extreme_bets(ratio: float) -> None:
    trial = Trial(Told([ratio] * 4_000, 4), ALPHA, seed=0)
    trial.run(1_000, 250, stop=False)
    assert not np.isnan(trial.bettor.total).any()
    assert np.isfinite(trial.log_wealth)
    assert (trial.refuted_after is not None) is (ratio > 1)
    assert not np.isnan(trial._roots).any()


# On toys.


def by_chunks(
    name: str, outputs: int, chunks: Sequence[int], faults: bool = True, one_source: bool = False
) -> list[Trial]:
    """The same stream in chunks of several sizes; without `faults` only the plug-in bettors are in the game."""
    trials = []
    for chunk in chunks:
        stream = stream_of(replace(TOYS[0], max_new_tokens=5).setting, name)
        if not faults:
            stream.alternatives = ()
        trial = Trial(stream, 1e-9, seed=4)  # a false alarm has probability 1e-9
        if one_source:
            trial._filling = trial._uniforms
        trial.run(outputs, chunk, stop=False)
        trials.append(trial)
    return trials


@pytest.mark.parametrize(
    ("name", "faults", "wrong"),
    [("always-accept", True, True), ("always-accept", False, True), ("target-draw-match", True, False)],
)
def test_the_convicting_token_and_all_numbers_are_the_same_for_any_chunk(name: str, faults: bool, wrong: bool) -> None:
    outputs = 700
    first, *others = by_chunks(name, outputs, (1, 64, outputs), faults)
    assert (first.refuted_after is not None) is wrong
    for other in others:
        assert other.refuted_after == first.refuted_after
        assert other.bettor.total == pytest.approx(first.bettor.total)
        assert np.array_equal(np.sort(other.values, axis=0), np.sort(first.values, axis=0))
        for one, same in zip(other.directions(), first.directions(), strict=True):
            assert (one.name, one.seen is None) == (same.name, same.seen is None)
            assert (one.bound, one.distance) == pytest.approx((same.bound, same.distance))
    stopped = Trial(stream_of(replace(TOYS[0], max_new_tokens=5).setting, name), 1e-9, seed=4)
    stopped.run(outputs, 7)
    assert stopped.refuted_after == by_chunks(name, outputs, (50,))[0].refuted_after


def test_one_source_for_what_is_bet_on_and_what_fills_up_would_depend_on_the_chunks() -> None:
    one, other = by_chunks(NAME, 60, (1, 60), one_source=True)
    assert one.bettor.total != pytest.approx(other.bettor.total)


def test_the_auditors_uniforms_are_not_the_decoders_coins() -> None:
    """Of one seed: else transforms would depend on the tokens they are to judge."""
    setting = TOYS[0].setting
    one, other = (Trial(stream_of(setting, NAME, seed=0), ALPHA, seed=0, number=number) for number in (0, 1))
    for trial in (one, other):
        trial.run(50, 50)
    assert one.tokens == other.tokens
    assert not np.array_equal(one.values, other.values)


# What a pass is worth.


def test_an_upper_bound_covers_the_truth_of_a_real_fault() -> None:
    """Always accepting is one of the faults: its excess in its own direction is its distance, whatever the contexts."""
    setting = TOYS[1].setting
    stream, runs = stream_of(setting, "always-accept"), 200
    missed = 0
    for number in range(runs):
        stream.restart(1, number)
        trial = Trial(stream, ALPHA, seed=1, number=number)
        trial.run(30, 30, stop=False)
        [own] = [one for one in trial.directions() if one.name == "always-accept"]
        assert own.distance > 0.05
        missed += own.bound < own.distance
    assert missed <= stats.binom.isf(1e-9, runs, 1e-3)


def test_the_acceptance_of_a_right_decoder_lies_in_its_interval() -> None:
    """Chances change with the context, which changes with what was accepted; outputs end where they like."""
    setting = TOYS[2].setting
    stream, runs, level = stream_of(setting, NAME), 200, 1e-2
    missed, rates = 0, set()
    for number in range(runs):
        stream.restart(2, number)
        trial = Trial(stream, ALPHA, seed=2, number=number)
        trial.run(30, 30, stop=False)
        positions = trial.sequences * stream.limit
        low, high = interval(trial.accepted, trial.expected_acceptance, trial.trials, positions, level)
        missed += not low <= 0 <= high
        rates.add(round(trial.expected_acceptance / trial.trials, 6))
    assert len(rates) > 20
    assert missed <= stats.binom.isf(1e-9, runs, level)


def laws_by_prefix(
    setting: Setting, rules: Sequence[Alternative]
) -> dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
    """The target's law and each fault's after every prefix that does not end an output."""
    models, found = sources(setting, NAME), {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        prefix = waiting.pop()
        if len(prefix) < setting.max_new_tokens and not (set(prefix[-1:]) & setting.target.eos):
            rows: Rows = read_rows(setting, models, (*prefix, 0), ("rejected",))
            found[prefix] = rows.target[-1], np.stack([predict(rule, rows)[-1] for rule in rules])
            waiting += [(*prefix, token) for token in range(setting.target.size)]
    return found


def outputs_of(
    laws: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]], index: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """The mass of each output under a diluted fault, and its ln likelihood ratio to the target."""
    masses, ratios = [], []
    waiting: list[tuple[tuple[int, ...], float, float]] = [((), 1.0, 1.0)]
    while waiting:
        prefix, fault, right = waiting.pop()
        if prefix not in laws:
            masses.append(fault)
            ratios.append(math.log(fault / right) if right else math.inf)
            continue
        target, faults = laws[prefix]
        diluted = (1 - share) * target + share * faults[index]
        waiting += [
            ((*prefix, token), fault * diluted[token], right * target[token]) for token in np.flatnonzero(diluted > 0)
        ]
    return np.array(masses), np.array(ratios)


def convictions(
    laws: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]], index: int, share: float, outputs: int, runs: int
) -> int:
    """How many of `runs` streams of a diluted fault, drawn along their own contexts, its bet convicts."""
    masses, ratios = outputs_of(laws, index, share)
    counts = np.random.default_rng(index).multinomial(outputs, masses / masses.sum(), size=runs)
    outside = (counts[:, np.isinf(ratios)] > 0).any(1)
    faults = len(laws[()][1])
    wealth = math.log(stake(faults)) + counts @ np.where(np.isinf(ratios), 0, ratios)
    return int((outside | (wealth >= -math.log(level_of("wealth", ALPHA)))).sum())


@pytest.mark.parametrize(("toy", "outputs"), [(8, 20), (9, 60), (0, 600), (4, 2_000)])
def test_a_fault_of_the_stated_strength_is_convicted_with_the_stated_probability(toy: int, outputs: int) -> None:
    setting = TOYS[toy].setting
    stream = stream_of(setting, NAME)
    trial = Trial(stream, ALPHA, seed=0)
    trial.run(outputs, outputs)
    assert trial.refuted_after is None
    laws = laws_by_prefix(setting, stream.alternatives)
    level, own, runs = level_of("wealth", ALPHA), stake(len(stream.alternatives)), 4_000
    stated = set()
    for index, rule in enumerate(stream.alternatives):
        share = seen_share(trial._roots[index], outputs, level, own)
        if share is not None:
            stated.add(rule.name)
            assert convictions(laws, index, share, outputs, runs) >= stats.binom.ppf(1e-9, runs, 0.99), rule.name
    assert {one.name for one in trial.directions() if one.seen is not None} == stated
    assert len(stated) >= (5 if outputs > 100 else 0)


def test_what_a_fault_would_do_in_the_contexts_seen_promises_too_much() -> None:
    """On this toy a right decoder went once where the fault differs most from the target; faulty ones may not go.

    So the product over its tokens of sum sqrt(P M) is no bound on the chance to miss the fault.
    """
    setting, outputs, runs = TOYS[8].setting, 20, 4_000
    stream = stream_of(setting, NAME)
    laws = laws_by_prefix(setting, stream.alternatives)
    index = [rule.name for rule in stream.alternatives].index("bonus-from-drafter")
    seen = 0.0
    for output in stream.draw(outputs).outputs:
        for place in range(len(output)):
            target, faults = laws[output[:place]]
            seen += math.log(max(1e-300, float(np.sqrt(target * faults[index]).sum())))
    missed = -0.5 * math.log(level_of("wealth", ALPHA) * stake(len(stream.alternatives))) + seen
    assert missed < math.log(0.01)
    assert convictions(laws, index, 1.0, outputs, runs) < 0.9 * runs


# Nothing, little, and nothing clear.


def test_an_empty_trial_says_nothing() -> None:
    trial = Trial(stream_of(TOYS[0].setting, NAME), ALPHA, seed=0)
    trial.run(0, 10)
    assert (trial.tokens, trial.sequences, trial.refuted_after, trial.log_wealth) == (0, 0, None, 0.0)
    assert (trial.tests(), trial.directions()) == ((), ())
    assert trial.values.shape == (0, len(ORDERS))


def test_one_token_says_little() -> None:
    setting = replace(TOYS[0], max_new_tokens=1).setting
    trial = Trial(stream_of(setting, NAME), ALPHA, seed=0)
    trial.run(1, 10)
    assert (trial.tokens, trial.refuted_after) == (1, None)
    assert all(one.seen is None for one in trial.directions())
    assert all(one.bound > 0.3 for one in trial.directions())
    assert all(test.p_value > 0 for test in trial.tests())


def test_where_all_tokens_are_at_a_threshold_nothing_is_said_of_faults() -> None:
    trial = Trial(Told([1.0] * 8, 4, borderline=8), ALPHA, seed=0)
    trial.run(2, 2)
    assert (trial.borderline, trial.tokens, trial.refuted_after) == (8, 8, None)
    assert trial.directions() == ()


def test_bounds_are_per_tested_token() -> None:
    """Left-out tokens are no evidence of a small excess."""
    stream = stream_of(TOYS[1].setting, NAME)
    chunk = stream.draw(40)
    half = replace(chunk, borderline=len(chunk.observed) // 2)
    bounds = []
    for one in (chunk, half):
        trial = Trial(stream, ALPHA, seed=0)
        trial.take(one)
        bounds.append({direction.name: direction for direction in trial.directions()})
    for name, direction in bounds[0].items():
        assert bounds[1][name].bound == pytest.approx(min(1, 2 * direction.bound), rel=0.05)
        assert bounds[1][name].distance == pytest.approx(2 * direction.distance, rel=0.05)


def test_a_stream_without_faults_to_bet_on_is_tested_all_the_same() -> None:
    stream = stream_of(TOYS[0].setting, NAME)
    stream.alternatives = ()
    trial = Trial(stream, ALPHA, seed=0)
    trial.run(50, 25)
    assert trial.directions() == ()
    assert np.isfinite(trial.bettor.total).all()
    assert len(trial.tests()) == len(ORDERS)
