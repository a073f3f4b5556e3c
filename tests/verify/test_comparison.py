"""Comparing joint laws, and telling a counterexample."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from draftproof.algorithms.decoding import Decoder
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.models.table import TableModel, explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.processors import MinP, PresencePenalty, Rationalise, Temperature, TopK, TopP
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tli import tli
from draftproof.verify.comparison import compare, counterexample, deviation, in_words, mean_accepted, shrunk
from draftproof.verify.controls import CONTROLS
from draftproof.verify.exact import output_law, prefixes, total_variation
from draftproof.verify.settings import BUILDERS, Setting
from draftproof.verify.toys import Toy, random_toy

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


def test_the_first_token_is_told_apart_from_the_joint_law() -> None:
    kept = compare(setting(LOYAL, STUBBORN, 2), CONTROLS["rejected-stays"].build)
    assert (kept.first_token_total_variation, kept.total_variation) == ("0", "1")
    fair, leaning = (explicit({}, 2, otherwise=row) for row in ({0: HALF, 1: HALF}, {0: 3 * QUARTER, 1: QUARTER}))
    found = compare(setting(fair, leaning, 2), CONTROLS["argmax-draft"].build)
    assert found.first_token_total_variation == "1/6"


def test_the_mean_number_of_accepted_tokens_by_hand() -> None:
    fair, leaning = (explicit({}, 2, otherwise=row) for row in ({0: HALF, 1: HALF}, {0: 3 * QUARTER, 1: QUARTER}))
    # The overlap is 3/4, the last token is not drafted.
    for lookahead, mean in ((1, 3 * QUARTER), (2, 3 * QUARTER + 9 * QUARTER * QUARTER)):
        at = replace(setting(fair, leaning, 3), lookahead=lookahead)
        assert mean_accepted(at, BUILDERS["speculative-sampling"]) == mean


@dataclass(frozen=True)
class Half(SpeculativeSampling):
    """Accepts with a float where masses are fractions."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return (0.5,) * len(drafted)


def test_a_float_among_the_masses_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        compare(setting(LOYAL, STUBBORN, 2), lambda s: Half(s.target, s.drafter, s.lookahead))


# SS-9 and TLI-3: rules close to the right ones, at the distances that hand work gives.


def first_token(decoder: Decoder) -> dict[tuple[int, ...], Fraction]:
    return prefixes(output_law(decoder, (), 2), 1)


@dataclass(frozen=True)
class EpsilonInTheDenominator(SpeculativeSampling):
    epsilon: Fraction = QUARTER

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        return tuple(
            min(Fraction(1), target_law[token] / (draft_law[token] + self.epsilon))
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )


def test_an_epsilon_in_the_denominator_is_off_by_one_sixteenth() -> None:
    target = explicit({}, 2, otherwise={0: 3 * QUARTER, 1: QUARTER})
    drafter = explicit({}, 2, otherwise={0: QUARTER, 1: 3 * QUARTER})
    found = first_token(EpsilonInTheDenominator(target, drafter, 1))
    assert found == {(0,): Fraction(13, 16), (1,): Fraction(3, 16)}  # token 1 is drafted with 3/4, accepted with 1/4
    assert total_variation(found, {(0,): 3 * QUARTER, (1,): QUARTER}) == Fraction(1, 16)
    assert first_token(EpsilonInTheDenominator(target, drafter, 1, epsilon=Fraction(0))) == {
        (0,): 3 * QUARTER,
        (1,): QUARTER,
    }


class BeforeRenormalisation(SpeculativeSampling):
    """Verifies with the draft law as it was before it was restricted: a fourth id has what is missing."""

    def declare(self, draft_law: Law) -> Law:
        return ExactLaw({0: HALF, 1: QUARTER, 3: QUARTER}, 4)


def test_verifying_with_the_law_before_renormalisation_is_off_by_one_sixth() -> None:
    x, y, z = 0, 1, 2
    target = explicit({}, 3, otherwise={x: QUARTER, y: QUARTER, z: HALF})
    drafter = explicit({}, 3, otherwise={0: HALF, 1: QUARTER, 2: QUARTER})
    right = tli(target, ToyTokenizer(("x", "y", "z")), drafter, ToyTokenizer(("x", "y", "o")), 1)
    expected = {(x,): QUARTER, (y,): QUARTER, (z,): HALF}
    assert first_token(right) == expected
    # x is drafted with 2/3 and accepted with 1/2, y with 1/3 and always; the residual is all z.
    wrong = first_token(BeforeRenormalisation(target, right.drafter, 1))
    assert wrong == dict.fromkeys([(x,), (y,), (z,)], Fraction(1, 3))
    assert total_variation(wrong, expected) == Fraction(1, 6)


# Counterexamples in words.

ROWS = 2 * 3


def test_a_counterexample_with_two_ids_for_one_string() -> None:
    # The target always says the second a, the drafter's text is encoded as the first.
    toy = Toy("hand", ("a", "a"), ("a", "b"), ((0, 1),) * ROWS, ((1, 0),) * ROWS, lookahead=1, max_new_tokens=2)
    found = counterexample(toy, CONTROLS["slem-keeps-candidate"].build)
    assert (found.output, found.expected, found.found) == (("a#0",), "0", "1")
    assert (found.target_law, found.draft_law) == (("in every context: a#1 1",), ("in every context: a 1",))
    # One token deviates; the outputs have two, for the last is not drafted.
    assert (found.tokens, found.max_new_tokens, found.lookahead, found.total_variation) == (1, 2, 1, "1")
    assert (found.target_vocabulary, found.draft_vocabulary) == (("a#0", "a#1"), ("a", "b"))
    assert found.found_on == "hand"


def test_a_counterexample_with_rows_by_position() -> None:
    # b at the start and after a; after b it ends. The kept a makes the second token b.
    always_b, ends = (0, 1, 0), (0, 0, 1)
    rows = (always_b,) * 4 + (always_b, ends) + (always_b,) * 2
    toy = Toy("hand", ("a", "b", None), ("a", "b", None), rows, ((1, 0, 0),) * 8, lookahead=1, max_new_tokens=2)
    found = counterexample(toy, CONTROLS["rejected-stays"].build)
    assert (found.output, found.expected, found.found) == (("b", "b"), "0", "1")
    assert found.target_law == ("after b at odd length: $ 1", "otherwise: b 1")
    assert found.draft_law == ("in every context: a 1",)
    assert (found.tokens, found.max_new_tokens, found.lookahead, found.total_variation) == (2, 2, 1, "1")


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


def test_the_shortest_deviating_prefix_is_told() -> None:
    # The target says a or b evenly; one coin keeps both drafted b or none, so b is never followed by a rejection.
    fair, says_b = ((1, 1),) * ROWS, ((0, 1),) * ROWS
    toy = Toy("hand", ("a", "b"), ("a", "b"), fair, says_b, lookahead=2, max_new_tokens=4)
    found = counterexample(toy, CONTROLS["one-coin-per-step"].build)
    assert (found.output, found.expected, found.found) == (("b", "a"), "1/4", "0")
    assert (found.tokens, found.total_variation) == (2, "1/4")
    assert (found.max_new_tokens, found.lookahead) == (3, 2)


def test_the_first_deviating_position_never_moves_to_the_right() -> None:
    build = CONTROLS["residual-is-target"].build
    for seed in range(4):
        toy = random_toy("counter", ("a", "b", "c", None), ("a", "b", "c", None), seed)
        before, after = compare(toy.setting, build), compare(shrunk(toy, build).setting, build)
        assert before.first_deviating_position is not None
        assert after.first_deviating_position is not None
        assert after.first_deviating_position <= before.first_deviating_position


def test_processors_are_told_in_words() -> None:
    toy = next(CONTROLS["history-frozen"].battery())
    found = counterexample(toy, CONTROLS["history-frozen"].build)
    assert found.processors == ("presence penalty 1/4",)
    words = {
        Temperature(0.5): "temperature 1/2",
        Temperature(0): "temperature 0",
        Temperature(0.7): "temperature 0.7",
        TopK(2): "top-k 2",
        TopP(0.75): "top-p 3/4",
        MinP(0.1): "min-p 0.1",
        PresencePenalty(Fraction(1, 3)): "presence penalty 1/3",
        Rationalise(): "Rationalise()",
    }
    assert {processor: in_words(processor) for processor in words} == words
