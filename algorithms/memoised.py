"""The sample driver with a memory: steps on exact laws are run once, and sampled from the tree of what they asked.

What a program asks next depends on nothing but its state and the answers so far, so the requests of a step form a tree.
The tree is grown where coins lead; a path that was taken before is walked without running the program. The same coins
give the same tokens as the sample driver, toss by toss (a test compares them), some hundred times faster: this is what
millions of toy tokens are sampled with.

But: exact laws only, and everything is kept, so only for toys.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

from draftproof.algorithms.decoding import Decoder, Output, State, Step, begin
from draftproof.algorithms.drivers import Coins, without_residuals
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.requests import Accept, Choose, Laws, Together


@dataclass(slots=True)
class _Node:
    """A request for chance. A draw tosses one coin; a row of coins tosses until the first failure."""

    thresholds: Sequence[float]
    tokens: tuple[int, ...] | None
    children: dict[int, "_Node | _Leaf"] = field(default_factory=dict)

    def toss(self, coins: Coins) -> int:
        """The answer that the next coins give."""
        if self.tokens is not None:
            return self.tokens[bisect_right(self.thresholds, coins.toss())]
        for count, threshold in enumerate(self.thresholds):
            if not coins.toss() < threshold:
                return count
        return len(self.thresholds)


@dataclass(slots=True)
class _Leaf:
    """The end of a step, and the state after it."""

    step: Step
    following: State


class Memoised:
    """Samples one decoder, remembering every step that it has run."""

    def __init__(self, decoder: Decoder) -> None:
        """The models of `decoder` must answer with laws in fractions."""
        self.decoder = decoder
        self._roots: dict[State, _Node | _Leaf] = {}

    def sample(
        self,
        prompt: tuple[int, ...],
        max_new_tokens: int,
        coins: Coins,
        observe: Callable[[State, Step], None] = lambda state, step: None,
    ) -> Output:
        """One output, as `sample(decode(decoder, prompt, max_new_tokens, observe), coins)` gives it.

        Equal steps are one `Step` object. Raises TypeError for a law that is not in fractions.
        """
        state = begin(prompt, max_new_tokens)
        steps = drafted = accepted = 0
        while state.remaining:
            leaf = self._step(state, coins)
            observe(state, leaf.step)
            steps, drafted = steps + 1, drafted + leaf.step.drafted
            for trial in leaf.step.trials:
                accepted += trial.accepted
            state = leaf.following
        return Output(state.generated, steps, drafted, accepted)

    def _step(self, state: State, coins: Coins) -> _Leaf:
        node = self._roots.get(state)
        if node is None:
            node = self._roots[state] = self._run(state, [])
        answers: list[int] = []
        while isinstance(node, _Node):
            answer = node.toss(coins)
            answers.append(answer)
            child = node.children.get(answer)
            if child is None:
                child = node.children[answer] = self._run(state, answers)
            node = child
        return node

    def _run(self, state: State, answers: list[int]) -> _Node | _Leaf:
        """Runs the step on the answers so far, up to the next request for chance or the end."""
        program = without_residuals(self.decoder.step(state))
        coming = iter(answers)
        answer: Any = None
        while True:
            try:
                request = program.send(answer)
            except StopIteration as stop:
                return _Leaf(stop.value, state.after(stop.value, self.decoder.target.eos))
            match request:
                case Laws(model, context, drafted):
                    answer = model.laws([(context, drafted)])[0]
                case Together(requests):
                    answer = [one.model.laws([(one.context, one.drafted)])[0] for one in requests]
                case _:
                    answer = next(coming, None)
                    if answer is None:
                        return _node(request)


def _node(request: Any) -> _Node:
    match request:
        case Choose(law):
            if not isinstance(law, ExactLaw):
                raise TypeError(f"{law!r} is not in fractions: sample it with the sample driver")
            sums = tuple(_least_float(total) for total in accumulate(mass for _, mass in law.items()))
            return _Node(sums, law.support())
        case Accept(probabilities):
            return _Node(tuple(_least_float(Fraction(probability)) for probability in probabilities), None)
        case _:
            raise TypeError(f"{request!r} is no request")


def _least_float(threshold: Fraction) -> float:
    """The least float that is not below a fraction: a float coin lies below the one iff it lies below the other."""
    nearest = float(threshold)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < threshold else nearest
