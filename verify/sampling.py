"""Samples a decoder on a pair and tests its tokens against the target's law.

The target's law at every emitted token is recomputed by a pass of its own over the finished output, so a fault in how a
decoder asks for laws, caches them or conditions on them is seen as well as a fault in its coins.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draftproof.algorithms.decoding import Output, State, Step, decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.algorithms.interfaces import LanguageModel, Query
from draftproof.algorithms.processors import Processed
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.algorithms.tli import MappedDrafter
from draftproof.algorithms.vocabulary import Vocabularies
from draftproof.verify.comparison import Build
from draftproof.verify.evidence import SampleEvidence
from draftproof.verify.settings import Setting, autoregressive
from draftproof.verify.statistics.pit import ratio_scores, transform, uniformity

BY_PROBABILITY = "the target's probability"
BY_RATIO = "the ratio of target to drafter"


@dataclass(frozen=True)
class Sampling:
    """How much to sample: `repeats` outputs per prompt, `batch` at a time.

    `rounding` is the relative error of a probability that the model's floats explain (two passes over the same ids
    differ by as much): near a processor's threshold it decides what is kept. `by_ratio` also orders tokens by P / Q,
    which costs drafter passes over all prefixes.
    """

    repeats: int = 8
    batch: int = 32
    seed: int = 0
    alpha: float = 1e-6
    by_ratio: bool = True
    rounding: float = 1e-3


@dataclass
class _Acceptance:
    """Sums over the trials of a run; `seconds` is the time spent on summing, which is not the decoder's."""

    trials: int = 0
    accepted: int = 0
    expected: float = 0.0
    seconds: float = 0.0

    def observe(self, state: State, step: Step) -> None:
        """Adds a step's trials."""
        began = time.perf_counter()
        for trial in step.trials:
            self.trials += 1
            self.accepted += trial.accepted
            self.expected += float(trial.rate())
        self.seconds += time.perf_counter() - began


def sample_outputs(
    settings: Sequence[Setting],
    build: Build,
    sampling: Sampling,
    observe: Callable[[State, Step], None] = lambda state, step: None,
    progress: Callable[[int], None] = lambda outputs: None,
) -> tuple[list[tuple[Setting, Output]], float]:
    """`repeats` outputs for each setting (one per prompt), and the seconds they took. Each output has its own coins."""
    jobs = [setting for setting in settings for _ in range(sampling.repeats)]
    outputs: list[Output] = []
    began = time.perf_counter()
    for start in range(0, len(jobs), sampling.batch):
        part = jobs[start : start + sampling.batch]
        programs = [decode(build(job), job.prompt, job.max_new_tokens, observe) for job in part]
        outputs += sample_batch(programs, [RandomCoins(sampling.seed, start + n) for n in range(len(part))])
        progress(len(outputs))
    return list(zip(jobs, outputs, strict=True)), time.perf_counter() - began


def sample_subject(
    subject: str,
    settings: Sequence[Setting],
    build: Build,
    sampling: Sampling,
    autoregressive_seconds: float = 0.0,
    progress: Callable[[int], None] = lambda outputs: None,
) -> SampleEvidence:
    """Samples and tests one decoder on the settings of one pair (one setting per prompt)."""
    # One decoder object per pair, or its vocabulary maps would be worked out for every output.
    decoder = build(settings[0])
    acceptance = _Acceptance()
    jobs, seconds = sample_outputs(settings, lambda _: decoder, sampling, acceptance.observe, progress)
    checked = _check(jobs, sampling)
    outputs = [output for _, output in jobs]
    return SampleEvidence(
        subject=subject,
        pair=settings[0].name,
        sequences=len(outputs),
        tokens=sum(len(output.tokens) for output in outputs),
        steps=sum(output.steps for output in outputs),
        drafted=sum(output.drafted for output in outputs),
        trials=acceptance.trials,
        accepted=acceptance.accepted,
        expected_acceptance=acceptance.expected,
        outside=checked.outside,
        tests=tuple(uniformity(values, order) for order, values in checked.transforms.items()),
        alpha=sampling.alpha,
        seed=sampling.seed,
        seconds=seconds - acceptance.seconds,
        autoregressive_seconds=autoregressive_seconds,
        borderline=checked.borderline,
    )


def time_autoregressive(settings: Sequence[Setting], sampling: Sampling) -> float:
    """Seconds that plain decoding takes for the same prompts and coins."""
    return sample_outputs(settings, autoregressive, sampling)[1]


@dataclass
class _Checked:
    """The transforms of all tokens by order; tokens of target probability 0, and those cut off within rounding."""

    transforms: dict[str, list[float]]
    outside: int = 0
    borderline: int = 0


def _check(jobs: Sequence[tuple[Setting, Output]], sampling: Sampling) -> _Checked:
    checked = _Checked({BY_PROBABILITY: []})
    draft_model = _draft_model(jobs[0][0]) if sampling.by_ratio else None
    if draft_model:
        checked.transforms[BY_RATIO] = []
    for number, (setting, output) in enumerate(jobs):
        coins = RandomCoins(sampling.seed, number, 1)  # apart from the coins that the output was drawn with
        query = (setting.prompt, output.tokens[:-1])
        [laws] = setting.target.laws([query])
        draft_laws = draft_model.laws([query])[0] if draft_model else [None] * len(laws)
        for place, (law, draft_law, token) in enumerate(zip(laws, draft_laws, output.tokens, strict=True)):
            if not isinstance(law, TensorLaw):
                raise TypeError("sampling tests laws in floats; exact laws are enumerated instead")
            if not law[token]:
                within = _within_rounding(setting.target, query, place, law, token, sampling.rounding)
                checked.borderline += within
                checked.outside += not within
                continue
            scores = {BY_PROBABILITY: law.probabilities}
            if isinstance(draft_law, TensorLaw):
                scores[BY_RATIO] = ratio_scores(law, draft_law)
            for order, ranked in scores.items():
                checked.transforms[order].append(transform(law, token, ranked, coins.toss()))
    return checked


def _within_rounding(
    target: LanguageModel, query: Query, place: int, law: TensorLaw, token: int, rounding: float
) -> bool:
    """Whether a processor cut the token off by so little that the rounding of another pass explains it.

    The processors here keep the likeliest tokens, so the threshold is the least unprocessed mass among the kept ones.
    """
    if not isinstance(target, Processed):
        return False
    whole = target.model.laws([query])[0][place]
    threshold = min(whole[kept] for kept in law.support())
    return bool(whole[token] > 0 and whole[token] >= threshold * (1 - rounding))


def _draft_model(setting: Setting) -> LanguageModel:
    """A model on the target's ids that leans as the drafter does: the drafter itself, or its shared part."""
    if setting.drafter.size == setting.target.size:
        return setting.drafter
    vocabularies = Vocabularies(
        setting.target_tokenizer, setting.draft_tokenizer, setting.target.size, setting.drafter.size
    )
    return MappedDrafter(setting.drafter, vocabularies)
