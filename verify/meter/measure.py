"""Reads the meter: each rule on real laws, one step at a time, and on toys, whole outputs as fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import torch

from draftproof.algorithms.decoding import Decoder
from draftproof.verify.comparison import compare
from draftproof.verify.meter.catalogue import CATALOGUE, Metered
from draftproof.verify.meter.closed_forms import Rule, measured
from draftproof.verify.meter.evidence import Baseline, MeterEvidence, Reading, ToyReading
from draftproof.verify.numerics.closed_forms import distance
from draftproof.verify.numerics.measure import figures
from draftproof.verify.numerics.rows import Row, drafting, rows
from draftproof.verify.settings import Setting
from draftproof.verify.toys import Toy, battery


@dataclass
class _Sums:
    """What the rows of one pair gave for one rule."""

    drafted: list[float] = field(default_factory=list)
    bonus: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)


def measure_rules(
    settings: Sequence[Setting],
    rules: Sequence[Metered] = CATALOGUE,
    outputs: int = 1,
    seed: int = 0,
    toys: Iterable[Toy] | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> MeterEvidence:
    """Measures rules at every position of `outputs` sampled outputs for each setting (one per prompt), and on toys.

    The outputs are those of the lossless decoder, so every rule is read on the same contexts. `toys` None takes the
    battery of speculative sampling. Raises what numerics/rows.py raises.
    """
    overlaps: dict[str, list[float]] = {}
    sums: dict[tuple[str, Metered], _Sums] = {}
    built = [(rule, _rule(rule, settings[0])) for rule in rules] if settings else []
    for row in rows(settings, outputs, seed, progress):
        overlaps.setdefault(row.pair, []).append(float(torch.minimum(row.target, row.draft).sum()))
        for rule, decoder in built:
            _read(sums.setdefault((row.pair, rule), _Sums()), decoder, row)
    battered = tuple(battery("speculative-sampling")) if toys is None else tuple(toys)
    return MeterEvidence(
        rules=tuple((rule.name, rule.parameters, rule.keeps, rule.source) for rule in rules),
        baselines=tuple(Baseline(pair, len(seen), sum(seen) / len(seen)) for pair, seen in overlaps.items()),
        readings=tuple(
            Reading(
                rule=rule.name,
                parameters=rule.parameters,
                pair=pair,
                drafted=figures(seen.drafted),
                bonus=figures(seen.bonus),
                acceptance=figures(seen.kept).mean,
                ceiling=rule.ceiling,
            )
            for (pair, rule), seen in sums.items()
        ),
        toys=tuple(read_toys(rule, battered) for rule in rules if battered),
        outputs=outputs,
        seed=seed,
    )


def read_toys(rule: Metered, toys: Sequence[Toy]) -> ToyReading:
    """Enumerates a rule on at least one toy of one vocabulary and keeps the largest total variation."""

    def build(setting: Setting) -> Decoder:
        return rule.make(setting.target, setting.drafter, setting.lookahead)

    seen = [(Fraction(compare(toy.setting, build).total_variation), toy) for toy in toys]
    worst, toy = max(seen, key=lambda one: one[0])
    return ToyReading(
        rule=rule.name,
        parameters=rule.parameters,
        toys=len(seen),
        differ=sum(distance > 0 for distance, _ in seen),
        tokens=max(toy.max_new_tokens for _, toy in seen),
        lookahead=max(toy.lookahead for _, toy in seen),
        total_variation=str(worst),
        toy=toy.name,
        lossless=rule.lossless,
    )


def _rule(rule: Metered, setting: Setting) -> Rule:
    decoder = drafting(setting)
    return rule.make(decoder.target, decoder.drafter, setting.lookahead)


def _read(sums: _Sums, decoder: Rule, row: Row) -> None:
    found = measured(decoder, row.target, row.draft)
    sums.drafted.append(distance(found.drafted, row.target))
    sums.bonus.append(distance(found.bonus, row.target))
    sums.kept.append(found.acceptance)
