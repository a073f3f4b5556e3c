"""Drafts from another law than the declared one, and an epsilon in the denominator: what each costs in one step.

Claim SS-8. Let drafts have law Q while Q^ is declared, that is, used in ratio and residual. Verification is a channel:
given a drafted token it emits a token, with probabilities that depend on P and Q^ alone. Fed with Q^ it emits P exactly
(claim SS-1); fed with Q it emits another law; and a channel never increases a total variation. So
TV(output, P) <= TV(Q, Q^). It is attained by P = Q^ where that is positive wherever Q is: every draft is accepted and
the output's law is Q.

Claim SS-9. min(1, P / (Q + epsilon)) rejects too often, and every rejection draws from the residual, whose tokens have
had their share already.

Notation: P target law, Q the law drafts are drawn from, Q^ the declared draft law.
Claims: SS-8, SS-9.
"""

from dataclasses import dataclass

import torch

from draftproof.verify.numerics.closed_forms import distance, emitted, ratio, residual


@dataclass(frozen=True)
class Mismatch:
    """TV(output, P) of one step, and the bound TV(Q, Q^) that it never exceeds but for the rounding of float64."""

    cost: float
    bound: float


def mismatch(target: torch.Tensor, drafted: torch.Tensor, declared: torch.Tensor) -> Mismatch:
    """What it costs that drafts have law `drafted` while `declared` is used to verify; all float64 laws of one size."""
    return Mismatch(distance(mismatched(target, drafted, declared), target), distance(drafted, declared))


def mismatched(target: torch.Tensor, drafted: torch.Tensor, declared: torch.Tensor) -> torch.Tensor:
    """The law of the emitted token where drafts have law `drafted` and `declared` is used to verify."""
    return emitted(drafted, ratio(target, declared), residual(target, declared))


def replayed_differently(one: torch.Tensor, other: torch.Tensor) -> float:
    """The probability that one uniform draws different ids from two float64 laws of one size, by inversion.

    An id is drawn from both where its intervals between running sums overlap.
    """
    ends, other_ends = one.cumsum(0), other.cumsum(0)
    overlap = torch.minimum(ends, other_ends) - torch.maximum(ends - one, other_ends - other)
    return max(0.0, 1 - float(overlap.clamp_min(0).sum()))


def with_epsilon(target: torch.Tensor, draft: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The law of the emitted token where `epsilon` >= 0 is added to the denominator of the ratio."""
    return emitted(draft, ratio(target, draft + epsilon) if epsilon else ratio(target, draft), residual(target, draft))
