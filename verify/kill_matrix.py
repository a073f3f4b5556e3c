"""The kill matrix: every control against every method, and how many tokens each method needs to refute it.

A bet is watched after every token. A test of a fixed sample is run on growing samples, each time at the full level,
which favours it: the first size at which it refutes is what counts. The same holds for the criteria of engines
(peers.py), which are given samples of their own kind: many short outputs after one prompt, as their suites make them.
All peers read the same outputs, and a larger sample begins with the smaller one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from draftproof.verify.kill_subjects import Growing, Subject
from draftproof.verify.statistics.alternatives import OF_CONTROL
from draftproof.verify.statistics.betting import reached
from draftproof.verify.statistics.observation import ORDERS
from draftproof.verify.statistics.peers import PEERS, Samples
from draftproof.verify.statistics.two_sample_betting import log_wealth
from draftproof.verify.statistics.uniformity import Tested, cramer_von_mises, kolmogorov_smirnov, neyman_smooth
from draftproof.verify.trials import Trial

AUDIT = "the audit (all bets)"
OWN = "bets on this fault"
FAULTS = "bets on all faults"
PLUG_IN = "plug-in bets"
BLACK_BOX = "two-sample bets"

PEER_ALPHA = 1e-3
"""The level of peers that take one: a thousand times ours, in their favour (permutations reach no less than 1e-5)."""

SIZES = tuple(int(size) for size in np.geomspace(100, 1_000_000, 41))
"""Sizes at which samples of a fixed size are tried: ten in each decade."""

FACTOR = 10
"""Peers get at most so many outputs for each token that the audit took: what is beyond shows nothing new."""

Uniformity = Callable[[np.ndarray], Tested]
UNIFORMITY: dict[str, Uniformity] = {
    "Kolmogorov-Smirnov": kolmogorov_smirnov,
    "Cramer-von Mises": cramer_von_mises,
    "Neyman's smooth test": neyman_smooth,
}


@dataclass(frozen=True)
class Kill:
    """After how many tokens a method refuted a control; None if it did not in `searched` tokens. `ours`: no peer's."""

    method: str
    ours: bool
    tokens: int | None
    searched: int


@dataclass(frozen=True)
class Row:
    """One control against all methods. `distance`: total variation per token of its fault, where its law is known."""

    control: str
    number: str
    wrong: bool
    where: str
    distance: float | None
    kills: tuple[Kill, ...]

    @property
    def audit(self) -> int | None:
        """Tokens until the audit refuted it."""
        return next(kill.tokens for kill in self.kills if kill.method == AUDIT)

    @property
    def best_peer(self) -> Kill | None:
        """The peer that refuted it with the fewest tokens, if one did."""
        kills = [kill for kill in self.kills if not kill.ours and kill.tokens is not None]
        return min(kills, key=lambda kill: kill.tokens or 0, default=None)

    @property
    def peers_searched(self) -> int:
        """The most tokens that a peer was given."""
        return max((kill.searched for kill in self.kills if not kill.ours), default=0)


@dataclass(frozen=True)
class KillEvidence:
    """A kill matrix: at one level, on one kind of models."""

    domain: str
    alpha: float
    seed: int
    rows: tuple[Row, ...]
    seconds: float = 0.0


@dataclass(frozen=True)
class Budget:
    """What a matrix may spend on one control.

    `tokens`: of the audit's trial, at least. `rest`: tokens of the trial after the audit has refuted, for its other
    methods. `outputs`: the most short outputs for a peer; `factor`: and for a wrong control no more tokens than this
    many times what the audit took. `right`: the most short outputs of a right control.
    """

    tokens: int
    rest: int
    outputs: int
    right: int
    factor: int | None = None
    chunk: int = 64


def zoo_budget(tokens: int) -> Budget:
    """What is spent on a control on tiny models, whose audit may take `tokens`."""
    return Budget(tokens, rest=500, outputs=FACTOR * tokens, right=tokens, factor=FACTOR, chunk=32)


def row(subject: Subject, alpha: float, seed: int, budget: Budget) -> Row:
    """One control against all methods."""
    trial = Trial(subject.stream(seed), alpha, seed)
    end = budget.tokens
    while trial.tokens < end:
        trial.run(trial.sequences + budget.chunk, budget.chunk, stop=False)
        if trial.refuted_after is not None:
            end = min(budget.tokens, trial.refuted_after + budget.rest)
    fault = OF_CONTROL.get(subject.name, subject.name)
    distances = {one.name: one.distance for one in trial.directions()}
    kills = [*_bets(fault, trial, alpha), *_uniformity(trial, alpha)]
    outputs = budget.outputs if subject.wrong else budget.right
    if budget.factor and trial.refuted_after is not None:
        outputs = min(outputs, max(SIZES[0], budget.factor * trial.refuted_after))
    decoder, plain = subject.short(seed + 1), subject.plain(seed + 2)
    kills.append(_black_box(decoder, plain, alpha, min(outputs, MOST_PAIRS)))
    kills += _peers(decoder, plain, subject, outputs)
    return Row(subject.name, subject.number, subject.wrong, subject.where, distances.get(fault), tuple(kills))


def _bets(fault: str, trial: Trial, alpha: float) -> list[Kill]:
    """The audit itself, and its groups of bettors by themselves."""
    names = [alternative.name for alternative in trial.stream.alternatives]
    by_fault = trial.bettor.by_alternative
    kills = [Kill(AUDIT, True, trial.refuted_after, trial.tokens)]
    if fault in names:
        kills.append(Kill(OWN, True, reached(by_fault[:, names.index(fault)], alpha), trial.tokens))
    mixed = logsumexp(by_fault, axis=1) - np.log(len(names))
    kills.append(Kill(FAULTS, True, reached(mixed, alpha), trial.tokens))
    kills.append(Kill(PLUG_IN, True, reached(trial.bettor.plug_in, alpha), trial.tokens))
    return kills


def _uniformity(trial: Trial, alpha: float) -> list[Kill]:
    kills = []
    for name, test in UNIFORMITY.items():
        for index, order in enumerate(ORDERS):
            values = trial.values[:, index]
            sizes = [size for size in SIZES if size <= len(values)]
            first = next((size for size in sizes if test(values[:size]).p_value <= alpha), None)
            kills.append(Kill(f"{name}, by {order}", True, first, max(sizes, default=0)))
    return kills


MOST_PAIRS = 4_000
"""Pairs of outputs for the two-sample bets: their witness looks at all distinct outputs before, each time."""


def _black_box(decoder: Growing, plain: Growing, alpha: float, pairs: int) -> Kill:
    """Without any law: outputs of the decoder against outputs of plain decoding, for one prompt."""
    first, second = decoder.first(pairs), plain.first(pairs)
    path = log_wealth([tuple(one) for one in first], [tuple(one) for one in second])[1:]
    hit = reached(path, alpha)
    width = first.shape[1]
    return Kill(BLACK_BOX, True, None if hit is None else hit * width, pairs * width)


def _peers(decoder: Growing, plain: Growing, subject: Subject, outputs: int) -> list[Kill]:
    """All peers on growing samples of short outputs."""
    kills = []
    for peer in PEERS:
        most = min(outputs, MOST_OUTPUTS.get(peer.name, outputs))
        searched, caught = 0, False
        for size in dict.fromkeys((*(size for size in SIZES if size < most), most)):
            if size >= peer.least_outputs and not caught:
                other = plain.first(size) if peer.needs_autoregressive else None
                samples = Samples(decoder.first(size), subject.first_law, other)
                searched = peer.tokens(samples)
                caught = peer.judge(samples, PEER_ALPHA).caught
        kills.append(Kill(peer.name, False, searched if caught else None, searched))
    return kills


MOST_OUTPUTS = {"Hamming MMD": 8_000}
"""Peers whose published sample is a limit of their cost, too: quadratic in the number of outputs."""


def matrix(
    domain: str,
    subjects: Sequence[Subject],
    alpha: float,
    seed: int,
    budget: Budget,
    progress: Callable[[int], None] = lambda done: None,
    seen: Callable[[Row], None] = lambda row: None,
) -> KillEvidence:
    """The matrix of all subjects; `seen` is called with each row."""
    rows = []
    for number, subject in enumerate(subjects, start=1):
        rows.append(row(subject, alpha, seed, budget))
        seen(rows[-1])
        progress(number)
    return KillEvidence(domain, alpha, seed, tuple(rows))
