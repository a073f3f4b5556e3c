"""Every control is one text for laws in fractions and in floats: the same law, and the sample driver runs it."""

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
import torch

from draftproof.algorithms.decoding import Decoder, Step, begin, decode
from draftproof.algorithms.drivers import RandomCoins, sample_batch
from draftproof.algorithms.laws import Law
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.requests import Program
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.controls import CONTROLS, Control
from draftproof.verify.exact import law_of, total_variation
from draftproof.verify.settings import SHARED_VOCABULARY, Setting, processed

EACH = pytest.mark.parametrize("control", CONTROLS.values(), ids=lambda control: control.name)
VOCABULARY = 1000


def settings(control: Control, toys: Any) -> Iterator[tuple[Setting, Setting]]:
    """Settings of a control's battery: in fractions, and the same in floats."""
    for toy in control.battery():
        raw = replace(toy, processors=()).setting
        floats = replace(raw, target=toys.Floats(raw.target), drafter=toys.Floats(raw.drafter))
        yield toy.setting, processed(floats, control.processors)


def first_step(decoder: Decoder, tokens: int) -> dict[Any, Fraction]:
    """The law of what the first step emits, remembers and accepts."""

    def program() -> Program[Any]:
        step: Step = yield from decoder.step(begin((), tokens))
        return step.emitted, step.memory, tuple(trial.accepted for trial in step.trials)

    return law_of(program)


@EACH
def test_its_law_in_floats_is_its_law_in_fractions(control: Control, toys: Any) -> None:
    for exact, floats in islice(settings(control, toys), 3):
        laws = [first_step(control.build(one), exact.max_new_tokens) for one in (exact, floats)]
        assert all(isinstance(mass, Fraction) for mass in laws[0].values())
        assert sum(laws[0].values()) == 1
        assert total_variation(*laws) < 1e-12


@EACH
def test_the_sample_driver_runs_it(control: Control, toys: Any) -> None:
    for _, setting in islice(settings(control, toys), 2):
        decoder = control.build(setting)
        programs = [decode(decoder, (), setting.max_new_tokens) for _ in range(4)]
        for output in sample_batch(programs, [RandomCoins(3, number) for number in range(4)]):
            assert 1 <= len(output.tokens) <= setting.max_new_tokens
            assert all(0 <= token < setting.target.size for token in output.tokens)
            assert output.accepted <= output.drafted


class Wide:
    """A model of a thousand ids in floats, its laws peaked as those of language models are."""

    size = VOCABULARY
    eos = frozenset({0})

    def __init__(self, seed: str) -> None:
        self.seed = seed

    def laws(self, queries: Any) -> list[list[Law]]:
        return [[self._law(context + drafted[:n]) for n in range(len(drafted) + 1)] for context, drafted in queries]

    def _law(self, context: tuple[int, ...]) -> TensorLaw:
        dice = random.Random(f"{context[-2:]}")
        logits = torch.tensor([dice.gauss(0, 3) for _ in range(VOCABULARY)], dtype=torch.float64)
        dice = random.Random(f"{self.seed}/{context[-2:]}")
        return TensorLaw((logits + torch.tensor([dice.gauss(0, 1) for _ in range(VOCABULARY)])).softmax(0))


@EACH
def test_it_runs_on_a_thousand_ids(control: Control) -> None:
    letters = [chr(0x4E00 + number) for number in range(VOCABULARY - 1)]
    draft = letters if control.like in SHARED_VOCABULARY else [*letters[: VOCABULARY // 2], *letters[: VOCABULARY // 2]]
    setting = Setting(
        "wide",
        Wide("target"),
        ToyTokenizer((None, *letters)),
        Wide("drafter"),
        ToyTokenizer((None, *draft)),
        prompt=(5,),
        lookahead=4,
        psi_lookahead=2,
        max_new_tokens=12,
    )
    decoder = control.build(processed(setting, control.processors))
    [output] = sample_batch([decode(decoder, (5,), 12)], [RandomCoins(11)])
    assert len(output.tokens) == 12 or output.tokens[-1] == 0
    assert all(0 <= token < VOCABULARY for token in output.tokens)
    assert output.drafted > 0
