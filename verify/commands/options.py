"""What the commands share: options checked, and bad input told in one line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import typer

from draftproof.verify.audit import BAD_INPUT
from draftproof.verify.commands.exits import USAGE_OR_TOOL_ERROR
from draftproof.verify.pairs import PAIRS, Library, Pair

ROUNDING = {"float64": 1e-6, "float32": 1e-3, "float16": 0.05, "bfloat16": 0.2}
"""Relative errors of probabilities that a model's dtype explains: well above what passes of different shapes show."""


class UsageError(ValueError):
    """The options do not make a job; the message says what to change."""


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Bad input ends the command with its message on standard error and exit code 2."""
    try:
        yield
    except (*BAD_INPUT, UsageError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(USAGE_OR_TOOL_ERROR) from None


@contextmanager
def report_written_to(output: Path) -> Iterator[None]:
    """An OSError in here is told as a report that cannot be written. Raises UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"the report cannot be written to {output}: {error}") from None


def check_writable(output: Path) -> None:
    """Raises UsageError where the report could not be written: better now than after the work."""
    place = output.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(f"the report cannot be written to {output}: {place} is no folder that can be written to")


def usable_device(device: str) -> str:
    """The device, if tensors can be held there. Raises UsageError."""
    try:
        float(torch.zeros(1, device=device))  # meta devices can be named but hold nothing
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"the device {device!r} is not usable here: {str(error).splitlines()[0]}") from None
    return device


def known_dtype(dtype: str) -> str:
    """The dtype, if it is one of models. Raises UsageError."""
    if dtype not in ROUNDING:
        raise UsageError(f"there is no dtype {dtype!r}; known: {', '.join(ROUNDING)}")
    return dtype


def chosen_pairs(pair: str, target: str | None, drafter: str | None, library: Library) -> tuple[Pair, ...]:
    """The pairs that the options name. Raises UsageError, and ModelError where a model is not here."""
    if pair not in (*PAIRS, "none"):
        raise UsageError(f"there is no pair {pair!r}; known: {', '.join(PAIRS)}, none")
    if (target is None) != (drafter is None):
        raise UsageError("--target and --drafter go together: give both, or choose a --pair")
    if target is not None and drafter is not None:
        return (library.pair(target, drafter),)
    if pair == "none":
        return ()
    for one in PAIRS[pair]:  # a missing model must show before minutes of work
        library.check(one)
    return PAIRS[pair]


def at_least(least: int, value: int, option: str) -> int:
    """The value of an option. Raises UsageError where it is below `least`."""
    if value < least:
        raise UsageError(f"{option} must be at least {least}, not {value}")
    return value


def probability(value: float, option: str) -> float:
    """The value of an option. Raises UsageError where it does not lie strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(f"{option} must lie strictly between 0 and 1, not {value}")
    return value
