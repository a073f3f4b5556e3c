"""The meter: what it reads on real laws and on toys."""

from fractions import Fraction

import pytest
import torch

from draftproof.verify.comparison import deviation
from draftproof.verify.meter.catalogue import CATALOGUE, ensemble, lenience, thresholds, typical
from draftproof.verify.meter.evidence import MeterEvidence
from draftproof.verify.meter.measure import measure_rules, read_toys
from draftproof.verify.numerics.rows import rows
from draftproof.verify.pairs import ZOO, Library, with_prompt
from draftproof.verify.settings import Setting
from draftproof.verify.toys import battery

TOYS = tuple(battery("speculative-sampling"))[:3]


def fresh() -> list[Setting]:
    library = Library()
    return [with_prompt(library.setting(pair, 3, 8), "for x in range(") for pair in ZOO[:2]]


@pytest.fixture(scope="module")
def evidence() -> MeterEvidence:
    return measure_rules(fresh(), outputs=2, seed=1, toys=TOYS)


def test_every_rule_is_read_on_every_pair_and_on_toys(evidence: MeterEvidence) -> None:
    rules = [(rule.name, rule.parameters) for rule in CATALOGUE]
    pairs = [one.pair for one in evidence.baselines]
    assert pairs == [setting.name for setting in fresh()]
    assert [one[:2] for one in evidence.rules] == rules
    assert {(one.pair, one.rule, one.parameters) for one in evidence.readings} == {
        (pair, *rule) for pair in pairs for rule in rules
    }
    assert [(one.rule, one.parameters) for one in evidence.toys] == rules


def test_a_lossless_rule_reads_zero_and_a_lossy_one_does_not(evidence: MeterEvidence) -> None:
    for rule in CATALOGUE:
        for one in evidence.readings:
            if (one.rule, one.parameters) == (rule.name, rule.parameters):
                assert (one.drafted.largest < 1e-12) == rule.lossless
                assert one.ceiling == rule.ceiling
                assert 0 <= one.drafted.mean <= one.drafted.largest <= 1
                assert (one.bonus.largest > 1e-12) == (rule.name == "typical acceptance")
    for rule, toy in zip(CATALOGUE, evidence.toys, strict=True):
        assert (toy.total_variation == "0") == (toy.differ == 0) == rule.lossless
        assert (toy.toys, toy.lossless) == (3, rule.lossless)
    assert evidence.broken == ()


def test_an_ensemble_is_off_by_its_share_of_what_lies_between_the_models(evidence: MeterEvidence) -> None:
    overlaps = {one.pair: one.acceptance for one in evidence.baselines}
    read = [one for one in evidence.readings if one.rule == "static ensemble"]
    assert len(read) == 4
    for one in read:
        weight = float(one.parameters.removeprefix("weight "))
        assert one.drafted.mean == pytest.approx((1 - weight) * (1 - overlaps[one.pair]), abs=1e-12)
        assert one.acceptance == pytest.approx(weight * overlaps[one.pair] + 1 - weight, abs=1e-12)


def test_lenience_keeps_more_than_speculative_sampling(evidence: MeterEvidence) -> None:
    overlaps = {one.pair: one.acceptance for one in evidence.baselines}
    for one in evidence.readings:
        if one.rule == "lenience":
            assert one.acceptance > overlaps[one.pair]


def test_the_baseline_is_the_mean_overlap(evidence: MeterEvidence) -> None:
    seen = list(rows(fresh()[:1], outputs=2, seed=1))
    assert evidence.baselines[0].positions == len(seen)
    mean = sum(float(torch.minimum(row.target, row.draft).sum()) for row in seen) / len(seen)
    assert evidence.baselines[0].acceptance == pytest.approx(mean, abs=1e-12)


def test_it_is_a_function_of_its_arguments(evidence: MeterEvidence) -> None:
    assert measure_rules(fresh(), outputs=2, seed=1, toys=TOYS) == evidence
    assert measure_rules(fresh(), outputs=2, seed=2, toys=TOYS) != evidence


def test_toys_are_read_by_the_comparison_of_joint_laws() -> None:
    rule = ensemble(Fraction(1, 2))
    distances = {toy.name: deviation(toy, lambda s: rule.make(s.target, s.drafter, s.lookahead)) for toy in TOYS}
    read = read_toys(rule, TOYS)
    assert Fraction(read.total_variation) == max(distances.values()) > 0
    assert distances[read.toy] == max(distances.values())
    assert (read.tokens, read.lookahead) == (max(toy.max_new_tokens for toy in TOYS), 3)
    assert read_toys(thresholds(), TOYS).differ == 0


def test_what_is_measured_can_be_chosen() -> None:
    seen: list[int] = []
    chosen = (typical(), lenience(Fraction(3, 10)))
    found = measure_rules(fresh()[:1], chosen, toys=(), progress=seen.append)
    assert found.toys == ()
    assert [one.parameters for one in found.readings] == ["epsilon 0.09, delta 0.3", "l 0.3"]
    assert seen[-1] == found.baselines[0].positions
    empty = measure_rules([], chosen, toys=TOYS[:1])
    assert (empty.baselines, empty.readings) == ((), ())
    assert len(empty.toys) == 2
