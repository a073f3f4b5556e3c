"""The report on floats: a function of the evidence, complete, safe against hostile strings."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from draftproof.verify.claims import CLAIMS
from draftproof.verify.numerics.evidence import (
    EpsilonCost,
    Figures,
    MixedPrecision,
    NearEqual,
    NumericsEvidence,
    Plan,
    Precision,
    Replayed,
    Worked,
)
from draftproof.verify.numerics.one_step import PARTS
from draftproof.verify.report import numerics as module
from draftproof.verify.report.numerics import as_document, as_markdown, write_report

HOSTILE = "a|b`c`<b>\n\u202e[x](y)\x1b"
SMALL = Figures(1.24e-3, 2.5e-3)
PRECISION = Precision(
    pair=HOSTILE,
    dtype="bfloat16",
    sums="float64",
    coin_bits=53,
    rescaled=True,
    size=1_024,
    total=Figures(1.21e-4, 3.49e-4),
    parts=tuple(Figures(0.0, part * 1e-5) for part in range(len(PARTS))),
    bound=0.052,
    empty_residuals=3,
    fallback=Figures(1e-5, 7.76e-5),
)
EVIDENCE = NumericsEvidence(
    positions=((HOSTILE, 17),),
    precisions=(PRECISION, replace(PRECISION, sums="bfloat16", coin_bits=8, rescaled=False)),
    mixed=(
        MixedPrecision(HOSTILE, "float16", SMALL, Figures(2.24e-3, 4.5e-3), -1e-4, SMALL, 1e-16, Figures(0.0123, 0.1)),
    ),
    epsilons=(EpsilonCost(HOSTILE, 1e-10, SMALL, bound=0.0123),),
    outputs=2,
    seed=7,
    near_equal=(NearEqual(HOSTILE, "bfloat16", 8, 0, 0, empty=7, fallback=6.04e-3, driven=3, strayed=0),),
    replays=(
        Replayed(HOSTILE, "bfloat16", "float32", 4, 51, 73, caught=3, own=0, first="differs at draft 2", p_value=0.64),
    ),
    worked=(Worked("SS-9", "P | Q", "1/16", "1/16"),),
)
PLAN = Plan("zoo", prompts=2, max_new_tokens=8, lookahead=3, seed=7)


def lines(text: str, holding: str) -> list[str]:
    return [line for line in text.splitlines() if holding in line]


def test_the_figures_of_each_part() -> None:
    text = as_markdown(EVIDENCE)
    assert lines(text, "| bfloat16 | rescaled sums in float64, 53-bit coins |")[0].endswith(
        "| 1.2e-04 | 3.5e-04 | 5.2e-02 |"
    )
    assert lines(text, "| bfloat16 | sums in bfloat16, 8-bit coins |")
    assert lines(text, "| bfloat16 | bfloat16 | 0 | 1.0e-05 | 2.0e-05 | 3.0e-05 | 4.0e-05 | 5.0e-05 |")
    assert lines(text, "| bfloat16 | 8 | 7 | 6.0e-03 | 0 | 0 | 3 | 0 |")
    assert lines(text, "at 3 positions of ")[0].count("(probability up to 7.8e-05)") == 2
    assert lines(text, "| float16 | 1.2e-03 | 2.5e-03 | 2.2e-03 | 4.5e-03 | 2.5e-03 | 1.0e-16 | 1.2e-02 | 1.0e-01 |")
    assert lines(text, "| 1.0e-10 | 1.2e-03 | 2.5e-03 | 1.2e-02 |")
    assert lines(text, "| bfloat16 | float32 | 4 | 51 | 73 | 3 | 0 | 0.64 | differs at draft 2 |")
    assert lines(text, "| SS-9 | P \\| Q | 1/16 | 1/16 |")
    assert "17 positions of" in text
    assert "2 sampled outputs per prompt, seed 7." in text
    for claim in ("SS-4", "SS-5", "SS-8", "SS-9"):
        assert f"({claim})" in text


def test_verdicts_and_controls_come_first_and_claims_last_with_what_they_leave_out() -> None:
    text = as_markdown(EVIDENCE, PLAN)
    assert text.index("## Verdicts") < text.index("## Replayed uniforms") < text.index("## Each dtype")
    assert lines(text, "- one step in bfloat16: SS-5: **EXACT**: ")
    assert lines(text, "- control drafts in bfloat16, declared in float32: SS-8: REFUTED: ")
    assert "`draftproof numerics --pair zoo --prompts 2 --max-new-tokens 8 --lookahead 3 --seed 7`" in text
    claims = text.split("## The claims")[1]
    for claim in ("SS-4", "SS-5", "SS-8", "SS-9"):
        [line] = lines(claims, f"- {claim}: ")
        assert CLAIMS[claim].idealisations[0].split("(")[0] in line


def test_where_no_rejection_meets_an_empty_residual_that_is_said() -> None:
    text = as_markdown(replace(EVIDENCE, precisions=(replace(PRECISION, empty_residuals=0),)))
    assert "a rejection may meet a residual without mass nowhere." in text


def test_the_document_has_its_schema_plan_and_verdicts() -> None:
    document = as_document(EVIDENCE, PLAN)
    assert list(document) == ["schema", "plan", "verdicts", "controls", "evidence"]
    assert document["schema"] == "draftproof-numerics-1"
    assert {one["claim"] for one in document["verdicts"]} == {"SS-4", "SS-5", "SS-8", "SS-9"}
    assert [(one["kind"], one["must_be_refuted"], one["judged_rightly"]) for one in document["controls"]] == [
        ("REFUTED", True, True),
        ("NOT REFUTED", False, True),
    ]
    assert document["evidence"]["precisions"][0]["bound"] == 0.052
    assert json.loads(json.dumps(document)) == document


def test_files_are_written_both_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(EVIDENCE, PLAN, tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["numerics.json", "numerics.md"]
    assert json.loads((tmp_path / "made" / "numerics.json").read_text(encoding="utf-8")) == as_document(EVIDENCE, PLAN)
    assert (tmp_path / "made" / "numerics.md").read_text(encoding="utf-8") == as_markdown(EVIDENCE, PLAN)

    def broken(evidence: NumericsEvidence, plan: Plan) -> None:
        raise RuntimeError

    monkeypatch.setattr(module, "as_document", broken)
    with pytest.raises(RuntimeError):
        write_report(EVIDENCE, PLAN, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_hostile_names_stay_text() -> None:
    text = as_markdown(EVIDENCE)
    assert HOSTILE not in text
    assert "a\\|b\\`c\\`\\<b\\>U\\+000AU\\+202E" in text
    columns = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        columns = columns or cells
        assert cells == columns, line


def test_the_same_evidence_gives_the_same_bytes_and_other_evidence_others() -> None:
    assert as_markdown(EVIDENCE) == as_markdown(EVIDENCE)
    assert as_markdown(replace(EVIDENCE, seed=8)) != as_markdown(EVIDENCE)


def test_no_clock_is_in_it() -> None:
    assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}|second", as_markdown(EVIDENCE))


@pytest.mark.parametrize("outputs", [1, 2])
def test_meagre_evidence_is_reported_too(outputs: int) -> None:
    text = as_markdown(NumericsEvidence((), (), (), (), outputs, 0))
    assert f"Measured at no positions, {outputs} sampled output{'s' * (outputs > 1)} per prompt" in text
    assert "**VACUOUS**" in text
    assert not lines(text, "| bfloat16 |")
