"""Decoders that are wrong on purpose, and look-alikes that are right.

Each is a right decoder's text with one rule changed, so an audit that cannot tell them apart is itself refuted. Every
audit runs them beside its subjects.
"""

from draftproof.verify.controls.catalogue import CONTROLS
from draftproof.verify.controls.control import Control

__all__ = ["CONTROLS", "Control"]
