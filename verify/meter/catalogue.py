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
    """A rule with its parameters: what it keeps, where that is published, and what it gives away at most.

    `ceiling` is the total variation to P that no drafted position can exceed, whatever the laws; 1 says nothing.
    """

    name: str
    parameters: str
    keeps: str
    source: str
    make: Make
    ceiling: float

    @property
    def lossless(self) -> bool:
        """Whether it gives nothing away."""
        return self.ceiling == 0


def typical(epsilon: Fraction = Fraction(9, 100), delta: Fraction = Fraction(3, 10)) -> Metered:
    """Medusa's typical acceptance. It has no ceiling: a likeliest token may be far from P."""
    return Metered(
        "typical acceptance",
        f"epsilon {_decimal(epsilon)}, delta {_decimal(delta)}",
        "x iff P(x) > min(epsilon, delta exp(-H(P))); then the target's likeliest token",
        "Medusa, 2401.10774, 2.3.1",
        partial(TypicalAcceptance, epsilon=epsilon, delta=delta),
        ceiling=1.0,
    )


def thresholds(single: Fraction = Fraction(1), acc: Fraction = Fraction(1)) -> Metered:
    """SGLang's acceptance thresholds.

    Keeping x with P(x) is exact for any proposal. The rule keeps it more often, by 1 - P(x) <= 1 - single or by
    min(1, P(x) / acc) - P(x) <= 1 - acc: the ceiling is 1 less the smaller threshold.
    """
    return Metered(
        "acceptance thresholds",
        f"single {_decimal(single)}, acc {_decimal(acc)}",
        "x if P(x) >= single, else with P(x) / acc; then P without x",
        "SGLang, speculative_accept_threshold_single and _acc",
        partial(AcceptanceThresholds, single=single, acc=acc),
        ceiling=float(1 - min(single, acc)),
    )


def ensemble(weight: Fraction) -> Metered:
    """The static ensemble of transformers; the weight w is the target's. TV(w P + (1 - w) Q, P) <= 1 - w."""
    return Metered(
        "static ensemble",
        f"weight {_decimal(weight)}",
        "x with min(1, 1 - w + w P(x) / Q(x)); then (P - Q)+",
        "transformers, assistant_ensemble_weight",
        partial(StaticEnsemble, weight=weight),
        ceiling=float(1 - weight),
    )


def lenience(value: Fraction, scale_residual: bool = False) -> Metered:
    """Lenience, with the residual as it was or with Q multiplied there too.

    No token is emitted with more than P(x) / l, as the appendix promises; so at most 1 - l of the mass is elsewhere.
    """
    return Metered(
        "lenience",
        f"l {_decimal(value)}" + (", residual too" if scale_residual else ""),
        f"x with min(1, P(x) / (l Q(x))); then {'(P - l Q)+' if scale_residual else '(P - Q)+'}",
        "Leviathan et al., 2211.17192, A.5",
        partial(Lenience, lenience=value, scale_residual=scale_residual),
        ceiling=float(1 - value),
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
