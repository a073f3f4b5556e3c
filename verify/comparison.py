"""Compares a decoder's exact law with the autoregressive one, and tells a counterexample in words."""

from collections.abc import Callable
from fractions import Fraction

from draftproof.algorithms.decoding import Decoder, Step
from draftproof.algorithms.interfaces import Tokenizer
from draftproof.algorithms.slrs import Slrs
from draftproof.verify.evidence import Counterexample, ExactComparison
from draftproof.verify.exact import merged, output_law, prefixes, total_variation
from draftproof.verify.settings import Setting, autoregressive
from draftproof.verify.shrink import shrink
from draftproof.verify.toys import Rows, Toy, law_of_row

Build = Callable[[Setting], Decoder]
OutputLaw = dict[tuple[int, ...], Fraction]


def compare(setting: Setting, build: Build, progress: Callable[[int], None] = lambda states: None) -> ExactComparison:
    """Enumerates decoder and specification on one setting and compares the joint laws, as fractions."""
    expected = output_law(autoregressive(setting), setting.prompt, setting.max_new_tokens)
    decoder = build(setting)
    accepted = False

    def observe(step: Step) -> None:
        nonlocal accepted
        accepted = accepted or any(trial.accepted for trial in step.trials)

    found = output_law(decoder, setting.prompt, setting.max_new_tokens, progress, observe)
    distance = total_variation(expected, found)
    first = None
    if distance:
        lengths = range(1, setting.max_new_tokens + 1)
        first = next(n for n in lengths if total_variation(prefixes(expected, n), prefixes(found, n)))
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
        first_deviating_position=first,
        accepted=accepted,
    )


def deviation(toy: Toy, build: Build) -> Fraction:
    """The total variation between the joint laws on a toy."""
    return Fraction(compare(toy.setting, build).total_variation)


def counterexample(toy: Toy, build: Build) -> Counterexample:
    """The shrunk counterexample of a toy on which the decoder deviates."""
    small = shrink(toy, lambda simpler: deviation(simpler, build) != 0)
    setting = small.setting
    expected = output_law(autoregressive(setting), (), small.max_new_tokens)
    found = output_law(build(setting), (), small.max_new_tokens)
    worst = max(
        sorted(expected | found),
        key=lambda tokens: abs(expected.get(tokens, Fraction(0)) - found.get(tokens, Fraction(0))),
    )
    return Counterexample(
        found_on=toy.name,
        tokens=small.max_new_tokens,
        lookahead=small.lookahead,
        target_vocabulary=_names(setting.target_tokenizer),
        draft_vocabulary=_names(setting.draft_tokenizer),
        target_law=_describe(small.target_rows, setting.target_tokenizer),
        draft_law=_describe(small.draft_rows, setting.draft_tokenizer),
        output=tuple(_name(setting.target_tokenizer, token) for token in worst),
        expected=str(expected.get(worst, Fraction(0))),
        found=str(found.get(worst, Fraction(0))),
        total_variation=str(total_variation(expected, found)),
    )


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
