"""The main job: every decoder on toys, on pairs of models, sampled and enumerated, with the controls beside it.

An audit is a stream of evidence; who listens prints verdicts as they come. Toys go first, since their verdicts take
seconds.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.laws import LawError
from draftproof.algorithms.models.zoo import ModelError
from draftproof.algorithms.string_law import PsiTooLarge
from draftproof.corpora.prompts import prompts
from draftproof.verify.comparison import Build, compare, counterexample
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.evidence import AuditEvidence, ControlEvidence, ExactEvidence, SampleEvidence
from draftproof.verify.pairs import Library, Pair, suited, with_prompt
from draftproof.verify.sampling import Sampling, sample_subject, time_autoregressive
from draftproof.verify.settings import BUILDERS, Setting, processed
from draftproof.verify.statistics.ledger import BUDGET, Ledger, evenly
from draftproof.verify.toys import Toy, battery

Evidence = ExactEvidence | SampleEvidence | ControlEvidence
Task = Callable[[], Evidence]

BAD_INPUT = (ModelError, DecoderError, LawError, PsiTooLarge)
"""What bad input raises: it ends an audit, while any other exception is a verdict of its own."""


class Listener(Protocol):
    """Who follows an audit: a progress bar, a log, nobody."""

    def started(self, task: str, total: int | None) -> None:
        """A task begins; `total` is its number of units where that is known."""
        ...

    def advanced(self, done: int) -> None:
        """So many units of the task are done."""
        ...

    def seen(self, evidence: Evidence) -> None:
        """A piece of evidence is complete."""
        ...

    def failed(self, subject: str, message: str) -> None:
        """A check broke: it will be an ERROR among the verdicts."""
        ...


PROMPTS = tuple(prompt.text for kind in ("documentation", "code", "copy", "summarise") for prompt in prompts(kind))
"""The texts that outputs start from."""


@dataclass(frozen=True)
class Plan:
    """What to audit: decoders or controls by name, pairs, and how much. `alpha` is the audit's false-alarm budget.

    `exact_tokens`, `exact_lookahead` and `exact_top_k` bound the enumeration of float models; `exact_prompts` and
    `sampled_prompts` take the first prompts of `prompt_texts`.
    """

    subjects: tuple[str, ...] = tuple(BUILDERS)
    pairs: tuple[Pair, ...] = ()
    controls: bool = True
    alpha: float = BUDGET
    lookahead: int = 3
    max_new_tokens: int = 32
    sampling: Sampling = field(default_factory=Sampling)
    sampled_prompts: int = 8
    exact_prompts: int = 2
    exact_tokens: int = 3
    exact_lookahead: int = 2
    exact_top_k: int = 4
    prompt_texts: tuple[str, ...] = PROMPTS


def audit(plan: Plan, library: Library, listener: Listener) -> AuditEvidence:
    """Carries the plan out.

    Raises ModelError, DecoderError and the like for bad input, before or at the pair that has it.
    """
    seen: list[Evidence] = []
    failures: list[tuple[str, str]] = []
    for subject, task in _tasks(plan, library, listener):
        try:
            evidence = task()
        except BAD_INPUT:
            raise
        except Exception as error:  # a fault of the tool or of the subject must not cost the other verdicts
            failures.append((subject, f"{type(error).__name__}: {error}"))
            listener.failed(*failures[-1])
            continue
        listener.seen(evidence)
        seen.append(evidence)
    return AuditEvidence(
        exact=tuple(one for one in seen if isinstance(one, ExactEvidence)),
        sampled=tuple(one for one in seen if isinstance(one, SampleEvidence)),
        controls=tuple(one for one in seen if isinstance(one, ControlEvidence)),
        failures=tuple(failures),
    )


def ledger(plan: Plan) -> Ledger:
    """The level of each sampled record of a plan, by `record`; equal shares of the plan's budget."""
    names = [
        record(subject, pair)
        for subject in plan.subjects
        for pair in suited(plan.pairs, builder(subject)[1])
        if plan.sampling.repeats
    ]
    sampled = [control for control in CONTROLS.values() if plan.controls and control.name in SAMPLED_CONTROLS]
    names += [record(f"control {control.name}", pair) for control in sampled for pair in _sampled_pair(control, plan)]
    return evenly(plan.alpha, names)


def record(subject: str, pair: Pair) -> str:
    """The name of a sampled record in the ledger."""
    return f"{subject} on {pair.name}"


def builder(subject: str) -> tuple[Build, str]:
    """How to build a subject, and the decoder whose settings it runs on. Raises KeyError for an unknown name."""
    if subject in BUILDERS:
        return BUILDERS[subject], subject
    return CONTROLS[subject].build, CONTROLS[subject].like


def declared(subject: str, setting: Setting) -> Setting:
    """The setting with the processors that a control declares; a decoder declares none."""
    return processed(setting, CONTROLS[subject].processors) if subject in CONTROLS else setting


def _tasks(plan: Plan, library: Library, listener: Listener) -> Iterator[tuple[str, Task]]:
    """What is to be done, in order, each with the subject it is about."""
    for subject in plan.subjects:
        build, like = builder(subject)
        toys = CONTROLS[subject].battery() if subject in CONTROLS else battery(like)
        yield subject, partial(on_toys, subject, build, tuple(toys), listener)
    for control in CONTROLS.values() if plan.controls else ():
        yield control.name, partial(_control, control, plan, library, listener)
    for pair in plan.pairs:
        subjects = [subject for subject in plan.subjects if pair in suited(plan.pairs, builder(subject)[1])]
        for subject in subjects:
            yield subject, partial(on_pair, subject, builder(subject)[0], pair, plan, library, listener)
        if subjects and plan.sampling.repeats:
            yield from _sampling_tasks(subjects, pair, plan, library, listener)


def _sampling_tasks(
    subjects: Sequence[str], pair: Pair, plan: Plan, library: Library, listener: Listener
) -> Iterator[tuple[str, Task]]:
    settings = sampling_settings(pair, plan, library)
    listener.started(f"autoregressive: sampled on {pair.name}", None)
    baseline = time_autoregressive(settings, plan.sampling)
    for subject in subjects:
        yield subject, partial(_sampled, subject, settings, plan, baseline, listener)


def on_toys(subject: str, build: Build, toys: Sequence[Toy], listener: Listener) -> ExactEvidence:
    """The decoder enumerated on a battery of toys, with a shrunk counterexample where it deviates."""
    began = time.perf_counter()
    listener.started(f"{subject}: toys", len(toys))
    comparisons = []
    found = None
    for number, toy in enumerate(toys, start=1):
        comparisons.append(compare(toy.setting, build))
        if found is None and comparisons[-1].total_variation != "0":
            found = counterexample(toy, build)
        listener.advanced(number)
    return ExactEvidence(subject, "toys", tuple(comparisons), counterexample=found, seconds=time.perf_counter() - began)


def on_pair(subject: str, build: Build, pair: Pair, plan: Plan, library: Library, listener: Listener) -> ExactEvidence:
    """The decoder enumerated on a pair of float models with truncated support, after each of a few prompts."""
    began = time.perf_counter()
    listener.started(f"{subject}: exact on {pair.name}", None)
    setting = declared(subject, library.truncated(pair, plan.exact_lookahead, plan.exact_tokens, plan.exact_top_k))
    comparisons = tuple(
        compare(with_prompt(setting, text), build, listener.advanced)
        for text in plan.prompt_texts[: plan.exact_prompts]
    )
    return ExactEvidence(
        subject,
        f"prompts of {pair.name}",
        comparisons,
        truncation=f"top-{plan.exact_top_k} of target and drafter, float probabilities taken as fractions",
        seconds=time.perf_counter() - began,
    )


def _sampled(
    subject: str, settings: Sequence[Setting], plan: Plan, baseline: float, listener: Listener
) -> SampleEvidence:
    listener.started(f"{subject}: sampled on {settings[0].name}", len(settings) * plan.sampling.repeats)
    build, like = builder(subject)
    sampling = replace(plan.sampling, alpha=ledger(plan)[f"{subject} on {settings[0].name}"])
    settings = [declared(subject, setting) for setting in settings]
    return sample_subject(subject, like, settings, build, sampling, baseline, listener.advanced)


def sampling_settings(pair: Pair, plan: Plan, library: Library) -> Sequence[Setting]:
    """The pair's settings for sampling, one per prompt."""
    setting = library.setting(pair, plan.lookahead, plan.max_new_tokens)
    return [with_prompt(setting, text) for text in plan.prompt_texts[: plan.sampled_prompts]]


SAMPLED_CONTROLS = ("argmax-draft", "target-draw-match")
"""One wrong and one right control that are sampled too, so that the statistics are seen to be able to fail."""


def _sampled_pair(control: Control, plan: Plan) -> tuple[Pair, ...]:
    """The first pair that suits a control whose decoder needs one vocabulary, if the plan has it."""
    return tuple(pair for pair in suited(plan.pairs, control.like)[:1] if pair.one_vocabulary and plan.sampling.repeats)


def _control(control: Control, plan: Plan, library: Library, listener: Listener) -> ControlEvidence:
    exact = on_toys(control.name, control.build, tuple(control.battery()), listener)
    sampled = None
    for pair in _sampled_pair(control, plan) if control.name in SAMPLED_CONTROLS else ():
        settings = [declared(control.name, setting) for setting in sampling_settings(pair, plan, library)]
        listener.started(f"{control.name}: sampled on {pair.name}", len(settings) * plan.sampling.repeats)
        sampling = replace(plan.sampling, alpha=ledger(plan)[record(f"control {control.name}", pair)])
        sampled = sample_subject(
            control.name, control.like, settings, control.build, sampling, progress=listener.advanced
        )
    return ControlEvidence(
        control.name, control.number, control.like, control.wrong, control.rule, control.source, exact, sampled
    )
