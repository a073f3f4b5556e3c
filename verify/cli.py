"""The command line: its root, which only mounts the commands of verify/commands."""

import sys
import traceback

import typer

from draftproof.verify.commands import models
from draftproof.verify.commands.audit import audit_command
from draftproof.verify.commands.calibrate import calibrate_command
from draftproof.verify.commands.controls import list_controls
from draftproof.verify.commands.exits import USAGE_OR_TOOL_ERROR
from draftproof.verify.commands.kill_matrix import kill_matrix_command
from draftproof.verify.commands.meter import meter_command
from draftproof.verify.commands.numerics import numerics_command

app = typer.Typer(name="draftproof", no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def root() -> None:
    """Audits whether a decoder emits exactly the target model's law."""


app.command("audit")(audit_command)
app.command("calibrate")(calibrate_command)
app.command("controls")(list_controls)
app.command("kill-matrix")(kill_matrix_command)
app.command("meter")(meter_command)
app.command("numerics")(numerics_command)
app.add_typer(models.app, name="models")


def main() -> None:
    """Runs the command line; the entry point of the `draftproof` command.

    An exception that no command expects is a fault of draftproof: exit code 2, since 1 says that something was refuted.
    """
    try:
        app()
    except BrokenPipeError:  # who read the findings has stopped reading
        sys.stderr.write("error: standard output was closed\n")
        sys.exit(USAGE_OR_TOOL_ERROR)
    except Exception:
        traceback.print_exc()
        typer.echo("error: draftproof broke; please report this with the command and the lines above", err=True)
        sys.exit(USAGE_OR_TOOL_ERROR)
