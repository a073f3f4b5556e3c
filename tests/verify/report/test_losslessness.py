"""The report: a function of the evidence, without clock or machine, safe against hostile strings."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from draftproof.verify.audit import Plan
from draftproof.verify.evidence import (
    AuditEvidence,
    ControlEvidence,
    Counterexample,
    ExactComparison,
    ExactEvidence,
    OneStepBound,
    OrderTest,
    SampleEvidence,
)
from draftproof.verify.pairs import Pair
from draftproof.verify.report.losslessness import SCHEMA, as_document, as_markdown, write_report

HOSTILE = "a|b`c`<b>\n\u202e[x](y)\x1b"
EQUAL = ExactComparison("toy/0", 4, 3, 7, "0", "0", None)
OFF = ExactComparison("toy/1", 5, 3, 9, "1/8", "1/16", 2)
FOUND = Counterexample(
    "toy/1", 2, 1, (HOSTILE, "$"), (HOSTILE,), (f"{HOSTILE}: a 1",), ("y: a 1",), (HOSTILE, "$"), "1/2", "1/4", "1/4"
)
SAMPLED = SampleEvidence(
    subject="speculative-sampling",
    pair=f"{HOSTILE} with small",
    sequences=10,
    limit=100,
    tokens=1_000,
    steps=500,
    drafted=900,
    trials=800,
    accepted=400,
    expected_acceptance=404.0123456789,
    outside=0,
    tests=(OrderTest("one", 0.0212345678, 0.4),),
    alpha=1e-6,
    seed=0,
    seconds=12.5,
    autoregressive_seconds=77.25,
)
EVIDENCE = AuditEvidence(
    exact=(
        ExactEvidence("slem", "toys", (EQUAL, EQUAL), seconds=3.25),
        ExactEvidence("slrs", "toys", (EQUAL, OFF), counterexample=FOUND),
        ExactEvidence("tli", "prompts of x", (EQUAL,), truncation="top-4 of target and drafter"),
    ),
    sampled=(SAMPLED,),
    controls=(
        ControlEvidence(
            "argmax-draft",
            "mutant 1",
            "speculative-sampling",
            True,
            "the | rule",
            "issue `1`",
            ExactEvidence("argmax-draft", "toys", (OFF,)),
        ),
        ControlEvidence(
            "slem-nonsense",
            "C8",
            "slem",
            False,
            "rule",
            "source",
            ExactEvidence("slem-nonsense", "toys", (OFF,)),
        ),
    ),
    failures=(("union", f"broke on {HOSTILE}"),),
)
PLAN = Plan(pairs=(Pair("big", "small"),))


def later(evidence: AuditEvidence) -> AuditEvidence:
    """The same evidence from a slower machine."""
    return replace(
        evidence,
        exact=tuple(replace(one, seconds=99.0) for one in evidence.exact),
        sampled=tuple(replace(one, seconds=99.0, autoregressive_seconds=1.0) for one in evidence.sampled),
    )


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys(part) for part in value.values()))
    return set().union(*(keys(part) for part in value)) if isinstance(value, list) else set()


def test_the_same_evidence_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, evidence in (("one", EVIDENCE), ("two", later(EVIDENCE))):
        write_report(evidence, PLAN, tmp_path / name)
    for file in ("losslessness.md", "losslessness.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["losslessness.json", "losslessness.md"]


def test_no_time_and_no_path_is_in_it(tmp_path: Path) -> None:
    document = write_report(EVIDENCE, PLAN, tmp_path)
    assert not [key for key in keys(document) if "second" in key or "time" in key or "date" in key]
    for file in tmp_path.iterdir():
        text = file.read_text(encoding="utf-8")
        assert str(tmp_path) not in text
        assert "12.5" not in text
        assert "77.25" not in text
        assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}", text)


def test_the_json_reads_back(tmp_path: Path) -> None:
    document = write_report(EVIDENCE, PLAN, tmp_path)
    raw = (tmp_path / "losslessness.json").read_bytes()
    assert json.loads(raw) == document
    assert raw.isascii()
    assert document["schema"] == SCHEMA
    assert document["plan"]["pairs"] == [{"target": "big", "drafter": "small", "one_vocabulary": False}]
    assert "prompt_texts" not in document["plan"]
    kinds = [verdict["kind"] for verdict in document["verdicts"]]
    assert kinds == ["EXACT", "REFUTED", "EXACT", "NOT REFUTED", "NOT REFUTED", "ERROR"]
    assert [control["judged_rightly"] for control in document["controls"]] == [True, False]
    assert [control["must_be_refuted"] for control in document["controls"]] == [True, False]
    assert document["evidence"]["exact"][1]["counterexample"]["target_vocabulary"] == [HOSTILE, "$"]
    assert document["evidence"]["sampled"][0]["expected_acceptance"] == 404.012
    assert document["evidence"]["exact"][1]["comparisons"][1]["total_variation"] == "1/8"


def test_the_refuted_come_first_with_their_counterexample() -> None:
    text = as_markdown(EVIDENCE, PLAN)
    assert text.index("## Refuted") < text.index("### slrs (SLRS-1)") < text.index("## Verdicts")
    assert "Total variation **1/4** over 2 tokens, lookahead 1 (shrunk from toy/1)." in text
    assert "| its probability under the target's law | 1/2 |" in text
    assert "| its probability as decoded | 1/4 |" in text
    assert "## Refuted" not in as_markdown(replace(EVIDENCE, exact=EVIDENCE.exact[:1]), PLAN)


def test_hostile_names_stay_text() -> None:
    text = as_markdown(EVIDENCE, PLAN)
    assert text.isascii() or all(char.isprintable() or char == "\n" for char in text)
    for raw in ("a|b", "`c`", "<b>", "[x]", "\u202e", "\x1b"):
        assert raw not in text.replace(f"\\{raw[-1]}", "")
    assert "a\\|b\\`c\\`\\<b\\>U\\+000AU\\+202E\\[x\\]\\(y\\)U\\+001B" in text
    assert "the \\| rule" in text
    assert "issue \\`1\\`" in text


def test_every_table_row_has_the_cells_of_its_head() -> None:
    columns = 0
    for line in as_markdown(EVIDENCE, PLAN).splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        columns = columns or cells
        assert cells == columns, line


def test_a_misjudged_control_stands_out() -> None:
    text = as_markdown(EVIDENCE, PLAN)
    assert "**NO**" in next(line for line in text.splitlines() if line.startswith("| slem-nonsense |"))
    assert "**NO**" not in next(line for line in text.splitlines() if line.startswith("| argmax-draft |"))


def test_claims_are_listed_once_with_what_they_idealise() -> None:
    text = as_markdown(EVIDENCE, PLAN)
    for claim in ("SLEM-1", "SLRS-1", "TLI-1", "SS-2", "SS-6"):
        assert text.count(f"- {claim}:") == 1
    assert text.count("Idealised: ") == 5


def test_figures_of_a_sample() -> None:
    line = next(
        line for line in as_markdown(EVIDENCE, PLAN).splitlines() if line.startswith("| speculative-sampling | a")
    )
    assert line.endswith("| 10 | 1000 | 0.500 | 0.505 | 2.00 |")


def test_the_exact_step_stands_beside_the_sample() -> None:
    counted = replace(SAMPLED, subject="tli", one_step=OneStepBound(21, 8e-13, 3.1e-8))
    evidence = replace(EVIDENCE, sampled=(SAMPLED, counted))
    text = as_markdown(evidence, PLAN)
    section = text[text.index("### One step in floats, exactly") : text.index("## What a pass is worth")]
    assert "No sample bounds the total variation over a full vocabulary." in section
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert [row.rsplit(" with small ", 1)[-1] for row in rows[2:]] == ["| - | - | - |", "| 21 | 8.0e-13 | 3.1e-08 |"]
    assert "No sample bounds the total variation over a full vocabulary: a deviation" in text
    found = [one["one_step"] for one in as_document(evidence, PLAN)["evidence"]["sampled"]]
    assert found == [None, {"contexts": 21, "mean": 8e-13, "largest": 3.1e-8}]


@pytest.mark.parametrize(
    "evidence",
    [
        AuditEvidence(),
        AuditEvidence(exact=(ExactEvidence("slem", "toys", ()),)),
        AuditEvidence(exact=(ExactEvidence("slem", "prompts of x", (), truncation="top-4"),)),
        AuditEvidence(
            sampled=(replace(SAMPLED, tokens=0, steps=0, trials=0, accepted=0, expected_acceptance=0.0, tests=()),)
        ),
        AuditEvidence(sampled=(replace(SAMPLED, trials=0, accepted=0, expected_acceptance=0.0),)),
        AuditEvidence(failures=(("slem", "broke"),)),
    ],
)
def test_meagre_evidence_is_reported_too(evidence: AuditEvidence, tmp_path: Path) -> None:
    document = write_report(evidence, PLAN, tmp_path)
    assert len(document["verdicts"]) == len(evidence.exact) + 2 * len(evidence.sampled) + len(evidence.failures)
    assert as_document(evidence, PLAN) == document
