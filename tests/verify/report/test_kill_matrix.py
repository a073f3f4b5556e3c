"""The kill matrix's report: a function of the evidence, which counts what it says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from draftproof.verify.kill_matrix import AUDIT, Kill, KillEvidence, Row
from draftproof.verify.report.kill_matrix import (
    PUBLISHED,
    as_markdown,
    as_svg,
    cheaper,
    cheaper_as_published,
    read_report,
    write_report,
)

WIDE = "wide chi-square"
HOSTILE = "a|b<script>\u202e\x1b[31m"


def row(
    control: str, number: str, audit: int | None, peer: int | None, *, wrong: bool = True, searched: int = 9_000
) -> Row:
    kills = (Kill(AUDIT, True, audit, searched), Kill(WIDE, False, peer, peer or searched))
    return Row(control, number, wrong, "a place", 0.25, kills)


FAULT = row("argmax-draft", "mutant 1", 40, 400)
EVIDENCE = KillEvidence("toys", 1e-6, 5, (FAULT, row("target-draw-match", "C1", None, None, wrong=False)))


def test_a_tenth_of_the_best_peer_is_cheaper_and_a_token_more_is_not() -> None:
    assert cheaper(FAULT)
    assert not cheaper(row("x", "mutant 1", 41, 400))
    assert not cheaper(row("x", "mutant 1", None, 400))


def test_where_no_peer_catches_all_that_they_were_given_counts() -> None:
    assert cheaper(row("x", "mutant 1", 900, None))
    assert not cheaper(row("x", "mutant 1", 901, None))


def test_a_peer_that_needs_more_than_its_published_size_does_not_catch_the_fault_there() -> None:
    published = PUBLISHED[WIDE]
    assert cheaper_as_published(row("x", "mutant 1", published, published + 1))
    assert not cheaper_as_published(row("x", "mutant 1", published // 10 + 1, published))
    assert cheaper_as_published(row("x", "mutant 1", published // 10, published))
    assert not cheaper_as_published(row("x", "mutant 1", None, None))


def test_the_figures_of_a_row_and_the_sums() -> None:
    text = as_markdown(EVIDENCE)
    assert "| mutant 1 | argmax-draft | 0.2500 | 40 | 400 |" in text
    assert "| C1 | target-draw-match | 0.2500 | no (9000) | no (9000) |" in text
    assert "Refuted by the audit: 1 of 1 faults (1 within 5000 tokens); look-alikes flagged by it: 0 of 1." in text
    assert "best peer: 1 of 1 " in text


def test_several_forms_of_one_mutant_count_once_by_the_worst() -> None:
    forms = (FAULT, row("another form", "mutant 1", 300, 400), row("x", "mutant 2", 1, 100))
    assert "best peer: 1 of 2 " in as_markdown(replace(EVIDENCE, rows=forms))


def test_a_method_that_was_not_tried_is_a_dash() -> None:
    untried = replace(FAULT, kills=(FAULT.kills[0], Kill(WIDE, False, None, 0)))
    assert "| 40 | - |" in as_markdown(replace(EVIDENCE, rows=(untried,)))


def test_a_look_alike_that_is_flagged_is_said() -> None:
    flagged = row("target-draw-match", "C1", 77, 500, wrong=False)
    text = as_markdown(replace(EVIDENCE, rows=(FAULT, flagged)))
    assert "look-alikes flagged by it: 1 of 1" in text
    assert f"{WIDE} 1" in text


def test_hostile_places_stay_text() -> None:
    text = as_markdown(replace(EVIDENCE, domain=HOSTILE, rows=(replace(FAULT, where=HOSTILE),)))
    assert HOSTILE not in text
    assert "<script>" not in text
    assert "\x1b" not in text


def test_all_three_files_are_written_and_do_not_change_from_run_to_run(tmp_path: Path) -> None:
    write_report(EVIDENCE, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(first) == {"kill_matrix.md", "kill_matrix.json", "kill_matrix.svg"}
    write_report(replace(EVIDENCE, seconds=3.0), tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    document = json.loads(first["kill_matrix.json"])
    assert document["evidence"]["rows"][0]["kills"][0]["tokens"] == 40
    assert "](kill_matrix.svg)" in first["kill_matrix.md"].decode()


def test_the_evidence_is_read_back_whole(tmp_path: Path) -> None:
    write_report(EVIDENCE, tmp_path)
    assert read_report(tmp_path / "kill_matrix.json") == EVIDENCE


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "another"}'])
def test_another_document_is_no_kill_matrix(text: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"kill matrix|Expecting"):
        read_report(tmp_path / "other.json")


def test_the_plot_names_each_fault_and_no_look_alike() -> None:
    picture = as_svg(EVIDENCE)
    assert "argmax-draft (mutant 1)" in picture
    assert "target-draw-match" not in picture
