"""The law of each fault, read from rows, is the law of the control that has it."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.exact import output_law, prefixes
from draftproof.verify.statistics.alternatives import ALTERNATIVES, OF_CONTROL, predict
from draftproof.verify.statistics.rows import Rows, read_rows, sources

APPROXIMATE = {"rejected-stays", "count-without-prefix"}
WITH_A_LAW = [control for control in CONTROLS.values() if OF_CONTROL.get(control.name, control.name) in ALTERNATIVES]


def two_tokens(target: tuple[float, ...], draft: tuple[float, ...]) -> Rows:
    """Two positions with the same rows, of which the first emitted token 1; lookahead 1, of two tokens in all."""
    rows = np.array([target, target]), np.array([draft, draft])
    return Rows(np.array([1, 0]), rows[0], rows[1], rows[0], lookahead=1, limit=2)


def test_always_accepting_by_hand() -> None:
    # The first token is a draft. The second is the bonus token, P, whatever the first was.
    law = predict(ALTERNATIVES["always-accept"], two_tokens((0.5, 0.5), (0.2, 0.8)))
    assert law == pytest.approx(np.array([[0.2, 0.8], [0.5, 0.5]]))


def test_a_wrong_bonus_by_hand() -> None:
    # Token 1 was accepted with mass min(.5, .8) of its .5 in all: then the bonus is certain, and it is the argmax.
    law = predict(ALTERNATIVES["bonus-is-argmax"], two_tokens((0.5, 0.5), (0.2, 0.8)))
    assert law == pytest.approx(np.array([[0.5, 0.5], [1, 0]]))
    # With Q = (.8, .2) it was accepted with mass .2, else recovered, and a step begins in which nothing can be drafted.
    law = predict(ALTERNATIVES["bonus-is-argmax"], two_tokens((0.5, 0.5), (0.8, 0.2)))
    assert law[1] == pytest.approx([0.4 + 0.6 * 0.5, 0.3])


@pytest.mark.parametrize("control", WITH_A_LAW, ids=lambda control: control.name)
def test_the_law_is_that_of_the_control(control: Control) -> None:
    alternative = ALTERNATIVES[OF_CONTROL.get(control.name, control.name)]
    for toy in [toy for toy, _ in zip(control.battery(), range(2), strict=False)]:
        setting = toy.setting
        law = output_law(control.build(setting), setting.prompt, setting.max_new_tokens)
        masses = [prefixes(law, length) for length in range(setting.max_new_tokens + 1)]
        models = sources(setting, control.like)
        for output in law:
            rows = read_rows(setting, models, output, [alternative.needs] if alternative.needs else [])
            predicted = predict(alternative, rows)
            assert (predicted >= 0).all()
            assert predicted.sum(1) == pytest.approx(1)
            if control.name in APPROXIMATE:
                continue
            # prefixes() keeps outputs that ended earlier under their own, shorter keys.
            for place in range(len(output)):
                before = sum((m for o, m in law.items() if o[:place] == output[:place]), Fraction(0))
                share = masses[place + 1][output[: place + 1]] / before
                assert predicted[place, output[place]] == pytest.approx(float(share), abs=1e-12)


def test_every_wrong_control_of_speculative_sampling_has_a_law_to_bet_on() -> None:
    wrong = {control.name for control in CONTROLS.values() if control.wrong and control.like != "slem"}
    assert {OF_CONTROL.get(name, name) for name in wrong} <= set(ALTERNATIVES)
