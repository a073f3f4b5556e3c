"""The meter's report: a function of the evidence, without a verdict, safe against hostile strings."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from draftproof.verify.meter.evidence import Baseline, MeterEvidence, Reading, ToyReading
from draftproof.verify.numerics.evidence import Figures, Plan
from draftproof.verify.report import meter as module
from draftproof.verify.report.meter import as_document, as_markdown, write_report
from draftproof.verify.verdict import Kind

HOSTILE = "a|b`c`<b>\n\u202e[x](y)\x1b"
TOY = ToyReading(HOSTILE, "l 0.5", toys=18, differ=18, tokens=5, lookahead=3, total_variation="1/8", toy="letters/3")
EVIDENCE = MeterEvidence(
    rules=((HOSTILE, "l 0.5", "x with P | Q", "paper `1`"),),
    baselines=(Baseline("pair", 12, 0.4982),),
    readings=(Reading(HOSTILE, "l 0.5", "pair", Figures(0.1149, 0.2184), Figures(0.0, 0.5), 0.6128, ceiling=0.5),),
    toys=(TOY,),
    outputs=1,
    seed=4,
)
PLAN = Plan("zoo", prompts=2, max_new_tokens=8, lookahead=3, seed=4)


def row(text: str, *, after: str) -> str:
    table = text.split(after)[1].split("\n\n")
    return next(part for part in table if part.startswith("|")).splitlines()[2]


def test_the_figures_of_a_reading() -> None:
    text = as_markdown(EVIDENCE)
    assert row(text, after="## On real laws").startswith("| pair | a\\|b")
    assert row(text, after="## On real laws").endswith("| 0.115 | 0.218 | 0.5 | 0.000 | 0.500 | 0.613 | 0.498 |")
    assert row(text, after="## On toys").endswith("| 18 of 18 | up to 5 | up to 3 | 1/8, about 0.125 | letters/3 |")
    assert "Measured at 12 positions of pair, 1 sampled output per prompt, seed 4." in text


def test_a_rule_that_never_differs_names_no_toy() -> None:
    text = as_markdown(replace(EVIDENCE, toys=(replace(TOY, differ=0, total_variation="0"),)))
    assert row(text, after="## On toys").endswith("| 0 of 18 | up to 5 | up to 3 | 0 | - |")


def test_long_fractions_are_told_as_decimals() -> None:
    text = as_markdown(replace(EVIDENCE, toys=(replace(TOY, total_variation=f"{10**20}/{3 * 10**20 + 1}"),)))
    assert "| about 0.333 |" in row(text, after="## On toys")


def test_there_is_no_verdict() -> None:
    text = as_markdown(EVIDENCE)
    assert not [kind for kind in Kind if str(kind) in text]


def test_the_document_has_its_schema_and_plan() -> None:
    document = as_document(EVIDENCE, PLAN)
    assert list(document) == ["schema", "plan", "broken", "evidence"]
    assert (document["schema"], document["broken"]) == ("draftproof-meter-1", [])
    assert document["evidence"]["readings"][0]["drafted"] == {"mean": 0.1149, "largest": 0.2184}
    assert json.loads(json.dumps(document)) == document


def test_what_cannot_be_is_told_before_the_tables() -> None:
    broken = replace(EVIDENCE, readings=(replace(EVIDENCE.readings[0], ceiling=0.2),))
    text = as_markdown(broken, PLAN)
    assert text.index("**The meter is broken**: a\\|b") < text.index("## The rules")
    assert HOSTILE not in text
    assert "above its ceiling 0.2" in as_document(broken, PLAN)["broken"][0]
    assert "broken" not in as_markdown(EVIDENCE, PLAN)


def test_files_are_written_both_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(EVIDENCE, PLAN, tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["meter.json", "meter.md"]
    text = (tmp_path / "made" / "meter.md").read_text(encoding="utf-8")
    assert text == as_markdown(EVIDENCE, PLAN)
    assert "`draftproof meter --pair zoo --prompts 2 --max-new-tokens 8 --lookahead 3 --seed 4`" in text

    def broken(evidence: MeterEvidence, plan: Plan) -> None:
        raise RuntimeError

    monkeypatch.setattr(module, "as_document", broken)
    with pytest.raises(RuntimeError):
        write_report(EVIDENCE, PLAN, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_hostile_names_stay_text() -> None:
    text = as_markdown(EVIDENCE)
    assert HOSTILE not in text
    columns = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        columns = columns or cells
        assert cells == columns, line


def test_the_same_evidence_gives_the_same_bytes_and_no_clock_is_in_it() -> None:
    assert as_markdown(EVIDENCE) == as_markdown(EVIDENCE)
    assert as_markdown(replace(EVIDENCE, seed=5)) != as_markdown(EVIDENCE)
    assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}|second", as_markdown(EVIDENCE))


def test_meagre_evidence_is_reported_too() -> None:
    assert "Measured at no positions" in as_markdown(MeterEvidence((), (), (), (), 1, 0))
