"""Which floats a sampler computes in."""

import pytest
import torch

from draftproof.verify.numerics.arithmetic import PRECISIONS, Arithmetic, name_of


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_roundoff_is_half_the_gap_after_one(dtype: torch.dtype) -> None:
    assert Arithmetic.wide(dtype).roundoff == torch.finfo(dtype).eps / 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_torch_draws_coins_on_the_grid_and_on_no_coarser_one(dtype: torch.dtype) -> None:
    coins = torch.rand(100_000, dtype=dtype, generator=torch.Generator().manual_seed(0)).double()
    bits = PRECISIONS[dtype]
    assert bool((torch.ldexp(coins, torch.tensor(bits)) % 1 == 0).all())
    assert not bool((torch.ldexp(coins, torch.tensor(bits - 1)) % 1 == 0).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_dtype_holds_every_coin_of_its_grid(dtype: torch.dtype) -> None:
    coins = torch.arange(2 ** PRECISIONS[dtype], dtype=torch.float64) / 2 ** PRECISIONS[dtype]
    assert torch.equal(coins.to(dtype).double(), coins)
    finer = coins + 2.0 ** -(PRECISIONS[dtype] + 1)
    assert not torch.equal(finer.to(dtype).double(), finer)


def test_it_says_what_it_is() -> None:
    assert str(Arithmetic.narrow(torch.bfloat16)) == "bfloat16, running sums in bfloat16, coins of 8 bits"
    assert str(Arithmetic.wide(torch.float16)) == "float16, rescaled running sums in float64, coins of 53 bits"
    assert name_of(torch.float32) == "float32"


@pytest.mark.parametrize(
    "build",
    [
        lambda: Arithmetic.narrow(torch.int64),
        lambda: Arithmetic.wide(torch.complex64),
        lambda: Arithmetic(torch.float32, torch.int32, 24),
    ],
)
def test_other_dtypes_are_refused(build: object) -> None:
    with pytest.raises(ValueError, match="is no float that laws are computed in; known: float64, float32"):
        build()  # type: ignore[operator]


@pytest.mark.parametrize("bits", [0, 54])
def test_coins_have_bits(bits: int) -> None:
    with pytest.raises(ValueError, match="1 to 53 bits"):
        Arithmetic(torch.float32, torch.float32, bits)
