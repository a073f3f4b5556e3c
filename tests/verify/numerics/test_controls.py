"""The control that is replayed, and its look-alike: judged rightly, and misjudged where evidence is doctored."""

from dataclasses import replace

import pytest

from draftproof.verify.numerics.controls import Judged, controls
from draftproof.verify.numerics.evidence import Figures, MixedPrecision, NumericsEvidence, Replayed
from draftproof.verify.numerics.verdicts import exit_code
from draftproof.verify.verdict import Kind

ANY = Figures(1e-4, 2e-4)
MIXED = MixedPrecision("pair", "bfloat16", ANY, ANY, 0.0, ANY, 0.0, replayed=Figures(0.02, 0.1))
REPLAYED = Replayed(
    "pair",
    "bfloat16",
    "float32",
    recordings=8,
    tokens=200,
    drafts=400,
    caught=5,
    own=0,
    first="differs at draft 3",
    p_value=0.4,
)
EVIDENCE = NumericsEvidence((("pair", 20),), (), (MIXED,), (), 1, 0, replays=(REPLAYED, replace(REPLAYED, p_value=0.1)))


def judged(*replays: Replayed, replayed: float = 0.02) -> tuple[Judged, ...]:
    mixed = (replace(MIXED, replayed=Figures(replayed, 0.5)),)
    return controls(replace(EVIDENCE, replays=replays, mixed=mixed))


def test_both_are_judged_rightly() -> None:
    mixed, declared = controls(EVIDENCE)
    assert mixed.line == (
        "control drafts in bfloat16, declared in float32: SS-8: REFUTED: 10 of 16 recordings differ on replay; on pair "
        "one differs at draft 3; counting the same 400 tokens sees a total variation of 0.22 at the least, and its "
        "smallest p-value on a pair is 0.1 [refuted, as it must be]"
    )
    assert declared.line == (
        "control drafts as declared, in float32: SS-8: NOT REFUTED: none of 16 recordings differs on replay "
        "[not refuted, as it must not be]"
    )
    assert exit_code(EVIDENCE) == 0


def test_a_difference_that_is_owed_and_does_not_come_is_misjudged() -> None:
    same = replace(REPLAYED, caught=0, first=None, drafts=2_000)
    mixed, _ = judged(same)  # 40 differences were to be expected
    assert (mixed.verdict.kind, mixed.right) == (Kind.INCONCLUSIVE, False)
    assert mixed.line.endswith("[MISJUDGED: these measurements cannot be trusted]")
    assert exit_code(replace(EVIDENCE, replays=(same,))) == 1


def test_where_too_little_was_replayed_none_is_owed() -> None:
    same = replace(REPLAYED, caught=0, first=None, drafts=50)
    mixed, _ = judged(same)
    assert (mixed.verdict.kind, mixed.right) == (Kind.INCONCLUSIVE, True)
    assert mixed.line.endswith("[too little to owe a refutation]")
    assert exit_code(replace(EVIDENCE, replays=(same,))) == 0


def test_a_declared_decoder_that_does_not_replay_itself_is_misjudged() -> None:
    _, declared = judged(replace(REPLAYED, own=1))
    assert (declared.verdict.kind, declared.right) == (Kind.REFUTED, False)
    assert "MISJUDGED" in declared.line
    assert exit_code(replace(EVIDENCE, replays=(replace(REPLAYED, own=1),))) == 1


@pytest.mark.parametrize(
    ("tokens", "said"), [(5, "is sure to see nothing"), (20_000, "sees a total variation of 0.03")]
)
def test_what_counting_sees_depends_on_the_tokens(tokens: int, said: str) -> None:
    mixed, _ = judged(replace(REPLAYED, tokens=tokens))
    assert f"counting the same {tokens} tokens {said}" in mixed.verdict.message


def test_without_replays_there_are_no_controls() -> None:
    assert controls(replace(EVIDENCE, replays=())) == ()
