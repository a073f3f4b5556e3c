"""What the kill matrix runs: every control on a toy and on the zoo, as a stream under audit and as short samples.

Short samples are what engines' suites make: outputs of lookahead + 1 tokens after one prompt, without any law read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from draftproof.algorithms.decoding import Decoder, decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.algorithms.memoised import Memoised
from draftproof.algorithms.processors import PresencePenalty, Processor, Temperature, TopK
from draftproof.verify.comparison import compare
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.pairs import ZOO, Library, Pair, with_prompt
from draftproof.verify.settings import Setting, autoregressive, processed
from draftproof.verify.statistics.rows import Floats
from draftproof.verify.streams import PairStream, Stream, ToyStream
from draftproof.verify.toys import Toy, random_toy
from draftproof.verify.twins import with_twins

Outputs = npt.NDArray[np.int64]

BATCH = 256

_TWINS = ("last-writer-wins", "merged-after-draw")


class Sampler(Protocol):
    """Draws outputs, rows of ids padded with -1 after EOS."""

    def __call__(self, outputs: int) -> Outputs:
        """The next outputs."""
        ...


class Growing:
    """A sample that is drawn once and grows: a larger one begins with the smaller one."""

    def __init__(self, sampler: Sampler) -> None:
        """Nothing is drawn yet."""
        self._sampler = sampler
        self._drawn: Outputs | None = None

    def first(self, count: int) -> Outputs:
        """The first `count` outputs."""
        have = 0 if self._drawn is None else len(self._drawn)
        if have < count:
            more = self._sampler(count - have)
            self._drawn = more if self._drawn is None else np.concatenate([self._drawn, more])
        assert self._drawn is not None
        return self._drawn[:count]


@dataclass(frozen=True)
class Subject:
    """A control on settings: as a stream for the audit, and as samples of short outputs, of plain decoding too."""

    name: str
    number: str
    wrong: bool
    where: str
    stream: Callable[[int], Stream]
    short: Callable[[int], Growing]
    plain: Callable[[int], Growing]
    first_law: Floats


CHAIN: tuple[str | None, ...] = ("a", "b", "c", "d", None)


def chain() -> Toy:
    """A chain of five tokens on which every fault of a shared vocabulary shows (tested), and which accepts often."""
    return replace(random_toy("chain", CHAIN, CHAIN, 0), max_new_tokens=5)


def toy_subjects() -> Iterator[Subject]:
    """Every control on the chain; those of two vocabularies on the first toy of their battery on which they deviate."""
    for control in CONTROLS.values():
        setting = _toy_setting(control)
        short = replace(setting, max_new_tokens=setting.lookahead + 1)
        yield Subject(
            control.name,
            control.number,
            control.wrong,
            setting.name,
            partial(_toy_stream, setting, control),
            partial(_toy_sampler, short, control.build),
            partial(_toy_sampler, short, autoregressive),
            _first_law(setting),
        )


def _toy_setting(control: Control) -> Setting:
    whole = replace(chain(), processors=control.processors).setting
    if control.like == "speculative-sampling":
        return whole
    if control.name in _TWINS:
        return with_twins(whole)
    settings = [toy.setting for toy in control.battery()]
    if not control.wrong:
        return settings[0]
    return next(setting for setting in settings if compare(setting, control.build).total_variation != "0")


def _toy_stream(setting: Setting, control: Control, seed: int) -> Stream:
    return ToyStream(setting, control.build(setting), control.like, seed)


def _toy_sampler(setting: Setting, build: Callable[[Setting], Decoder], seed: int) -> Growing:
    memoised, coins = Memoised(build(setting)), RandomCoins(seed, 2)

    def draw(outputs: int) -> Outputs:
        drawn = (memoised.sample(setting.prompt, setting.max_new_tokens, coins).tokens for _ in range(outputs))
        return _padded(drawn, outputs, setting.max_new_tokens)

    return Growing(draw)


_BACK = Pair("zoo:byte-bpe-small", "zoo:byte-bpe", one_vocabulary=True)

ELSEWHERE: dict[str, tuple[Pair, int, tuple[Processor, ...]]] = {
    "shared-noise": (ZOO[0], 6, (Temperature(1.6), TopK(8))),
    "history-frozen": (_BACK, 3, (TopK(8), PresencePenalty(Fraction(1, 7)))),
}
"""Where two faults are looked for on the zoo: a pair, a lookahead and processors under which they deviate enough.

Their total variation is small anywhere, and in the setting of the others they need some 7,000 tokens (mutant 3) and
8,600 (mutant 11), by the Kullback-Leibler divergence of their laws.
"""


def zoo_subjects(library: Library, prompts: Sequence[str], max_new_tokens: int = 32) -> Iterator[Subject]:
    """Every control on a pair of the zoo, drafting with a lookahead of 3; mutant 15 with a twinned drafter.

    Left out: SLEM that keeps the candidate's ids, which no pair of the zoo can show, having no two ids of one string.
    """
    plains: dict[object, Callable[[int], Growing]] = {}
    for control in CONTROLS.values():
        if control.name == "slem-keeps-candidate":
            continue
        shared = control.like == "speculative-sampling" or control.name in _TWINS
        usual = ZOO[0] if shared else ZOO[1], 3, control.processors
        pair, lookahead, processors = ELSEWHERE.get(control.name, usual)
        raw = library.setting(pair, lookahead, max_new_tokens)
        if control.name in _TWINS:
            raw = with_twins(raw)
        settings = [processed(with_prompt(raw, text), processors) for text in prompts]
        short = replace(settings[0], max_new_tokens=settings[0].lookahead + 1)
        decoder = control.build(settings[0])
        where = f"{raw.name}{_named(processors)}"
        # Controls of one setting share one sample of plain decoding.
        plain = plains.setdefault((where, lookahead), cache(partial(_pair_sampler, short, autoregressive(short))))
        yield Subject(
            control.name,
            control.number,
            control.wrong,
            where,
            partial(_pair_stream, settings, decoder, control.like),
            partial(_pair_sampler, short, decoder),
            plain,
            _first_law(settings[0]),
        )


def _named(processors: Sequence[Processor]) -> str:
    return "".join(f", {processor}" for processor in processors)


def _pair_stream(settings: Sequence[Setting], decoder: Decoder, like: str, seed: int) -> Stream:
    return PairStream(settings, decoder, like, seed)


def _pair_sampler(setting: Setting, decoder: Decoder, seed: int) -> Growing:
    drawn = 0

    def draw(outputs: int) -> Outputs:
        nonlocal drawn
        found: list[tuple[int, ...]] = []
        while len(found) < outputs:
            count = min(BATCH, outputs - len(found))
            programs = [decode(decoder, setting.prompt, setting.max_new_tokens) for _ in range(count)]
            found += [
                one.tokens for one in sample_batch(programs, [RandomCoins(seed, 3, drawn + n) for n in range(count)])
            ]
            drawn += count
        return _padded(found, outputs, setting.max_new_tokens)

    return Growing(draw)


def _padded(drawn: Sequence[tuple[int, ...]] | Iterator[tuple[int, ...]], count: int, width: int) -> Outputs:
    rows = np.full((count, width), -1, dtype=np.int64)
    for row, tokens in zip(rows, drawn, strict=True):
        row[: len(tokens)] = tokens
    return rows


def _first_law(setting: Setting) -> Floats:
    [[law]] = setting.target.laws([(setting.prompt, ())])
    masses = np.zeros(setting.target.size)
    for token, mass in law.items():
        masses[token] = float(mass)
    return masses
