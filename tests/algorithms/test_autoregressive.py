"""The specification: one token per pass, drawn from the target's law."""

import math
from fractions import Fraction
from typing import Any

import pytest

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import decode
from draftproof.algorithms.drivers import run_script
from draftproof.algorithms.models.table import explicit
from draftproof.verify.exact import output_law

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
EOS = 2
MODEL = explicit(
    {(): {0: HALF, 1: HALF}, (0,): {0: THIRD, EOS: 2 * THIRD}, (1,): {1: Fraction(1)}, (0, 0): {1: Fraction(1)}},
    3,
    frozenset({EOS}),
    otherwise={EOS: Fraction(1)},
)


def test_one_step_by_hand(toys: Any) -> None:
    assert toys.emitted(Autoregressive(MODEL), (0,), 5) == {(0,): THIRD, (EOS,): 2 * THIRD}


def test_the_output_by_hand() -> None:
    assert output_law(Autoregressive(MODEL), (), 3) == {
        (0, 0, 1): Fraction(1, 6),
        (0, EOS): THIRD,
        (1, 1, EOS): HALF,
    }


def test_a_script_by_hand() -> None:
    output = run_script(decode(Autoregressive(MODEL), (), 3), [0.0, 0.3, 0.9])
    assert (output.tokens, output.steps, output.drafted, output.accepted) == ((0, 0, 1), 3, 0, 0)


@pytest.mark.parametrize("seed", range(30))
def test_the_mass_of_an_output_is_the_product_of_its_tokens_masses(toys: Any, seed: int) -> None:
    model = toys.common(seed).target
    for output, mass in output_law(Autoregressive(model), (1,), 4).items():
        [laws] = model.laws([((1,), output[:-1])])
        assert mass == math.prod(law[token] for law, token in zip(laws, output, strict=True))
