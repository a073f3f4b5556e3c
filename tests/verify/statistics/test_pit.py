"""Transforms, the test of their uniformity, and what a pass of it is worth."""

import math

import numpy as np
import pytest
import torch

from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.statistics.pit import (
    acceptance_margin,
    detectable_deviation,
    ratio_scores,
    transform,
    uniformity,
)

FALSE_ALARM = 1e-9


def law(*masses: float) -> TensorLaw:
    return TensorLaw(torch.tensor(masses, dtype=torch.float64))


SMALL = law(0.25, 0.5, 0.125, 0.0, 0.125)


def test_a_transform_by_hand() -> None:
    scores = SMALL.probabilities
    assert transform(SMALL, 1, scores, 0.0) == 0.0  # the likeliest comes first
    assert transform(SMALL, 1, scores, 0.5) == 0.25
    assert transform(SMALL, 0, scores, 0.5) == 0.625
    assert transform(SMALL, 0, -scores, 0.5) == 0.375  # behind the two eighths


def test_equal_scores_are_one_bin() -> None:
    for token in (2, 4):
        assert transform(SMALL, token, SMALL.probabilities, 0.0) == 0.75
        assert transform(SMALL, token, SMALL.probabilities, 0.5) == 0.875
    flat = torch.zeros(5, dtype=torch.float64)
    assert {transform(SMALL, token, flat, 0.3) for token in (0, 1, 2, 4)} == {0.3}


def test_the_ratio_orders_by_how_much_the_target_prefers_a_token() -> None:
    drafter = law(0.5, 0.25, 0.0, 0.25, 0.0)
    assert ratio_scores(SMALL, drafter).tolist() == [0.5, 2.0, float("inf"), 0.0, float("inf")]
    assert ratio_scores(SMALL, law(0, 0, 0, 0, 0)).tolist() == [float("inf")] * 3 + [0.0, float("inf")]
    assert transform(SMALL, 4, ratio_scores(SMALL, drafter), 0.5) == 0.125  # both infinities are one bin of 1/4
    assert transform(SMALL, 0, ratio_scores(SMALL, drafter), 0.0) == 0.75


def test_a_half_precision_drafter_may_order_a_double_precision_target() -> None:
    drafter = TensorLaw(torch.tensor([0.5, 0.25, 0.0, 0.25, 0.0], dtype=torch.float16))
    assert ratio_scores(SMALL, drafter).dtype == torch.float64


@pytest.mark.parametrize("order", ["probability", "ratio", "ids", "flat"])
def test_transforms_are_exactly_uniform_under_the_law(order: str) -> None:
    drafter = law(0.5, 0.25, 0.0, 0.25, 0.0)
    scores = {
        "probability": SMALL.probabilities,
        "ratio": ratio_scores(SMALL, drafter),
        "ids": torch.arange(5),
        "flat": torch.ones(5),
    }[order]
    tokens = SMALL.support()
    # Given a token the transform is uniform between these; the mixture of these must be uniform on [0, 1).
    low = np.array([transform(SMALL, token, scores, 0.0) for token in tokens])
    high = np.array([transform(SMALL, token, scores, 1.0) for token in tokens])
    masses = np.array([SMALL[token] for token in tokens])
    for level in np.linspace(0, 1, 65):
        below = np.clip((level - low) / (high - low), 0, 1)
        assert masses @ below == pytest.approx(level, abs=1e-15)


def test_a_transform_never_leaves_the_unit_interval() -> None:
    third = law(*[1 / 3] * 3)
    assert all(0 <= transform(third, token, torch.arange(3), 1 - 2**-53) <= 1 for token in range(3))


def drawn(emitted: TensorLaw, declared: TensorLaw, count: int, seed: int) -> list[float]:
    source = np.random.default_rng(seed)
    tokens = [emitted.quantile(float(u)) for u in source.random(count)]
    return [
        transform(declared, token, declared.probabilities, float(u))
        for token, u in zip(tokens, source.random(count), strict=True)
    ]


def test_the_right_law_passes_and_a_wrong_one_does_not() -> None:
    declared = law(0.4, 0.3, 0.2, 0.1)
    assert uniformity(drawn(declared, declared, 2_000, seed=1), "x").p_value > FALSE_ALARM
    for wrong in (law(0.6, 0.2, 0.1, 0.1), law(0.25, 0.25, 0.25, 0.25)):
        assert uniformity(drawn(wrong, declared, 2_000, seed=1), "x").p_value < FALSE_ALARM


def test_a_change_within_one_bin_is_not_seen() -> None:
    declared = law(0.5, 0.25, 0.25)
    assert uniformity(drawn(law(0.5, 0.5, 0.0), declared, 2_000, seed=2), "x").p_value > FALSE_ALARM


def test_no_transforms_refute_nothing() -> None:
    test = uniformity([], "x")
    assert (test.order, test.statistic, test.p_value) == ("x", 0.0, 1.0)


def test_the_statistic_is_the_kolmogorov_distance() -> None:
    assert uniformity([0.5], "x").statistic == pytest.approx(0.5)
    assert uniformity([0.0, 0.0], "x").statistic == pytest.approx(1.0)


def test_more_tokens_and_a_larger_budget_see_smaller_deviations() -> None:
    seen = [detectable_deviation(tokens, 1e-6) for tokens in (1, 10, 100, 1_000, 10_000)]
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > 1.0  # nothing would be seen for certain
    assert seen[-1] < 0.05
    assert detectable_deviation(1_000, 1e-3) < detectable_deviation(1_000, 1e-6)
    assert detectable_deviation(1_000, 1e-6, power=0.9) < detectable_deviation(1_000, 1e-6, power=0.99)
    assert detectable_deviation(0, 1e-6) == math.inf


def test_a_detectable_deviation_is_detected() -> None:
    tokens, alpha, runs = 500, 1e-3, 400
    distance = detectable_deviation(tokens, alpha)
    source = np.random.default_rng(5)
    refuted = 0
    for _ in range(runs):
        uniforms = source.random(tokens)
        # The distribution function is level + distance (1 - level): exactly this far from uniform.
        moved = np.where(source.random(tokens) < distance, 0.0, uniforms)
        refuted += uniformity(moved.tolist(), "x").p_value < alpha
    assert refuted >= 0.99 * runs


def test_half_of_a_detectable_deviation_is_mostly_missed() -> None:
    # Else the stated figure would be far from what the test can do.
    tokens, alpha, runs = 500, 1e-6, 200
    distance = detectable_deviation(tokens, alpha) / 2
    source = np.random.default_rng(6)
    refuted = 0
    for _ in range(runs):
        moved = np.where(source.random(tokens) < distance, 0.0, source.random(tokens))
        refuted += uniformity(moved.tolist(), "x").p_value < alpha
    assert refuted <= 0.5 * runs


def test_the_acceptance_margin_covers_coins_of_known_bias() -> None:
    assert acceptance_margin(0, 1e-6) == math.inf
    assert acceptance_margin(1, 1e-6) > 1.0
    margins = [acceptance_margin(trials, 1e-6) for trials in (10, 100, 1_000)]
    assert margins == sorted(margins, reverse=True)
    assert acceptance_margin(800, 2 * np.exp(-4)) == pytest.approx(0.05)  # sqrt(4 / 1600)
    source = np.random.default_rng(7)
    rates = source.random((500, 300))
    off = np.abs(((source.random((500, 300)) < rates) - rates).mean(axis=1))
    assert (off <= acceptance_margin(300, 1e-3)).all()
