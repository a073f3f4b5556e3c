"""SLRS, string-level rejection sampling (after Algorithm 3 of Timor et al. 2502.05202).

The drafter writes a text; its first target token t is accepted with probability min(1, P(t) / psi(t)), psi being the
law of t under the drafting procedure. Otherwise a recovered token comes from the residual (P - psi)+. One token per
step.

Notation: P the target's law, psi(t) the law of the first target token (string_law.py).
Claims: SLRS-1, SLRS-3, SLRS-4, SLRS-6.
Departs from the paper: the text is encoded behind a window of committed ids, so that word-initial markers come out
right (psi is the law of the same procedure, so nothing else changes); a draft without a target token is a rejection.
"""

from dataclasses import dataclass
from functools import partial

from draftproof.algorithms.decoding import State, Step, Trial
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, ChooseResidual, Laws, Program
from draftproof.algorithms.string_law import NONE, FirstToken


@dataclass(frozen=True)
class Slrs:
    """Emits one token of the target's law per step."""

    target: LanguageModel
    drafting: FirstToken
    name: str = "slrs"

    def step(self, state: State) -> Program[Step]:
        """Drafts a first token and keeps it, or draws from the residual."""
        [law] = yield Laws(self.target, state.tokens)
        if not state.lookahead(1):  # the last token: nothing is gained by drafting it
            return Step(((yield Choose(law)),))
        walk = yield from self.drafting.walk(state.tokens)
        token = yield from self.drafting.draw(walk)

        def draft_mass(tried: int) -> Program[Mass]:
            return walk.psi.get(tried, 0)
            yield  # never reached: makes this a program

        accepted = 0
        if token != NONE:
            accepted = yield Accept((law.acceptance(token, walk.psi[token]),))
        if not accepted:
            token = yield ChooseResidual(law, draft_mass)
        return Step((token,), 1, (Trial(bool(accepted), partial(_overlap, law, walk.psi)),))


def _overlap(law: Law, psi: dict[int, Mass]) -> Mass:
    return sum(min(law[token], mass) for token, mass in psi.items() if token != NONE)
