"""Samples a decoder on a pair and tests its tokens against the target's law: streams.py draws, trials.py tests."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.verify.comparison import Build
from draftproof.verify.evidence import SampleEvidence
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
    stream = PairStream(
        settings, build(settings[0]), like, sampling.seed, sampling.repeats, sampling.rounding, sampling.rejected
    )
    trial = Trial(stream, sampling.alpha, sampling.seed)
    outputs = len(settings) * sampling.repeats
    while trial.sequences < outputs and trial.refuted_after is None:
        trial.run(min(outputs, trial.sequences + sampling.batch), sampling.batch)
        progress(trial.sequences)
    return evidence_of(subject, settings[0].name, trial, autoregressive_seconds)


def evidence_of(subject: str, pair: str, trial: Trial, autoregressive_seconds: float = 0.0) -> SampleEvidence:
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
    )


def time_autoregressive(settings: Sequence[Setting], sampling: Sampling) -> float:
    """Seconds that plain decoding takes for the same prompts and coins."""
    jobs = [setting for setting in settings for _ in range(sampling.repeats)]
    began = time.perf_counter()
    for start in range(0, len(jobs), sampling.batch):
        part = jobs[start : start + sampling.batch]
        programs = [decode(autoregressive(job), job.prompt, job.max_new_tokens) for job in part]
        sample_batch(programs, [RandomCoins(sampling.seed, start + number) for number in range(len(part))])
    return time.perf_counter() - began
