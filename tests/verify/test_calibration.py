"""Calibration counts refutations of right decoders against the binomial band, and can fail."""

from dataclasses import replace

from draftproof.verify.calibration import LEVELS, TESTS, LevelCount, calibrate
from draftproof.verify.report.calibration import as_markdown


def test_a_small_calibration_holds_and_is_reported() -> None:
    """Seeded, so it holds each time or never."""
    evidence = calibrate(65, outputs=40)
    assert evidence.holds
    assert evidence.audits == 65
    assert len(evidence.subjects) == 13
    assert len(evidence.counts) == (len(LEVELS) + 1) * len(TESTS)
    assert evidence == calibrate(65, outputs=40)
    text = as_markdown(evidence)
    assert "65 null audits" in text
    assert "**NO**" not in text


def test_a_level_that_does_not_hold_is_said() -> None:
    count = LevelCount("test", True, 1e-2, 10_000, 100, 70, 135)
    assert count.holds
    assert not replace(count, refuted=136).holds
    assert not replace(count, refuted=69).holds
    assert replace(count, refuted=69, exact=False).holds
    evidence = replace(calibrate(13, outputs=10), counts=(replace(count, refuted=136),))
    assert not evidence.holds
    assert "**NO**" in as_markdown(evidence)
