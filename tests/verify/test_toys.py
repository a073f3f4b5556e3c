"""The toys: what bugs.md asks of them. That they see its faults is tested with the controls."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from draftproof.algorithms.decoding import Decoder, State, Step, begin
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.processors import TopK
from draftproof.algorithms.requests import Program
from draftproof.verify.comparison import compare
from draftproof.verify.exact import law_of
from draftproof.verify.settings import BUILDERS
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


def steps_from(decoder: Decoder, state: State) -> set[tuple[State, bool, bool]]:
    """Every way a step may go: the state after it, whether it drafted nothing, whether it rejected."""

    def program() -> Program[tuple[State, bool, bool]]:
        step: Step = yield from decoder.step(state)
        rejected = any(not trial.accepted for trial in step.trials)
        return state.after(step, decoder.target.eos), step.drafted == 0, rejected

    return set(law_of(program))


@EACH
def test_outputs_of_three_steps_and_drafts_of_nothing_happen(decoder: str) -> None:
    most, empties, rejected_before_the_end = 0, 0, 0
    for toy in BATTERIES[decoder][:8]:
        built = BUILDERS[decoder](toy.setting)
        taken = {begin((), toy.max_new_tokens): 0}  # the most steps that lead to a state
        while taken:
            state = min(taken, key=lambda waiting: len(waiting.tokens))
            steps = taken.pop(state) + 1
            for following, empty, rejected in steps_from(built, state):
                if following.remaining:
                    taken[following] = max(taken.get(following, 0), steps)
                    empties += empty
                    rejected_before_the_end += rejected
                most = max(most, steps)
    assert most >= 3
    assert rejected_before_the_end
    assert empties or decoder == "slrs"  # which always drafts one token


@EACH
def test_a_right_decoder_is_exact_on_them(decoder: str) -> None:
    for toy in BATTERIES[decoder]:
        assert compare(toy.setting, BUILDERS[decoder]).total_variation == "0"


def test_a_battery_of_named_vocabularies_is_a_part_of_the_whole() -> None:
    part = list(battery("slem", ("pair-ab", "repeat-a")))
    assert part == [toy for toy in BATTERIES["slem"] if toy.name.split("/")[0] in ("pair-ab", "repeat-a")]
    assert len(part) == 2 * TOYS_PER_VOCABULARY


def test_a_toys_processors_are_on_both_models() -> None:
    toy = replace(random_toy("x", ("a", "b", None), ("a", "b", None), 1), processors=(TopK(1),))
    for raw, processed in zip(
        (replace(toy, processors=()).setting.target, replace(toy, processors=()).setting.drafter),
        (toy.setting.target, toy.setting.drafter),
        strict=True,
    ):
        [[law]] = raw.laws([((), ())])
        assert processed.laws([((), ())]) == [[law if law.empty else law.restrict((law.argmax(),))]]
