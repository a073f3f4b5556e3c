"""Streams: seeded, the same however they are cut, and read so that no token decides whether it is tested."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample
from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.processors import MinP, PresencePenalty, Processed, Processor, TopK, TopP
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS, Setting, autoregressive, processed
from draftproof.verify.statistics.observation import Observation
from draftproof.verify.streams import Chunk, PairStream, Stream, ToyStream, alternatives_for
from draftproof.verify.toys import battery

NAME = "speculative-sampling"
EACH = pytest.mark.parametrize("name", BUILDERS)
BOTH = pytest.mark.parametrize("exact", [True, False])


def setting_of(toys: Any, name: str, exact: bool) -> Setting:
    setting = replace(next(iter(battery(name))), max_new_tokens=4).setting
    if exact:
        return setting
    return replace(setting, target=toys.Floats(setting.target), drafter=toys.Floats(setting.drafter))


def stream_of(toys: Any, name: str, exact: bool, seed: int = 0) -> Stream:
    setting = setting_of(toys, name, exact)
    decoder = BUILDERS[name](setting)
    return ToyStream(setting, decoder, name, seed) if exact else PairStream([setting], decoder, name, seed)


def numbers(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """All that chunks say, joined; indices of impossible tokens counted from the beginning."""
    starts = np.cumsum([0, *(len(chunk.observed) for chunk in chunks)])
    told = {
        field.name: np.concatenate([getattr(chunk.observed, field.name) for chunk in chunks]).tolist()
        for field in fields(Observation)
    }
    told |= {
        "outputs": [output for chunk in chunks for output in chunk.outputs],
        "impossible": [
            start + place for start, chunk in zip(starts, chunks, strict=False) for place in chunk.impossible
        ],
        "accepted": [bool(one) for chunk in chunks for one in chunk.accepted],
        "rates": [float(one) for chunk in chunks for one in chunk.rates],
    }
    return told | {name: sum(getattr(chunk, name) for chunk in chunks) for name in ("steps", "drafted", "borderline")}


# Seeds and chunks.


@EACH
@BOTH
def test_a_stream_is_the_same_however_it_is_cut(toys: Any, name: str, exact: bool) -> None:
    whole = numbers([stream_of(toys, name, exact).draw(12)])
    for sizes in ([1] * 12, [5, 7], [11, 1]):
        stream = stream_of(toys, name, exact)
        assert numbers([stream.draw(size) for size in sizes]) == whole
    assert len(set(whole["outputs"])) > 3
    assert numbers([stream_of(toys, name, exact, seed=1).draw(12)])["outputs"] != whole["outputs"]


def test_a_toy_stream_is_the_sample_driver_with_the_same_coins(toys: Any) -> None:
    setting = setting_of(toys, NAME, True)
    decoder = BUILDERS[NAME](setting)
    stream = ToyStream(setting, decoder, NAME, 5)
    coins = RandomCoins(5, 0)
    assert stream.draw(20).outputs == tuple(sample(decode(decoder, (), 4), coins).tokens for _ in range(20))
    first = stream.draw(5).outputs
    stream.restart(5, 1)
    restarted = stream.draw(5).outputs
    stream.restart(5)
    assert stream.draw(25).outputs[20:] == first != restarted


def test_a_pair_stream_gives_each_output_coins_of_its_own_and_takes_prompts_in_turn(toys: Any) -> None:
    setting = setting_of(toys, NAME, False)
    settings = [replace(setting, prompt=prompt) for prompt in ((0,), (1,))]
    decoder = BUILDERS[NAME](setting)
    drawn = PairStream(settings, decoder, NAME, 3, repeats=2).draw(6).outputs
    prompts = [(0,), (0,), (1,), (1,), (0,), (0,)]
    expected = [sample(decode(decoder, prompt, 4), RandomCoins(3, k)).tokens for k, prompt in enumerate(prompts)]
    assert list(drawn) == expected


# Toy and pair.


@EACH
def test_both_streams_tell_the_same_of_an_output(toys: Any, name: str) -> None:
    told: list[dict[tuple[int, ...], Observation]] = []
    for exact in (True, False):
        stream, mine = stream_of(toys, name, exact), {}
        for _ in range(80):
            chunk = stream.draw(1)
            mine[chunk.outputs[0]] = chunk.observed
        told.append(mine)
    common = set(told[0]) & set(told[1])
    assert len(common) >= 4
    for output in common:
        for field in fields(Observation):
            one, other = (getattr(mine[output], field.name) for mine in told)
            assert one == pytest.approx(other, abs=1e-9), field.name


@BOTH
def test_trials_are_told_with_their_chances_by_hand(toys: Any, exact: bool) -> None:
    """Target a or b with 1/2 each, drafter always a: a trial in each step but for the last token, of chance 1/2."""
    half = Fraction(1, 2)
    tokenizer = ToyTokenizer(("a", "b"))
    target, drafter = explicit({}, 2, otherwise={0: half, 1: half}), explicit({}, 2, otherwise={0: Fraction(1)})
    setting = Setting("hand", target, tokenizer, drafter, tokenizer, (), 1, psi_lookahead=1, max_new_tokens=2)
    if not exact:
        setting = replace(setting, target=toys.Floats(target), drafter=toys.Floats(drafter))
    decoder = BUILDERS[NAME](setting)
    stream = ToyStream(setting, decoder, NAME, 0) if exact else PairStream([setting], decoder, NAME, 0)
    chunk = stream.draw(40)
    assert chunk.accepted.tolist() == [output[0] == 0 for output in chunk.outputs]
    assert chunk.rates.tolist() == [0.5] * 40
    assert chunk.drafted == 40
    assert chunk.steps == 40 + (~chunk.accepted).sum()
    assert (chunk.impossible, chunk.borderline) == ((), 0)


@BOTH
def test_tokens_outside_the_support_are_pointed_out(toys: Any, exact: bool) -> None:
    """The target says a only, the drafter b; whoever accepts always begins with b. The bonus is the target's a."""
    tokenizer = ToyTokenizer(("a", "b"))
    target, drafter = (explicit({}, 2, otherwise={token: Fraction(1)}) for token in range(2))
    setting = Setting("hand", target, tokenizer, drafter, tokenizer, (), 1, psi_lookahead=1, max_new_tokens=2)
    if not exact:
        setting = replace(setting, target=toys.Floats(target), drafter=toys.Floats(drafter))
    for build, places in ((CONTROLS["always-accept"].build, (0, 2, 4)), (BUILDERS[NAME], ())):
        stream = (
            ToyStream(setting, build(setting), NAME, 0) if exact else PairStream([setting], build(setting), NAME, 0)
        )
        assert stream.draw(3).impossible == places


# Rounding at a processor's threshold.


@dataclass(frozen=True)
class Fixed:
    """A model with one law of floats after everything."""

    masses: tuple[float, ...]
    eos: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        return len(self.masses)

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        law = TensorLaw(torch.tensor(self.masses, dtype=torch.float64))
        return [[law] * (len(drafted) + 1) for _, drafted in queries]


def fixed(masses: tuple[float, ...], *processors: Processor) -> Setting:
    tokenizer = ToyTokenizer(tuple("abcdefg"[: len(masses)]))
    model = Fixed(masses)
    return processed(Setting("fixed", model, tokenizer, model, tokenizer, (0,), 2, 1, 4), processors)


UNCLEAR = [
    (TopK(2), (0.5, 0.25, 0.2499, 0.0001)),
    (TopP(0.75), (0.5, 0.25, 0.15, 0.1)),
    (MinP(0.5), (0.5, 0.2501, 0.1499, 0.1)),
    (MinP(0.5), (0.5, 0.2499, 0.1501, 0.1)),
]
CLEAR = [
    (TopK(2), (0.5, 0.25, 0.24, 0.01)),
    (TopP(0.7), (0.5, 0.25, 0.15, 0.1)),
    (MinP(0.5), (0.5, 0.26, 0.14, 0.1)),
    (TopK(4), (0.4, 0.3, 0.2, 0.1)),
]


@pytest.mark.parametrize(("processor", "masses"), UNCLEAR)
def test_tokens_at_a_threshold_are_left_out(processor: Processor, masses: tuple[float, ...]) -> None:
    setting = fixed(masses, processor)
    chunk = PairStream([setting], autoregressive(setting), NAME, 0).draw(6)
    assert chunk.borderline == len(chunk.observed) == 24
    assert chunk.impossible == ()
    observed = chunk.observed
    assert (observed.ratios == 1).all()
    assert (observed.cells == 1).all()
    assert not observed.distances.any()


@pytest.mark.parametrize(("processor", "masses"), CLEAR)
def test_tokens_away_from_a_threshold_are_tested(processor: Processor, masses: tuple[float, ...]) -> None:
    setting = fixed(masses, processor)
    chunk = PairStream([setting], autoregressive(setting), NAME, 0).draw(6)
    assert chunk.borderline == 0
    assert (chunk.observed.cells < 1).any()


@pytest.mark.parametrize(("processor", "masses"), [*UNCLEAR, *CLEAR])
def test_the_token_has_no_say_in_whether_it_is_left_out(processor: Processor, masses: tuple[float, ...]) -> None:
    """Else a decoder's unlikely tokens could be excused, or bets be placed with the token known."""
    setting = fixed(masses, processor)
    stream = PairStream([setting], autoregressive(setting), NAME, 0)
    for tokens in np.ndindex(4, 4):
        places = set(stream._unclear(setting, tokens))
        assert places == ({0, 1} if (processor, masses) in UNCLEAR else set())


def test_only_tokens_that_rounding_may_let_in_are_excused() -> None:
    """Of two ties and a token far below both, the last convicts at the unclear place too."""
    declared = fixed((0.4, 0.25, 0.2499, 0.1001), TopK(2))
    assert isinstance(declared.target, Processed)
    stream = PairStream([declared], autoregressive(replace(declared, target=declared.target.model)), NAME, 0)
    chunk = stream.draw(20)
    emitted = [token for output in chunk.outputs for token in output]
    assert set(emitted) == {0, 1, 2, 3}
    assert chunk.impossible == tuple(place for place, token in enumerate(emitted) if token == 3)


# What cannot be.


def test_a_law_that_is_none_is_refused() -> None:
    """The reading pass gets NaN where the decoder did not: that is an error, and no pass."""

    @dataclass(frozen=True)
    class Breaks(Fixed):
        def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
            checks = len(queries) == 1 and len(queries[0][1]) == 3
            law = TensorLaw(torch.tensor((float("nan"), 0.5) if checks else (0.5, 0.5)))
            return [[law] * (len(drafted) + 1) for _, drafted in queries]

    setting = replace(fixed((0.5, 0.5)), target=Breaks((0.5, 0.5)))
    stream = PairStream([setting], autoregressive(setting), NAME, 0)
    with pytest.raises(LawError, match="NaN"):
        stream.draw(2)


def test_a_stream_of_nothing_is_refused(toys: Any) -> None:
    setting = fixed((0.5, 0.5))
    with pytest.raises(ValueError, match="make no stream"):
        PairStream([setting], autoregressive(setting), NAME, 0, repeats=0).draw(1)
    with pytest.raises(ValueError, match="one limit"):
        PairStream([setting, replace(setting, max_new_tokens=9)], autoregressive(setting), NAME, 0)
    for exact in (True, False):
        with pytest.raises(ValueError, match="at least one output"):
            stream_of(toys, NAME, exact).draw(0)


def test_floats_and_fractions_have_streams_of_their_own(toys: Any) -> None:
    exact, floats = setting_of(toys, NAME, True), setting_of(toys, NAME, False)
    with pytest.raises(TypeError, match="floats"):
        PairStream([exact], BUILDERS[NAME](exact), NAME, 0)
    with pytest.raises(TypeError, match="fractions"):
        ToyStream(floats, BUILDERS[NAME](floats), NAME, 0).draw(1)


def test_faults_are_those_whose_law_can_be_read(toys: Any) -> None:
    plain = setting_of(toys, NAME, True)
    penalised = processed(plain, (PresencePenalty(Fraction(1, 2)),))
    mapped = setting_of(toys, "tli", True)
    named = {
        key: {one.name for one in alternatives_for(setting, like, rejected)}
        for key, setting, like, rejected in (
            ("plain", plain, NAME, True),
            ("cheap", plain, NAME, False),
            ("penalised", penalised, NAME, True),
            ("mapped", mapped, "tli", True),
        )
    }
    assert named["plain"] - named["cheap"] == {"recovered-from-next-row", "rejected-stays"}
    assert named["penalised"] - named["plain"] == {"bonus-only-processed", "history-frozen"}
    assert named["mapped"] - named["plain"] == {"last-writer-wins"}
    assert named["cheap"] < named["plain"]
