"""The bound on one step holds for all laws tried, and a step that keeps its sums in few bits breaks the wide one."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from draftproof.verify.numerics.arithmetic import PRECISIONS, Arithmetic
from draftproof.verify.numerics.bounds import bound, epsilon_bound
from draftproof.verify.numerics.closed_forms import distance
from draftproof.verify.numerics.mismatch import with_epsilon
from draftproof.verify.numerics.one_step import deviation

EVERY = tuple(way(dtype) for dtype in PRECISIONS for way in (Arithmetic.wide, Arithmetic.narrow))


def found(arithmetic: Arithmetic, declared: torch.Tensor, drafted: torch.Tensor) -> float:
    dtype = arithmetic.dtype
    return float(deviation(declared, declared.to(dtype), drafted.to(dtype), arithmetic).total)


@given(
    arithmetic=st.sampled_from(EVERY),
    seed=st.integers(0, 10**6),
    size=st.integers(2, 300),
    spread=st.sampled_from((0.0, 0.1, 1.0, 3.0, 30.0)),
    apart=st.sampled_from((0.0, 1e-9, 1e-4, 1e-2, 1.0)),
)
@example(arithmetic=Arithmetic.wide(torch.float16), seed=0, size=300, spread=30.0, apart=1.0)
@example(arithmetic=Arithmetic.wide(torch.bfloat16), seed=1, size=2, spread=0.1, apart=1e-2)
def test_no_step_exceeds_it(arithmetic: Arithmetic, seed: int, size: int, spread: float, apart: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(size, generator=generator, dtype=torch.float64) * spread
    declared = logits.softmax(0)
    drafted = (logits + apart * torch.randn(size, generator=generator, dtype=torch.float64)).softmax(0)
    assert found(arithmetic, declared, drafted) <= bound(arithmetic, size)


@pytest.mark.parametrize(
    ("dtype", "most"),
    [(torch.float64, 4e-10), (torch.float32, 9e-7), (torch.float16, 0.11), (torch.bfloat16, 0.06)],
)
def test_it_is_worth_having_on_the_largest_vocabularies(dtype: torch.dtype, most: float) -> None:
    assert bound(Arithmetic.wide(dtype), 262_144) < most


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_sums_break_the_bound_of_wide_ones(dtype: torch.dtype) -> None:
    size = 4_096
    declared = torch.full((size,), 1 / size, dtype=torch.float64)
    drafted = torch.arange(1, size + 1, dtype=torch.float64)
    drafted /= drafted.sum()
    assert found(Arithmetic.narrow(dtype), declared, drafted) > bound(Arithmetic.wide(dtype), size)
    assert found(Arithmetic.wide(dtype), declared, drafted) <= bound(Arithmetic.wide(dtype), size)
    assert bound(Arithmetic.narrow(dtype), size) == 1


def test_it_grows_with_the_vocabulary_and_never_beyond_one() -> None:
    for arithmetic in EVERY:
        bounds = [bound(arithmetic, size) for size in (1, 10, 1_000, 10**6, 10**12)]
        assert bounds == sorted(bounds)
        assert all(0 < one <= 1 and math.isfinite(one) for one in bounds)


# An epsilon in the denominator.


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(2, 300),
    spread=st.sampled_from((0.0, 0.1, 1.0, 3.0)),
    epsilon=st.sampled_from((1e-10, 1e-5, 1e-2, 0.25, 1.0)),
)
def test_no_epsilon_costs_more_than_its_bound(seed: int, size: int, spread: float, epsilon: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    target, draft = (torch.randn(2, size, generator=generator, dtype=torch.float64) * spread).softmax(1)
    cost = distance(with_epsilon(target, draft, epsilon), target)
    assert 0 <= cost <= epsilon_bound(epsilon, size) + 1e-13


def test_the_bound_on_epsilons_by_hand_and_nearly_attained() -> None:
    assert epsilon_bound(0.25, 2) == 1 / 3
    assert epsilon_bound(0.0, 100) == 0
    # Drafts from even masses on all but one id, which has what P has besides: half is kept less often.
    size, epsilon = 1_000, 1e-4
    draft = torch.full((size,), 1 / size, dtype=torch.float64)
    target = draft * 0.999
    target[0] += 1e-3
    cost = distance(with_epsilon(target, draft, epsilon), target)
    assert 0.98 * epsilon_bound(epsilon, size) < cost < epsilon_bound(epsilon, size)
