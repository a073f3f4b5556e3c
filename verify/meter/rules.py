"""Four published rules that accept more than speculative sampling does; each changes what is kept, some what follows.

Each is the text of speculative sampling with the methods below changed. Drafts are drawn from the drafter's law, one
chain of them, whatever the source drafts with.

Notation: P target law, Q draft law, x the drafted token, H the entropy in nats.
But: Medusa and SGLang verify trees of candidates; here the tree is a chain. Parameters are fractions, so that toys stay
exact; a threshold with an entropy in it is a float, and laws in fractions and in floats may decide a tie differently.
The acceptance rate that trials declare stays speculative sampling's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Choose, ChooseResidual, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling


def _within(name: str, value: Fraction, low: float, high: float, low_included: bool = False) -> None:
    """Raises ValueError where a parameter is outside (low, high] or [low, high]."""
    if not (low < value <= high or (low_included and value == low)):
        raise ValueError(f"{name} must lie in {'[' if low_included else '('}{low}, {high}], not {value}")


def entropy(law: Law) -> float:
    """The entropy of a law in nats."""
    return -math.fsum(float(mass) * math.log(mass) for _, mass in law.items())


@dataclass(frozen=True)
class TypicalAcceptance(SpeculativeSampling):
    """Medusa (Cai et al. 2401.10774, section 2.3.1): x is kept iff P(x) > min(epsilon, delta exp(-H(P))); no coin.

    What follows the kept tokens is the target's likeliest token, which Medusa counts as the next step's first: decoded
    greedily and accepted unconditionally. Defaults are those of its code (posterior threshold and alpha).
    """

    epsilon: Fraction = Fraction(9, 100)
    delta: Fraction = Fraction(3, 10)
    name: str = "typical-acceptance"

    def __post_init__(self) -> None:
        """Raises ValueError for parameters outside [0, 1], and what speculative sampling raises."""
        super().__post_init__()
        _within("epsilon", self.epsilon, 0, 1, low_included=True)
        _within("delta", self.delta, 0, 1, low_included=True)

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1 or 0 for each drafted token, as its probability exceeds the threshold of its position or not."""
        return tuple(int(law[token] > self.threshold(law)) for token, law in zip(drafted, target_laws, strict=False))

    def threshold(self, law: Law) -> float:
        """min(epsilon, delta exp(-H(P)))."""
        return min(float(self.epsilon), float(self.delta) * math.exp(-entropy(law)))

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """The target's likeliest token at the position of the rejected one."""
        return target_laws[position].argmax()
        yield  # never reached: makes this a program

    def bonus(self, target_laws: Sequence[Law]) -> Program[int]:
        """The target's likeliest token after all drafted ones."""
        return target_laws[-1].argmax()
        yield  # never reached: makes this a program


@dataclass(frozen=True)
class AcceptanceThresholds(SpeculativeSampling):
    """SGLang (speculative_accept_threshold_single and _acc): x is kept if P(x) >= single, else with P(x) / acc.

    Q takes no part. A recovered token is drawn from P without x. With both thresholds 1, the defaults, that is exact
    for any proposal (look-alike C2).
    """

    single: Fraction = Fraction(1)
    acc: Fraction = Fraction(1)
    name: str = "acceptance-thresholds"

    def __post_init__(self) -> None:
        """Raises ValueError for thresholds outside (0, 1], and what speculative sampling raises."""
        super().__post_init__()
        _within("threshold_single", self.single, 0, 1)
        _within("threshold_acc", self.acc, 0, 1)

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1 where P(x) reaches `single`, else min(1, P(x) / acc)."""
        masses = [law[token] for token, law in zip(drafted, target_laws, strict=False)]
        return tuple(1 if mass >= self.single else min(1, mass / self.acc) for mass in masses)

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from P without the rejected token."""
        law = target_laws[position]
        others = law.restrict([token for token in law.support() if token != drafted[position]])
        # Rejected although nothing else has mass: only rounding gets here, since P(x) = 1 is always kept.
        token: int = yield Choose(law if others.empty else others)
        return token


@dataclass(frozen=True)
class StaticEnsemble(SpeculativeSampling):
    """transformers (assistant_ensemble_weight; DIVERSE, 2604.07622): verified against w P + (1 - w) Q instead of P.

    x is kept with min(1, 1 - w + w P(x) / Q(x)); the residual (w P + (1 - w) Q - Q)+ is (P - Q)+ but for its scale, so
    it stays. Every drafted position has exactly the mixture's law, a bonus token P. `weight` w is the target's.
    """

    weight: Fraction = Fraction(1, 2)
    name: str = "static-ensemble"

    def __post_init__(self) -> None:
        """Raises ValueError for a weight outside (0, 1], and what speculative sampling raises."""
        super().__post_init__()
        _within("assistant_ensemble_weight", self.weight, 0, 1)

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """min(1, 1 - w + w P(x) / Q(x)) for each drafted token."""
        masses = [
            (target_law[token], draft_law[token])
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        ]
        return tuple(min(1, 1 - self.weight + self.weight * (target / draft)) for target, draft in masses)


@dataclass(frozen=True)
class Lenience(SpeculativeSampling):
    """Leviathan et al. (2211.17192, appendix A.5): Q is multiplied by l before it is compared with P.

    x is kept with min(1, P(x) / (l Q(x))). No token is emitted with more than P(x) / l.

    The appendix changes the comparison and says nothing of the residual, so it stays (P - Q)+ here. `scale_residual`
    multiplies Q there as well; the appendix's promise holds for both.
    """

    lenience: Fraction = Fraction(1, 2)
    scale_residual: bool = False
    name: str = "lenience"

    def __post_init__(self) -> None:
        """Raises ValueError for a lenience outside (0, 1], and what speculative sampling raises."""
        super().__post_init__()
        _within("lenience", self.lenience, 0, 1)

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """min(1, P(x) / (l Q(x))) for each drafted token."""
        return tuple(
            target_law.acceptance(token, self.lenience * draft_law[token])
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from (P - Q)+, or from (P - l Q)+."""
        scale = self.lenience if self.scale_residual else 1
        draft_law = draft_laws[position]

        def draft_mass(token: int) -> Program[Mass]:
            return scale * draft_law[token]
            yield  # never reached: makes this a program

        token: int = yield ChooseResidual(target_laws[position], draft_mass)
        return token
