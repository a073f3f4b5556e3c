"""The report on floats: a function of the evidence, complete, safe against hostile strings."""

import re
from dataclasses import replace

import pytest

from draftproof.verify.numerics.evidence import EpsilonCost, Figures, MixedPrecision, NumericsEvidence, Precision
from draftproof.verify.numerics.one_step import PARTS
from draftproof.verify.report.numerics import as_markdown

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
    mixed=(MixedPrecision(HOSTILE, "float16", SMALL, Figures(2.24e-3, 4.5e-3)),),
    epsilons=(EpsilonCost(HOSTILE, 1e-10, SMALL),),
    outputs=2,
    seed=7,
)


def lines(text: str, holding: str) -> list[str]:
    return [line for line in text.splitlines() if holding in line]


def test_the_figures_of_each_part() -> None:
    text = as_markdown(EVIDENCE)
    assert lines(text, "| bfloat16 | rescaled sums in float64, 53-bit coins |")[0].endswith(
        "| 1.2e-04 | 3.5e-04 | 5.2e-02 |"
    )
    assert lines(text, "| bfloat16 | sums in bfloat16, 8-bit coins |")
    assert lines(text, "| bfloat16 | bfloat16 | 0 | 1.0e-05 | 2.0e-05 | 3.0e-05 | 4.0e-05 | 5.0e-05 |")
    assert len(lines(text, "| bfloat16 | float64 | 3 | 7.8e-05 |")) == 1
    assert lines(text, "| float16 | 1.2e-03 | 2.5e-03 | 2.2e-03 | 4.5e-03 |")
    assert lines(text, "| 1.0e-10 | 1.2e-03 | 2.5e-03 |")
    assert "17 positions of" in text
    assert "2 sampled outputs per prompt, seed 7." in text
    for claim in ("SS-4", "SS-5", "SS-8", "SS-9"):
        assert f"({claim})" in text


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
    assert not lines(text, "bfloat16")
