"""The worked examples of the claims, enumerated as fractions by decoders that have the fault.

Notation: P target law, Q the law drafts are drawn from, Q^ the declared draft law.
Claims: SS-8, SS-9.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.exact import output_law, prefixes, total_variation
from draftproof.verify.numerics.evidence import Worked


@dataclass(frozen=True)
class DraftsFrom(SpeculativeSampling):
    """Declares the drafter's law and draws from `drawn`."""

    drawn: ExactLaw | None = None

    def propose(self, draft_law: Law) -> Program[int]:
        """A draw from the other law."""
        token: int = yield Choose(self.drawn or draft_law)
        return token


@dataclass(frozen=True)
class WithEpsilon(SpeculativeSampling):
    """Adds `epsilon` to the denominator of the ratio."""

    epsilon: Fraction = Fraction(0)

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """min(1, P(x) / (Q(x) + epsilon)) for each drafted token."""
        return tuple(
            target_law.acceptance(token, draft_law[token] + self.epsilon)
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )


Pair = tuple[Fraction, Fraction]


def mismatch_cost(target: Pair, drawn: Pair, declared: Pair) -> Fraction:
    """TV(output, P) for one token where drafts have law `drawn` and another is declared."""
    return _off(DraftsFrom(_model(target), _model(declared), 1, drawn=_law(drawn)), target)


def epsilon_cost(target: Pair, draft: Pair, epsilon: Fraction) -> Fraction:
    """TV(output, P) for one token with an epsilon in the denominator."""
    return _off(WithEpsilon(_model(target), _model(draft), 1, epsilon=epsilon), target)


def worked() -> tuple[Worked, ...]:
    """A mismatch that attains its bound, one that does not, and what an epsilon of a quarter costs."""
    half, quarter, three = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)
    even, certain = (half, half), (Fraction(1), Fraction(0))
    attained = mismatch_cost(target=even, drawn=certain, declared=even)
    below = mismatch_cost(target=(quarter, three), drawn=certain, declared=even)
    epsilon = epsilon_cost((three, quarter), (quarter, three), quarter)
    return (
        Worked("SS-8", "P = Q^ = (1/2, 1/2), Q = (1, 0), where TV(Q, Q^) = 1/2", str(attained), "1/2"),
        Worked("SS-8", "P = (1/4, 3/4), Q^ = (1/2, 1/2), Q = (1, 0), where TV(Q, Q^) = 1/2", str(below), "1/4"),
        Worked("SS-9", "P = (3/4, 1/4), Q = (1/4, 3/4), epsilon 1/4", str(epsilon), "1/16"),
    )


def _model(masses: Pair) -> TableModel:
    return explicit({}, 2, otherwise=dict(enumerate(masses)))


def _law(masses: Pair) -> ExactLaw:
    return ExactLaw({token: mass for token, mass in enumerate(masses) if mass}, 2)


def _off(decoder: SpeculativeSampling, target: Pair) -> Fraction:
    # Two tokens, since nothing is drafted where only one is left to emit.
    first = prefixes(output_law(decoder, (), 2), 1)
    expected: dict[tuple[int, ...], Fraction] = {(token,): mass for token, mass in enumerate(target) if mass}
    return total_variation(first, expected)
