"""Verdicts out of evidence made by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest

from draftproof.verify.evidence import (
    AuditEvidence,
    ControlEvidence,
    Counterexample,
    Direction,
    ExactComparison,
    ExactEvidence,
    OneStepBound,
    OrderTest,
    SampleEvidence,
)
from draftproof.verify.statistics.pit import detectable_deviation
from draftproof.verify.verdict import (
    POWER,
    Kind,
    Verdict,
    exit_code,
    judge_acceptance,
    judge_control,
    judge_exact,
    judge_sample,
    judge_sampled,
    seen_deviation,
    verdicts,
)

EQUAL = ExactComparison("toy/0", 4, 3, 7, "0", "0", None)
OFF = ExactComparison("toy/1", 5, 3, 9, "1/8", "1/16", 2)
EXACT = ExactEvidence("slem", "toys", (EQUAL, replace(EQUAL, tokens=5)))
REFUTED = ExactEvidence("slem", "toys", (EQUAL, OFF))
FOUND = Counterexample("toy/1", 2, 1, ("a", "$"), ("a",), ("x: a 1",), ("y: a 1",), ("a", "$"), "1/2", "1/4", "1/4")
TESTS = (OrderTest("one", 0.02, 0.4), OrderTest("two", 0.03, 0.2))
SAMPLED = SampleEvidence(
    subject="tli",
    pair="big with small",
    sequences=10,
    limit=100,
    tokens=1_000,
    steps=500,
    drafted=900,
    trials=800,
    accepted=400,
    expected_acceptance=404.0,
    outside=0,
    tests=TESTS,
    alpha=8e-6,  # the two tests have 1e-6 each
    seed=0,
)


def control(wrong: bool, exact: ExactEvidence, sampled: SampleEvidence | None = None) -> ControlEvidence:
    name = "argmax-draft" if wrong else "target-draw-match"
    named: Any = replace(sampled, subject=name) if sampled else None
    return ControlEvidence(
        name, "number", "speculative-sampling", wrong, "rule", "source", replace(exact, subject=name), named
    )


WITH_REFUTED_SAMPLE = replace(SAMPLED, tests=(OrderTest("one", 0.5, 1e-30),))


# Enumerated.


def test_equal_fractions_are_exact() -> None:
    verdict = judge_exact(EXACT)
    assert verdict == Verdict(
        "slem", "SLEM-1", Kind.EXACT, "equal as fractions on each of 2 toys (14 outputs of up to 5 tokens)"
    )
    assert verdict.line == f"slem: SLEM-1: EXACT: {verdict.message}"


def test_one_differing_law_refutes() -> None:
    verdict = judge_exact(REFUTED)
    assert verdict.kind == Kind.REFUTED
    assert verdict.message == (
        "the joint law differs on toy/1 from token 2 on, total variation 1/8 (of decoded strings 1/16); "
        "differs on 1 of 2 toys"
    )


def test_a_counterexample_comes_first_in_words() -> None:
    verdict = judge_exact(replace(REFUTED, counterexample=FOUND))
    assert verdict.counterexample == FOUND
    assert verdict.message.startswith("the output a $ has mass 1/4 instead of 1/2 for target [x: a 1]")
    assert verdict.message.endswith("total variation 1/4 over 2 tokens; differs on 1 of 2 toys")


def test_a_long_fraction_is_told_as_a_float() -> None:
    long = f"{10**40}/{3 * 10**40 + 1}"
    verdict = judge_exact(replace(REFUTED, comparisons=(replace(OFF, total_variation=long),)))
    assert "total variation 0.333333 " in verdict.message


def test_nothing_enumerated_is_vacuous() -> None:
    assert judge_exact(ExactEvidence("slem", "toys", ())).kind == Kind.VACUOUS


# Sampled.


def test_passed_tests_are_not_refuted_and_say_what_they_would_have_seen() -> None:
    verdict = judge_sample(SAMPLED)
    assert (verdict.subject, verdict.claim, verdict.kind) == ("tli", "TLI-1", Kind.NOT_REFUTED)
    seen = detectable_deviation(1_000, 1e-6, POWER)
    assert f"a total variation of {seen:.3f} in the order of one or of two" in verdict.message
    assert "no deviation in 1000 tokens on big with small" in verdict.message
    assert "false alarm <= 8e-06" in verdict.message


@pytest.mark.parametrize(("p_value", "kind"), [(1.1e-6, Kind.NOT_REFUTED), (0.9e-6, Kind.REFUTED)])
@pytest.mark.parametrize("which", [0, 1])
def test_alpha_is_shared_by_the_tests_and_the_acceptance(p_value: float, kind: Kind, which: int) -> None:
    tests = list(TESTS)
    tests[which] = replace(TESTS[which], p_value=p_value)
    verdict = judge_sample(replace(SAMPLED, tests=tuple(tests)))
    assert verdict.kind == kind
    if kind == Kind.REFUTED:
        assert f"in the order of {TESTS[which].order}, p = 9.0e-07 < 1.0e-06" in verdict.message


def test_a_token_outside_the_support_refutes_whatever_the_tests_say() -> None:
    verdict = judge_sample(replace(SAMPLED, outside=1))
    assert verdict.kind == Kind.REFUTED
    assert "1 of 1000 tokens have target probability 0" in verdict.message


def test_won_bets_refute_and_say_on_what() -> None:
    least = 0.1 + math.log(2 / 8e-6)  # bets have half of the level
    directions = (Direction("always-accept", least, 0.3, 0.02, 0.1), Direction("no-coin", 0.0, 0.2, 0.1, 0.1))
    won = replace(SAMPLED, log_wealth=least, refuted_after=77, directions=directions)
    verdict = judge_sample(won)
    assert verdict.kind == Kind.REFUTED
    assert "most of it on always-accept; convicted after 77 tokens at 4.0e-06" in verdict.message
    assert judge_sample(replace(SAMPLED, log_wealth=least - 0.2)).kind == Kind.NOT_REFUTED


@pytest.mark.parametrize("wealth", [float("nan"), float("inf")])
def test_a_wealth_that_is_no_number_does_not_pass(wealth: float) -> None:
    assert judge_sample(replace(SAMPLED, log_wealth=wealth)).kind == Kind.REFUTED
    assert judge_sample(replace(SAMPLED, refuted_after=3)).kind == Kind.REFUTED


def test_a_pass_says_which_faults_would_have_been_seen() -> None:
    directions = (Direction("always-accept", 0.0, 0.3, 0.02, 0.1), Direction("no-coin", 0.0, 0.2, None, 0.1))
    message = judge_sample(replace(SAMPLED, directions=directions)).message
    assert "1 of 2 known faults (down to total variation 0.020 for always-accept)" in message


def test_too_few_tokens_decide_nothing() -> None:
    few = replace(SAMPLED, sequences=1, limit=10, tokens=10)
    assert judge_sample(few).kind == Kind.INCONCLUSIVE


def test_a_p_value_that_is_no_number_does_not_pass() -> None:
    assert judge_sample(replace(SAMPLED, tests=(OrderTest("one", 0.1, float("nan")),))).kind == Kind.REFUTED


def test_no_tokens_are_vacuous() -> None:
    nothing = replace(SAMPLED, tokens=0, steps=0, trials=0, accepted=0, expected_acceptance=0.0, tests=())
    assert {verdict.kind for verdict in judge_sampled(nothing)} == {Kind.VACUOUS}


def test_an_acceptance_rate_within_its_margin_is_not_refuted() -> None:
    verdict = judge_acceptance(SAMPLED)
    assert (verdict.claim, verdict.kind) == ("SS-6", Kind.NOT_REFUTED)
    assert "accepted 0.500 of 800 tested tokens on big with small, the laws give 0.505" in verdict.message
    assert "2.00 tokens per target pass" in verdict.message


@pytest.mark.parametrize("expected", [300.0, 500.0, float("nan")])
def test_an_acceptance_rate_out_of_its_margin_is_refuted(expected: float) -> None:
    assert judge_acceptance(replace(SAMPLED, expected_acceptance=expected)).kind == Kind.REFUTED


def test_no_trials_are_vacuous() -> None:
    assert judge_acceptance(replace(SAMPLED, trials=0, accepted=0)).kind == Kind.VACUOUS


def test_controls_are_not_judged_by_their_acceptance() -> None:
    assert len(judge_sampled(SAMPLED)) == 2
    assert len(judge_sampled(replace(SAMPLED, subject="argmax-draft"))) == 1


def test_tokens_left_out_at_a_threshold_are_told() -> None:
    assert "left out" not in judge_sample(SAMPLED).message
    assert judge_sample(replace(SAMPLED, borderline=2)).message.endswith(
        "; 2 tokens at a processor's threshold left out"
    )


def test_where_every_token_is_left_out_nothing_is_decided() -> None:
    assert judge_sample(replace(SAMPLED, borderline=1_000)).kind == Kind.INCONCLUSIVE


def test_tokens_left_out_dilute_what_would_have_been_seen() -> None:
    assert seen_deviation(replace(SAMPLED, borderline=500)) == 2 * seen_deviation(SAMPLED)


def test_a_pass_has_the_exact_figure_of_one_step_beside_it() -> None:
    assert "one step" not in judge_sample(SAMPLED).message
    counted = replace(SAMPLED, one_step=OneStepBound(21, 8e-13, 3.1e-8))
    verdict = judge_sample(counted)
    assert verdict.kind == Kind.NOT_REFUTED
    assert verdict.message.endswith(
        "; one step in floats is within 3.1e-08 of the target's law on each of 21 contexts (total variation, exact)"
    )
    assert verdict.message.startswith(judge_sample(SAMPLED).message)
    # It says nothing about laws that were asked for wrongly, so that it does not stand beside a conviction.
    assert "one step" not in judge_sample(replace(counted, outside=1)).message


def test_laws_that_are_equal_where_no_draft_is_ever_accepted_decide_nothing() -> None:
    never = replace(EXACT, comparisons=tuple(replace(one, accepted=False) for one in EXACT.comparisons))
    assert judge_exact(never).kind == Kind.INCONCLUSIVE
    assert judge_exact(replace(EXACT, comparisons=(*EXACT.comparisons, *never.comparisons))).kind == Kind.EXACT


# Controls.


@pytest.mark.parametrize(
    ("wrong", "exact", "sampled", "right"),
    [
        (True, REFUTED, None, True),
        (True, EXACT, None, False),
        (False, EXACT, None, True),
        (False, REFUTED, None, False),
        (True, REFUTED, WITH_REFUTED_SAMPLE, True),
        (True, REFUTED, SAMPLED, True),  # too few tokens to have seen it
        (True, REFUTED, replace(SAMPLED, sequences=1_000, tokens=100_000), False),
        (False, EXACT, SAMPLED, True),
        (False, EXACT, WITH_REFUTED_SAMPLE, False),
        (True, ExactEvidence("slem", "toys", ()), None, False),
        (False, ExactEvidence("slem", "toys", ()), None, False),
    ],
)
def test_a_control_is_judged_rightly_or_not(
    wrong: bool, exact: ExactEvidence, sampled: SampleEvidence | None, right: bool
) -> None:
    evidence = control(wrong, exact, sampled)
    verdict, judged_rightly = judge_control(evidence)
    assert judged_rightly is right
    assert verdict.claim == "SS-2"
    assert ("; sampled: " in verdict.message) == (sampled is not None)
    assert exit_code(AuditEvidence(controls=(evidence,))) == int(not right)


# The audit as a whole.


def test_all_findings_are_listed_failures_last() -> None:
    evidence = AuditEvidence((EXACT,), (SAMPLED,), (), (("slrs", "it broke"),))
    assert [(verdict.subject, verdict.kind) for verdict in verdicts(evidence)] == [
        ("slem", Kind.EXACT),
        ("tli", Kind.NOT_REFUTED),
        ("tli", Kind.NOT_REFUTED),
        ("slrs", Kind.ERROR),
    ]


@pytest.mark.parametrize(
    ("evidence", "code"),
    [
        (AuditEvidence((EXACT,), (SAMPLED,)), 0),
        (AuditEvidence((EXACT, REFUTED)), 1),
        (AuditEvidence((ExactEvidence("slem", "toys", ()),)), 1),
        (AuditEvidence((EXACT,), (replace(SAMPLED, outside=2),)), 1),
        (AuditEvidence((EXACT,), (replace(SAMPLED, trials=0),)), 1),
        (AuditEvidence((EXACT,), failures=(("slem", "it broke"),)), 2),
        (AuditEvidence((REFUTED,), failures=(("slem", "it broke"),)), 2),
    ],
)
def test_exit_codes(evidence: AuditEvidence, code: int) -> None:
    assert exit_code(evidence) == exit_code(evidence, strict=True) == code


def test_strict_fails_what_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = (Verdict("slem", "SLEM-1", Kind.INCONCLUSIVE, "not decided: budget spent"),)
    monkeypatch.setattr("draftproof.verify.verdict.verdicts", lambda evidence: undecided)
    assert exit_code(AuditEvidence()) == 0
    assert exit_code(AuditEvidence(), strict=True) == 1
