"""The list of controls."""

import pytest

from draftproof.algorithms.slem import Slem
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.audit import SAMPLED_CONTROLS
from draftproof.verify.claims import CLAIMS, CONTROL_CLAIMS
from draftproof.verify.controls import CONTROLS, Control, catalogue, right, wrong
from draftproof.verify.settings import BUILDERS
from draftproof.verify.toys import battery

ALL = list(CONTROLS.values())


def test_names_are_unique_and_no_decoders() -> None:
    assert len(CONTROLS) == len(catalogue._ALL)
    assert not set(CONTROLS) & set(BUILDERS)
    assert [control.name for control in ALL] == list(CONTROLS)


@pytest.mark.parametrize("control", ALL, ids=lambda control: control.name)
def test_each_says_what_it_changes_and_where_that_was_seen(control: Control) -> None:
    assert control.rule.strip()
    assert control.source.strip()
    assert control.like in BUILDERS
    assert CONTROL_CLAIMS[control.name] in CLAIMS


@pytest.mark.parametrize("control", ALL, ids=lambda control: control.name)
def test_each_changes_a_method_of_the_decoder_it_is_like(control: Control) -> None:
    setting = next(battery(control.like)).setting
    decoder = control.build(setting)
    like = BUILDERS[control.like](setting)
    assert decoder.name == control.name
    assert decoder.target is setting.target
    kind = type(decoder)
    assert kind is not type(like)
    assert kind.__bases__ == (type(like),)
    assert kind.__module__ == (wrong if control.wrong else right).__name__
    changed = [name for name, method in vars(kind).items() if callable(method) and not name.startswith("__")]
    assert changed
    assert all(getattr(type(like), name) is not getattr(kind, name) for name in changed)


def test_every_class_of_the_modules_is_in_the_list() -> None:
    classes = {
        one
        for module in (right, wrong)
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__
    }
    assert {type(control.build(next(battery(control.like)).setting)) for control in ALL} == classes
    assert all(issubclass(one, SpeculativeSampling | Slem) for one in classes)


def test_both_kinds_are_sampled() -> None:
    assert {CONTROLS[name].wrong for name in SAMPLED_CONTROLS} == {True, False}
