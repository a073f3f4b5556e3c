"""The list of controls: complete, in order, one changed rule each, and every one judged rightly."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.decoding import Decoder, decode
from draftproof.algorithms.requests import Program
from draftproof.algorithms.slem import Slem
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tli import MappedDrafter
from draftproof.verify.audit import SAMPLED_CONTROLS
from draftproof.verify.claims import CLAIMS, CONTROL_CLAIMS
from draftproof.verify.comparison import counterexample, mean_accepted, shrunk
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.controls.catalogue import PARTS, _place
from draftproof.verify.controls.vocabulary import LastWriterWins
from draftproof.verify.evidence import ControlEvidence, ExactComparison, ExactEvidence
from draftproof.verify.exact import law_of, prefixes, total_variation
from draftproof.verify.settings import BUILDERS
from draftproof.verify.toys import Toy
from draftproof.verify.verdict import Kind, judge_control

Compared = Callable[[str], tuple[ExactComparison, ...]]

ALL = list(CONTROLS.values())
WRONG = [control for control in ALL if control.wrong]
RIGHT = [control for control in ALL if not control.wrong]
EACH = pytest.mark.parametrize("control", ALL, ids=lambda control: control.name)
EACH_WRONG = pytest.mark.parametrize("control", WRONG, ids=lambda control: control.name)
EACH_RIGHT = pytest.mark.parametrize("control", RIGHT, ids=lambda control: control.name)

# Where the changed rule is told by two methods.
TWO_METHODS = {"rejected-stays": {"context", "remember"}, "merged-after-draw": {"propose", "declare"}}


def test_every_mutant_variant_and_look_alike_is_there_in_order() -> None:
    numbers = [control.number for control in ALL]
    assert list(dict.fromkeys(numbers)) == [
        *(f"mutant {number}" for number in range(1, 16)),
        "V2",
        "V4",
        "smoke",
        *(f"C{number}" for number in range(1, 9)),
    ]
    assert {number: times for number, times in Counter(numbers).items() if times > 1} == {"mutant 13": 3, "smoke": 8}
    assert all(control.wrong != control.number.startswith("C") for control in ALL)


def test_a_number_of_no_group_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        _place(replace(ALL[0], number="mutation 1"))


def test_names_are_unique_and_no_decoders() -> None:
    assert len(CONTROLS) == sum(len(part.CONTROLS) for part in PARTS)
    assert not set(CONTROLS) & set(BUILDERS)
    assert [control.name for control in ALL] == list(CONTROLS)
    assert len({control.rule for control in ALL}) == len(ALL)


@EACH
def test_each_says_what_it_changes_and_where_that_was_seen(control: Control) -> None:
    assert control.rule.strip()
    assert control.source.strip()
    assert control.like in BUILDERS
    assert CONTROL_CLAIMS[control.name] in CLAIMS


def rule_changed(control: Control) -> tuple[type, type]:
    """The class that has the changed rule, and the one that it changes: a decoder, or the drafter of one."""
    setting = next(control.battery()).setting
    decoder, like = control.build(setting), BUILDERS[control.like](setting)
    if type(decoder) is not type(like):
        return type(decoder), type(decoder).__bases__[0]
    return type(decoder.drafter), type(like.drafter)


@EACH
def test_each_changes_one_rule_of_the_decoder_it_is_like(control: Control) -> None:
    setting = next(control.battery()).setting
    decoder, like = control.build(setting), BUILDERS[control.like](setting)
    assert decoder.name == control.name
    assert decoder.target is setting.target
    kind, base = rule_changed(control)
    assert kind is not base
    assert issubclass(kind, base)
    # Mutant 15 differs by one rule from a look-alike, which differs from TLI.
    assert base is type(like) or base is type(getattr(like, "drafter", None)) or kind is LastWriterWins
    changed = {name for name in vars(kind) if name in dir(base) and not name.startswith("_")} - {"drafter"}
    assert changed == TWO_METHODS.get(control.name, changed)
    assert len(changed) == len(TWO_METHODS.get(control.name, {"one"}))


def test_every_class_of_the_modules_is_in_the_list() -> None:
    classes = {
        one
        for part in PARTS
        for one in vars(part).values()
        if isinstance(one, type)
        and one.__module__ == part.__name__
        and issubclass(one, SpeculativeSampling | Slem | MappedDrafter)
    }
    used: set[type] = set()
    for control in ALL:
        decoder = control.build(next(control.battery()).setting)
        used |= {type(decoder), type(getattr(decoder, "drafter", None))}
    assert classes <= used
    assert len({(rule_changed(control)[0], control.processors) for control in ALL}) == len(ALL)


def test_a_control_brings_its_processors_to_its_battery() -> None:
    for control in ALL:
        toys = list(control.battery())
        assert len(toys) >= 6
        assert {toy.processors for toy in toys} == {control.processors}
        if control.vocabularies:
            assert {toy.name.split("/")[0] for toy in toys} == set(control.vocabularies)
    assert sum(bool(control.processors) for control in ALL) == 3


def test_both_kinds_are_sampled() -> None:
    assert {CONTROLS[name].wrong for name in SAMPLED_CONTROLS} == {True, False}


# What the audit owes.


@EACH
def test_each_control_is_judged_rightly(control: Control, comparisons: Compared) -> None:
    evidence = ExactEvidence(control.name, "toys", comparisons(control.name))
    told = {part.name: getattr(control, part.name) for part in fields(ControlEvidence) if hasattr(control, part.name)}
    verdict, right = judge_control(ControlEvidence(**told, exact=evidence))
    assert verdict.kind == (Kind.REFUTED if control.wrong else Kind.EXACT)
    assert right


@EACH_WRONG
def test_each_wrong_control_is_refuted_on_at_least_half_of_its_battery(control: Control, comparisons: Compared) -> None:
    seen = comparisons(control.name)
    assert 2 * sum(one.total_variation != "0" for one in seen) >= len(seen)
    for one in seen:
        assert 0 <= Fraction(one.string_total_variation) <= Fraction(one.total_variation) <= 1
        assert (one.first_deviating_position is None) == (one.total_variation == "0")
        assert (one.first_deviating_position == 1) == (one.first_token_total_variation != "0")


@EACH_RIGHT
def test_each_look_alike_is_exact_on_its_whole_battery(control: Control, comparisons: Compared) -> None:
    seen = comparisons(control.name)
    assert {one.total_variation for one in seen} == {"0"}
    assert any(one.accepted for one in seen)


# The pattern of bugs.md: where a mutant deviates, and how many tokens it accepts.

FIRST_TOKEN_RIGHT = {
    "rejected-stays",
    "history-frozen",
    "one-coin-per-step",
    "bonus-from-row-before",
    "bonus-from-drafter",
    "bonus-is-argmax",
}
AS_MANY_ACCEPTED = {
    "shared-noise",
    "shared-coin",
    "residual-is-target",
    "residual-softmaxed",
    "recovered-from-next-row",
    "rejected-stays",
    "bonus-from-row-before",
    "bonus-from-drafter",
    "bonus-is-argmax",
    "siblings-tried",
}
MORE_ACCEPTED = {"one-coin-per-step", "count-without-prefix", "always-accept", "first-unverified", "block-verification"}
FEWER_ACCEPTED = {"no-coin", "target-draw-match", "one-hot-ratio", "low-confidence-kept"}


@pytest.mark.parametrize("control", [one for one in WRONG if one.number.startswith("mutant")], ids=lambda one: one.name)
def test_the_first_token_is_right_only_where_the_fault_needs_a_second(control: Control, comparisons: Compared) -> None:
    off = [one.first_token_total_variation for one in comparisons(control.name) if one.total_variation != "0"]
    if control.name in FIRST_TOKEN_RIGHT:
        assert set(off) == {"0"}
    else:
        assert any(one != "0" for one in off)


@pytest.mark.parametrize("name", sorted(AS_MANY_ACCEPTED | MORE_ACCEPTED | FEWER_ACCEPTED))
def test_accepted_tokens_are_as_many_more_or_fewer_by_the_rule(name: str) -> None:
    control = CONTROLS[name]
    settings = [toy.setting for toy in control.battery()]
    gains = [mean_accepted(one, control.build) - mean_accepted(one, BUILDERS[control.like]) for one in settings]
    if name in AS_MANY_ACCEPTED:
        assert set(gains) == {0}
    elif name in MORE_ACCEPTED:
        assert min(gains) >= 0 < max(gains)
    else:
        assert max(gains) <= 0 > min(gains)


# Counterexamples, checked without the drivers that found them.


def law_by_whole_programs(decoder: Decoder, tokens: int) -> dict[tuple[int, ...], Fraction]:
    """The output's law without merging of states, by which `compare` gets it."""

    def program() -> Program[tuple[int, ...]]:
        return (yield from decode(decoder, (), tokens)).tokens

    return law_of(program)


def law_by_products(model: Any, tokens: int) -> dict[tuple[int, ...], Fraction]:
    """The autoregressive law by the chain rule, without any decoder."""
    done: dict[tuple[int, ...], Fraction] = {}
    open_: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for length in range(1, tokens + 1):
        grown = {
            (*context, token): mass * share
            for context, mass in open_.items()
            for token, share in model.laws([(context, ())])[0][0].items()
        }
        ended = {output for output in grown if output[-1] in model.eos or length == tokens}
        done |= {output: grown[output] for output in ended}
        open_ = {output: mass for output, mass in grown.items() if output not in ended}
    return done


def deviating(control: Control, comparisons: Compared) -> list[Toy]:
    """The toys of its battery on which a control deviates."""
    seen = zip(control.battery(), comparisons(control.name), strict=True)
    return [toy for toy, one in seen if one.total_variation != "0"]


@EACH_WRONG
def test_each_wrong_control_has_a_counterexample_of_at_most_two_tokens(control: Control, comparisons: Compared) -> None:
    for toy in deviating(control, comparisons)[:3]:
        found = counterexample(toy, control.build)
        # Text that is encoded anew differs from the ids only after two of them, unless two ids have one string.
        assert found.tokens == len(found.output) <= (3 if control.name == "slem-reencoding" else 2)
        assert found.max_new_tokens is not None
        assert found.tokens <= found.max_new_tokens <= 3
        assert found.lookahead <= 2
        assert Fraction(found.expected) != Fraction(found.found)
        assert abs(Fraction(found.expected) - Fraction(found.found)) <= Fraction(found.total_variation)


@EACH_WRONG
def test_each_counterexample_holds_by_the_chain_rule_and_by_whole_programs(
    control: Control, comparisons: Compared
) -> None:
    toy = deviating(control, comparisons)[0]
    found, small = counterexample(toy, control.build), shrunk(toy, control.build)
    expected = law_by_products(small.setting.target, small.max_new_tokens)
    emitted = law_by_whole_programs(control.build(small.setting), small.max_new_tokens)
    assert sum(expected.values()) == sum(emitted.values()) == 1
    for length in range(1, found.tokens):
        assert prefixes(expected, length) == prefixes(emitted, length)
    expected, emitted = prefixes(expected, found.tokens), prefixes(emitted, found.tokens)
    assert total_variation(expected, emitted) == Fraction(found.total_variation) > 0
    difference = Fraction(found.found) - Fraction(found.expected)
    assert abs(difference) == max(abs(emitted.get(one, 0) - expected.get(one, 0)) for one in expected | emitted)
    assert difference in {emitted.get(one, 0) - expected.get(one, 0) for one in expected | emitted}
