"""The catalogue of metered rules, and their ceilings."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.models.table import explicit
from draftproof.verify.meter.catalogue import CATALOGUE, Metered, ensemble, lenience, thresholds
from draftproof.verify.meter.closed_forms import measured
from draftproof.verify.numerics.closed_forms import distance

HALF = Fraction(1, 2)


def test_every_entry_is_told_apart_and_names_its_source() -> None:
    assert len({(rule.name, rule.parameters) for rule in CATALOGUE}) == len(CATALOGUE)
    for rule in CATALOGUE:
        assert rule.keeps
        assert any(source in rule.source for source in ("Medusa", "SGLang", "transformers", "Leviathan"))


def test_it_holds_the_four_rules_and_one_that_is_lossless() -> None:
    names = {"typical acceptance", "acceptance thresholds", "static ensemble", "lenience"}
    assert {rule.name for rule in CATALOGUE} == names
    assert [(rule.name, rule.parameters) for rule in CATALOGUE if rule.lossless] == [
        ("acceptance thresholds", "single 1, acc 1")
    ]


def read(rule: Metered, target: torch.Tensor, draft: torch.Tensor) -> float:
    """The total variation at a drafted position."""
    nobody = explicit({}, len(target))
    return distance(measured(rule.make(nobody, nobody, 1), target, draft).drafted, target)


def law(*masses: float) -> torch.Tensor:
    return torch.tensor(masses, dtype=torch.float64)


@given(
    st.sampled_from(CATALOGUE),
    st.integers(0, 10**6),
    st.integers(2, 50),
    st.sampled_from((0.3, 1.0, 3.0, 10.0)),
)
def test_no_laws_take_a_rule_above_its_ceiling(rule: Metered, seed: int, size: int, spread: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    target, draft = (torch.randn(2, size, generator=generator, dtype=torch.float64) * spread).softmax(1)
    assert read(rule, target, draft) <= rule.ceiling + 1e-13


@pytest.mark.parametrize(
    ("rule", "target", "draft"),
    [
        # The drafter's only token has half of P, and is kept for sure.
        (thresholds(single=HALF), (0.5, 0.5), (1.0, 0.0)),
        (thresholds(acc=HALF), (0.5, 0.5), (1.0, 0.0)),
        # No overlap: everything of the mixture that is Q's is elsewhere.
        (ensemble(HALF), (1.0, 0.0), (0.0, 1.0)),
        # All of Q is kept, at twice what P has.
        (lenience(HALF), (0.5, 0.5), (1.0, 0.0)),
    ],
)
def test_a_ceiling_is_attained(rule: Metered, target: tuple[float, ...], draft: tuple[float, ...]) -> None:
    assert read(rule, law(*target), law(*draft)) == rule.ceiling == 0.5
