"""Autoregressive decoding: the specification that every other decoder is compared with.

One token per target pass, drawn from the target's law.
"""

from dataclasses import dataclass

from draftproof.algorithms.decoding import State, Step
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.requests import Choose, Laws, Program


@dataclass(frozen=True)
class Autoregressive:
    """Emits x ~ P(. | committed ids) until EOS or the limit."""

    target: LanguageModel
    name: str = "autoregressive"

    def step(self, state: State) -> Program[Step]:
        """Emits one token of law P(. | committed ids)."""
        [law] = yield Laws(self.target, state.tokens)
        token = yield Choose(law)
        return Step((token,))
