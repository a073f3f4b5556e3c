"""The lossy rules: by hand, against their closed forms, and as far off as their sources say."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.processors import Processed, Temperature
from draftproof.verify.exact import output_law, prefixes, total_variation
from draftproof.verify.meter.catalogue import CATALOGUE, Metered, ensemble, lenience, thresholds, typical
from draftproof.verify.meter.closed_forms import Measured, measured
from draftproof.verify.meter.rules import AcceptanceThresholds, Lenience, StaticEnsemble, TypicalAcceptance, entropy

HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)
ROUNDING = 1e-12
EACH = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: f"{rule.name}, {rule.parameters}")

Outcomes = dict[tuple[int, ...], Fraction]


def flat(law: ExactLaw, size: int | None = None) -> TableModel:
    return explicit({}, size or law.size, otherwise=dict(law.items()))


def first_token(rule: Metered, target: ExactLaw, draft: ExactLaw) -> Outcomes:
    return prefixes(output_law(rule.make(flat(target), flat(draft), 1), (), 2), 1)


def as_outcomes(law: ExactLaw) -> Outcomes:
    return {(token,): mass for token, mass in law.items()}


def floats(law: ExactLaw) -> torch.Tensor:
    return torch.tensor([float(law[token]) for token in range(law.size)], dtype=torch.float64)


def closed(rule: Metered, target: ExactLaw, draft: ExactLaw) -> Measured:
    return measured(rule.make(flat(target), flat(draft), 1), floats(target), floats(draft))


# By hand: P = (1/2, 1/4, 1/8, 1/8), Q = (1/8, 1/8, 1/2, 1/4).


@pytest.fixture
def target(toys: Any) -> ExactLaw:
    return toys.exact("1/2", "1/4", "1/8", "1/8")  # type: ignore[no-any-return]


@pytest.fixture
def draft(toys: Any) -> ExactLaw:
    return toys.exact("1/8", "1/8", "1/2", "1/4")  # type: ignore[no-any-return]


def test_the_entropy_by_hand(target: ExactLaw) -> None:
    assert entropy(target) == pytest.approx(1.75 * math.log(2))
    assert entropy(ExactLaw({3: Fraction(1)}, 5)) == 0


def test_typical_acceptance_by_hand(target: ExactLaw, draft: ExactLaw) -> None:
    # exp(-H) = 2^-1.75 = 0.297: the threshold is min(1, 0.297 / 2) = 0.149, so tokens 0 and 1 are kept, 2 and 3 give 0.
    found = first_token(typical(Fraction(1), HALF), target, draft)
    assert found == {(0,): EIGHTH + HALF + QUARTER, (1,): EIGHTH}
    assert total_variation(found, as_outcomes(target)) == Fraction(3, 8)
    # An epsilon below 1/8 keeps everything, so the token is the draft.
    assert first_token(typical(Fraction(1, 10), Fraction(1)), target, draft) == as_outcomes(draft)
    # The comparison is strict: a threshold of exactly 1/8 rejects.
    assert first_token(typical(EIGHTH, Fraction(1)), target, draft) == {(0,): Fraction(7, 8), (1,): EIGHTH}


def test_the_bonus_of_typical_acceptance_is_greedy(target: ExactLaw, draft: ExactLaw) -> None:
    decoder = typical(Fraction(1, 10)).make(flat(target), flat(draft), 1)
    assert {tokens[1] for tokens in output_law(decoder, (), 2)} == {0}


def test_typical_acceptance_at_temperature_zero_is_greedy_decoding(target: ExactLaw, draft: ExactLaw) -> None:
    greedy = Processed(flat(target), (Temperature(0),))
    assert output_law(TypicalAcceptance(greedy, flat(draft), 2), (), 3) == {(0, 0, 0): 1}


def test_acceptance_thresholds_by_hand(target: ExactLaw, draft: ExactLaw) -> None:
    # Token 0 reaches the single threshold of 1/2 and is always kept; 1, 2, 3 with 1/4, 1/8, 1/8.
    found = first_token(thresholds(single=HALF), target, draft)
    one, two, three = EIGHTH * 3 / 4, HALF * 7 / 8, QUARTER * 7 / 8  # rejected
    assert found == {
        (0,): EIGHTH + one * Fraction(2, 3) + (two + three) * Fraction(4, 7),
        (1,): EIGHTH / 4 + (two + three) * Fraction(2, 7),
        (2,): HALF / 8 + one * Fraction(1, 6) + three * Fraction(1, 7),
        (3,): QUARTER / 8 + one * Fraction(1, 6) + two * Fraction(1, 7),
    }
    # acc 1/8 divides every mass to 1 or more: all drafts are kept.
    assert first_token(thresholds(acc=EIGHTH), target, draft) == as_outcomes(draft)


def test_a_static_ensemble_has_the_law_of_the_mixture(target: ExactLaw, draft: ExactLaw) -> None:
    weight = Fraction(3, 4)
    found = first_token(ensemble(weight), target, draft)
    assert found == {(token,): weight * target[token] + (1 - weight) * draft[token] for token in range(4)}
    apart = total_variation(as_outcomes(target), as_outcomes(draft))
    assert total_variation(found, as_outcomes(target)) == (1 - weight) * apart


def test_lenience_by_hand(target: ExactLaw, draft: ExactLaw) -> None:
    # With l = 1/2 the ratios of 2 and 3 are 1/2 and 1, of 0 and 1 beyond 1: a quarter is rejected.
    # The residual (3/8, 1/8, 0, 0) gives 3/16 to 0, 1/16 to 1.
    assert first_token(lenience(HALF), target, draft) == {
        (0,): EIGHTH + Fraction(3, 16),
        (1,): EIGHTH + Fraction(1, 16),
        (2,): QUARTER,
        (3,): QUARTER,
    }
    # Scaled, it is (7/16, 3/16, 0, 0).
    assert first_token(lenience(HALF, scale_residual=True), target, draft) == {
        (0,): EIGHTH + QUARTER * Fraction(7, 10),
        (1,): EIGHTH + QUARTER * Fraction(3, 10),
        (2,): QUARTER,
        (3,): QUARTER,
    }


# Properties.

WEIGHTS = st.lists(st.sampled_from((0, 1, 2, 3, 8)), min_size=4, max_size=4).filter(any)


def law_of(weights: list[int]) -> ExactLaw:
    return ExactLaw.normalised({token: Fraction(weight) for token, weight in enumerate(weights)}, len(weights))


@EACH
@given(p=WEIGHTS, q=WEIGHTS)
def test_the_closed_form_is_what_the_decoder_does(rule: Metered, p: list[int], q: list[int]) -> None:
    target, draft = law_of(p), law_of(q)
    found = first_token(rule, target, draft)
    form = closed(rule, target, draft)
    assert form.drafted.tolist() == pytest.approx([float(found.get((token,), 0)) for token in range(4)], abs=ROUNDING)
    # After a draft that is kept for certain the second token is the bonus.
    certain = rule.make(flat(target), flat(target), 1)
    sure = law_of([0, 1, 0, 0])
    output = output_law(replace(certain, target=_then(sure, target), drafter=flat(sure)), (), 2)
    bonus = [float(output.get((1, token), 0)) for token in range(4)]
    assert form.bonus.tolist() == pytest.approx(bonus, abs=ROUNDING)


def _then(first: ExactLaw, following: ExactLaw) -> TableModel:
    return TableModel(first.size, lambda context: following if context else first)


@EACH
def test_the_closed_form_holds_on_a_large_vocabulary(rule: Metered) -> None:
    generator = torch.Generator().manual_seed(0)
    target, draft = (torch.randn(2, 50_000, generator=generator, dtype=torch.float64) * 4).softmax(-1)
    form = measured(rule.make(flat(law_of([1, 1, 1, 1])), flat(law_of([1, 1, 1, 1])), 1), target, draft)
    for law in (form.drafted, form.bonus):
        assert bool((law >= 0).all())
        assert float(law.sum()) == pytest.approx(1, abs=ROUNDING)
    assert 0 <= form.acceptance <= 1 + ROUNDING


@EACH
def test_the_acceptance_is_the_mass_that_is_kept(rule: Metered, target: ExactLaw, draft: ExactLaw) -> None:
    decoder = rule.make(flat(target), flat(draft), 1)
    kept = sum(draft[token] * Fraction(*_ratio(decoder, token, draft, target)) for token in range(4))
    assert closed(rule, target, draft).acceptance == pytest.approx(float(kept), abs=ROUNDING)


def _ratio(decoder: Any, token: int, draft: ExactLaw, target: ExactLaw) -> tuple[int, int]:
    [ratio] = decoder.ratios((token,), [draft], [target, target])
    return Fraction(ratio).as_integer_ratio()


@EACH
def test_only_the_lossless_ones_have_the_targets_law(toys: Any, rule: Metered) -> None:
    differ = 0
    for seed in range(6):
        toy = toys.common(seed)
        found = output_law(rule.make(toy.target, toy.drafter, 2), (), 4)
        assert sum(found.values()) == 1
        differ += found != output_law(Autoregressive(toy.target), (), 4)
    assert differ == 0 if rule.lossless else differ >= 4


@pytest.mark.parametrize("exact", [thresholds(), ensemble(Fraction(1)), lenience(Fraction(1)), lenience(1, True)])
@pytest.mark.parametrize("seed", range(3))
def test_at_one_end_of_its_range_a_rule_is_exact(toys: Any, exact: Metered, seed: int) -> None:
    toy = toys.common(seed)
    assert exact.lossless
    toys.assert_lossless(exact.make(toy.target, toy.drafter, 3), 4)


@given(p=WEIGHTS, q=WEIGHTS, value=st.sampled_from((HALF, Fraction(3, 10), Fraction(1, 10))), scaled=st.booleans())
def test_lenience_keeps_the_papers_promise(p: list[int], q: list[int], value: Fraction, scaled: bool) -> None:
    target, draft = law_of(p), law_of(q)
    found = first_token(lenience(value, scaled), target, draft)
    assert all(mass <= target[token] / value for (token,), mass in found.items())
    # alpha = sum of min(P / l, Q), appendix A.5
    alpha = sum(min(target[token] / value, draft[token]) for token in range(4))
    assert closed(lenience(value, scaled), target, draft).acceptance == pytest.approx(float(alpha), abs=ROUNDING)


def test_an_ensemble_does_not_keep_it() -> None:
    # It emits what the target never would.
    target, draft = law_of([1, 0, 0, 1]), law_of([1, 1, 1, 1])
    found = first_token(ensemble(HALF), target, draft)
    assert found[1,] > 0 == target[1]


@given(p=WEIGHTS, q=WEIGHTS)
def test_more_lenience_keeps_more_and_costs_more(p: list[int], q: list[int]) -> None:
    target, draft = law_of(p), law_of(q)
    costs = []
    for value in (Fraction(1), HALF, Fraction(1, 10)):
        costs.append(total_variation(first_token(lenience(value), target, draft), as_outcomes(target)))
    assert costs == sorted(costs)
    assert costs[0] == 0


# Parameters.


@pytest.mark.parametrize(
    "build",
    [
        lambda m: TypicalAcceptance(m, m, 1, epsilon=Fraction(-1, 10)),
        lambda m: TypicalAcceptance(m, m, 1, delta=Fraction(2)),
        lambda m: AcceptanceThresholds(m, m, 1, single=Fraction(0)),
        lambda m: AcceptanceThresholds(m, m, 1, acc=Fraction(3, 2)),
        lambda m: StaticEnsemble(m, m, 1, weight=Fraction(0)),
        lambda m: Lenience(m, m, 1, lenience=Fraction(-1)),
    ],
)
def test_parameters_out_of_range_are_refused(target: ExactLaw, build: Callable[[TableModel], object]) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        build(flat(target))


@EACH
def test_they_refuse_what_speculative_sampling_refuses(target: ExactLaw, rule: Metered) -> None:
    with pytest.raises(DecoderError, match="lookahead"):
        rule.make(flat(target), flat(target), 0)
    with pytest.raises(DecoderError, match="different vocabularies"):
        rule.make(flat(target), explicit({}, 2), 1)
