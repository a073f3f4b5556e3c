"""The command line: its root, which only mounts the sub-commands of verify/commands."""

import typer

from draftproof.verify.commands import models

app = typer.Typer(name="draftproof", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def root() -> None:
    """Audits whether a decoder emits exactly the target model's law."""


app.add_typer(models.app, name="models")


def main() -> None:
    """Runs the command line; the entry point of the `draftproof` command."""
    app()
