"""Models in another dtype."""

from typing import Any

import pytest
import torch

from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import RandomCoins, sample
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.numerics.precision import InPrecision, stored

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_probability_is_the_nearest_float(toys: Any, dtype: torch.dtype) -> None:
    toy = toys.floats(toys.common(1))
    model = InPrecision(toy.target, dtype)
    [[first, second], [third]] = model.laws([((0,), (1,)), ((1,), ())])
    [[wide, wide_too], _] = toy.target.laws([((0,), (1,)), ((1,), ())])
    for law, exact in ((first, wide), (second, wide_too)):
        assert law.probabilities.dtype == dtype
        assert torch.equal(law.probabilities, exact.probabilities.to(dtype))
    assert (model.size, model.eos, third.size) == (toy.target.size, toy.target.eos, toy.target.size)


def test_fractions_have_no_dtype(toys: Any) -> None:
    with pytest.raises(TypeError, match="a law in floats is needed, not ExactLaw"):
        InPrecision(toys.common(1).target, torch.float32).laws([((), ())])


def test_a_law_in_half_precision_is_rounded_for_good() -> None:
    third = stored(TensorLaw(torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)), torch.bfloat16)
    assert third[0] == 171 / 512
    assert stored(third, torch.float64)[0] == 171 / 512


@pytest.mark.parametrize("dtype", DTYPES)
def test_decoders_run_in_every_dtype(toys: Any, dtype: torch.dtype) -> None:
    toy = toys.floats(toys.common(4))
    target, drafter = InPrecision(toy.target, dtype), InPrecision(toy.drafter, dtype)
    for seed in range(20):
        output = sample(decode(SpeculativeSampling(target, drafter, 3), (0,), 8), RandomCoins(seed))
        for place, token in enumerate(output.tokens):
            assert toy.target.laws([((0, *output.tokens[:place]), ())])[0][0][token] > 0
