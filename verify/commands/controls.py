"""`draftproof controls`: the decoders that are wrong on purpose, and the look-alikes that are right."""

import typer

from draftproof.verify.controls import CONTROLS


def list_controls() -> None:
    """Lists the controls: name, whether it must be refuted, the rule it changes, and where that was seen.

    Exit code: 0.

    Example: draftproof controls
    """
    for control in CONTROLS.values():
        owed = "must be refuted" if control.wrong else "must not be refuted"
        typer.echo(f"{control.name} ({control.like}, {owed}): {control.rule} [{control.source}]")
