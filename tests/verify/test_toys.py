"""The toys: what bugs.md asks of them, and the faults of bugs.md that they see."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import Step, Trial, decode
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.comparison import compare, deviation
from draftproof.verify.exact import law_of
from draftproof.verify.settings import BUILDERS, Setting
from draftproof.verify.toys import TOYS_PER_VOCABULARY, Toy, battery, law_of_row, random_toy, row_of

BATTERIES = {decoder: tuple(battery(decoder)) for decoder in BUILDERS}
EACH = pytest.mark.parametrize("decoder", BUILDERS)


def test_a_row_is_chosen_by_last_id_and_parity() -> None:
    assert [row_of(context) for context in ((), (0,), (1,), (1, 0), (0, 0, 1))] == [0, 3, 5, 2, 5]


def test_a_row_of_weights_is_a_law() -> None:
    assert law_of_row((1, 0, 2)) == ExactLaw({0: Fraction(1, 3), 2: Fraction(2, 3)}, 3)
    assert law_of_row((0, 0)).empty


def test_a_toys_models_read_its_rows() -> None:
    rows = ((1, 0), (1, 1), (0, 1), (1, 3), (1, 1), (1, 1))
    setting = Toy("hand", ("a", "b"), ("a", "b"), rows, rows, lookahead=1, max_new_tokens=2).setting
    assert setting.target.laws([((), (0, 0))]) == [[law_of_row((1, 0)), law_of_row((1, 3)), law_of_row((0, 1))]]
    assert (setting.prompt, setting.lookahead, setting.psi_lookahead, setting.max_new_tokens) == ((), 1, 1, 2)


@EACH
def test_a_battery_is_the_same_every_time(decoder: str) -> None:
    assert tuple(battery(decoder)) == BATTERIES[decoder]
    assert len({toy.name for toy in BATTERIES[decoder]}) == len(BATTERIES[decoder])
    assert len(BATTERIES[decoder]) % TOYS_PER_VOCABULARY == 0


def test_a_toy_is_a_function_of_name_vocabulary_and_seed() -> None:
    strings = ("a", "b", None)
    assert random_toy("x", strings, strings, 1) == random_toy("x", strings, strings, 1)
    assert random_toy("x", strings, strings, 1) != random_toy("x", strings, strings, 3)


def used(rows: Sequence[tuple[int, ...]], strings: tuple[str | None, ...]) -> list[tuple[int, ...]]:
    """The rows that some context reads: not those after EOS, nor the empty context at odd length."""
    return [row for at, row in enumerate(rows) if at != 1 and (at < 2 or strings[at // 2 - 1] is not None)]


@EACH
def test_toys_meet_the_rules(decoder: str) -> None:
    toys = BATTERIES[decoder]
    for toy in toys:
        rows = used(toy.target_rows, toy.target_strings)
        assert all(sum(row) for row in toy.target_rows)
        assert toy.max_new_tokens >= toy.lookahead + 1
        assert toy.lookahead >= 3
        assert len(set(rows)) >= 2
    # By context and by position, in most toys; zeros and empty draft rows somewhere.
    by_position = [any(a != b for a, b in zip(t.target_rows[2::2], t.target_rows[3::2], strict=True)) for t in toys]
    by_context = [len(set(t.target_rows[2::2])) > 1 for t in toys]
    assert sum(by_position) > len(toys) / 2 < sum(by_context)
    assert any(0 in row for toy in toys for row in used(toy.target_rows, toy.target_strings))
    assert any(not any(row) for toy in toys for row in used(toy.draft_rows, toy.draft_strings))
    if decoder == "speculative-sampling":
        ranks = [(law_of_row(p).argmax(), law_of_row(q).argmax()) for t in toys for p, q in both(t) if any(q)]
        assert sum(one != other for one, other in ranks) > len(ranks) / 2


def both(toy: Toy) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return list(zip(toy.target_rows, toy.draft_rows, strict=True))


@EACH
def test_outputs_of_three_steps_and_drafts_of_nothing_happen(decoder: str) -> None:
    most, empties, rejected_before_the_end = 0, 0, 0
    for toy in [toy for toy in BATTERIES[decoder] if toy.max_new_tokens == 4][:4]:  # longer ones take long

        def program(toy: Toy = toy) -> Program[Any]:
            seen: list[tuple[int, bool]] = []

            def observe(state: Any, step: Step) -> None:
                seen.append((step.drafted, any(not trial.accepted for trial in step.trials)))

            yield from decode(BUILDERS[decoder](toy.setting), (), toy.max_new_tokens, observe)
            return tuple(seen)

        for steps in law_of(program):
            most = max(most, len(steps))
            empties += any(drafted == 0 for drafted, _ in steps[:-1])
            rejected_before_the_end += any(rejected for _, rejected in steps[:-1])
    assert most >= 3
    assert rejected_before_the_end
    assert empties or decoder == "slrs"  # which always drafts one token


@EACH
def test_a_right_decoder_is_exact_on_them(decoder: str) -> None:
    for toy in BATTERIES[decoder]:
        assert compare(toy.setting, BUILDERS[decoder]).total_variation == "0"


# Faults of bugs.md that are no controls, one rule changed each: the toys see them.

Laws = Sequence[Law]


class FilteredDraft(SpeculativeSampling):
    """Mutant 2."""

    def propose(self, draft_law: Law) -> Program[int]:
        return (yield Choose(draft_law.restrict(draft_law.ranked(2))))


class ResidualSoftmaxed(SpeculativeSampling):
    """Mutant 6, with a rational stand-in for the exponential."""

    def recover(self, position: int, drafted: Any, draft_laws: Laws, target_laws: Laws) -> Program[int]:
        target, draft = target_laws[position], draft_laws[position]
        weights = {token: 1 + max(Fraction(0), target[token] - draft[token]) for token in range(target.size)}
        return (yield Choose(ExactLaw.normalised(weights, target.size)))


class AcceptsTheArgmax(SpeculativeSampling):
    """Mutant 8."""

    def ratios(self, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> tuple[Mass, ...]:
        return tuple(Fraction(token == law.argmax()) for token, law in zip(drafted, target_laws, strict=False))


class RecoversFromTheNextRow(SpeculativeSampling):
    """Mutant 9."""

    def recover(self, position: int, drafted: Any, draft_laws: Laws, target_laws: Laws) -> Program[int]:
        return (yield Choose(target_laws[position + 1]))


class OneCoinPerStep(SpeculativeSampling):
    """Mutant 12: the count is the largest for which one coin is below all ratios up to there."""

    def verify(self, context: Any, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> Program[Step]:
        ratios = self.ratios(drafted, draft_laws, target_laws)
        reach = [Fraction(1), *(min(ratios[: n + 1]) for n in range(len(ratios))), Fraction(0)]
        law = ExactLaw({n: reach[n] - reach[n + 1] for n in range(len(ratios) + 1)}, len(ratios) + 1)
        accepted = yield Choose(law)
        last = yield from (
            self.recover(accepted, drafted, draft_laws, target_laws)
            if accepted < len(drafted)
            else self.bonus(target_laws)
        )
        return Step((*drafted[:accepted], last), len(drafted))


class BonusFromTheRowBefore(SpeculativeSampling):
    """Mutant 13."""

    def bonus(self, target_laws: Laws) -> Program[int]:
        return (yield Choose(target_laws[-2:][0]))


class BonusIsTheArgmax(SpeculativeSampling):
    """Mutant 13."""

    def bonus(self, target_laws: Laws) -> Program[int]:
        return target_laws[-1].argmax()
        yield


class CountWithoutPrefix(SpeculativeSampling):
    """Mutant 14."""

    def verify(self, context: Any, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> Program[Step]:
        accepted = 0
        for ratio in self.ratios(drafted, draft_laws, target_laws):
            accepted += yield Accept((ratio,))
        last = yield from (
            self.recover(accepted, drafted, draft_laws, target_laws)
            if accepted < len(drafted)
            else self.bonus(target_laws)
        )
        return Step((*drafted[:accepted], last), len(drafted), (Trial(True, lambda: 1),))


class AlwaysAccepts(SpeculativeSampling):
    def ratios(self, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> tuple[Mass, ...]:
        return (Fraction(1),) * len(drafted)


class NoCoin(SpeculativeSampling):
    def ratios(self, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> tuple[Mass, ...]:
        return tuple(
            Fraction(target[token] >= draft[token])
            for token, draft, target in zip(drafted, draft_laws, target_laws, strict=False)
        )


class InvertedRatio(SpeculativeSampling):
    def ratios(self, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> tuple[Mass, ...]:
        return tuple(
            draft.acceptance(token, target[token])
            for token, draft, target in zip(drafted, draft_laws, target_laws, strict=False)
        )


class FirstUnverified(SpeculativeSampling):
    def ratios(self, drafted: tuple[int, ...], draft_laws: Laws, target_laws: Laws) -> tuple[Mass, ...]:
        return (Fraction(1), *super().ratios(drafted, draft_laws, target_laws)[1:])[: len(drafted)]


class AbsoluteResidual(SpeculativeSampling):
    def recover(self, position: int, drafted: Any, draft_laws: Laws, target_laws: Laws) -> Program[int]:
        target, draft = target_laws[position], draft_laws[position]
        weights = {token: abs(target[token] - draft[token]) for token in range(target.size)}
        return (yield Choose(ExactLaw.normalised(weights, target.size)))


class ResidualTheOtherWay(SpeculativeSampling):
    def recover(self, position: int, drafted: Any, draft_laws: Laws, target_laws: Laws) -> Program[int]:
        target = target_laws[position]

        def draft_mass(token: int) -> Program[Mass]:
            return target[token]
            yield

        return (yield ChooseResidual(draft_laws[position], draft_mass))


FAULTS: tuple[Callable[..., SpeculativeSampling], ...] = (
    FilteredDraft,
    ResidualSoftmaxed,
    AcceptsTheArgmax,
    RecoversFromTheNextRow,
    OneCoinPerStep,
    BonusFromTheRowBefore,
    BonusIsTheArgmax,
    CountWithoutPrefix,
    AlwaysAccepts,
    NoCoin,
    InvertedRatio,
    FirstUnverified,
    AbsoluteResidual,
    ResidualTheOtherWay,
)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_toys_see_faults_that_are_no_controls(fault: Callable[..., SpeculativeSampling]) -> None:
    def build(setting: Setting) -> SpeculativeSampling:
        return fault(setting.target, setting.drafter, setting.lookahead)

    seen = sum(deviation(toy, build) != 0 for toy in BATTERIES["speculative-sampling"])
    assert seen >= len(BATTERIES["speculative-sampling"]) / 2
