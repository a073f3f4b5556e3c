"""Verdicts on floats: what holds passes, and every bound that is broken is told and fails."""

import math
from dataclasses import replace

import pytest

from draftproof.verify.claims import CLAIMS
from draftproof.verify.numerics.evidence import (
    EpsilonCost,
    Figures,
    MixedPrecision,
    NearEqual,
    NumericsEvidence,
    Precision,
    Worked,
)
from draftproof.verify.numerics.verdicts import exit_code, verdicts
from draftproof.verify.verdict import Kind, Verdict

SMALL = Figures(1e-4, 2e-4)
NEAR = NearEqual("pair", "bfloat16", 8, equal_rejected=0, undefined=0, empty=8, fallback=6e-3, driven=3, strayed=0)
PRECISION = Precision(
    "pair", "bfloat16", "float64", 53, True, 1_024, SMALL, (SMALL,), bound=0.05, empty_residuals=0, fallback=SMALL
)
MIXED = MixedPrecision("pair", "bfloat16", SMALL, SMALL, -1e-5, SMALL, gap=1e-16, replayed=Figures(0.02, 0.1))
EPSILON = EpsilonCost("pair", 1e-8, SMALL, bound=1e-3)
WORKED = Worked("SS-9", "P, Q, epsilon", "1/16", "1/16")
EVIDENCE = NumericsEvidence(
    positions=(("pair", 20), ("other", 22)),
    precisions=(PRECISION, replace(PRECISION, pair="other", total=Figures(3e-4, 9e-4))),
    mixed=(MIXED,),
    epsilons=(EPSILON,),
    outputs=1,
    seed=0,
    near_equal=(NEAR, replace(NEAR, pair="other")),
    worked=(replace(WORKED, claim="SS-8"), WORKED),
)


def judged(evidence: NumericsEvidence, claim: str) -> list[Verdict]:
    return [verdict for verdict in verdicts(evidence) if verdict.claim == claim]


def test_what_holds_is_told_over_all_pairs() -> None:
    assert [(one.claim, one.kind) for one in verdicts(EVIDENCE)] == [
        ("SS-4", Kind.EXACT),
        ("SS-5", Kind.EXACT),
        ("SS-8", Kind.EXACT),
        ("SS-8", Kind.NOT_REFUTED),
        ("SS-9", Kind.EXACT),
        ("SS-9", Kind.NOT_REFUTED),
    ]
    [step] = judged(EVIDENCE, "SS-5")
    assert step.line == (
        "one step in bfloat16: SS-5: EXACT: one step is off by a total variation of up to 9.0e-04 at 42 positions "
        "(mean of a pair up to 3.0e-04); the bound for all laws over 1024 ids is 5.0e-02"
    )
    [near] = judged(EVIDENCE, "SS-4")
    assert "at each of 16 positions; at 16 a rejection may meet a residual without mass" in near.message
    assert exit_code(EVIDENCE) == 0


def test_every_verdict_is_about_a_known_claim() -> None:
    assert {one.claim for one in verdicts(EVIDENCE)} == {"SS-4", "SS-5", "SS-8", "SS-9"} <= set(CLAIMS)


@pytest.mark.parametrize(
    ("broken", "claim", "message"),
    [
        ({"near_equal": (replace(NEAR, undefined=2),)}, "SS-4", "2 steps without a law"),
        ({"near_equal": (NEAR, replace(NEAR, equal_rejected=1))}, "SS-4", "1 positions where a draft of the target's"),
        ({"near_equal": (replace(NEAR, strayed=3),)}, "SS-4", "3 tokens that the sample driver failed to recover"),
        (
            {"precisions": (PRECISION, replace(PRECISION, pair="other", total=Figures(1e-4, 0.051)))},
            "SS-5",
            "5.1e-02 on other exceeds the bound 5.0e-02",
        ),
        ({"precisions": (replace(PRECISION, total=Figures(math.nan, math.nan)),)}, "SS-5", "exceeds the bound"),
        ({"mixed": (replace(MIXED, excess=1e-9),)}, "SS-8", "TV(output, P) exceeds TV(Q, Q^) by 1.0e-09 on pair"),
        ({"mixed": (replace(MIXED, excess=math.nan),)}, "SS-8", "exceeds TV(Q, Q^)"),
        ({"mixed": (replace(MIXED, gap=1e-9),)}, "SS-8", "it is not attained"),
        ({"epsilons": (replace(EPSILON, bound=1e-4),)}, "SS-9", "2.0e-04 on pair exceeds the bound 1.0e-04"),
        ({"worked": (replace(WORKED, found="1/15"),)}, "SS-9", "total variation 1/15, instead of 1/16"),
    ],
)
def test_a_broken_bound_is_refuted_and_fails(broken: dict[str, tuple[object, ...]], claim: str, message: str) -> None:
    evidence = replace(EVIDENCE, **broken)  # type: ignore[arg-type]
    [refuted] = [one for one in verdicts(evidence) if one.kind == Kind.REFUTED]
    assert refuted.claim == claim
    assert message in refuted.message
    assert exit_code(evidence) == 1


def test_rounding_breaks_no_bound() -> None:
    evidence = replace(EVIDENCE, mixed=(replace(MIXED, excess=1e-14, gap=1e-14),))
    assert exit_code(evidence) == 0


def test_where_there_is_no_bound_nothing_is_decided() -> None:
    throughout = replace(PRECISION, sums="bfloat16", coin_bits=8, bound=1.0, total=Figures(0.1, 0.3))
    [verdict] = judged(replace(EVIDENCE, precisions=(throughout,)), "SS-5")
    assert verdict.line.startswith(
        "one step in bfloat16 throughout: SS-5: INCONCLUSIVE: not decided: there is no bound for laws over 1024 ids; "
    )
    assert exit_code(replace(EVIDENCE, precisions=(throughout,))) == 0


def test_an_epsilon_that_costs_nothing_visible_decides_nothing() -> None:
    evidence = replace(EVIDENCE, epsilons=(replace(EPSILON, cost=Figures(0.0, 1e-15)),))
    assert [one.kind for one in judged(evidence, "SS-9")] == [Kind.EXACT, Kind.INCONCLUSIVE]


def test_without_an_empty_residual_or_a_position_nothing_was_put_to_the_test() -> None:
    never = replace(EVIDENCE, near_equal=(replace(NEAR, empty=0),))
    assert [one.kind for one in judged(never, "SS-4")] == [Kind.VACUOUS]
    nothing = NumericsEvidence((), (), (), (), 1, 0)
    assert [one.kind for one in verdicts(nothing)] == [Kind.VACUOUS]
    assert exit_code(never) == exit_code(nothing) == 1
