"""Processors of laws (temperature, top-k, top-p, min-p, presence penalty) and the model that a processed model is.

A processed law *is* the declared law: decoders see target and drafter only through their processors, so the law in a
ratio is always the law that was sampled. One text serves fractions and tensors.

Each processor is called per position with the history of that position.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel, Query, WrappedModel
from draftproof.algorithms.laws import Law


class Processor(Protocol):
    """A map from a law and its history to a law."""

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The processed law; an empty law stays empty."""
        ...


@dataclass(frozen=True)
class Temperature:
    """The law proportional to P(x)**(1 / temperature); temperature 0 is all mass on the argmax."""

    temperature: float

    def __post_init__(self) -> None:
        """Raises ValueError for a negative or non-finite temperature."""
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be a finite number of at least 0, not {self.temperature}")

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The law at this temperature. Raises LawError for fractions unless 1 / temperature is a whole number."""
        if law.empty or self.temperature == 1:
            return law
        return law.restrict((law.argmax(),)) if self.temperature == 0 else law.power(1 / self.temperature)


@dataclass(frozen=True)
class TopK:
    """The law given that the token is among the `count` likeliest; ties to the lowest id."""

    count: int

    def __post_init__(self) -> None:
        """Raises ValueError for a count below 1."""
        if self.count < 1:
            raise ValueError(f"top-k must keep at least 1 token, not {self.count}")

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The truncated law."""
        return law if law.empty else law.restrict(law.ranked(self.count))


@dataclass(frozen=True)
class TopP:
    """The law given the smallest set of likeliest tokens whose mass reaches `mass`; ties to the lowest id."""

    mass: float

    def __post_init__(self) -> None:
        """Raises ValueError for a mass outside (0, 1]."""
        if not 0 < self.mass <= 1:
            raise ValueError(f"top-p must lie in (0, 1], not {self.mass}")

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The truncated law."""
        if law.empty or self.mass == 1:
            return law
        count = 64
        while True:  # ranks are asked for in growing portions: a few tokens usually suffice
            ranked = law.ranked(count)
            total = 0 * law[ranked[0]]
            for kept, token in enumerate(ranked, start=1):
                total += law[token]
                if total >= self.mass:
                    return law.restrict(ranked[:kept])
            if len(ranked) < count:
                return law
            count *= 8


@dataclass(frozen=True)
class MinP:
    """The law given that the token has at least `ratio` times the mass of the likeliest."""

    ratio: float

    def __post_init__(self) -> None:
        """Raises ValueError for a ratio outside [0, 1]."""
        if not 0 <= self.ratio <= 1:
            raise ValueError(f"min-p must lie in [0, 1], not {self.ratio}")

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The truncated law."""
        if law.empty or self.ratio == 0:
            return law
        most = law[law.argmax()]
        least = type(most)(self.ratio) * most  # in the law's own kind: a float times a fraction is a rounded float
        return law.restrict(tuple(token for token, mass in law.items() if mass >= least))


@dataclass(frozen=True)
class PresencePenalty:
    """The law proportional to P(x) times `factor` for every id of the history: a presence penalty of -ln(factor).

    The one processor here that depends on the history, so the one that shows whether each position has its own.
    """

    factor: Fraction

    def __post_init__(self) -> None:
        """Raises ValueError for a factor that is not positive: the law could become empty."""
        if not 0 < self.factor < float("inf"):
            raise ValueError(f"a presence penalty needs a finite factor above 0, not {self.factor}")

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The penalised law."""
        return law if law.empty else law.reweighted(dict.fromkeys(history, self.factor))


@dataclass(frozen=True)
class Rationalise:
    """The law in fractions: each float probability taken as the rational it is, renormalised exactly."""

    def __call__(self, law: Law, history: tuple[int, ...]) -> Law:
        """The exact law; truncate first, or every id of the vocabulary becomes a fraction."""
        return ExactLaw.normalised({token: Fraction(mass) for token, mass in law.items()}, law.size)


@dataclass(frozen=True)
class Processed(WrappedModel):
    """A model whose laws go through processors, in order."""

    model: LanguageModel
    processors: tuple[Processor, ...]

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The processed laws, each with the history of its own position."""
        return [
            [self.process(law, context + drafted[:position]) for position, law in enumerate(laws)]
            for (context, drafted), laws in zip(queries, self.model.laws(queries), strict=True)
        ]

    def process(self, law: Law, history: tuple[int, ...]) -> Law:
        """One law of the model, processed with a history."""
        for processor in self.processors:
            law = processor(law, history)
        return law


class Remembered(WrappedModel):
    """A model whose laws are computed once per context and kept: for enumeration, where contexts recur."""

    def __init__(self, model: LanguageModel) -> None:
        """Keeps every law; for models whose laws are small (truncated, exact)."""
        self.model = model
        self._laws: dict[tuple[int, ...], Law] = {}

    @property
    def contexts(self) -> int:
        """How many contexts have been scored."""
        return len(self._laws)

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The laws; the model is asked only for contexts it was never asked for."""
        missing: list[Query] = []
        coming: set[tuple[int, ...]] = set()
        for query in queries:
            new = [place for place in _places(query) if place not in self._laws and place not in coming]
            if new:
                missing.append(query)
                coming.update(new)
        for query, laws in zip(missing, self.model.laws(missing) if missing else [], strict=True):
            for place, law in zip(_places(query), laws, strict=True):
                self._laws.setdefault(place, law)
        return [[self._laws[place] for place in _places(query)] for query in queries]


def _places(query: Query) -> list[tuple[int, ...]]:
    context, drafted = query
    return [context + drafted[:count] for count in range(len(drafted) + 1)]
