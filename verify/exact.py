"""The enumerate driver: the exact law of a decoder's whole output, by replaying every choice.

A program is run once per path: at a choice the first branch is followed and the others are kept as scripts of answers
to be replayed. A step depends on its state alone, so the law of an output is composed from the laws of steps, and equal
states are enumerated once; `law_of(lambda: decode(...))` is the same without that merging, and a test compares the two.

Claims: SS-2, SLEM-1, SLRS-1, TLI-1, UNION-1 on stated finite domains.
"""

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any, TypeVar

from draftproof.algorithms.decoding import Decoder, State, Step, begin
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program, Together

Outcome = TypeVar("Outcome", bound=Hashable)
Branches = list[tuple[Any, Fraction]]


def law_of(program: Callable[[], Program[Outcome]]) -> dict[Outcome, Fraction]:
    """The exact law of what a program returns. `program()` must start it anew each time, on exact laws."""
    law: dict[Outcome, Fraction] = {}
    scripts: list[tuple[list[Any], Fraction]] = [([], Fraction(1))]
    while scripts:
        answers, mass = scripts.pop()
        outcome, mass = _follow(program(), answers, mass, scripts)
        law[outcome] = law.get(outcome, Fraction(0)) + mass
    return law


def _follow(
    program: Program[Outcome], answers: list[Any], mass: Fraction, scripts: list[tuple[list[Any], Fraction]]
) -> tuple[Outcome, Fraction]:
    """Replays `answers` to choices, then takes first branches to the end; the other branches go to `scripts`."""
    replayed = 0
    answers = list(answers)
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value, mass
        if isinstance(request, Laws | Together):
            answer = _laws(request)
            continue
        if replayed == len(answers):
            (first, share), *others = branches(request)
            scripts += [([*answers, other], mass * other_share) for other, other_share in others]
            answers.append(first)
            mass *= share
        answer = answers[replayed]
        replayed += 1


def branches(request: Choose | Accept | ChooseResidual) -> Branches:
    """Every answer of positive probability to a request for chance, with its probability."""
    match request:
        case Choose(law):
            return [(token, law[token]) for token in law.support()]
        case Accept(probabilities):
            found: Branches = []
            reach = Fraction(1)
            for count, probability in enumerate(probabilities):
                if probability != 1:
                    found.append((count, reach * (1 - probability)))
                reach *= probability
            found.append((len(probabilities), reach))
            return [(count, share) for count, share in found if share]
        case ChooseResidual(law, draft_mass):
            excess = {token: max(Fraction(0), law[token] - answered(draft_mass(token))) for token in law.support()}
            total = sum(excess.values())
            if not total:  # the residual of equal laws: drawn from the law, as the sample driver does
                return [(token, law[token]) for token in law.support()]
            return [(token, mass / total) for token, mass in excess.items() if mass]


def answered(program: Program[Outcome]) -> Outcome:
    """Runs a program that asks for laws only."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        if not isinstance(request, Laws | Together):
            raise TypeError(f"a draft mass may ask for laws only, not for {request!r}")
        answer = _laws(request)


def _laws(request: Laws | Together) -> Any:
    if isinstance(request, Laws):
        return request.model.laws([(request.context, request.drafted)])[0]
    return [_laws(one) for one in request.requests]


def step_law(
    decoder: Decoder, state: State, observe: Callable[[Step], None] = lambda step: None
) -> dict[State, Fraction]:
    """The exact law of the state after one step. `observe` is called with the step of every path."""

    def program() -> Program[State]:
        step: Step = yield from decoder.step(state)
        observe(step)
        return state.after(step, decoder.target.eos)

    return law_of(program)


def output_law(
    decoder: Decoder,
    prompt: tuple[int, ...],
    max_new_tokens: int,
    progress: Callable[[int], None] = lambda states: None,
    observe: Callable[[Step], None] = lambda step: None,
) -> dict[tuple[int, ...], Fraction]:
    """The exact law of the generated ids (EOS included where one ended the output).

    `progress` is called with the number of states enumerated so far, `observe` with the step of every path.
    """
    output: dict[tuple[int, ...], Fraction] = {}
    states: dict[State, Fraction] = {begin(prompt, max_new_tokens): Fraction(1)}
    done = 0
    while states:
        # Longest first would enumerate some states twice; every step commits a token, so shortest first never does.
        state = min(states, key=lambda waiting: len(waiting.tokens))
        mass = states.pop(state)
        done += 1
        progress(done)
        for following, share in step_law(decoder, state, observe).items():
            if following.remaining:
                states[following] = states.get(following, Fraction(0)) + mass * share
            else:
                output[following.generated] = output.get(following.generated, Fraction(0)) + mass * share
    return output


def total_variation(one: dict[Outcome, Fraction], other: dict[Outcome, Fraction]) -> Fraction:
    """Half the sum of absolute differences of two laws."""
    return sum((abs(one.get(key, Fraction(0)) - other.get(key, Fraction(0))) for key in one | other), Fraction(0)) / 2


def prefixes(law: dict[tuple[int, ...], Fraction], length: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the first `length` ids of an output."""
    return merged(law.items(), lambda tokens: tokens[:length])


def merged(
    items: Iterable[tuple[tuple[int, ...], Fraction]], image: Callable[[tuple[int, ...]], Outcome]
) -> dict[Outcome, Fraction]:
    """The law of an image of an output: of its prefix, or of its text."""
    law: dict[Outcome, Fraction] = {}
    for tokens, mass in items:
        law[image(tokens)] = law.get(image(tokens), Fraction(0)) + mass
    return law
