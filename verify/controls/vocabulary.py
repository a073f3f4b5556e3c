"""Controls of the map between two vocabularies: mutant 15, look-alikes C5 and C6."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from draftproof.algorithms.decoding import Decoder
from draftproof.algorithms.laws import IdMap, Law
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.tli import MappedDrafter
from draftproof.algorithms.union import UnionDrafter
from draftproof.algorithms.vocabulary import Vocabularies
from draftproof.verify.controls.control import Control
from draftproof.verify.settings import Setting


class MaskedUnion(UnionDrafter):
    """C5: the union's draft law, masked to the target's ids and renormalised; the union decoder becomes TLI."""

    def image(self, law: Law) -> Law:
        """The draft law given that the target has the token; empty where it has none of them."""
        return super().image(law).restrict(range(self.vocabularies.target_size))


class UnmappedDrafter(MappedDrafter):
    """TLI's drafter before the map: its laws stay on the drafter's ids."""

    def image(self, law: Law) -> Law:
        """The draft law given the shared tokens."""
        return law.restrict(self.vocabularies.shared)


@dataclass(frozen=True)
class MergedAfterDraw(SpeculativeSampling):
    """C6: one of several ids of a token is drawn, then mapped; the declared law sums the masses of the merged ids."""

    drafter: UnmappedDrafter

    @property
    def shared(self) -> IdMap:
        """Draft ids to target ids, many to one."""
        return self.drafter.vocabularies.shared

    def propose(self, draft_law: Law) -> Program[int]:
        """The target's id for a draw of the drafter's ids."""
        token: int = yield Choose(draft_law)
        return self.shared[token]

    def declare(self, draft_law: Law) -> Law:
        """The law of the mapped draw."""
        return draft_law.pushforward(self.shared)


@dataclass(frozen=True)
class LastWriterWins(MergedAfterDraw):
    """Mutant 15: masses are written into a table of target ids, one over the other."""

    def declare(self, draft_law: Law) -> Law:
        """The mass of the last of a token's ids."""
        return draft_law.pushforward(self.last_writers)

    @cached_property
    def last_writers(self) -> IdMap:
        """The map in which only the last id of each token has its image.

        What was overwritten is mass of a law no longer; it stands on an id that neither model has.
        """
        last = {image: token for token, image in self.shared.items()}
        nowhere = self.shared.size
        pairs = {token: image if last[image] == token else nowhere for token, image in self.shared.items()}
        return IdMap(pairs, nowhere + 1)


def _with_drafter(
    kind: type[SpeculativeSampling], drafter: type[MappedDrafter], name: str
) -> Callable[[Setting], Decoder]:
    def build(setting: Setting) -> Decoder:
        vocabularies = Vocabularies(
            setting.target_tokenizer, setting.draft_tokenizer, setting.target.size, setting.drafter.size
        )
        return kind(setting.target, drafter(setting.drafter, vocabularies), setting.lookahead, name=name)

    return build


CONTROLS = (
    Control(
        "last-writer-wins",
        "mutant 15",
        "tli",
        True,
        "of several draft ids with one string the ratio sees the mass of the last one only",
        "genlm, duplicate byte strings",
        _with_drafter(LastWriterWins, UnmappedDrafter, "last-writer-wins"),
        vocabularies=("twins-on-both-sides",),
    ),
    Control(
        "union-masked",
        "C5",
        "union",
        False,
        "the draft law of the union is masked to the target's ids and renormalised, which is TLI",
        "Timor et al. 2502.05202, Algorithm 4",
        _with_drafter(SpeculativeSampling, MaskedUnion, "union-masked"),
    ),
    Control(
        "merged-after-draw",
        "C6",
        "tli",
        False,
        "one of several draft ids with one string is drawn and mapped, while the ratio uses the sum of their masses",
        "genlm, duplicate byte strings, mended",
        _with_drafter(MergedAfterDraw, UnmappedDrafter, "merged-after-draw"),
    ),
)
