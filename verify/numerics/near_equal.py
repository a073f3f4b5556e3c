"""Target and draft law that are the same up to an ulp: where residuals vanish in floats, and 0 / 0 is near (SS-4).

Idea: in real arithmetic a residual without mass is never asked for, since no draft is rejected then. In floats a draft
law that is an ulp larger in every mass is rejected now and then, and leaves nothing to recover from. So the target's
law is met by its neighbours: all masses an ulp up, all an ulp down, up and down in turn. The law of each step is worked
out as in one_step.py, and at the first position of a pair algorithms/drivers.py draws recovered tokens there.

Claims: SS-4.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from draftproof.algorithms.drivers import Coins, sample
from draftproof.algorithms.laws import LawError
from draftproof.algorithms.requests import ChooseResidual, Program, mass_in
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.numerics.arithmetic import Arithmetic, name_of
from draftproof.verify.numerics.evidence import NearEqual
from draftproof.verify.numerics.one_step import OneStep, one_step
from draftproof.verify.numerics.rationals import Integers

_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


def neighbours(law: torch.Tensor) -> Iterator[torch.Tensor]:
    """The law with each positive mass one float up, one float down, and up and down in turn; zeros stay zeros."""
    count = len(law)
    turns = torch.ones(count, dtype=torch.long)
    turns[1::2] = -1
    for steps in (torch.ones_like(turns), -torch.ones_like(turns), turns):
        yield moved(law, steps)


def moved(law: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Each positive mass moved by so many floats; zeros stay zeros. The bits of positive floats count them."""
    bits = law.view(_BITS[law.dtype])
    return torch.where(law > 0, bits + steps.to(bits), bits).view(law.dtype)


@dataclass
class NearEqualProbe:
    """Sums up what one pair shows in one dtype; everything is computed in that dtype, so that rounding is worst."""

    pair: str
    dtype: torch.dtype
    positions: int = 0
    equal_rejected: int = 0
    undefined: int = 0
    empty: int = 0
    fallback: float = 0.0
    driven: int = 0
    strayed: int = 0

    def see(self, law: torch.Tensor, coins: Coins | None = None) -> None:
        """Looks at one position by the target's law there; with `coins` the driver draws there, too."""
        target = law.to(self.dtype)
        self.positions += 1
        equal = self._step(target, target)
        self.equal_rejected += equal is not None and equal.acceptance != 1
        fallbacks = []
        for draft in neighbours(target):
            step = self._step(target, draft)
            if step is None:
                continue
            fallbacks.append(float(step.fallback))
            if coins:
                self.driven += 1
                self.strayed += not _recovers(target, draft, coins)
        self.empty += any(fallbacks)
        self.fallback = max(self.fallback, *fallbacks, 0.0)

    def _step(self, target: torch.Tensor, draft: torch.Tensor) -> OneStep | None:
        """The step, or None, counted, where it has no law on the target's support."""
        try:
            step = one_step(target, draft, Arithmetic.narrow(self.dtype))
        except LawError:
            step = None
        if step is None or not is_law_on(target, step.law.numerators):
            self.undefined += 1
            return None
        return step

    @property
    def seen(self) -> NearEqual:
        """What was seen so far."""
        return NearEqual(
            self.pair,
            name_of(self.dtype),
            self.positions,
            self.equal_rejected,
            self.undefined,
            self.empty,
            self.fallback,
            self.driven,
            self.strayed,
        )


def is_law_on(target: torch.Tensor, masses: Integers) -> bool:
    """Whether masses are non-negative, some positive, and none outside the target's support."""
    return bool((masses >= 0).all()) and bool(masses.any()) and not masses[(target == 0).numpy()].any()


def _recovers(target: torch.Tensor, draft: torch.Tensor, coins: Coins) -> bool:
    """Whether the sample driver recovers a token of the target's support."""

    def program() -> Program[int]:
        token: int = yield ChooseResidual(TensorLaw(target), mass_in(TensorLaw(draft)))
        return token

    try:
        return bool(target[sample(program(), coins)] > 0)
    except (LawError, ZeroDivisionError, IndexError):
        return False
