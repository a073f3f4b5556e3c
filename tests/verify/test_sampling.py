"""Sampling: seeded, whatever the batch, and able to see faults of coins and of conditioning.

All runs are seeded; where a right decoder is held to pass, its false alarm would be at most 1e-9.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
import torch

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel, Query, WrappedModel
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.processors import MinP, Processed, TopK, TopP
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify import sampling as module
from draftproof.verify.comparison import Build
from draftproof.verify.controls import CONTROLS
from draftproof.verify.evidence import SampleEvidence
from draftproof.verify.numerics.driver_step import Draft, bonus_deviation, drawn, step_deviation
from draftproof.verify.pairs import ZOO, Library, with_prompt
from draftproof.verify.sampling import Sampling, one_step_bound, sample_subject, time_autoregressive
from draftproof.verify.settings import BUILDERS, Setting, autoregressive
from draftproof.verify.statistics.observation import BY_PROBABILITY, BY_RATIO
from draftproof.verify.streams import PairStream
from draftproof.verify.toys import random_toy
from draftproof.verify.verdict import Kind, judge_acceptance, judge_sample

FALSE_ALARM = 1e-9
EACH = pytest.mark.parametrize("name", BUILDERS)


def settings(toys: Any, name: str, tokens: int = 12) -> list[Setting]:
    """Two prompts on float tables: of one vocabulary where the decoder needs one."""
    one = ("a", "b", "c", None)
    draft = one if name == "speculative-sampling" else ("a", "b", "ab", None)
    setting = random_toy("sampled", one, draft, 2).setting
    setting = replace(
        setting,
        target=toys.Floats(setting.target),
        drafter=toys.Floats(setting.drafter),
        max_new_tokens=tokens,
    )
    return [replace(setting, prompt=prompt) for prompt in ((0,), (1, 0))]


def timeless(evidence: SampleEvidence) -> SampleEvidence:
    return replace(evidence, seconds=0.0, autoregressive_seconds=0.0)


@EACH
def test_a_seed_settles_everything(toys: Any, name: str) -> None:
    def run(seed: int) -> SampleEvidence:
        return timeless(
            sample_subject(name, name, settings(toys, name), BUILDERS[name], Sampling(repeats=6, seed=seed))
        )

    assert run(3) == run(3)
    assert run(3).tests != run(4).tests


@EACH
def test_outputs_do_not_depend_on_the_batch(toys: Any, name: str) -> None:
    def run(batch: int) -> list[tuple[int, ...]]:
        asked = settings(toys, name)
        stream = PairStream(asked, BUILDERS[name](asked[0]), name, seed=1, repeats=5)
        return [output for _ in range(10 // batch) for output in stream.draw(batch).outputs]

    assert run(1) == run(5) == run(10)
    assert len(set(run(1))) > 3


@EACH
def test_the_counts_add_up(toys: Any, name: str) -> None:
    counts: list[int] = []
    sampling = Sampling(repeats=20, batch=16)
    evidence = sample_subject(name, name, settings(toys, name), BUILDERS[name], sampling, 2.5, counts.append)
    assert counts == [16, 32, 40]
    assert evidence.sequences == 40
    assert evidence.pair == settings(toys, name)[0].name
    assert evidence.accepted <= evidence.trials <= evidence.drafted
    assert 0 < evidence.expected_acceptance < evidence.trials
    assert evidence.steps <= evidence.tokens <= evidence.accepted + evidence.steps
    assert evidence.tokens <= 40 * 12
    assert [test.order for test in evidence.tests] == [BY_PROBABILITY, BY_RATIO]
    assert (evidence.alpha, evidence.seed, evidence.autoregressive_seconds) == (1e-6, 0, 2.5)
    assert evidence.one_step == one_step_bound(BUILDERS[name](settings(toys, name)[0]), settings(toys, name))


@EACH
def test_a_right_decoder_is_not_refuted(toys: Any, name: str) -> None:
    sampling = Sampling(repeats=100, batch=200, alpha=FALSE_ALARM)
    evidence = sample_subject(name, name, settings(toys, name), BUILDERS[name], sampling)
    assert evidence.outside == 0
    assert judge_sample(evidence).kind == judge_acceptance(evidence).kind == Kind.NOT_REFUTED


def test_plain_decoding_is_timed(toys: Any) -> None:
    assert time_autoregressive(settings(toys, "slem"), Sampling(repeats=2)) > 0


def test_exact_laws_are_not_sampled(toys: Any) -> None:
    exact = random_toy("exact", ("a", None), ("a", None), 0).setting
    with pytest.raises(TypeError, match="enumerated"):
        sample_subject("slem", "slem", [exact], BUILDERS["slem"], Sampling(repeats=1))


# Beside a sample: one step, exactly.


@EACH
def test_one_step_of_every_decoder_is_counted(toys: Any, name: str) -> None:
    asked = settings(toys, name)
    bound = one_step_bound(BUILDERS[name](asked[0]), asked)
    assert bound is not None
    assert 2 <= bound.contexts <= 8
    assert 0 < bound.mean <= bound.largest < 1e-15
    assert bound == one_step_bound(BUILDERS[name](asked[0]), asked)


@dataclass(frozen=True)
class Always(WrappedModel):
    """The same law after every context."""

    model: LanguageModel
    law: TensorLaw

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [[self.law] * (len(drafted) + 1) for _, drafted in queries]


def always(toys: Any, *masses: float) -> LanguageModel:
    return Always(of_pairs(toys, False), TensorLaw(torch.tensor(masses, dtype=torch.float64)))


def test_a_bound_is_the_larger_of_drafted_and_undrafted_rounded_up(toys: Any) -> None:
    # A draft of total 19/20 whose tokens are all kept: the first has 1/19 instead of 1/10.
    target, drafter = always(toys, 0.1, 0.2, 0.3, 0.4), always(toys, 0.05, 0.2, 0.3, 0.4)
    [one, _] = settings(toys, "speculative-sampling")
    asked = [replace(one, target=target, drafter=drafter, max_new_tokens=2)]
    [[target_law]], [[draft_law]] = target.laws([((0,), ())]), drafter.laws([((0,), ())])
    assert isinstance(target_law, TensorLaw)
    assert isinstance(draft_law, TensorLaw)
    drafted = step_deviation(target_law, Draft(drawn(draft_law), draft_law))
    assert drafted == pytest.approx(1 / 10 - 1 / 19, abs=1e-15)
    bound = one_step_bound(BUILDERS["speculative-sampling"](asked[0]), asked)
    assert bound is not None
    assert (bound.contexts, bound.mean) == (2, bound.largest)
    assert drafted <= bound.largest < drafted * Fraction(11, 10)
    assert f"{bound.largest:.1e}" == f"{bound.largest:.6e}".replace("00000e", "e")
    # SLEM draws from the target alone, and so does a decoder whose drafter proposes nothing.
    undrafted = [replace(one, target=target, drafter=always(toys, 0, 0, 0, 0), max_new_tokens=2)]
    for name, those in (("speculative-sampling", undrafted), ("slem", asked)):
        small = one_step_bound(BUILDERS[name](those[0]), those)
        assert small is not None
        assert bonus_deviation(target_law) <= small.largest < 1e-15


def test_no_more_contexts_than_there_is_work_for(toys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    [one, _] = settings(toys, "speculative-sampling")
    lone = replace(one, target=of_pairs(toys, False), drafter=of_pairs(toys, True))
    asked = [lone, replace(lone, prompt=(1, 0)), replace(lone, prompt=(2,))]

    def contexts(work: int, positions: int = 4, limit: int = 12) -> int:
        monkeypatch.setattr(module, "WORK", work)
        those = [replace(setting, max_new_tokens=limit) for setting in asked]
        bound = one_step_bound(BUILDERS["speculative-sampling"](those[0]), those, positions=positions)
        assert bound is not None
        return bound.contexts

    assert [contexts(4 * count) for count in (0, 1, 2, 5, 11, 12, 99)] == [1, 1, 2, 5, 11, 12, 12]
    assert contexts(400, positions=6) == 18
    assert contexts(400, limit=1) == 3


def test_a_changed_rule_is_not_counted(toys: Any) -> None:
    asked = settings(toys, "speculative-sampling")
    for name in ("argmax-draft", "target-draw-match"):
        assert one_step_bound(CONTROLS[name].build(asked[0]), asked) is None
    assert one_step_bound(CONTROLS["slem-nonsense"].build(asked[0]), asked) is None
    assert one_step_bound(autoregressive(asked[0]), asked) is None


def test_laws_in_fractions_have_no_step_in_floats() -> None:
    exact = random_toy("exact", ("a", None), ("a", None), 0).setting
    with pytest.raises(TypeError, match="not ExactLaw"):
        one_step_bound(BUILDERS["slem"](exact), [exact])


def test_a_law_that_is_no_number_is_refused(toys: Any) -> None:
    [one, _] = settings(toys, "speculative-sampling")
    asked = [replace(one, target=always(toys, 0.5, float("nan"), 0.25, 0.25), max_new_tokens=1)]
    with pytest.raises(LawError):
        one_step_bound(BUILDERS["slem"](asked[0]), asked)


@dataclass(frozen=True)
class StaleInSteps(WrappedModel):
    """Faulty as a cache that is not cropped: after committed tokens, every other context gets the law before it.

    The pass that checks asks from the prompt on, and is served rightly.
    """

    model: LanguageModel
    prompt_lengths: frozenset[int]

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [self._laws(context, drafted) for context, drafted in queries]

    def _laws(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> list[Law]:
        [laws] = self.model.laws([(context, drafted)])
        if len(context) in self.prompt_lengths or len(context) % 2:
            return laws
        [[stale]] = self.model.laws([(context[:-1], ())])
        return [stale, *laws[1:]]


def of_pairs(toys: Any, leaning: bool) -> LanguageModel:
    """A target whose law depends on the last id only, with all masses positive; the drafter leans elsewhere."""
    rows = [(12, 2, 1, 1), (1, 2, 12, 1), (2, 12, 1, 1), (1, 1, 2, 12)]

    def rule(context: tuple[int, ...]) -> ExactLaw:
        weights = rows[context[-1]][::-1] if leaning else rows[context[-1]]
        return ExactLaw.normalised({token: toys.exact(1)[0] * weight for token, weight in enumerate(weights)}, 4)

    return toys.Floats(TableModel(4, rule))


def test_a_stale_cache_is_seen(toys: Any) -> None:
    [one, other] = settings(toys, "speculative-sampling")
    right, drafter = of_pairs(toys, False), of_pairs(toys, True)
    kinds = {}
    for stale in (False, True):
        target = StaleInSteps(right, frozenset({1})) if stale else right
        asked = [replace(one, target=target, drafter=drafter, max_new_tokens=16)]
        sampling = Sampling(repeats=250, batch=250, alpha=FALSE_ALARM)
        evidence = sample_subject(
            "speculative-sampling", "speculative-sampling", asked, BUILDERS["speculative-sampling"], sampling
        )
        assert evidence.outside == 0
        kinds[stale] = judge_sample(evidence).kind
    assert kinds == {False: Kind.NOT_REFUTED, True: Kind.REFUTED}
    assert other.prompt == (1, 0)


@dataclass(frozen=True)
class Hides(WrappedModel):
    """A model that, where it checks, gives a token no mass."""

    model: LanguageModel

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        answers = self.model.laws(queries)
        if all(context == (0,) and len(drafted) > 3 for context, drafted in queries):
            return [[law.restrict((1, 2, 3)) for law in laws] for laws in answers]
        return answers


def test_tokens_outside_the_support_are_counted(toys: Any) -> None:
    [setting, _] = settings(toys, "slem", tokens=6)
    target = Hides(of_pairs(toys, False))
    asked = [replace(setting, target=target, draft_tokenizer=setting.target_tokenizer, drafter=of_pairs(toys, True))]
    evidence = sample_subject("slem", "slem", asked, BUILDERS["slem"], Sampling(repeats=10))
    assert evidence.outside > 0
    assert judge_sample(evidence).kind == Kind.REFUTED


# On the tiny models.


@pytest.fixture(scope="module")
def zoo() -> list[Setting]:
    import torch

    torch.set_num_threads(1)
    whole = Library().setting(ZOO[0], lookahead=3, max_new_tokens=16)
    return [with_prompt(whole, text) for text in ("The list is", "Return a new")]


def on_zoo(zoo: list[Setting], name: str, build: Build) -> Kind:
    sampling = Sampling(repeats=48, batch=96, alpha=FALSE_ALARM, seed=1)
    return judge_sample(sample_subject(name, "speculative-sampling", zoo, build, sampling)).kind


def test_an_argmax_draft_is_refuted_on_the_zoo(zoo: list[Setting]) -> None:
    assert on_zoo(zoo, "argmax-draft", CONTROLS["argmax-draft"].build) == Kind.REFUTED


def test_a_target_draw_match_is_not_refuted_on_the_zoo(zoo: list[Setting]) -> None:
    assert on_zoo(zoo, "target-draw-match", CONTROLS["target-draw-match"].build) == Kind.NOT_REFUTED


def test_laws_of_the_zoo_are_tensors(zoo: list[Setting]) -> None:
    [[law]] = zoo[0].target.laws([(zoo[0].prompt, ())])
    assert isinstance(law, TensorLaw)


@dataclass(frozen=True)
class Rounding:
    """A law that the checking pass sees a little differently: there the near tie falls the other way."""

    first: tuple[float, ...]
    other: tuple[float, ...]
    size: int = 3
    eos: frozenset[int] = frozenset()

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        checks = len(queries) == 1 and bool(queries[0][1])
        law = TensorLaw(torch.tensor(self.other if checks else self.first, dtype=torch.float64))
        return [[law] * (len(drafted) + 1) for _, drafted in queries]


TIES = [
    (TopK(2), (0.5, 0.25, 0.2499999, 1e-7), (0.5, 0.2499999, 0.25, 1e-7)),
    (TopP(0.9), (0.5, 0.3999999, 0.1000001), (0.5, 0.4000001, 0.0999999)),
    (MinP(0.2), (0.7, 0.16, 0.1400001), (0.7, 0.16, 0.1399999)),
]


@pytest.mark.parametrize(("processor", "first", "other"), TIES)
def test_a_right_decoder_is_not_convicted_where_rounding_decides_what_is_kept(
    toys: Any, processor: Any, first: tuple[float, ...], other: tuple[float, ...]
) -> None:
    [setting, _] = settings(toys, "speculative-sampling")
    target = Processed(Rounding(first, other, len(first)), (processor,))
    asked = replace(setting, target=target, drafter=target)
    evidence = sample_subject(
        "autoregressive", "speculative-sampling", [asked], autoregressive, Sampling(repeats=100, batch=50)
    )
    assert evidence.outside == 0
    assert evidence.refuted_after is None
    assert evidence.borderline == evidence.tokens
    # A pass that calls rounding what is none convicts: the same ties, and no rounding granted.
    strict = Sampling(repeats=100, batch=50, rounding=1e-12)
    strictly = sample_subject("autoregressive", "speculative-sampling", [asked], autoregressive, strict)
    assert strictly.refuted_after is not None


def test_a_token_far_below_the_threshold_convicts_at_an_unclear_place_too(toys: Any) -> None:
    [setting, _] = settings(toys, "speculative-sampling")
    law = (0.4, 0.2500001, 0.2499999, 0.1)
    target = Processed(Rounding(law, law, 4), (TopK(2),))
    asked = replace(setting, target=target, drafter=target)
    unprocessed = replace(asked, target=Rounding(law, law, 4))
    evidence = sample_subject(
        "autoregressive", "speculative-sampling", [asked], lambda _: autoregressive(unprocessed), Sampling(repeats=50)
    )
    assert evidence.outside > 0
    assert evidence.refuted_after is not None
