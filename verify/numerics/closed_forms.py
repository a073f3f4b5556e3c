"""One step in closed form, over a whole vocabulary, in float64: for rules that differ from speculative sampling's.

Idea: a step that drafts x ~ Q, keeps it with probability a(x) and else draws from a law R emits Q a + (1 - sum Q a) R.
The rules differ in a and R. Laws are float64 tensors of shape (size,) that sum to 1 up to rounding; every result here
is within 1e-13 of the same formula in real arithmetic for vocabularies below a million ids (sums go in pairs), which is
far below what these rules cost.

Notation: P target law, Q draft law.
Claims: SS-1, SS-8, SS-9.
"""

import torch

from draftproof.algorithms.laws import LawError

ROUNDING = 1e-12
"""What float64 may add to a total variation computed here: ten times what is stated above."""


def as_law(weights: torch.Tensor) -> torch.Tensor:
    """The law proportional to non-negative `weights`, as float64 on the CPU.

    Raises LawError where there is no mass, or a weight is negative, NaN or infinite.
    """
    wide = weights.detach().to("cpu", torch.float64)
    total = wide.sum()
    if not bool(total > 0) or not bool(torch.isfinite(total)) or bool((wide < 0).any()):
        raise LawError("a law needs finite, non-negative masses with a positive sum")
    return wide / total


def ratio(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """min(1, P / Q); where Q is 0, 1 or 0 as P is positive or 0."""
    return torch.where(draft > 0, target / draft, (target > 0).to(target)).clamp_max(1)


def residual(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """The positive part of P - Q, normalised; P where there is none."""
    excess = (target - draft).clamp_min(0)
    return as_law(excess) if bool((excess > 0).any()) else target


def emitted(draft: torch.Tensor, acceptance: torch.Tensor, recovered: torch.Tensor) -> torch.Tensor:
    """The law of the emitted token: `draft * acceptance`, and what is rejected goes by `recovered`."""
    kept = draft * acceptance
    return kept + (1 - kept.sum()).clamp_min(0) * recovered


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """The total variation of two laws."""
    return float((one - other).abs().sum()) / 2
