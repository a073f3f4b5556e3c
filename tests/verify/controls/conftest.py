"""Every control enumerated once on its battery, for all tests here."""

from collections.abc import Callable
from functools import cache

import pytest

from draftproof.verify.comparison import compare
from draftproof.verify.controls import CONTROLS
from draftproof.verify.evidence import ExactComparison


@pytest.fixture(scope="session")
def comparisons() -> Callable[[str], tuple[ExactComparison, ...]]:
    """The comparisons of a control by name, one for each toy of its battery."""

    @cache
    def compared(name: str) -> tuple[ExactComparison, ...]:
        control = CONTROLS[name]
        return tuple(compare(toy.setting, control.build) for toy in control.battery())

    return compared
