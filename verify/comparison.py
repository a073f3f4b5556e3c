"""Compares a decoder's exact law with the autoregressive one, and tells a counterexample in words."""

from collections.abc import Callable
from fractions import Fraction
from itertools import count

from draftproof.algorithms.decoding import Decoder, Step, begin
from draftproof.algorithms.interfaces import Tokenizer
from draftproof.algorithms.processors import MinP, PresencePenalty, Processor, Temperature, TopK, TopP
from draftproof.algorithms.requests import Program
from draftproof.algorithms.slrs import Slrs
from draftproof.verify.evidence import Counterexample, ExactComparison
from draftproof.verify.exact import law_of, merged, output_law, prefixes, total_variation
from draftproof.verify.settings import Setting, autoregressive
from draftproof.verify.shrink import shrink
from draftproof.verify.toys import Rows, Toy, law_of_row

Build = Callable[[Setting], Decoder]
OutputLaw = dict[tuple[int, ...], Fraction]


def compare(setting: Setting, build: Build, progress: Callable[[int], None] = lambda states: None) -> ExactComparison:
    """Enumerates decoder and specification on one setting and compares the joint laws, as fractions.

    Raises TypeError where a mass is no fraction: a float would make equality a matter of rounding.
    """
    accepted = False

    def observe(step: Step) -> None:
        nonlocal accepted
        accepted = accepted or any(trial.accepted for trial in step.trials)

    decoder = build(setting)
    expected = output_law(autoregressive(setting), setting.prompt, setting.max_new_tokens)
    found = output_law(decoder, setting.prompt, setting.max_new_tokens, progress, observe)
    distance = total_variation(expected, found)
    if not isinstance(distance, Fraction):
        raise TypeError(f"{setting.name}: a mass of an enumerated law is a float, not a fraction")
    decode = setting.target_tokenizer.decode
    return ExactComparison(
        setting=setting.name,
        tokens=setting.max_new_tokens,
        lookahead=setting.psi_lookahead if isinstance(decoder, Slrs) else setting.lookahead,
        outputs=len(expected),
        total_variation=str(distance),
        string_total_variation=str(
            total_variation(merged(expected.items(), decode), merged(found.items(), decode)) if distance else 0
        ),
        first_deviating_position=_first_deviating(expected, found) if distance else None,
        accepted=accepted,
        first_token_total_variation=str(_at(1, expected, found) if distance else 0),
    )


def _at(length: int, one: OutputLaw, other: OutputLaw) -> Fraction:
    """The total variation between the laws of the first `length` ids."""
    return total_variation(prefixes(one, length), prefixes(other, length))


def _first_deviating(one: OutputLaw, other: OutputLaw) -> int:
    """The least length at which the laws of prefixes differ. The laws must differ."""
    return next(length for length in count(1) if _at(length, one, other))


def mean_accepted(setting: Setting, build: Build) -> Fraction:
    """The expected number of drafted tokens that the first step accepts."""
    decoder = build(setting)

    def program() -> Program[int]:
        step: Step = yield from decoder.step(begin(setting.prompt, setting.max_new_tokens))
        return sum(trial.accepted for trial in step.trials)

    return sum((number * mass for number, mass in law_of(program).items()), Fraction(0))


def deviation(toy: Toy, build: Build) -> Fraction:
    """The total variation between the joint laws on a toy."""
    return total_variation(*_laws(toy, build))


def _laws(toy: Toy, build: Build) -> tuple[OutputLaw, OutputLaw]:
    """The autoregressive and the decoder's output law on a toy."""
    setting, limit = toy.setting, toy.max_new_tokens
    return output_law(autoregressive(setting), (), limit), output_law(build(setting), (), limit)


def shrunk(toy: Toy, build: Build) -> Toy:
    """The toy made small. The decoder must deviate on it; its first deviating position never moves to the right."""
    limit = _first_deviating(*_laws(toy, build))
    return shrink(toy, lambda simpler: _at(limit, *_laws(simpler, build)) != 0)


def counterexample(toy: Toy, build: Build) -> Counterexample:
    """The shrunk counterexample of a toy on which the decoder deviates."""
    small = shrunk(toy, build)
    setting = small.setting
    expected, found = _laws(small, build)
    length = _first_deviating(expected, found)
    distance = _at(length, expected, found)
    expected, found = prefixes(expected, length), prefixes(found, length)
    worst = max(
        sorted(expected | found),
        key=lambda tokens: abs(expected.get(tokens, Fraction(0)) - found.get(tokens, Fraction(0))),
    )
    return Counterexample(
        found_on=toy.name,
        tokens=length,
        lookahead=small.lookahead,
        target_vocabulary=_names(setting.target_tokenizer),
        draft_vocabulary=_names(setting.draft_tokenizer),
        target_law=_describe(small.target_rows, setting.target_tokenizer),
        draft_law=_describe(small.draft_rows, setting.draft_tokenizer),
        output=tuple(_name(setting.target_tokenizer, token) for token in worst),
        expected=str(expected.get(worst, Fraction(0))),
        found=str(found.get(worst, Fraction(0))),
        total_variation=str(distance),
        max_new_tokens=small.max_new_tokens,
        processors=tuple(in_words(processor) for processor in small.processors),
    )


def in_words(processor: Processor) -> str:
    """A processor as a reader would call it: "temperature 1/2", "top-k 2"."""
    match processor:
        case Temperature(value):
            return f"temperature {_number(value)}"
        case TopK(kept):
            return f"top-k {kept}"
        case TopP(mass):
            return f"top-p {_number(mass)}"
        case MinP(ratio):
            return f"min-p {_number(ratio)}"
        case PresencePenalty(factor):
            return f"presence penalty {_number(factor)}"
    return repr(processor)


def _number(value: float | Fraction) -> str:
    """A number as the fraction that it is where that is short, a float otherwise."""
    exact = Fraction(value)
    return str(exact) if exact.denominator <= 1024 else f"{float(value):g}"


def _name(tokenizer: Tokenizer, token: int) -> str:
    """A toy token by its string; of several ids with one string each by its id too."""
    if token in tokenizer.eos:
        return "$"
    string = tokenizer.decode((token,))
    twins = [other for other in range(tokenizer.size) if tokenizer.decode((other,)) == string]
    return string if len(twins) == 1 else f"{string}#{token}"


def _names(tokenizer: Tokenizer) -> tuple[str, ...]:
    return tuple(_name(tokenizer, token) for token in range(tokenizer.size))


def _describe(rows: Rows, tokenizer: Tokenizer) -> tuple[str, ...]:
    """One line per kind of row: in which contexts it stands, and its law."""
    kinds: dict[tuple[int, ...], list[int]] = {}
    for index, row in enumerate(rows):
        last = index // 2 - 1
        # No output goes on after EOS, and the empty context has even length.
        if last not in tokenizer.eos and index != 1:
            kinds.setdefault(row, []).append(index)
    # The most frequent kind is told last, as "otherwise".
    ordered = sorted(kinds.items(), key=lambda kind: len(kind[1]))
    return tuple(
        f"{_contexts(places, tokenizer) if row != ordered[-1][0] else _rest(len(ordered))}: {_law(row, tokenizer)}"
        for row, places in ordered
    )


def _rest(kinds: int) -> str:
    return "in every context" if kinds == 1 else "otherwise"


def _contexts(places: list[int], tokenizer: Tokenizer) -> str:
    lengths = ("even", "odd")
    return ", ".join(
        "at the start" if index < 2 else f"after {_name(tokenizer, index // 2 - 1)} at {lengths[index % 2]} length"
        for index in places
    )


def _law(row: tuple[int, ...], tokenizer: Tokenizer) -> str:
    law = law_of_row(row)
    return ", ".join(f"{_name(tokenizer, token)} {mass}" for token, mass in law.items()) or "nothing to propose"
