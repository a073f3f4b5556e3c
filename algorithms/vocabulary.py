"""Two vocabularies side by side: which ids share a string, and how one model's ids are fed to the other.

Tokens are compared as strings of bytes, not as raw vocabulary entries: byte-level, Metaspace, byte-fallback and
WordPiece markers are decoded first (`Tokenizer.token_bytes`). End-of-text ids are matched with each other.

Claims: TLI-1, TLI-4, TOK-4.
"""

from dataclasses import dataclass
from functools import cached_property

from draftproof.algorithms.decoding import DecoderError
from draftproof.algorithms.interfaces import Tokenizer
from draftproof.algorithms.laws import IdMap


@dataclass(frozen=True)
class Vocabularies:
    """The target's and the drafter's vocabulary; ids of padded models beyond the tokenizers' are in neither."""

    target: Tokenizer
    drafter: Tokenizer
    target_size: int
    drafter_size: int

    @cached_property
    def shared(self) -> IdMap:
        """Draft ids to the target ids of the same bytes; several draft ids may share one target id.

        Of several target ids with the same bytes the lowest is taken: any choice is exact.
        """
        by_bytes: dict[bytes, int] = {}
        for token in reversed(range(min(self.target.size, self.target_size))):
            spelled = self.target.token_bytes(token)
            if spelled:
                by_bytes[spelled] = token
        pairs: dict[int, int] = {}
        for token in range(min(self.drafter.size, self.drafter_size)):
            spelled = self.drafter.token_bytes(token)
            if spelled and spelled in by_bytes:
                pairs[token] = by_bytes[spelled]
        ends = [token for token in self.target.eos if token < self.target_size]
        if ends:
            pairs |= {token: min(ends) for token in self.drafter.eos if token < self.drafter_size}
        return IdMap(pairs, self.target_size)

    @cached_property
    def union(self) -> IdMap:
        """All draft ids into the union: shared ones to their target ids, others to new ids from target_size on."""
        foreign = (token for token in range(self.drafter_size) if token not in self.shared)
        new = {token: self.target_size + count for count, token in enumerate(foreign)}
        return IdMap({**new, **self.shared}, self.target_size + len(new))

    @cached_property
    def _counterparts(self) -> dict[int, int]:
        counterparts: dict[int, int] = {}
        for draft_token, token in self.shared.items():
            counterparts.setdefault(token, draft_token)
        return counterparts

    def drafter_context(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """The drafter's ids for committed target ids: counterparts where there are, re-encoded text between them.

        End-of-text and other ids without bytes are left out; the drafter's own start ids come first. This shapes only
        the draft law, never the target's.
        """
        ids = list(self.drafter.start)
        run = b""
        for token in tokens:
            spelled = self.target.token_bytes(token)
            if spelled is not None and token in self._counterparts:
                ids += self._encoded(run)
                ids.append(self._counterparts[token])
                run = b""
            else:
                run += spelled or b""
        return tuple(ids) + self._encoded(run)

    def _encoded(self, run: bytes) -> tuple[int, ...]:
        return self.drafter.encode(run.decode("utf-8", errors="replace")) if run else ()

    def check_intersection(self, name: str) -> None:
        """Raises DecoderError where the vocabularies share nothing but end-of-text ids."""
        if all(token in self.drafter.eos for token in self.shared):
            raise DecoderError(
                f"{name}: target and drafter share no token, so nothing can be drafted; use slem or slrs"
            )
