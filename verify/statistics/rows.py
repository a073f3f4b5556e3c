"""The laws along one output as arrays: what every test of an output's tokens reads.

Row t holds the laws after the prompt and the first t tokens: the target's law, which is the hypothesis, and the
drafter's law on the target's ids, which is the direction that faulty decoders lean to. A large vocabulary is cut into
columns: the likeliest ids of either law, and the rest in cells of similar ratio. A test that sees cells instead of ids
keeps its level, since the cells depend on the past alone.

Some faults read laws that no right decoder reads. They are `extras`, made where they are asked for:
raw (the target without its processors), frozen (processors that see an older history, last axis but one: how many
tokens older), declared (an id map that keeps the last of several merged masses), rejected (laws after the likely
rejected tokens of this position) and wrong (the same of the position before).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from draftproof.algorithms.interfaces import LanguageModel, Query
from draftproof.algorithms.laws import IdMap, Law, LawError
from draftproof.algorithms.processors import Processed
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.algorithms.tli import MappedDrafter
from draftproof.algorithms.union import UnionDrafter
from draftproof.algorithms.vocabulary import Vocabularies
from draftproof.verify.settings import SHARED_VOCABULARY, Setting

Floats = npt.NDArray[np.float64]

LARGE = 4_096
"""Vocabularies above this size are cut into cells."""

LIKELIEST = 256
"""Ids of each law that keep a column of their own in a large vocabulary."""

REJECTED = 3
"""Likely rejected tokens whose following laws are computed."""

ROUNDING = 1e-3
"""How far the masses of a law may sum from 1: more than that no rounding explains."""


@dataclass(frozen=True)
class Rows:
    """The laws along one output of n tokens, on C columns; columns mean something else in each row.

    `tokens` (n,) are columns. `target`, `draft` and `before` are (n, C): P, Q, and P of the row before. A draft row
    of zeros proposes nothing; one that sums to less than 1 drafts ids that the target lacks. `extras` are (n, K, C).
    """

    tokens: npt.NDArray[np.int64]
    target: Floats
    draft: Floats
    before: Floats
    lookahead: int
    limit: int
    extras: dict[str, Floats] = field(default_factory=dict)

    @property
    def observed(self) -> Floats:
        """The target's mass of each emitted token, (n,)."""
        return np.take_along_axis(self.target, self.tokens[:, None], 1)[:, 0]


@dataclass(frozen=True)
class Sources:
    """The models that rows are read from: target, a drafter on the target's ids, and the faulty readings."""

    target: LanguageModel
    draft: LanguageModel
    declared: LanguageModel | None = None


def sources(setting: Setting, like: str) -> Sources:
    """The models of a setting for a decoder like the named one.

    Speculative sampling drafts on the target's ids, union on the union's; for the others the drafter's shared part says
    which way a fault would lean.
    """
    if like in SHARED_VOCABULARY:
        return Sources(setting.target, setting.drafter)
    vocabularies = Vocabularies(
        setting.target_tokenizer, setting.draft_tokenizer, setting.target.size, setting.drafter.size
    )
    if like == "union":
        return Sources(setting.target, UnionDrafter(setting.drafter, vocabularies))
    return Sources(
        setting.target, MappedDrafter(setting.drafter, vocabularies), LastWriter(setting.drafter, vocabularies)
    )


@dataclass(frozen=True)
class LastWriter(MappedDrafter):
    """The mapped drafter of mutant 15: of several ids with one image only the last one's mass is seen."""

    def image(self, law: Law) -> Law:
        """The masses that are seen, on the target's ids; those overwritten stand on an id that the target lacks."""
        shared = self.vocabularies.shared
        last = {image: token for token, image in shared.items()}
        pairs = {token: image if last[image] == token else shared.size for token, image in shared.items()}
        return law.restrict(shared).pushforward(IdMap(pairs, shared.size + 1))


def read_rows(setting: Setting, models: Sources, tokens: tuple[int, ...], extras: Collection[str] = ()) -> Rows:
    """The rows of one output. `tokens` are its generated ids, at least one.

    Raises LawError for a mass that is negative, NaN or infinite, and for a target's law that does not sum to 1;
    ValueError for an output without tokens.
    """
    if not tokens:
        raise ValueError("an output without tokens has no rows")
    query: Query = (setting.prompt, tokens[:-1])
    target = _array(models.target.laws([query])[0], setting.target.size)
    totals = target.sum(1, keepdims=True)
    if (abs(totals - 1) > ROUNDING).any():
        raise LawError(f"the target's law after {int(abs(totals - 1).argmax())} tokens of an output does not sum to 1")
    # Tokens are drawn by inversion of the rounded total (laws.py), so the law is what is left after dividing by it.
    target /= totals
    draft = _array(models.draft.laws([query])[0], setting.target.size)
    made = {
        name: rows for name in extras if (rows := _EXTRAS[name](setting, models, tokens, target, draft)) is not None
    }
    before = np.vstack([target[:1], target[:-1]])
    if "rejected" in made:
        made["wrong"] = np.concatenate([target[:1, None], made["rejected"][:-1]])
    columns = np.asarray(tokens, dtype=np.int64)
    if setting.target.size > LARGE:
        cells = [_cells(p, q) for p, q in zip(target, draft, strict=True)]
        columns = np.array([cell[token] for cell, token in zip(cells, tokens, strict=True)])
        width = max(int(cell.max()) for cell in cells) + 1
        target, draft, before = (_lump(rows, cells, width) for rows in (target, draft, before))
        made = {
            name: np.stack([_lump(rows[:, k], cells, width) for k in range(rows.shape[1])], axis=1)
            for name, rows in made.items()
        }
    return Rows(columns, target, draft, before, setting.lookahead, setting.max_new_tokens, made)


def _array(laws: Sequence[Law], size: int) -> Floats:
    """The masses of laws on ids 0..size-1, (len(laws), size). Raises LawError for what is no mass."""
    rows = np.zeros((len(laws), size))
    for row, law in zip(rows, laws, strict=True):
        if isinstance(law, TensorLaw):
            masses = law.probabilities.double().cpu().numpy()[:size]
            row[: len(masses)] = masses
        else:
            for token, mass in law.items():
                if token < size:
                    row[token] = float(mass)
    if not (rows >= 0).all() or np.isinf(rows).any():  # NaN fails the comparison; a bet on it would be no bet
        raise LawError("a law has a mass that is negative, NaN or infinite")
    return rows


def _cells(target: Floats, draft: Floats) -> npt.NDArray[np.int64]:
    """The column of each id: likely ids one each, the others by the power of two of P / Q."""
    likely = np.union1d(np.argpartition(-target, LIKELIEST)[:LIKELIEST], np.argpartition(-draft, LIKELIEST)[:LIKELIEST])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.log2(target) - np.log2(draft), nan=0.0, posinf=9, neginf=-9)
    cells = len(likely) + 9 + np.clip(np.rint(ratio), -9, 9).astype(np.int64)
    # What the target excludes stands apart, or a token outside the support would hide among possible ones.
    cells[target == 0] = len(likely) + 19
    cells[likely] = np.arange(len(likely))
    return np.asarray(cells, dtype=np.int64)


def _lump(rows: Floats, cells: Sequence[npt.NDArray[np.int64]], width: int) -> Floats:
    return np.stack([np.bincount(cell, row, width) for row, cell in zip(rows, cells, strict=True)])


_Extra = Callable[[Setting, Sources, tuple[int, ...], Floats, Floats], Floats | None]


def _raw(setting: Setting, models: Sources, tokens: tuple[int, ...], target: Floats, draft: Floats) -> Floats | None:
    if not isinstance(setting.target, Processed):
        return None
    return _array(setting.target.model.laws([(setting.prompt, tokens[:-1])])[0], setting.target.size)[:, None]


def _frozen(setting: Setting, models: Sources, tokens: tuple[int, ...], target: Floats, draft: Floats) -> Floats | None:
    if not isinstance(setting.target, Processed):
        return None
    laws = setting.target.model.laws([(setting.prompt, tokens[:-1])])[0]
    older = [
        [
            setting.target.process(law, setting.prompt + tokens[: max(0, place - age)])
            for age in range(setting.lookahead + 1)
        ]
        for place, law in enumerate(laws)
    ]
    return np.stack([_array(row, setting.target.size) for row in older])


def _declared(
    setting: Setting, models: Sources, tokens: tuple[int, ...], target: Floats, draft: Floats
) -> Floats | None:
    if models.declared is None:
        return None
    merged = _array(models.declared.laws([(setting.prompt, tokens[:-1])])[0], setting.target.size)
    return merged[:, None]


def _rejected(
    setting: Setting, models: Sources, tokens: tuple[int, ...], target: Floats, draft: Floats
) -> Floats | None:
    """P after the likeliest rejected tokens of each position, mixed by how likely each is, (n, 1, C)."""
    rejected = np.maximum(draft - target, 0)
    likely = np.argsort(-rejected, axis=1, kind="stable")[:, :REJECTED]
    weights = np.take_along_axis(rejected, likely, 1)
    # Where nothing can be rejected the mixture is never used; it must be a law all the same.
    weights[weights.sum(1) == 0, 0] = 1
    weights /= weights.sum(1, keepdims=True)
    queries: list[Query] = [
        (setting.prompt + tokens[:place] + (int(token),), ()) for place, row in enumerate(likely) for token in row
    ]
    laws = _array([law for [law] in models.target.laws(queries)], setting.target.size).reshape(*likely.shape, -1)
    mixed: Floats = (laws * weights[:, :, None]).sum(1, keepdims=True)
    return mixed


_EXTRAS: dict[str, _Extra] = {"raw": _raw, "frozen": _frozen, "declared": _declared, "rejected": _rejected}
