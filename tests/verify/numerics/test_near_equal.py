"""Laws an ulp apart (SS-4): by hand, on random laws in every dtype, and steps that are broken on purpose."""

from collections.abc import Iterator

import pytest
import torch

from draftproof.algorithms.drivers import RandomCoins
from draftproof.verify.numerics import near_equal
from draftproof.verify.numerics.arithmetic import PRECISIONS
from draftproof.verify.numerics.near_equal import NearEqualProbe, is_law_on, moved, neighbours

DTYPES = pytest.mark.parametrize("dtype", PRECISIONS, ids=str)


def random_law(seed: int, size: int = 40) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    law = (torch.randn(size, generator=generator, dtype=torch.float64) * 3).softmax(0)
    law[::7] = 0
    return law / law.sum()


def probed(dtype: torch.dtype, seeds: Iterator[int] | range = range(4), driven: int = 4) -> NearEqualProbe:
    probe = NearEqualProbe("pair", dtype)
    for seed in seeds:
        probe.see(random_law(seed), RandomCoins(seed) if seed < driven else None)
    return probe


def test_neighbours_by_hand() -> None:
    # Bfloat16 has 8 bits: above 1/2 the next is 2**-8 away, below it 2**-9.
    up, down, turns = neighbours(torch.tensor([0.5, 0.5, 0.0], dtype=torch.bfloat16))
    assert up.tolist() == [0.5 + 2**-8, 0.5 + 2**-8, 0]
    assert down.tolist() == [0.5 - 2**-9, 0.5 - 2**-9, 0]
    assert turns.tolist() == [0.5 + 2**-8, 0.5 - 2**-9, 0]


@DTYPES
def test_a_neighbour_is_the_next_float(dtype: torch.dtype) -> None:
    law = random_law(0).to(dtype)
    up, down, _ = neighbours(law)
    positive = law > 0
    assert bool((up[positive] > law[positive]).all())
    assert bool((down[positive] < law[positive]).all())
    # Nothing lies between: halfway is rounded to one of the two.
    between = ((up.double() + law.double()) / 2).to(dtype)
    assert bool(((between == up) | (between == law)).all())
    assert bool((moved(up, -torch.ones(len(law), dtype=torch.long)) == law).all())
    assert bool((up[~positive] == 0).all())


@DTYPES
def test_near_equal_laws_have_a_step_and_equal_ones_never_reject(dtype: torch.dtype) -> None:
    seen = probed(dtype).seen
    assert (seen.positions, seen.undefined, seen.equal_rejected, seen.strayed) == (4, 0, 0, 0)
    assert seen.driven == 12
    # All masses an ulp up: whatever is rejected finds no residual.
    assert seen.empty == 4
    assert 0 < seen.fallback < 4 * 2.0 ** -PRECISIONS[dtype]


def test_the_driver_draws_only_where_it_is_given_coins() -> None:
    assert probed(torch.float32, driven=1).seen.driven == 3
    assert probed(torch.float32, driven=0).seen.driven == 0


# Broken on purpose: each must show.


def test_a_residual_of_no_numbers_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unguarded(target: torch.Tensor, draft: torch.Tensor, arithmetic: object) -> object:
        excess = (target - draft).clamp_min(0)
        return original(excess / excess.sum(), draft, arithmetic)  # type: ignore[arg-type]

    original = near_equal.one_step
    monkeypatch.setattr(near_equal, "one_step", unguarded)
    # 0 / 0 for the equal law and the neighbour above, at each position.
    assert probed(torch.float32).seen.undefined >= 8


def test_masses_outside_the_support_are_no_law() -> None:
    target = torch.tensor([0.5, 0.5, 0.0])
    for masses, right in (([1, 1, 0], True), ([1, 1, 1], False), ([2, -1, 0], False), ([0, 0, 0], False)):
        assert is_law_on(target, torch.tensor(masses).numpy().astype(object)) is right


def test_equal_laws_that_reject_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def unequal(target: torch.Tensor, draft: torch.Tensor, arithmetic: object) -> object:
        up, _, _ = neighbours(target)
        return original(target, up if draft is target else draft, arithmetic)  # type: ignore[arg-type]

    original = near_equal.one_step
    monkeypatch.setattr(near_equal, "one_step", unequal)
    assert probed(torch.float32).seen.equal_rejected == 4


def test_a_driver_that_strays_or_breaks_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_equal, "sample", lambda program, coins: 0)  # id 0 has no mass
    assert probed(torch.float32).seen.strayed == 12

    def broken(program: object, coins: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(near_equal, "sample", broken)
    assert probed(torch.float32).seen.strayed == 12
