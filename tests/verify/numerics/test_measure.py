"""Measurements on real laws: complete, reproducible, and of the right size."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch

from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.models.zoo import ModelError
from draftproof.verify.numerics.arithmetic import Arithmetic
from draftproof.verify.numerics.evidence import Figures, NumericsEvidence
from draftproof.verify.numerics.measure import EPSILONS, figures, measure_numerics
from draftproof.verify.numerics.one_step import PARTS, deviation
from draftproof.verify.numerics.rows import rows
from draftproof.verify.pairs import REAL, ZOO, Library, with_prompt
from draftproof.verify.settings import Setting
from draftproof.verify.toys import random_toy


def fresh() -> list[Setting]:
    """Two pairs without anything cached: a forward pass rounds differently with what was fed before."""
    library = Library()
    return [with_prompt(library.setting(pair, 3, 8), "for x in range(") for pair in ZOO[:2]]


@pytest.fixture(scope="module")
def settings() -> list[Setting]:
    return fresh()


@pytest.fixture(scope="module")
def evidence() -> NumericsEvidence:
    return measure_numerics(fresh(), outputs=2, seed=3)


def test_every_pair_is_measured_in_every_arithmetic(settings: list[Setting], evidence: NumericsEvidence) -> None:
    names = [setting.name for setting in settings]
    assert [name for name, _ in evidence.positions] == names
    assert all(count > 4 for _, count in evidence.positions)
    ways = [("float64", "float64", 53)]
    ways += [(d, "float64", 53) for d in ("float32", "float16", "bfloat16")]
    ways += [("float32", "float32", 24), ("float16", "float16", 11), ("bfloat16", "bfloat16", 8)]
    for name in names:
        assert {(o.dtype, o.sums, o.coin_bits) for o in evidence.precisions if o.pair == name} == set(ways)
        assert [one.dtype for one in evidence.mixed if one.pair == name] == ["float32", "float16", "bfloat16"]
        assert [one.epsilon for one in evidence.epsilons if one.pair == name] == list(EPSILONS)
    assert (evidence.outputs, evidence.seed) == (2, 3)


def test_the_figures_are_those_of_the_rows(evidence: NumericsEvidence) -> None:
    settings = fresh()
    arithmetic = Arithmetic.narrow(torch.bfloat16)
    found = [
        deviation(row.target, row.target.to(torch.bfloat16), row.draft.to(torch.bfloat16), arithmetic)
        for row in rows(settings, outputs=2, seed=3)
        if row.pair == settings[0].name
    ]
    [seen] = [one for one in evidence.precisions if one.pair == settings[0].name and one.sums == "bfloat16"]
    assert dict(evidence.positions)[settings[0].name] == len(found)
    assert seen.total == figures([float(one.total) for one in found])
    assert len(seen.parts) == len(PARTS)
    assert seen.parts[-1].largest == max(float(one.parts[-1]) for one in found)


def test_narrow_sums_cost_most_and_all_stay_within_their_bounds(evidence: NumericsEvidence) -> None:
    for one in evidence.precisions:
        assert 0 < one.total.mean <= one.total.largest <= one.bound <= 1
        assert one.total.mean <= sum(part.mean for part in one.parts) * (1 + 1e-12)
        assert (one.total.mean > 1e-2) == (one.sums in ("float16", "bfloat16"))
    for mixed in evidence.mixed:
        assert 0 < mixed.cost.mean <= mixed.bound.mean
        assert mixed.cost.largest <= mixed.bound.largest
        assert mixed.excess < 1e-13
        # Attained where the target's own law is declared.
        assert mixed.gap < 1e-13 < mixed.attained.mean
        assert mixed.bound.mean < mixed.replayed.mean < 0.2
    for pair in dict(evidence.positions):
        costs = [one.cost.mean for one in evidence.epsilons if one.pair == pair]
        assert costs == sorted(costs)
    assert all(one.cost.largest <= one.bound for one in evidence.epsilons)


def test_laws_an_ulp_apart_are_met_at_the_first_positions_in_every_dtype(evidence: NumericsEvidence) -> None:
    for name, positions in evidence.positions:
        seen = [one for one in evidence.near_equal if one.pair == name]
        assert [one.dtype for one in seen] == ["float64", "float32", "float16", "bfloat16"]
        for one in seen:
            assert one.positions == one.empty == min(8, positions)  # of 1,024 ids each
            assert (one.undefined, one.equal_rejected, one.strayed, one.driven) == (0, 0, 0, 3)


def test_it_is_a_function_of_its_arguments(evidence: NumericsEvidence) -> None:
    assert measure_numerics(fresh(), outputs=2, seed=3) == evidence
    assert measure_numerics(fresh(), outputs=2, seed=4) != evidence


def test_what_is_measured_can_be_chosen(settings: list[Setting]) -> None:
    seen: list[int] = []
    few = measure_numerics(settings[:1], dtypes=(torch.bfloat16,), epsilons=(), progress=seen.append)
    assert {one.dtype for one in few.precisions} == {one.dtype for one in few.mixed} == {"bfloat16"}
    assert few.epsilons == ()
    assert {one.dtype for one in few.near_equal} == {"bfloat16"}
    assert seen[-1] == dict(few.positions)[settings[0].name]
    assert measure_numerics([]) == NumericsEvidence((), (), (), (), outputs=1, seed=0)


def test_residuals_that_vanish_are_counted(toys: Any) -> None:
    # Twelve masses a little below 1/16 round up to it, what they lack makes the thirteenth an ulp higher: in bfloat16
    # no mass of P exceeds that of Q. More bits tell them apart.
    less = Fraction(1, 16) * (1 - Fraction(9, 10) / 512)
    names = tuple("abcdefghijklm")
    setting = replace(random_toy("vanishing", names, names, 0).setting, prompt=(0,))
    laws = ((Fraction(1, 4), *[Fraction(1, 16)] * 12), (1 - 12 * less, *[less] * 12))
    target, drafter = (toys.Floats(TableModel(13, lambda _, law=law: toys.exact(*law))) for law in laws)
    found = measure_numerics([replace(setting, target=target, drafter=drafter)])
    positions = found.positions[0][1]
    for one in found.precisions:
        assert one.empty_residuals == (positions if one.dtype == "bfloat16" else 0)
        assert (one.fallback.mean > 1e-3) == (one.dtype == "bfloat16")


def test_figures_by_hand() -> None:
    assert figures([0.5, 0.0, 1.0]) == Figures(mean=0.5, largest=1.0)


@pytest.mark.real
def test_a_real_pair_stays_within_its_bounds() -> None:
    library = Library()
    try:
        library.check(REAL[0])
    except ModelError as error:
        pytest.skip(str(error))
    setting = with_prompt(library.setting(REAL[0], 3, 2), "The capital of France is")
    found = measure_numerics([setting])
    assert all(0 < one.total.largest <= one.bound for one in found.precisions)
