"""Laws in fractions and in tensors: one protocol, one behaviour."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import IdMap, LawError
from draftproof.algorithms.tensor_law import TensorLaw

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
LAST = 1 - 2**-53


@st.composite
def sixteenths(draw: Callable[[Any], Any], size: int | None = None) -> ExactLaw:
    """A law of sixteenths: floats hold it, and its running sums, exactly."""
    size = draw(st.integers(1, 6)) if size is None else size
    cuts = sorted(draw(st.lists(st.integers(0, 16), min_size=size - 1, max_size=size - 1)))
    bounds = [0, *cuts, 16]
    return ExactLaw({token: Fraction(bounds[token + 1] - bounds[token], 16) for token in range(size)}, size)


def floats(law: ExactLaw, dtype: torch.dtype = torch.float64) -> TensorLaw:
    return TensorLaw(torch.tensor([float(law[token]) for token in range(law.size)], dtype=dtype))


def assert_close(tensor: Any, exact: ExactLaw, tolerance: float = 1e-15) -> None:
    assert isinstance(tensor, TensorLaw)
    assert tensor.size == exact.size
    assert tensor.support() == exact.support()
    assert all(abs(tensor[token] - float(exact[token])) <= tolerance for token in range(exact.size))


# By hand.


def test_a_law_by_hand() -> None:
    law = ExactLaw({2: QUARTER, 0: HALF, 1: Fraction(0), 3: QUARTER}, 4)
    assert law.support() == (0, 2, 3)
    assert law[1] == law[4] == law[-1] == 0
    assert law.argmax() == 0
    assert law.ranked(2) == (0, 2)
    assert [law.quantile(u) for u in (0, 0.25, 0.5, 0.75, LAST)] == [0, 0, 2, 3, 3]
    assert law.overlap(ExactLaw({0: Fraction(1)}, 4)) == HALF
    assert law.residual(ExactLaw({0: QUARTER, 2: HALF, 3: QUARTER}, 4)) == ExactLaw({0: Fraction(1)}, 4)
    assert law.restrict({0, 1, 3}) == ExactLaw({0: Fraction(2, 3), 3: THIRD}, 4)
    assert law.pushforward(IdMap({0: 1, 2: 0, 3: 0}, 2)) == ExactLaw({0: HALF, 1: HALF}, 2)
    assert law.power(2) == ExactLaw({0: Fraction(2, 3), 2: Fraction(1, 6), 3: Fraction(1, 6)}, 4)
    assert law.acceptance(2, HALF) == HALF
    assert law.acceptance(0, QUARTER) == 1
    assert law.acceptance(1, HALF) == 0
    assert dict(law.items()) == {0: HALF, 2: QUARTER, 3: QUARTER}
    assert repr(law) == "ExactLaw({0: 1/2, 2: 1/4, 3: 1/4}, size=4)"


def test_the_same_law_in_floats_by_hand() -> None:
    law = TensorLaw(torch.tensor([0.5, 0, 0.25, 0.25], dtype=torch.float64))
    assert law.support() == (0, 2, 3)
    assert law[1] == law[4] == law[-1] == 0
    assert law.ranked(2) == (0, 2)
    assert [law.quantile(u) for u in (0, 0.25, 0.5, 0.75, LAST)] == [0, 0, 2, 3, 3]
    assert law.pushforward(IdMap({0: 1, 2: 0, 3: 0}, 2)).probabilities.tolist() == [0.5, 0.5]
    assert law.acceptance(2, 0.5) == 0.5
    assert law.acceptance(1, 0.5) == 0
    assert repr(law) == "TensorLaw(size=4, device=cpu, argmax=0)"


@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_a_draft_mass_of_zero_is_accepted(make: Callable[[ExactLaw], Any]) -> None:
    assert make(ExactLaw({0: HALF, 1: HALF}, 2)).acceptance(0, 0) == 1


def test_a_tiny_draft_mass_gives_one_and_no_overflow() -> None:
    assert floats(ExactLaw({0: HALF, 1: HALF}, 2)).acceptance(0, 5e-324) == 1


# Properties: both kinds agree.


@given(law=sixteenths(), tokens=st.lists(st.integers(-2, 8)))
def test_both_kinds_agree_on_masses_support_and_order(law: ExactLaw, tokens: list[int]) -> None:
    tensor = floats(law)
    assert (tensor.size, tensor.empty, tensor.support()) == (law.size, law.empty, law.support())
    assert all(tensor[token] == law[token] for token in tokens)
    assert tensor.argmax() == law.argmax()
    for count in range(1, 9):
        assert tensor.ranked(count) == law.ranked(count)


@given(law=sixteenths())
def test_ties_go_to_the_lowest_id(law: ExactLaw) -> None:
    ranked = law.ranked(law.size)
    assert ranked[0] == law.argmax()
    for one, other in itertools.pairwise(ranked):
        assert law[one] > law[other] or (law[one] == law[other] and one < other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_many_equal_masses_keep_the_order_of_ids(dtype: torch.dtype) -> None:
    law = TensorLaw(torch.full((1024,), 1 / 1024, dtype=dtype))
    assert law.argmax() == 0
    assert law.ranked(300) == tuple(range(300))


@given(law=sixteenths(), uniform=st.floats(0, 1, exclude_max=True) | st.integers(0, 15).map(lambda n: n / 16))
def test_both_kinds_draw_alike(law: ExactLaw, uniform: float) -> None:
    token = law.quantile(uniform)
    assert floats(law).quantile(uniform) == token
    below = sum((law[other] for other in range(token)), Fraction(0))
    assert below <= Fraction(uniform) < below + law[token]


@given(
    weights=st.lists(st.just(0.0) | st.floats(1e-30, 1), min_size=1, max_size=8).filter(any),
    uniform=st.sampled_from([0.0, 5e-324, 2.0**-30, 0.5, 1 - 2**-24, 1 - 2**-30, LAST])
    | st.floats(0, 1, exclude_max=True),
    dtype=st.sampled_from([torch.float64, torch.float32]),
)
def test_an_id_of_mass_zero_is_never_drawn(weights: list[float], uniform: float, dtype: torch.dtype) -> None:
    law = TensorLaw.checked(torch.tensor(weights, dtype=dtype))
    assert law[law.quantile(uniform)] > 0


@pytest.mark.parametrize("zeros", [0, 1, 3])
@pytest.mark.parametrize("make", [lambda law: law, floats, lambda law: floats(law, torch.float32)])
def test_extreme_uniforms_draw_the_first_and_the_last_id_of_positive_mass(
    make: Callable[[ExactLaw], Any], zeros: int
) -> None:
    law = make(ExactLaw({zeros: THIRD, zeros + 2: 2 * THIRD}, 2 * zeros + 3))
    assert law.quantile(0.0) == zeros
    assert law.quantile(LAST) == zeros + 2


def test_float32_laws_are_drawn_from_in_float64() -> None:
    law = TensorLaw(torch.tensor([0.5, 2**-30, 0.5], dtype=torch.float32))
    assert law.quantile(0.5) == 1  # float32 running sums would skip it


def test_running_sums_that_are_not_monotone_draw_no_id_of_mass_zero() -> None:
    law = TensorLaw(torch.tensor([0.0, 0.5, 0.0, 0.5], dtype=torch.float64))
    law.__dict__["cumulative"] = torch.tensor([0.0, 0.5, 0.5 + 2**-20, 1.0], dtype=torch.float64)
    assert law.quantile(0.5) == 1  # as a parallel scan may round them
    law.__dict__["cumulative"] = torch.tensor([2**-20, 0.5, 0.5, 1.0], dtype=torch.float64)
    assert law.quantile(0.0) == 1


@given(data=st.data(), size=st.integers(1, 6))
def test_both_kinds_agree_on_overlap_and_residual(data: st.DataObject, size: int) -> None:
    target, draft = data.draw(sixteenths(size)), data.draw(sixteenths(size))
    assert floats(target).overlap(floats(draft)) == target.overlap(draft) == draft.overlap(target)
    assert_close(floats(target).residual(floats(draft)), target.residual(draft))
    assert target.residual(draft).empty == (target == draft)
    for token in range(size):
        excess = max(Fraction(0), target[token] - draft[token])
        assert excess == target.residual(draft)[token] * (1 - target.overlap(draft))
        if draft[token]:
            accepted = draft[token] * target.acceptance(token, draft[token])
            assert accepted == min(target[token], draft[token])
            assert math.isclose(floats(target).acceptance(token, float(draft[token])), accepted / draft[token])


@given(data=st.data(), smaller=st.integers(1, 4), more=st.integers(1, 3))
def test_laws_of_different_sizes_are_extended_by_zero(data: st.DataObject, smaller: int, more: int) -> None:
    target, draft = data.draw(sixteenths(smaller)), data.draw(sixteenths(smaller + more))
    for one, other in ((target, draft), (draft, target)):
        assert floats(one).overlap(floats(other)) == one.overlap(other)
        assert_close(floats(one).residual(floats(other)), one.residual(other))
        assert one.residual(other).size == one.size


@given(data=st.data(), size=st.integers(1, 5))
def test_tensors_meet_other_kinds_of_laws(data: st.DataObject, size: int) -> None:
    target, draft = data.draw(sixteenths(size)), data.draw(sixteenths(size))
    assert floats(target).overlap(draft) == target.overlap(draft)
    assert_close(floats(target).residual(draft), target.residual(draft))


def test_a_fraction_meets_a_tensor_in_float64() -> None:
    law = ExactLaw({0: Fraction(7, 10), 1: Fraction(3, 10)}, 2)  # float32 rounds 7/10 down
    assert floats(law).residual(law).empty
    assert floats(law).overlap(law) == pytest.approx(1, abs=1e-15)


@given(law=sixteenths(), ids=st.sets(st.integers(0, 5)))
def test_both_kinds_agree_on_restrictions(law: ExactLaw, ids: set[int]) -> None:
    ids = {token for token in ids if token < law.size}
    restricted = law.restrict(ids)
    assert restricted.empty == (not ids & set(law.support()))
    total = sum((law[token] for token in ids), Fraction(0))
    assert all(restricted[token] * total == (law[token] if token in ids else 0) for token in range(law.size))
    assert_close(floats(law).restrict(tuple(ids)), restricted)
    id_map = IdMap(dict.fromkeys(ids, 0), 1)
    assert law.restrict(id_map) == restricted
    assert_close(floats(law).restrict(id_map), restricted)


@given(data=st.data(), law=sixteenths(), size=st.integers(1, 4))
def test_both_kinds_agree_on_images_and_sum_merged_ids(data: st.DataObject, law: ExactLaw, size: int) -> None:
    id_map = IdMap({token: data.draw(st.integers(0, size - 1)) for token in range(law.size)}, size)
    image = law.pushforward(id_map)
    for token in range(size):
        assert image[token] == sum((law[other] for other in range(law.size) if id_map[other] == token), Fraction(0))
    assert_close(floats(law).pushforward(id_map), image)


@given(law=sixteenths(), exponent=st.sampled_from([1, 2, 3, 7]))
def test_both_kinds_agree_on_powers(law: ExactLaw, exponent: int) -> None:
    assert_close(floats(law).power(exponent), law.power(exponent), 1e-14)


@given(law=sixteenths())
def test_float32_laws_agree_with_fractions(law: ExactLaw) -> None:
    tensor = floats(law, torch.float32)
    assert tensor.support() == law.support()
    assert tensor.ranked(3) == law.ranked(3)
    assert [tensor.quantile(n / 16) for n in range(16)] == [law.quantile(n / 16) for n in range(16)]
    assert_close(tensor.restrict(law.support()[:1]), law.restrict(law.support()[:1]))
    assert tensor.restrict((0,)).probabilities.dtype == torch.float32
    assert_close(tensor.power(2), law.power(2), 1e-6)


@pytest.mark.parametrize("exponent", [0.01, 1e30, 1e300])
def test_extreme_powers_of_floats_stay_laws(exponent: float) -> None:
    law = TensorLaw(torch.tensor([0.3, 0.3, 0.25, 0.15, 0.0], dtype=torch.float64)).power(exponent)
    assert float(law.probabilities.sum()) == pytest.approx(1)
    assert law.argmax() == 0
    assert law[4] == 0


# Empty laws and errors.


@pytest.mark.parametrize("law", [ExactLaw({}, 3), ExactLaw({0: Fraction(0)}, 3), floats(ExactLaw({}, 3))])
def test_the_empty_law_has_nothing_to_draw(law: Any) -> None:
    assert law.empty
    assert law.support() == law.ranked(2) == ()
    assert law.overlap(law) == 0
    assert law.residual(law).empty
    assert law.restrict((0, 1)).empty
    assert law.pushforward(IdMap({}, 2)).empty
    for uniform in (0.0, 0.5, LAST):
        with pytest.raises(LawError, match="no draw"):
            law.quantile(uniform)


@pytest.mark.parametrize(
    ("masses", "says"),
    [
        ({0: HALF}, "sum to 1/2, not to 1"),
        ({0: HALF, 1: HALF, 2: HALF}, "sum to 3/2"),
        ({0: Fraction(3, 2), 1: -HALF}, "negative"),
        ({0: HALF, 3: HALF}, "mass elsewhere"),
        ({0: HALF, -1: HALF}, "mass elsewhere"),
    ],
)
def test_fractions_that_are_no_law_are_refused(masses: dict[int, Fraction], says: str) -> None:
    with pytest.raises(LawError, match=says):
        ExactLaw(masses, 3)


@pytest.mark.parametrize("weights", [[1.0, -1e-9], [1.0, math.nan], [1.0, math.inf], [math.inf, -math.inf]])
def test_weights_that_are_no_law_are_refused(weights: list[float]) -> None:
    with pytest.raises(LawError):
        TensorLaw.checked(torch.tensor(weights))


@pytest.mark.parametrize("exponent", [0.5, 0, -1, 1 / 0.7])
def test_fractions_have_whole_powers_only(exponent: float) -> None:
    with pytest.raises(LawError, match="whole number"):
        ExactLaw({0: HALF, 1: HALF}, 2).power(exponent)


@pytest.mark.parametrize("uniform", [1.0, 1.5])
def test_fractions_are_drawn_with_uniforms_below_one(uniform: float) -> None:
    with pytest.raises(LawError):
        ExactLaw({0: Fraction(1)}, 1).quantile(uniform)


@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_an_id_of_positive_mass_needs_an_image(make: Callable[[ExactLaw], Any]) -> None:
    law = make(ExactLaw({0: HALF, 2: HALF}, 3))
    assert law.pushforward(IdMap({0: 0, 2: 0}, 1))[0] == 1
    with pytest.raises(KeyError):
        law.pushforward(IdMap({0: 0, 1: 0}, 1))


def test_an_id_map_is_a_mapping_sorted_by_id() -> None:
    id_map = IdMap({3: 0, 1: 1}, 2)
    assert dict(id_map) == {1: 1, 3: 0}
    assert len(id_map) == 2
    assert id_map.domain.tolist() == [1, 3]
    assert id_map.image.tolist() == [1, 0]


@pytest.mark.parametrize("image", [-1, 2])
def test_an_id_map_stays_inside_its_size(image: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        IdMap({0: image}, 2)


def test_laws_of_equal_masses_and_size_are_equal() -> None:
    assert ExactLaw({0: Fraction(1)}, 1) == ExactLaw({0: Fraction(1)}, 1)
    assert ExactLaw({0: Fraction(1)}, 1) != ExactLaw({0: Fraction(1)}, 2)
    assert len({ExactLaw({0: HALF, 1: HALF}, 2), ExactLaw({1: HALF, 0: HALF}, 2)}) == 1


# Laws from weights.


@pytest.mark.parametrize("make", [lambda law: law, floats])
def test_weights_make_a_law_of_the_same_kind_by_hand(make: Callable[[ExactLaw], Any]) -> None:
    law = make(ExactLaw({0: HALF, 1: QUARTER, 2: QUARTER}, 4))
    new = law.weighted({3: 3 * law[1], 0: law[1], 1: 0 * law[0]})
    assert type(new) is type(law)
    assert new.size == 4
    assert {token: float(mass) for token, mass in new.items()} == {0: 0.25, 3: 0.75}
    halved = law.reweighted({0: HALF, 3: HALF, 17: HALF})
    assert [float(halved[token]) for token in range(4)] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert law.weighted({}).empty
    assert law.weighted({1: 0 * law[0]}).empty
    assert law.reweighted({0: 0, 1: 0, 2: 0}).empty
    assert make(ExactLaw({}, 3)).reweighted({0: 2}).empty


@pytest.mark.parametrize("make", [lambda law: law, floats])
@pytest.mark.parametrize("weights", [{0: -1}, {0: 2, 1: -1}, {0: 1, 1: -1}, {4: 1}, {-1: 1}])
def test_weights_of_no_law_are_refused(make: Callable[[ExactLaw], Any], weights: dict[int, int]) -> None:
    law = make(ExactLaw({0: HALF, 1: HALF}, 4))
    with pytest.raises(LawError):
        law.weighted({token: Fraction(weight) for token, weight in weights.items()})


@given(law=sixteenths(), factors=st.dictionaries(st.integers(0, 6), st.integers(0, 4)))
def test_both_kinds_agree_on_factors(law: ExactLaw, factors: dict[int, int]) -> None:
    exact = law.reweighted({token: Fraction(factor) for token, factor in factors.items()})
    assert_close(floats(law).reweighted({token: float(factor) for token, factor in factors.items()}), exact)
    total = sum(mass * factors.get(token, 1) for token, mass in law.items())
    assert all(exact[token] * total == mass * factors.get(token, 1) for token, mass in law.items())
