"""Controls whose draft is not what it is declared to be, or stops elsewhere: mutants 1 and 2, look-alike C7."""

from draftproof.algorithms.laws import Law
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed

KEPT = 2
"""How many tokens the filtered draft is drawn from: few enough to filter a toy of three letters."""

CONFIDENCE = 0.375
"""Drafting ends with a token of less draft mass; a float and a fraction alike, so that both kinds of law agree."""


class ArgmaxDraft(SpeculativeSampling):
    """Mutant 1: the token is not drawn from the law that is declared."""

    def propose(self, draft_law: Law) -> Program[int]:
        """The likeliest draft token."""
        return draft_law.argmax()
        yield  # never reached: makes this a program


class FilteredDraft(SpeculativeSampling):
    """Mutant 2: the draft law is truncated when it is sampled, and whole when it is verified with."""

    def propose(self, draft_law: Law) -> Program[int]:
        """A draw from the likeliest draft tokens."""
        token: int = yield Choose(draft_law.restrict(draft_law.ranked(KEPT)))
        return token


class LowConfidenceKept(SpeculativeSampling):
    """C7: whether drafting goes on depends on the drafted prefix alone, as at EOS, so no law changes.

    Dropping that token instead, and drawing a bonus token in its place, would be lossy: that it was drawn is known.
    """

    def stops(self, token: int, draft_law: Law) -> bool:
        """Also with a token that the drafter held unlikely."""
        return super().stops(token, draft_law) or bool(draft_law[token] < CONFIDENCE)


CONTROLS = (
    changed(
        ArgmaxDraft,
        "argmax-draft",
        "mutant 1",
        "the drafted token is the argmax of Q, while ratio and residual use all of Q",
        "transformers 32867, 47932; jaymody 3",
    ),
    changed(
        FilteredDraft,
        "filtered-draft",
        "mutant 2",
        f"the drafted token is drawn from the {KEPT} likeliest of Q, while ratio and residual use all of Q",
        "transformers 47932",
    ),
    changed(
        LowConfidenceKept,
        "low-confidence-kept",
        "C7",
        f"drafting ends with a token of draft mass below {CONFIDENCE}, which is kept and verified",
        "transformers, assistant_confidence_threshold",
        wrong=False,
    ),
)
