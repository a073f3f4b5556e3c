"""Controls whose laws are conditioned on another history than the committed one: mutants 10 and 11."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from draftproof.algorithms.decoding import State
from draftproof.algorithms.interfaces import Query, WrappedModel
from draftproof.algorithms.laws import Law
from draftproof.algorithms.processors import PresencePenalty, Processed
from draftproof.algorithms.requests import Laws, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed, declared


class RejectedStays(SpeculativeSampling):
    """Mutant 10: the cache is not rolled back over the rejected token."""

    def context(self, state: State) -> tuple[int, ...]:
        """What the cache holds."""
        return state.memory if isinstance(state.memory, tuple) else state.tokens

    def remember(
        self, context: tuple[int, ...], drafted: tuple[int, ...], accepted: int, emitted: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The old cache with the drafted tokens up to and including the rejected one."""
        return context + (drafted[: accepted + 1] if accepted < len(drafted) else emitted)


@dataclass(frozen=True)
class FrozenHistory(WrappedModel):
    """A processed model whose processors see the context of a query at each of its positions."""

    model: Processed

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        """The processed laws, all with the history at the start."""
        return [
            [self.model.process(law, context) for law in laws]
            for (context, _), laws in zip(queries, self.model.model.laws(queries), strict=True)
        ]


class HistoryFrozen(SpeculativeSampling):
    """Mutant 11: while a draft is scored, the penalties do not learn of the drafted tokens."""

    def __post_init__(self) -> None:
        """Raises DecoderError where no processors are declared: there is no history to freeze then."""
        super().__post_init__()
        declared(self.name, self.target)

    @cached_property
    def frozen(self) -> FrozenHistory:
        """The target as the wrong pass sees it; one object, or a batch would not be one pass."""
        return FrozenHistory(declared(self.name, self.target))

    def score(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> Program[Sequence[Law]]:
        """The target's laws with the history of the step's start."""
        target_laws: Sequence[Law] = yield Laws(self.frozen, context, drafted)
        return target_laws


CONTROLS = (
    changed(
        RejectedStays,
        "rejected-stays",
        "mutant 10",
        "the rejected drafted token stays in the state that the next step conditions on",
        "transformers 30042, vllm 39273",
    ),
    changed(
        HistoryFrozen,
        "history-frozen",
        "mutant 11",
        "processors of the target see the history of the step's start at every position",
        "sglang 33643, vllm 33251",
        processors=(PresencePenalty(Fraction(1, 4)),),
    ),
)
