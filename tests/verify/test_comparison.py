"""Comparing joint laws, and telling a counterexample."""

from fractions import Fraction

import pytest

from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.verify.comparison import compare, counterexample, deviation
from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS, Setting
from draftproof.verify.toys import Toy, random_toy
from draftproof.verify.verdict import describe

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
CERTAIN = Fraction(1)
LETTERS = ToyTokenizer(("a", "b"))


def setting(target: TableModel, drafter: TableModel, tokens: int = 3, prompt: tuple[int, ...] = ()) -> Setting:
    return Setting("hand", target, LETTERS, drafter, LETTERS, prompt, 1, 1, tokens)


# The target keeps to b after b and to a after a; the drafter says a, which is always rejected at the start.
LOYAL = explicit({(): {1: CERTAIN}, (1,): {1: CERTAIN}, (0,): {0: CERTAIN}, (1, 1): {1: CERTAIN}}, 2)
STUBBORN = explicit({}, 2, otherwise={0: CERTAIN})


def test_a_kept_rejected_token_deviates_from_the_second_token_on() -> None:
    found = compare(setting(LOYAL, STUBBORN, 2), CONTROLS["rejected-stays"].build)
    assert found.first_deviating_position == 2
    assert found.total_variation == "1"
    assert (found.setting, found.tokens, found.lookahead, found.outputs) == ("hand", 2, 1, 1)


def test_an_argmax_draft_deviates_from_the_first_token_on() -> None:
    # 0 is always drafted, and accepted with (1/2) / (3/4) = 2/3; the residual is all 1. 1/6 at the first token.
    fair, leaning = (explicit({}, 2, otherwise=row) for row in ({0: HALF, 1: HALF}, {0: 3 * QUARTER, 1: QUARTER}))
    found = compare(setting(fair, leaning, 2), CONTROLS["argmax-draft"].build)
    assert found.first_deviating_position == 1
    # Accepted: a, then a or b by the target. Rejected: b, then the last token is not drafted.
    assert found.total_variation == "1/6"
    assert found.outputs == 4


def test_equal_laws_have_no_deviating_position() -> None:
    found = compare(setting(LOYAL, STUBBORN, 2), BUILDERS["speculative-sampling"])
    assert (found.total_variation, found.string_total_variation, found.first_deviating_position) == ("0", "0", None)


def test_strings_may_agree_where_tokens_do_not() -> None:
    twins = ToyTokenizer(("a", "a"))
    target = explicit({}, 2, otherwise={0: HALF, 1: HALF})
    both = Setting("twins", target, twins, target, twins, (), 1, 1, 2)
    found = compare(both, CONTROLS["slem-keeps-candidate"].build)
    # The first token is id 0 whenever "a" is drafted, which is always; the last is not drafted.
    assert found.total_variation == "1/2"
    assert found.string_total_variation == "0"
    assert found.first_deviating_position == 1


def test_the_prompt_is_conditioned_on() -> None:
    assert compare(setting(LOYAL, STUBBORN, 1, prompt=(1,)), BUILDERS["speculative-sampling"]).total_variation == "0"
    with pytest.raises(KeyError):
        compare(setting(LOYAL, STUBBORN, 1, prompt=(1, 0)), BUILDERS["speculative-sampling"])


def test_progress_counts_the_decoders_states() -> None:
    counts: list[int] = []
    compare(setting(LOYAL, STUBBORN, 2), BUILDERS["speculative-sampling"], counts.append)
    assert counts == [1, 2]


# Counterexamples in words.

ROWS = 2 * 3


def test_a_counterexample_with_two_ids_for_one_string() -> None:
    # The target always says the second a, the drafter's text is encoded as the first.
    toy = Toy("hand", ("a", "a"), ("a", "b"), ((0, 1),) * ROWS, ((1, 0),) * ROWS, lookahead=1, max_new_tokens=2)
    found = counterexample(toy, CONTROLS["slem-keeps-candidate"].build)
    assert describe(found) == (
        "the output a#0 a#1 has mass 1 instead of 0 for target [in every context: a#1 1], "
        "drafter [in every context: a 1], lookahead 1; total variation 1 over 2 tokens"
    )
    assert (found.target_vocabulary, found.draft_vocabulary) == (("a#0", "a#1"), ("a", "b"))
    assert found.found_on == "hand"


def test_a_counterexample_with_rows_by_position() -> None:
    # b at the start and after a; after b it ends. The kept a makes the second token b.
    always_b, ends = (0, 1, 0), (0, 0, 1)
    rows = (always_b,) * 4 + (always_b, ends) + (always_b,) * 2
    toy = Toy("hand", ("a", "b", None), ("a", "b", None), rows, ((1, 0, 0),) * 8, lookahead=1, max_new_tokens=2)
    found = counterexample(toy, CONTROLS["rejected-stays"].build)
    assert describe(found) == (
        "the output b b has mass 1 instead of 0 for target [after b at odd length: $ 1; otherwise: b 1], "
        "drafter [in every context: a 1], lookahead 1; total variation 1 over 2 tokens"
    )


def test_a_counterexample_with_nothing_to_propose() -> None:
    start, after_a, after_aa = (1, 0, 0), (1, 0, 0), (0, 0, 1)
    rows = (start, start, after_aa, after_a, after_a, after_a, start, start)
    toy = Toy("hand", ("a", "aa", None), ("a", None), rows, ((0, 0),) * 6, lookahead=1, max_new_tokens=3)
    found = counterexample(toy, CONTROLS["slem-reencoding"].build)
    assert found.draft_law == ("in every context: nothing to propose",)
    assert found.output in (("a", "a", "$"), ("a", "a", "a"))
    assert found.total_variation == "1"


def test_a_counterexamples_masses_are_those_of_its_output() -> None:
    strings = ("a", "b", "c", None)
    toy = random_toy("counter", strings, strings, 3)
    build = CONTROLS["residual-is-target"].build
    assert deviation(toy, build) > 0
    found = counterexample(toy, build)
    difference = abs(Fraction(found.expected) - Fraction(found.found))
    assert 0 < difference <= Fraction(found.total_variation) <= 1
    assert found.found_on == "counter/3"
