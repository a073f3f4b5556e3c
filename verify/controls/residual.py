"""Controls that draw the recovered token from another law than the residual: mutants 3, 4, 5, 6, 9, look-alike C3.

Notation: P the target's law, Q the draft law, R = (P - Q)+ normalised, at the position of the rejected token x.
"""

import math
from collections.abc import Sequence

from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Program, mass_in
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed

SIBLINGS = 2
"""How many further draws from Q are tried after the first was rejected (C3)."""


class SharedNoise(SpeculativeSampling):
    """Mutant 3: x = argmax(log Q + G) and y = argmax(log R + G) with the same Gumbel noise G."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the law that the shared noise gives."""
        token: int = yield Choose(shared_noise(target_laws[position], draft_laws[position]))
        return token


def shared_noise(target_law: Law, draft_law: Law) -> Law:
    """The law of y = argmax(log R + G) given that x = argmax(log Q + G) was rejected, x and y sharing the noise G.

    E_j = exp(-G_j) are independent exponentials of rate 1, x = argmin E_j / Q_j and y = argmin E_j / R_j. The least
    value t of E_j / Q_j is exponential of rate 1 and independent of x. Given both, every other E_j is t Q_j plus a
    fresh exponential, for exponentials have no memory; and R_x = 0, for x was rejected. So y is the first of clocks j
    that start at t a_j, where a_j = Q_j / R_j, and ring at rate R_j from then on; x no longer matters. While the m
    clocks of least a run, with sums R_S and Q_S, the chance that none has rung by time s is exp(Q_S t - R_S s). Clock j
    of them rings first between t a_m and t a_(m+1) with probability

        R_j / R_S * (exp(-(R_S a_m - Q_S) t) - exp(-(R_S a_(m+1) - Q_S) t)),

    and the mean of exp(-c t) is 1 / (1 + c). The mass of j is the sum over all m from the start of its own clock on.
    Where there is no residual (rejection has probability 0) the law is P.
    """
    residual = target_law.residual(draft_law)
    if residual.empty:
        return target_law
    draft_masses = dict(draft_law.items())
    starts = sorted((draft_masses.get(token, 0) / rate, token, rate) for token, rate in residual.items())
    shares: list[Mass] = []  # per unit of rate: to ring first while exactly the first m clocks run
    rates: Mass = 0
    drafts: Mass = 0
    for place, (start, token, rate) in enumerate(starts):
        rates, drafts = rates + rate, drafts + draft_masses.get(token, 0)
        running = 1 / (1 - drafts + rates * start)
        later = 1 / (1 - drafts + rates * starts[place + 1][0]) if place + 1 < len(starts) else 0
        shares.append((running - later) / rates)
    weights: dict[int, Mass] = {}
    total: Mass = 0
    for (_, token, rate), share in zip(reversed(starts), reversed(shares), strict=True):
        total += share
        weights[token] = rate * total
    return target_law.weighted(weights)


class SharedCoin(SpeculativeSampling):
    """Mutant 4: y is the residual's quantile at the coin u that rejected x.

    Given the rejection u is uniform on [h, 1), where h = min(1, P(x) / Q(x)); other coins tell nothing of it. So y has
    the law of the residual's quantile at a fresh uniform on [h, 1), which is what is drawn here.
    """

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the part of the residual's running sum above h."""
        token = drafted[position]
        ratio = target_laws[position].acceptance(token, draft_laws[position][token])
        residual = target_laws[position].residual(draft_laws[position])
        recovered: int = yield Choose(target_laws[position] if residual.empty else above(residual, ratio))
        return recovered


def above(law: Law, level: Mass) -> Law:
    """The law of the quantile of `law` at a uniform on [level, 1); `level` in [0, 1).

    Rounding may leave nothing above a level close to 1: then the last id has all mass, as in the sample driver.
    """
    weights: dict[int, Mass] = {}
    lower: Mass = 0
    for token, mass in law.items():
        upper = lower + mass
        if upper > level:
            weights[token] = upper - max(lower, level)
        lower = upper
    return law.weighted(weights) if weights else law.restrict(law.support()[-1:])


class ResidualIsTarget(SpeculativeSampling):
    """Mutant 5: the residual is forgotten."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the target's law."""
        token: int = yield Choose(target_laws[position])
        return token


class ResidualSoftmaxed(SpeculativeSampling):
    """Mutant 6: (P - Q)+ is taken for logits.

    But: no exponential is a fraction, so where masses are fractions the float exponential is taken as the fraction
    that it is; the fault is some 10^15 times larger than that rounding.
    """

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the softmax of the positive part of P - Q, over all ids."""
        law = target_laws[position]
        masses, draft_masses = dict(law.items()), dict(draft_laws[position].items())
        number = type(law[0])  # the only use of the kind of number: what exp gives is put into it
        weights = {
            token: number(math.exp(max(0, masses.get(token, 0) - draft_masses.get(token, 0))))
            for token in range(law.size)
        }
        token: int = yield Choose(law.weighted(weights))
        return token


class RecoversFromNextRow(SpeculativeSampling):
    """Mutant 9: off by one in the rows of the target pass."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from the target's law after the rejected token."""
        # A drafted id that the target lacks has no row after it.
        token: int = yield Choose(target_laws[min(position + 1, len(target_laws) - 1)])
        return token


class SiblingsTried(SpeculativeSampling):
    """C3: further draws from Q, each accepted with min(1, R / Q) for what the draws before it have left of P.

    The rule of speculative sampling, applied to R instead of P, emits R for any Q; so once more for what R leaves.

    But: siblings are drawn after the rejection, not with the draft, and nothing is drafted after them.
    """

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """The first accepted sibling, else a draw from what they have left."""
        left, draft_law = target_laws[position], draft_laws[position]
        for _ in range(SIBLINGS):
            residual = left.residual(draft_law)
            if residual.empty:  # only by rounding: such a draft is never rejected
                break
            left = residual
            sibling = yield Choose(draft_law)
            if (yield Accept((left.acceptance(sibling, draft_law[sibling]),))):
                return int(sibling)
        token: int = yield ChooseResidual(left, mass_in(draft_law))
        return token


CONTROLS = (
    changed(
        SharedNoise,
        "shared-noise",
        "mutant 3",
        "drafted and recovered token are argmaxes with the same Gumbel noise",
        "vllm 54282",
    ),
    changed(
        SharedCoin,
        "shared-coin",
        "mutant 4",
        "the recovered token is the residual's quantile at the coin that rejected",
        "vllm-ascend 16370",
    ),
    changed(
        ResidualIsTarget,
        "residual-is-target",
        "mutant 5",
        "the recovered token is drawn from P instead of the residual",
        "mlx-lm 1085",
    ),
    changed(
        ResidualSoftmaxed,
        "residual-softmaxed",
        "mutant 6",
        "the recovered token is drawn from the softmax of (P - Q)+",
        "transformers 28508",
    ),
    changed(
        RecoversFromNextRow,
        "recovered-from-next-row",
        "mutant 9",
        "the recovered token is drawn from P after the rejected token, not at its position",
        "openvino.genai 4190",
    ),
    changed(
        SiblingsTried,
        "siblings-tried",
        "C3",
        f"after a rejection {SIBLINGS} further draws from Q are tried, each against what is left of P",
        "Miao et al. 2305.09781 (SpecInfer)",
        wrong=False,
    ),
)
