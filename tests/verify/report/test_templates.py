"""The environment that report templates share."""

import jinja2
import pytest

from draftproof.verify.report.templates import environment, figure


def test_it_is_set_up_once_and_finds_the_templates() -> None:
    assert environment() is environment()
    for name in ("numerics.md.j2", "meter.md.j2", "losslessness.md.j2"):
        assert environment().get_template(name).name == name


def test_text_is_escaped_by_its_filter_and_names_are_strict() -> None:
    assert environment().from_string("{{ text | md }}\n").render(text="a|b") == "a\\|b\n"
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nothing }}").render()


@pytest.mark.parametrize(("value", "written"), [(0.0, "0"), (0.25, "2.5e-01"), (1.234e-9, "1.2e-09"), (1.0, "1.0e+00")])
def test_figures_have_two_digits(value: float, written: str) -> None:
    assert figure(value) == written
    assert environment().from_string("{{ value | figure }}").render(value=value) == written
