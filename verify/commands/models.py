"""`draftproof models`: what models there are, and how the real ones come here.

What was found goes to standard output; what is going on goes to standard error, as a bar on a terminal and as plain
lines elsewhere.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from draftproof.algorithms.models import zoo
from draftproof.algorithms.models.fetch import Progress, fetch
from draftproof.verify.commands.exits import USAGE_OR_TOOL_ERROR

app = typer.Typer(no_args_is_help=True, help="The models draftproof can audit with: tiny ones it ships, real ones.")


@dataclass(frozen=True)
class Entry:
    """One line of the list: what to write for a model, what it is, where it lies, and whether it lies there."""

    spec: str
    what: str
    where: str
    present: bool


def entries() -> list[Entry]:
    """All models that have a name here: the zoo first, then the real ones."""
    found = [_zoo_entry(name) for name in zoo.zoo_names()]
    for name, model in zoo.real_models().items():
        folder = model.folder(zoo.cache_folder())
        found.append(Entry(name, f"{model.title}, {model.licence}", str(folder), folder.is_dir()))
    return found


def _zoo_entry(name: str) -> Entry:
    spec = f"zoo:{name}"
    try:
        folder = Path(zoo.resolve(spec))
    except zoo.ModelError as error:
        return Entry(spec, "tiny model", str(error), False)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = f"{config['vocab_size']} tokens, {config['num_hidden_layers']} layers"
    return Entry(spec, f"tiny {config['model_type']} model, {shape}", str(folder), True)


@app.command("list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of columns.")] = False,
) -> None:
    """Lists the models that have a name, and says which are here.

    A local folder or a hub id (owner/name) may be given wherever a model is asked for, too.
    """
    found = entries()
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in found], indent=2))
        return
    missing = {True: "damaged", False: "not fetched"}
    rows = [
        (entry.spec, "here" if entry.present else missing[entry.spec.startswith("zoo:")], entry.what, entry.where)
        for entry in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        typer.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
    if not all(entry.present for entry in found if entry.spec in zoo.real_models()):
        typer.echo("`draftproof models fetch` brings what is not here.", err=True)


@app.command("fetch")
def fetch_models(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="All real models by default.")] = None,
) -> None:
    """Brings real models into the cache, once: about 100 MB and 250 MB of download, 1.6 GB converted.

    The cache is $DRAFTPROOF_CACHE, else $XDG_CACHE_HOME/draftproof, else ~/.cache/draftproof. An interrupted fetch
    goes on where it stopped. Prints each model's name and folder.
    """
    try:
        # All names first, so that a slip in the second does not show after minutes of the first.
        for model in [zoo.real_model(name) for name in names or zoo.real_models()]:
            typer.echo(f"{model.name}: {model.title}, licence: {model.licence}", err=True)
            with _shown() as progress:
                folder = fetch(model.name, progress=progress)
            typer.echo(f"{model.name}\t{folder}")
    except zoo.ModelError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(USAGE_OR_TOOL_ERROR) from None


@contextmanager
def _shown() -> Iterator[Progress]:
    """A progress function that draws a bar on a terminal and prints a line per stage elsewhere."""
    if not sys.stderr.isatty():
        yield lambda stage, share: typer.echo(f"{share:4.0%} {stage}", err=True)
        return
    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)
