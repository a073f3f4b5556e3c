"""Which floats a sampler computes in: the dtype of its laws, of its running sums, and the grid of its coins."""

from __future__ import annotations

from dataclasses import dataclass

import torch

PRECISIONS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
"""Bits of the significand, the leading one included: the unit roundoff is 2 to the minus that."""


@dataclass(frozen=True)
class Arithmetic:
    """Laws, ratios and residuals in `dtype`; draws by inversion of running sums in `sums`, by coins of `coin_bits`.

    `rescaled` divides the running sums by the last of them, as numpy's choice does, so that a law's total does not
    matter; without it a coin that no running sum exceeds takes the last id of positive mass.

    A coin of b bits is k / 2**b, each k in 0..2**b - 1 equally likely. Coins drawn in a dtype have as many bits as its
    significand: torch.rand in float64 and float32 draws exactly these.
    But: in half precision some versions of torch round a finer float32 coin, others draw the 11 or 8 bits.
    """

    dtype: torch.dtype
    sums: torch.dtype
    coin_bits: int
    rescaled: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for a dtype that is no known float, and for coins that do not have 1 to 53 bits."""
        for dtype in (self.dtype, self.sums):
            if dtype not in PRECISIONS:
                known = ", ".join(map(name_of, PRECISIONS))
                raise ValueError(f"{name_of(dtype)} is no float that laws are computed in; known: {known}")
        if not 1 <= self.coin_bits <= 53:
            raise ValueError(f"a coin has 1 to 53 bits, not {self.coin_bits}")

    @classmethod
    def narrow(cls, dtype: torch.dtype) -> Arithmetic:
        """Everything in one dtype: laws, ratios, residuals, running sums and coins."""
        return cls(dtype, dtype, PRECISIONS.get(dtype, 1))

    @classmethod
    def wide(cls, dtype: torch.dtype) -> Arithmetic:
        """Laws, ratios and residuals in a dtype; draws in float64, rescaled, much as algorithms/drivers.py draws.

        The driver multiplies the coin by the total instead of dividing the sums: the same but for a float64 rounding.
        """
        return cls(dtype, torch.float64, PRECISIONS[torch.float64], rescaled=True)

    @property
    def roundoff(self) -> float:
        """The unit roundoff of `dtype`: the largest relative error of one rounding."""
        return float(2.0 ** -PRECISIONS[self.dtype])

    def __str__(self) -> str:
        rescaled = "rescaled " if self.rescaled else ""
        return f"{name_of(self.dtype)}, {rescaled}running sums in {name_of(self.sums)}, coins of {self.coin_bits} bits"


def name_of(dtype: torch.dtype) -> str:
    """The dtype's name without the library's."""
    return str(dtype).removeprefix("torch.")
