"""What the meter cannot read: doctored evidence is told."""

import math
from dataclasses import replace

from draftproof.verify.meter.evidence import MeterEvidence, Reading, ToyReading
from draftproof.verify.numerics.evidence import Figures

READING = Reading("lenience", "l 0.5", "pair", Figures(0.1, 0.5), Figures(0.0, 0.0), 0.6, ceiling=0.5)
TOY = ToyReading("thresholds", "single 1", 18, 0, 5, 3, "0", "letters/3", lossless=True)
EVIDENCE = MeterEvidence((), (), (READING,), (TOY, replace(TOY, differ=3, lossless=False)), 1, 0)


def test_readings_up_to_their_ceiling_are_possible() -> None:
    assert EVIDENCE.broken == ()
    assert replace(EVIDENCE, readings=(replace(READING, drafted=Figures(0.1, 0.5 + 1e-14)),)).broken == ()


def test_a_reading_above_its_ceiling_is_told() -> None:
    [told] = replace(EVIDENCE, readings=(replace(READING, drafted=Figures(0.1, 0.51)), READING)).broken
    assert told == "lenience (l 0.5) reads 0.51 on pair, above its ceiling 0.5"
    assert len(replace(EVIDENCE, readings=(replace(READING, drafted=Figures(math.nan, math.nan)),)).broken) == 1


def test_a_lossless_rule_that_differs_on_a_toy_is_told() -> None:
    [told] = replace(EVIDENCE, toys=(replace(TOY, differ=1, total_variation="1/8"),)).broken
    assert told == "thresholds (single 1) is lossless and differs on letters/3 by 1/8"
