"""The ledger: one false-alarm budget, shared by every test of an audit before any of them is run.

If each test errs with probability at most its level, and the levels sum to the budget, the audit flags a right decoder
with probability at most the budget, whatever the tests have to do with each other (Bonferroni's inequality).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BUDGET = 1e-6
"""The default: one audit in a million flags a right decoder."""

PARTS: Mapping[str, float] = {"wealth": 0.5, "uniformity": 0.25, "acceptance": 0.25}
"""How the level of one sampled subject is shared by its tests; those within a part share it evenly."""


class LedgerError(ValueError):
    """More was asked of a budget than it holds."""


@dataclass(frozen=True)
class Ledger:
    """Levels by name. Their sum does not exceed the budget."""

    budget: float
    levels: Mapping[str, float]

    def __post_init__(self) -> None:
        """Raises LedgerError where the budget is no probability, a level is not positive, or too much is spent."""
        if not 0 < self.budget < 1:
            raise LedgerError(f"a false-alarm budget lies strictly between 0 and 1, and is not {self.budget}")
        if any(not level > 0 for level in self.levels.values()):
            raise LedgerError(f"every level must be above 0: {dict(self.levels)}")
        spent = sum(self.levels.values())
        if spent > self.budget * (1 + 1e-9):
            raise LedgerError(f"the levels sum to {spent:.3g}, more than the budget of {self.budget:.3g}")

    def __getitem__(self, name: str) -> float:
        """The level of a test. Raises LedgerError for one that has none: what is not entered must not be tested."""
        if name not in self.levels:
            raise LedgerError(f"the ledger has no entry {name!r}; it has {', '.join(self.levels)}")
        return self.levels[name]


def evenly(budget: float, names: Sequence[str]) -> Ledger:
    """Equal levels for all names. Raises LedgerError for repeated names."""
    if len(set(names)) != len(names):
        raise LedgerError(f"a name stands twice in the ledger: {sorted(names)}")
    return Ledger(budget, {name: budget / len(names) for name in names})


def level_of(part: str, alpha: float, tests: int = 1) -> float:
    """The level of one of `tests` tests that make up a part of a subject whose level is `alpha`."""
    return alpha * PARTS[part] / tests
