"""Toy settings in whole numbers: random enough to see faults, small enough to enumerate and to shrink.

A toy's law at a context depends on the last id and on the parity of the position, given by rows of small weights. As
bugs.md asks: rows differ by position and context, the drafter ranks tokens unlike the target, some target masses are 0,
some draft rows are empty, lookahead is 3 and the joint law of lookahead + 1 tokens is compared, so that a rejection is
followed by further steps.
"""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.processors import Processor
from draftproof.corpora.toys import NAMES, vocabulary
from draftproof.verify.settings import SHARED_VOCABULARY, Setting, processed

Rows = tuple[tuple[int, ...], ...]
"""Weights per token; row 2 * (last id + 1) + (position mod 2), last id -1 at the start."""

ONE_VOCABULARY: tuple[str | None, ...] = ("a", "b", "c", None)
TOYS_PER_VOCABULARY = 6


@dataclass(frozen=True)
class Toy:
    """A toy setting as data. Rows of the target have positive sums; a draft row of zeros proposes nothing."""

    name: str
    target_strings: tuple[str | None, ...]
    draft_strings: tuple[str | None, ...]
    target_rows: Rows
    draft_rows: Rows
    lookahead: int = 3
    max_new_tokens: int = 4
    processors: tuple[Processor, ...] = ()

    @property
    def setting(self) -> Setting:
        """The toy as a setting with an empty prompt; its processors are on both models."""
        target_tokenizer, draft_tokenizer = ToyTokenizer(self.target_strings), ToyTokenizer(self.draft_strings)
        raw = Setting(
            self.name,
            _model(self.target_rows, target_tokenizer),
            target_tokenizer,
            _model(self.draft_rows, draft_tokenizer),
            draft_tokenizer,
            prompt=(),
            lookahead=self.lookahead,
            psi_lookahead=min(2, self.lookahead),
            max_new_tokens=self.max_new_tokens,
        )
        return processed(raw, self.processors)


def row_of(context: tuple[int, ...]) -> int:
    """The index of the row that a context reads."""
    return 2 * ((context[-1] if context else -1) + 1) + len(context) % 2


def law_of_row(weights: tuple[int, ...]) -> ExactLaw:
    """The law proportional to a row."""
    return ExactLaw.normalised({token: Fraction(weight) for token, weight in enumerate(weights)}, len(weights))


def _model(rows: Rows, tokenizer: ToyTokenizer) -> TableModel:
    laws = [law_of_row(row) for row in rows]
    return TableModel(tokenizer.size, lambda context: laws[row_of(context)], tokenizer.eos)


def random_toy(name: str, target: tuple[str | None, ...], draft: tuple[str | None, ...], seed: int) -> Toy:
    """A toy with random rows; a function of its arguments."""
    source = random.Random(f"{name}/{seed}")
    return Toy(
        f"{name}/{seed}",
        target,
        draft,
        _rows(source, target, allow_empty=False),
        _rows(source, draft, allow_empty=True),
        max_new_tokens=4 + seed % 2,
    )


def _rows(source: random.Random, strings: tuple[str | None, ...], allow_empty: bool) -> Rows:
    rows: list[tuple[int, ...]] = []
    while len(rows) < 2 * (len(strings) + 1):
        if allow_empty and source.random() < 0.1:
            rows.append((0,) * len(strings))
            continue
        # EOS is kept rare, or most outputs would end before the lookahead is used.
        row = tuple(
            source.choice((0, 1, 2, 4)) if string is not None else source.choice((0, 0, 1)) for string in strings
        )
        if any(weight for weight, string in zip(row, strings, strict=True) if string is not None):
            rows.append(row)
    return tuple(rows)


def battery(decoder: str, vocabularies: Collection[str] = ()) -> Iterator[Toy]:
    """The toys on which a decoder is enumerated, `TOYS_PER_VOCABULARY` for each vocabulary that suits it.

    Where `vocabularies` are named, only for those of them.
    """
    if decoder in SHARED_VOCABULARY:
        pairs = {f"three-letters-{part}": (ONE_VOCABULARY, ONE_VOCABULARY) for part in range(3)}
    else:
        pairs = {name: (vocabulary(name).target, vocabulary(name).draft) for name in NAMES}
        if decoder == "tli":  # an empty intersection is refused at construction
            pairs.pop("nothing-shared")
    for name, (target, draft) in pairs.items():
        if vocabularies and name not in vocabularies:
            continue
        for seed in range(TOYS_PER_VOCABULARY):
            yield random_toy(name, target, draft, seed)
