"""psi(t): the law of the first target token of a drafted text.

The drafter draws tokens until a stopping rule ends the draft; the text is encoded with the target's tokenizer and its
first token is t. psi is the law of t under exactly this procedure: the sum, over all stopped drafts whose text begins
with t, of the product of the drafter's masses. A draft that yields no target token has the outcome NONE.

The drafts form a tree. It is walked level by level, all contexts of a level in one forward pass, once per step; the
draft is drawn along it and every psi(t) of the step is read from it.

Notation: psi as in Theorem 3.2 of Timor et al. 2502.05202.
Claims: SLRS-1, SLRS-4.
But: the whole tree is walked, so the drafter's law must be truncated (top-k) for a lookahead above 1 on a real
vocabulary; PsiTooLarge says when.
"""

from collections.abc import Callable
from dataclasses import dataclass

from draftproof.algorithms.decoding import check_lookahead
from draftproof.algorithms.interfaces import LanguageModel, Tokenizer
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Choose, Laws, Program, Together
from draftproof.algorithms.retokenization import candidates, continuation

NONE = -1
"""The outcome of a draft that yields no target token."""

CONTEXTS_LIMIT = 4_096
"""Most draft contexts walked for one psi."""

DRAFTS_LIMIT = 2**18
"""Most drafts encoded for one psi: one token of the largest vocabulary, or several of a truncated law."""

StoppingRule = Callable[[tuple[int, ...], Callable[[], str]], bool]
"""Whether a draft ends, given its ids and, on demand, their text: a stopping time of the drafted prefix."""


class PsiTooLarge(ValueError):
    """psi would need more contexts than CONTEXTS_LIMIT; the message says what to change."""


@dataclass(frozen=True)
class FixedLookahead:
    """Stops after `lookahead` drafted tokens."""

    lookahead: int

    def __post_init__(self) -> None:
        """Raises DecoderError for a lookahead below 1."""
        check_lookahead(self.lookahead)

    def __call__(self, drafted: tuple[int, ...], text: Callable[[], str]) -> bool:
        """Whether the draft ends here."""
        return len(drafted) >= self.lookahead


@dataclass(frozen=True)
class StopAtLength:
    """Stops once the text has `characters` characters, or after `lookahead` tokens."""

    characters: int
    lookahead: int

    def __post_init__(self) -> None:
        """Raises DecoderError for a lookahead below 1."""
        check_lookahead(self.lookahead)

    def __call__(self, drafted: tuple[int, ...], text: Callable[[], str]) -> bool:
        """Whether the draft ends here."""
        return len(drafted) >= self.lookahead or len(text()) >= self.characters


@dataclass(frozen=True)
class Walk:
    """A walked tree of drafts: the laws by drafted prefix, the outcomes of stopped drafts, and the law of outcomes."""

    laws: dict[tuple[int, ...], Law]
    outcomes: dict[tuple[int, ...], int]
    psi: dict[int, Mass]


@dataclass(frozen=True)
class FirstToken:
    """The drafting procedure of SLRS and the law of its outcome, with one text for both."""

    drafter: LanguageModel
    draft_tokenizer: Tokenizer
    tokenizer: Tokenizer
    rule: StoppingRule

    def context(self, committed: tuple[int, ...]) -> tuple[int, ...]:
        """The drafter's ids of the committed text."""
        return self.draft_tokenizer.start + self.draft_tokenizer.encode(self.tokenizer.decode(committed))

    def stopped(self, context: tuple[int, ...], drafted: tuple[int, ...]) -> bool:
        """Whether the draft ends: at the drafter's EOS, or by the rule."""
        return drafted[-1] in self.drafter.eos or self.rule(
            drafted, lambda: continuation(self.draft_tokenizer, context, drafted)
        )

    def outcome(self, committed: tuple[int, ...], context: tuple[int, ...], drafted: tuple[int, ...]) -> int:
        """The first target token of a draft; an EOS drafted first counts as the target's EOS; NONE otherwise."""
        ended = bool(drafted) and drafted[-1] in self.drafter.eos
        text = continuation(self.draft_tokenizer, context, drafted[:-1] if ended else drafted)
        first = candidates(self.tokenizer, committed, text)[:1]
        if first:
            return first[0]
        return min(self.tokenizer.eos) if ended and self.tokenizer.eos else NONE

    def walk(self, committed: tuple[int, ...]) -> Program[Walk]:
        """Walks the tree of drafts after the committed ids, one forward pass per level.

        Raises PsiTooLarge where the tree has more than CONTEXTS_LIMIT contexts or DRAFTS_LIMIT drafts.
        """
        context = self.context(committed)
        walk = Walk({}, {}, {})
        drafts = 0
        level: dict[tuple[int, ...], Mass] = {(): 1}
        while level:
            if len(walk.laws) + len(level) > CONTEXTS_LIMIT:
                raise PsiTooLarge(
                    f"psi needs more than {CONTEXTS_LIMIT} draft contexts; lower the lookahead or truncate the drafter "
                    "(top-k)"
                )
            answers = yield Together(tuple(Laws(self.drafter, context + drafted) for drafted in level))
            drafts += sum(len(law.support()) for [law] in answers)
            if drafts > DRAFTS_LIMIT:
                raise PsiTooLarge(
                    f"psi needs more than {DRAFTS_LIMIT} drafts; lower the lookahead or truncate the drafter (top-k)"
                )
            following: dict[tuple[int, ...], Mass] = {}
            for (drafted, mass), [law] in zip(level.items(), answers, strict=True):
                walk.laws[drafted] = law
                # A drafter with nothing to propose ends the draft where it stands.
                children = {(*drafted, token): mass * share for token, share in law.items()} or {drafted: mass}
                for child, child_mass in children.items():
                    if child != drafted and not self.stopped(context, child):
                        following[child] = child_mass
                        continue
                    outcome = self.outcome(committed, context, child)
                    walk.outcomes[child] = outcome
                    walk.psi[outcome] = walk.psi.get(outcome, 0) + child_mass
            level = following
        return walk

    def draw(self, walk: Walk) -> Program[int]:
        """Drafts down a walked tree and returns the outcome, a draw from the walk's psi.

        The laws are the walk's own, so that the law in the ratio is the law that was sampled, to the last bit.
        """
        drafted: tuple[int, ...] = ()
        while drafted not in walk.outcomes:
            drafted += ((yield Choose(walk.laws[drafted])),)
        return walk.outcomes[drafted]

    def draft(self, committed: tuple[int, ...]) -> Program[int]:
        """Drafts until stopped and returns the outcome, a draw from `law`."""
        return (yield from self.draw((yield from self.walk(committed))))

    def law(self, committed: tuple[int, ...]) -> Program[dict[int, Mass]]:
        """The masses psi of every reachable outcome, NONE included: they sum to 1."""
        return (yield from self.walk(committed)).psi
