"""Look-alike C4: block verification (Sun et al. 2403.10444, Algorithm 2).

The tokens of a draft are verified together. With w_0 = 1 and w_i = min(1, w_(i-1) P_i(x_i) / Q_i(x_i)), the prefix of i
tokens may be the longest one kept, and then goes on with a draw from the positive part of w_i P_(i+1) - Q_(i+1),
normalised. A ratio above 1 thus makes up for a later one below 1, which token by token it cannot.

Notation: w_i is p_i in the paper, P is M_b, Q is M_s; E_i is the sum of that positive part.
Departs from the paper: where drafting ended, at the lookahead or before it, there is no draft law, and the formulas
with Q = 0 give the paper's last case.
"""

from collections.abc import Sequence
from functools import partial
from math import prod

from draftproof.algorithms.decoding import Step, Trial
from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.requests import Accept, Choose, Program
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed


class BlockVerification(SpeculativeSampling):
    """C4: keeps at least as many drafted tokens as the rule token by token does, and is exact all the same."""

    def verify(
        self,
        context: tuple[int, ...],
        drafted: tuple[int, ...],
        draft_laws: Sequence[Law],
        target_laws: Sequence[Law],
    ) -> Program[Step]:
        """Keeps the longest prefix whose coin succeeds, then draws from what it leaves."""
        weights: list[Mass] = [1]
        for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False):
            weights.append(min(1, weights[-1] * target_law[token] / draft_law[token]))
        # A drafted id that the target lacks has weight 0 and no row after it.
        rows = [*target_laws, target_laws[-1]][: len(weights)]
        left = [_excess(*row) for row in zip(weights, rows, (*draft_laws, None), strict=True)]
        chances = [_chance(weight, sum(masses.values())) for weight, masses in zip(weights, left, strict=True)][1:]
        # The coins are independent, so they may be tossed from the longest prefix down, until one succeeds.
        failed = yield Accept(tuple(1 - chance for chance in reversed(chances)))
        accepted = len(drafted) - failed
        law = rows[accepted].weighted(left[accepted])
        last = yield Choose(rows[accepted] if law.empty else law)
        trials = tuple(Trial(place < accepted, partial(_kept, chances[place:])) for place in range(len(drafted)))
        return Step((*drafted[:accepted], last), len(drafted), trials)


def _excess(weight: Mass, target_law: Law, draft_law: Law | None) -> dict[int, Mass]:
    """The positive part of weight P - Q."""
    draft_masses = dict(draft_law.items()) if draft_law else {}
    return {token: max(0, weight * mass - draft_masses.get(token, 0)) for token, mass in target_law.items()}


def _chance(weight: Mass, excess: Mass) -> Mass:
    """E / (E + 1 - w): that a prefix is kept if none longer is (paper, equation 5).

    0/0 is a prefix of weight 1 before equal laws, after which a longer one is always kept: 0.
    """
    whole = excess + 1 - weight
    return excess / whole if whole else excess


def _kept(chances: Sequence[Mass]) -> Mass:
    """That one of these coins succeeds, so that the prefix up to the first of them is kept."""
    return 1 - prod((1 - chance for chance in chances), start=chances[0] * 0 + 1)


CONTROLS = (
    changed(
        BlockVerification,
        "block-verification",
        "C4",
        "the draft is verified as a block: the longest prefix whose coin succeeds is kept",
        "Sun et al. 2403.10444; vllm 46781, sglang 36516",
        wrong=False,
    ),
)
