"""The rules that are metered, with the parameters that their sources ship, name or tabulate."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from draftproof.algorithms.interfaces import LanguageModel
from draftproof.verify.meter.closed_forms import Rule
from draftproof.verify.meter.rules import AcceptanceThresholds, Lenience, StaticEnsemble, TypicalAcceptance

Make = Callable[[LanguageModel, LanguageModel, int], Rule]
"""Builds a rule's decoder from target, drafter and lookahead."""


@dataclass(frozen=True)
class Metered:
    """A rule with its parameters: what it keeps, and where that is published. `lossless` if it gives nothing away."""

    name: str
    parameters: str
    keeps: str
    source: str
    make: Make
    lossless: bool = False


def typical(epsilon: Fraction = Fraction(9, 100), delta: Fraction = Fraction(3, 10)) -> Metered:
    """Medusa's typical acceptance."""
    return Metered(
        "typical acceptance",
        f"epsilon {_decimal(epsilon)}, delta {_decimal(delta)}",
        "x iff P(x) > min(epsilon, delta exp(-H(P))); then the target's likeliest token",
        "Medusa, 2401.10774, 2.3.1",
        partial(TypicalAcceptance, epsilon=epsilon, delta=delta),
    )


def thresholds(single: Fraction = Fraction(1), acc: Fraction = Fraction(1)) -> Metered:
    """SGLang's acceptance thresholds."""
    return Metered(
        "acceptance thresholds",
        f"single {_decimal(single)}, acc {_decimal(acc)}",
        "x if P(x) >= single, else with P(x) / acc; then P without x",
        "SGLang, speculative_accept_threshold_single and _acc",
        partial(AcceptanceThresholds, single=single, acc=acc),
        lossless=single == acc == 1,
    )


def ensemble(weight: Fraction) -> Metered:
    """The static ensemble of transformers; the weight is the target's."""
    return Metered(
        "static ensemble",
        f"weight {_decimal(weight)}",
        "x with min(1, 1 - w + w P(x) / Q(x)); then (P - Q)+",
        "transformers, assistant_ensemble_weight",
        partial(StaticEnsemble, weight=weight),
        lossless=weight == 1,
    )


def lenience(value: Fraction, scale_residual: bool = False) -> Metered:
    """Lenience, with the residual as it was or with Q multiplied there too."""
    return Metered(
        "lenience",
        f"l {_decimal(value)}" + (", residual too" if scale_residual else ""),
        f"x with min(1, P(x) / (l Q(x))); then {'(P - l Q)+' if scale_residual else '(P - Q)+'}",
        "Leviathan et al., 2211.17192, A.5",
        partial(Lenience, lenience=value, scale_residual=scale_residual),
        lossless=value == 1,
    )


def _decimal(value: Fraction) -> str:
    return f"{float(value):g}"


_HALF = Fraction(1, 2)

CATALOGUE: tuple[Metered, ...] = (
    typical(),
    thresholds(),
    thresholds(single=_HALF),
    thresholds(acc=_HALF),
    ensemble(Fraction(9, 10)),
    ensemble(_HALF),
    lenience(_HALF),
    lenience(_HALF, scale_residual=True),
    lenience(Fraction(1, 10)),
    lenience(Fraction(1, 10), scale_residual=True),
)
"""One or two settings of each rule. SGLang's defaults stand first among its own: they are lossless."""
