"""Samples a decoder on a pair and tests its tokens against the target's law: streams.py draws, trials.py tests.

Beside what samples say stands what they cannot: the exact distance of one step over the whole vocabulary, on a few
contexts (numerics/driver_step.py).
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

from draftproof.algorithms.decoding import Decoder, decode
from draftproof.algorithms.drivers import RandomCoins, run_script, sample, sample_batch
from draftproof.algorithms.slem import Slem
from draftproof.algorithms.slrs import Slrs
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.comparison import Build
from draftproof.verify.evidence import OneStepBound, SampleEvidence
from draftproof.verify.numerics.driver_step import (
    Draft,
    bonus_deviation,
    draft_of_walk,
    drawn,
    in_floats,
    step_deviation,
)
from draftproof.verify.settings import Setting, autoregressive
from draftproof.verify.streams import PairStream
from draftproof.verify.trials import Trial


@dataclass(frozen=True)
class Sampling:
    """How much to sample: `repeats` outputs per prompt, `batch` at a time.

    `rounding` is the relative error of a probability that the model's floats explain (two passes over the same ids
    differ by as much): near a processor's threshold it decides what is kept. `rejected` also bets on faults that read
    the target's laws after rejected tokens, which costs three target passes a token.
    """

    repeats: int = 8
    batch: int = 32
    seed: int = 0
    alpha: float = 1e-6
    rejected: bool = True
    rounding: float = 1e-3


def sample_subject(
    subject: str,
    like: str,
    settings: Sequence[Setting],
    build: Build,
    sampling: Sampling,
    autoregressive_seconds: float = 0.0,
    progress: Callable[[int], None] = lambda outputs: None,
) -> SampleEvidence:
    """Samples and tests one decoder on the settings of one pair (one setting per prompt), until it is convicted.

    `like` names the decoder that it is, or is like.
    Raises TypeError for laws in fractions: they are enumerated instead.
    """
    # One decoder object per pair, or its vocabulary maps would be worked out for every output.
    decoder = build(settings[0])
    stream = PairStream(settings, decoder, like, sampling.seed, sampling.repeats, sampling.rounding, sampling.rejected)
    trial = Trial(stream, sampling.alpha, sampling.seed)
    outputs = len(settings) * sampling.repeats
    while trial.sequences < outputs and trial.refuted_after is None:
        trial.run(min(outputs, trial.sequences + sampling.batch), sampling.batch)
        progress(trial.sequences)
    bound = one_step_bound(decoder, settings, sampling.seed)
    return evidence_of(subject, settings[0].name, trial, autoregressive_seconds, bound)


def evidence_of(
    subject: str,
    pair: str,
    trial: Trial,
    autoregressive_seconds: float = 0.0,
    one_step: OneStepBound | None = None,
) -> SampleEvidence:
    """What a trial saw, as data."""
    return SampleEvidence(
        subject=subject,
        pair=pair,
        sequences=trial.sequences,
        limit=trial.stream.limit,
        tokens=trial.tokens,
        steps=trial.steps,
        drafted=trial.drafted,
        trials=trial.trials,
        accepted=trial.accepted,
        expected_acceptance=trial.expected_acceptance,
        outside=trial.outside,
        tests=trial.tests(),
        alpha=trial.alpha,
        seed=trial.seed,
        log_wealth=trial.log_wealth,
        refuted_after=trial.refuted_after,
        directions=trial.directions(),
        seconds=trial.seconds,
        autoregressive_seconds=autoregressive_seconds,
        borderline=trial.borderline,
        one_step=one_step,
    )


WORK = 1 << 20
"""Ids of the target, summed over contexts, that one bound looks at: seconds. One context is looked at in any case."""


def one_step_bound(
    decoder: Decoder, settings: Sequence[Setting], seed: int = 0, positions: int = 4
) -> OneStepBound | None:
    """The exact distance of one step as the driver draws it, at the first `positions` of an output after each prompt.

    The first position of each prompt comes first where there is not work for all. None for decoders of another rule
    than speculative sampling (whatever maps its drafter), SLEM and SLRS: a changed rule is not looked into.
    Raises TypeError for laws in fractions, and LawError for what is no law.
    """
    if type(decoder) not in (SpeculativeSampling, Slem, Slrs):
        return None
    contexts = max(1, WORK // decoder.target.size)
    found: list[Fraction] = []
    for number, setting in enumerate(settings):
        share = math.ceil((contexts - number) / len(settings))
        count = min(positions, share, setting.max_new_tokens)
        if count > 0:
            output = sample(decode(decoder, setting.prompt, count), RandomCoins(seed, 2, number)).tokens
            [target_laws] = decoder.target.laws([(setting.prompt, output[:-1])])
            drafts = _drafts(decoder, setting.prompt, output[:-1])
            found += map(_deviation, map(in_floats, target_laws), drafts)
    return OneStepBound(len(found), _rounded_up(sum(found, Fraction(0)) / len(found)), _rounded_up(max(found)))


def _drafts(decoder: Decoder, prompt: tuple[int, ...], output: tuple[int, ...]) -> Iterator[Draft | None]:
    """How the next token is drafted after the prompt and after each token of the output; None where it is not."""
    if isinstance(decoder, SpeculativeSampling):
        [laws] = decoder.drafter.laws([(prompt, output)])
        yield from (None if law.empty else Draft(drawn(law), law) for law in map(in_floats, laws))
    for length in range(len(output) + 1):
        if isinstance(decoder, Slrs):
            walk = run_script(decoder.drafting.walk(prompt + output[:length]), ())
            yield draft_of_walk(walk, decoder.target.size)
        elif isinstance(decoder, Slem):  # emits the target's own draws, whatever is drafted
            yield None


def _deviation(target: TensorLaw, draft: Draft | None) -> Fraction:
    """Any token may also be a bonus token, or the last of an output, which is not drafted."""
    return max(bonus_deviation(target), step_deviation(target, draft) if draft else Fraction(0))


def _rounded_up(value: Fraction) -> float:
    """In two digits, so that a bound is one as written too."""
    return float(Context(prec=2, rounding=ROUND_UP).divide(Decimal(value.numerator), Decimal(value.denominator)))


def time_autoregressive(settings: Sequence[Setting], sampling: Sampling) -> float:
    """Seconds that plain decoding takes for the same prompts and coins."""
    jobs = [setting for setting in settings for _ in range(sampling.repeats)]
    began = time.perf_counter()
    for start in range(0, len(jobs), sampling.batch):
        part = jobs[start : start + sampling.batch]
        programs = [decode(autoregressive(job), job.prompt, job.max_new_tokens) for job in part]
        sample_batch(programs, [RandomCoins(sampling.seed, start + number) for number in range(len(part))])
    return time.perf_counter() - began
