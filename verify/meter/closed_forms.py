"""The law of one step under each rule of rules.py, in closed form over a whole vocabulary, in float64.

Each form is given P and Q after one context and answers with the law of the token there: at a drafted position, and
where all drafts were kept (bonus). numerics/closed_forms.py has the parts they are made of.

Notation: P target law, Q draft law, a(x) the probability to keep a drafted x.
"""

from dataclasses import dataclass

import torch

from draftproof.verify.meter.rules import AcceptanceThresholds, Lenience, StaticEnsemble, TypicalAcceptance
from draftproof.verify.numerics.closed_forms import emitted, ratio, residual

Rule = TypicalAcceptance | AcceptanceThresholds | StaticEnsemble | Lenience


@dataclass(frozen=True, eq=False)
class Measured:
    """One context under a rule: the law at a drafted position, that of a bonus token, and how often drafts are kept."""

    drafted: torch.Tensor
    bonus: torch.Tensor
    acceptance: float


def measured(rule: Rule, target: torch.Tensor, draft: torch.Tensor) -> Measured:
    """The laws under a rule after one context; `target` and `draft` are float64 laws of one size."""
    match rule:
        case TypicalAcceptance():
            return _typical(rule, target, draft)
        case AcceptanceThresholds():
            return _thresholds(rule, target, draft)
        case StaticEnsemble():
            kept = (1 - float(rule.weight) + float(rule.weight) * _quotient(target, draft)).clamp_max(1)
            return _measured(target, draft, kept, residual(target, draft))
        case Lenience():
            lenience = float(rule.lenience)
            scale = lenience if rule.scale_residual else 1.0
            return _measured(target, draft, ratio(target, lenience * draft), residual(target, scale * draft))


def _measured(target: torch.Tensor, draft: torch.Tensor, kept: torch.Tensor, recovered: torch.Tensor) -> Measured:
    return Measured(emitted(draft, kept, recovered), target, float((draft * kept).sum()))


def _typical(rule: TypicalAcceptance, target: torch.Tensor, draft: torch.Tensor) -> Measured:
    entropy = -torch.special.xlogy(target, target).sum()
    threshold = min(float(rule.epsilon), float(rule.delta) * float(torch.exp(-entropy)))
    kept = (target > threshold).to(target)
    likeliest = torch.zeros_like(target)
    likeliest[int((target == target.max()).nonzero()[0])] = 1.0
    return Measured(emitted(draft, kept, likeliest), likeliest, float((draft * kept).sum()))


def _thresholds(rule: AcceptanceThresholds, target: torch.Tensor, draft: torch.Tensor) -> Measured:
    kept = torch.where(target >= float(rule.single), 1.0, (target / float(rule.acc)).clamp_max(1))
    # A rejected x leaves P without x, normalised: its share is Q(x) (1 - a(x)) / (1 - P(x)) of P, x itself left out.
    # Where P(x) = 1 nothing is rejected.
    share = torch.where(kept < 1, draft * (1 - kept) / (1 - target), 0.0)
    return Measured(draft * kept + target * (share.sum() - share), target, float((draft * kept).sum()))


def _quotient(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """P / Q; where Q is 0 no draft comes, so it does not matter: 1."""
    return torch.where(draft > 0, target / draft, 1.0)
