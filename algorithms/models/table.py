"""Exact toy models: the law of every context written down, in fractions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.laws import Law

Rule = Callable[[tuple[int, ...]], ExactLaw]
"""A context's law. An empty law is allowed for drafters only."""


@dataclass(frozen=True)
class TableModel:
    """A model given by a rule from contexts to laws on ids 0..size-1; each context is worked out once."""

    size: int
    rule: Rule
    eos: frozenset[int] = frozenset()
    _laws: dict[tuple[int, ...], ExactLaw] = field(default_factory=dict, repr=False, compare=False)

    def law(self, context: tuple[int, ...]) -> ExactLaw:
        """The law after a context."""
        if context not in self._laws:
            self._laws[context] = self.rule(context)
        return self._laws[context]

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The laws after each query's context and each of its drafted tokens."""
        return [[self.law(context + drafted[:n]) for n in range(len(drafted) + 1)] for context, drafted in queries]


def explicit(
    rows: Mapping[tuple[int, ...], Mapping[int, Fraction]],
    size: int,
    eos: frozenset[int] = frozenset(),
    otherwise: Mapping[int, Fraction] | None = None,
) -> TableModel:
    """A model from rows that name whole contexts; contexts without a row have the law `otherwise`.

    Raises KeyError at the first context that has neither.
    """

    def rule(context: tuple[int, ...]) -> ExactLaw:
        masses = rows.get(context, otherwise)
        if masses is None:
            raise KeyError(f"the table has no row for the context {context}")
        return ExactLaw(masses, size)

    return TableModel(size, rule, eos)
