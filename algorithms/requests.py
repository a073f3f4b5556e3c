"""The requests that a decoder program yields, and the shape of a program.

A decoder is a generator over integer token ids. It never samples and never calls a model itself: it yields requests and
is sent the answers, and whoever drives the program decides what they mean (drivers.py samples, verify/exact.py
enumerates). What is audited is therefore the text that runs.

Departs from design.md: `Together` bundles several `Laws`, so that the contexts of a psi tree are one forward pass.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.laws import Law, Mass


@dataclass(frozen=True, slots=True)
class Laws:
    """Asks for the model's next-token laws after `context` and after each of `drafted`.

    Answer: a list of `len(drafted) + 1` laws, from one forward pass.
    """

    model: LanguageModel
    context: tuple[int, ...]
    drafted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """Asks for several `Laws` at once. Answer: a list with the answer to each, in order."""

    requests: tuple[Laws, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """Asks for one draw from a law. Answer: a token id of positive mass."""

    law: Law


@dataclass(frozen=True, slots=True)
class Accept:
    """Asks for independent coins of the given probabilities, tossed until the first failure.

    A coin u in [0, 1) succeeds iff u < probability, strictly: with `<=` a coin of exactly 0 would accept a token of
    target probability 0 (claim SS-3). Answer: how many succeeded, 0..len(probabilities).
    """

    probabilities: Sequence[Mass]


@dataclass(frozen=True, slots=True)
class ChooseResidual:
    """Asks for one draw from the normalised positive part of `law - draft_mass`.

    `draft_mass(token)` is a program (it may itself ask for laws) that returns the draft's mass of one token, so that a
    reading asks only for the tokens it tries. Where the positive part is empty, which has probability 0 in real
    arithmetic (claim SS-4), the draw is from `law`. Answer: a token id.
    """

    law: Law
    draft_mass: "Callable[[int], Program[Mass]]"


Request = Laws | Together | Choose | Accept | ChooseResidual

Result = TypeVar("Result")
Program = Generator[Request, Any, Result]
"""A program yields requests, is sent their answers, and returns a result."""


def mass_in(law: Law) -> "Callable[[int], Program[Mass]]":
    """The draft-mass program of a law at hand: it asks for nothing and returns `law[token]`."""

    def draft_mass(token: int) -> "Program[Mass]":
        return law[token]
        yield  # never reached: makes this a program

    return draft_mass
