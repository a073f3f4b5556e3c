"""The stream of evidence: what is done, in which order, and what happens when something breaks."""

from typing import Any

import pytest

from draftproof.algorithms.decoding import DecoderError
from draftproof.verify import audit as module
from draftproof.verify.audit import Plan, audit, builder, on_pair, on_toys
from draftproof.verify.controls import CONTROLS
from draftproof.verify.evidence import ControlEvidence, ExactEvidence, SampleEvidence
from draftproof.verify.pairs import ZOO, Library
from draftproof.verify.sampling import Sampling
from draftproof.verify.settings import BUILDERS
from draftproof.verify.toys import battery
from draftproof.verify.verdict import Kind, exit_code, judge_exact, verdicts


class Notes:
    """A listener that writes everything down."""

    def __init__(self) -> None:
        self.tasks: list[tuple[str, int | None]] = []
        self.done: list[int] = []
        self.evidence: list[Any] = []
        self.failures: list[tuple[str, str]] = []

    def started(self, task: str, total: int | None) -> None:
        self.tasks.append((task, total))

    def advanced(self, done: int) -> None:
        self.done.append(done)

    def seen(self, evidence: Any) -> None:
        self.evidence.append(evidence)

    def failed(self, subject: str, message: str) -> None:
        self.failures.append((subject, message))


def small(**more: Any) -> Plan:
    return Plan(
        **{
            "pairs": ZOO[:1],
            "controls": False,
            "max_new_tokens": 6,
            "sampling": Sampling(repeats=1),
            "sampled_prompts": 1,
            "exact_prompts": 1,
            "exact_tokens": 2,
            "exact_top_k": 6,
            **more,
        }
    )


@pytest.fixture(scope="module")
def library() -> Library:
    import torch

    torch.set_num_threads(1)
    return Library()


def test_a_subject_is_a_decoder_or_a_control() -> None:
    assert builder("slem") == (BUILDERS["slem"], "slem")
    assert builder("argmax-draft") == (CONTROLS["argmax-draft"].build, "speculative-sampling")
    with pytest.raises(KeyError):
        builder("nobody")


def test_toys_first_then_pairs_then_samples(library: Library) -> None:
    notes = Notes()
    evidence = audit(small(subjects=("speculative-sampling", "argmax-draft")), library, notes)
    pair = ZOO[0].name
    assert [task for task, _ in notes.tasks] == [
        "speculative-sampling: toys",
        "argmax-draft: toys",
        f"speculative-sampling: exact on {pair}",
        f"argmax-draft: exact on {pair}",
        f"autoregressive: sampled on {pair}",
        f"speculative-sampling: sampled on {pair}",
        f"argmax-draft: sampled on {pair}",
    ]
    assert [type(one) for one in notes.evidence] == [ExactEvidence] * 4 + [SampleEvidence] * 2
    assert evidence.exact == tuple(notes.evidence[:4])
    assert evidence.sampled == tuple(notes.evidence[4:])
    assert [one.tokens for one in evidence.sampled] == [6, 6]
    assert exit_code(evidence) == 1


def test_without_repeats_nothing_is_sampled(library: Library) -> None:
    notes = Notes()
    evidence = audit(small(subjects=("speculative-sampling",), sampling=Sampling(repeats=0)), library, notes)
    assert evidence.sampled == ()
    assert not [task for task, _ in notes.tasks if "sampled" in task]
    assert exit_code(evidence) == 0


def test_an_enumeration_of_a_pair_says_how_it_was_cut(library: Library) -> None:
    notes = Notes()
    plan = small(exact_prompts=2, exact_top_k=4)
    evidence = on_pair("speculative-sampling", BUILDERS["speculative-sampling"], ZOO[0], plan, library, notes)
    assert len(evidence.comparisons) == 2
    assert {one.total_variation for one in evidence.comparisons} == {"0"}
    assert all(one.outputs == 16 for one in evidence.comparisons)  # two tokens, four ids kept of each law
    assert evidence.truncation is not None
    assert evidence.truncation.startswith("top-4 of target and drafter")
    wrong = on_pair("argmax-draft", CONTROLS["argmax-draft"].build, ZOO[0], plan, library, notes)
    assert judge_exact(wrong).kind == Kind.REFUTED


def test_a_battery_is_enumerated_with_one_counterexample() -> None:
    notes = Notes()
    control = CONTROLS["residual-is-target"]
    evidence = on_toys(control.name, control.build, tuple(control.battery()), notes)
    count = len(list(battery(control.like)))
    assert notes.tasks == [(f"{control.name}: toys", count)]
    assert notes.done == list(range(1, count + 1))
    assert len(evidence.comparisons) == count
    assert evidence.counterexample is not None
    assert evidence.counterexample.found_on == next(
        one.setting for one in evidence.comparisons if one.total_variation != "0"
    )


def test_controls_run_beside_the_subjects(library: Library) -> None:
    evidence = audit(small(subjects=("slem",), controls=True, pairs=()), library, Notes())
    assert [one.name for one in evidence.controls] == list(CONTROLS)
    assert all(isinstance(one, ControlEvidence) and one.sampled is None for one in evidence.controls)
    assert exit_code(evidence) == 0


def test_a_check_that_breaks_does_not_cost_the_others(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(setting: Any) -> Any:
        raise ZeroDivisionError("by accident")

    monkeypatch.setitem(module.BUILDERS, "slem", broken)
    notes = Notes()
    evidence = audit(small(subjects=("slem", "tli"), pairs=()), library, notes)
    assert evidence.failures == (("slem", "ZeroDivisionError: by accident"),)
    assert notes.failures == list(evidence.failures)
    assert [one.subject for one in evidence.exact] == ["tli"]
    assert [verdict.kind for verdict in verdicts(evidence)] == [Kind.EXACT, Kind.ERROR]
    assert exit_code(evidence) == 2


def test_bad_input_ends_the_audit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(setting: Any) -> Any:
        raise DecoderError("no")

    monkeypatch.setitem(module.BUILDERS, "slem", refuses)
    with pytest.raises(DecoderError):
        audit(small(subjects=("slem", "tli"), pairs=()), library, Notes())
