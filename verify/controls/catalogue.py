"""The list of controls, in the order of the catalogue of faults: mutants, variants, smoke set, look-alikes.

Each file beside this one holds the controls that change one part of a step, with the rule that each changes.
"""

import re

from draftproof.verify.controls import (
    block,
    bonus,
    draft,
    matching,
    residual,
    slem,
    smoke,
    state,
    verify,
    vocabulary,
)
from draftproof.verify.controls.control import Control

PARTS = (draft, verify, residual, bonus, state, vocabulary, slem, smoke, matching, block)
"""The modules that hold the controls."""

_GROUPS = ("mutant ", "V", "smoke", "C")


def _place(control: Control) -> tuple[int, int]:
    """Where a control stands: its group, and its number there. Raises ValueError for a number of no group."""
    match = re.fullmatch(rf"({'|'.join(_GROUPS)})(\d*)", control.number)
    if match is None:
        raise ValueError(f"{control.name}: {control.number!r} is no place in the catalogue of faults")
    return _GROUPS.index(match[1]), int(match[2] or 0)


CONTROLS = {control.name: control for control in sorted((one for part in PARTS for one in part.CONTROLS), key=_place)}
"""All controls by name."""
