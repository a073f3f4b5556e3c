"""`draftproof meter`: what rules that are lossy by design give away, on real laws and on toys."""

from pathlib import Path
from typing import Annotated

import typer

from draftproof.verify.commands.numerics import checked, settings_of
from draftproof.verify.commands.options import report_written_to, told_in_one_line
from draftproof.verify.commands.progress import counting
from draftproof.verify.meter.evidence import Reading
from draftproof.verify.meter.measure import measure_rules
from draftproof.verify.numerics.evidence import Plan
from draftproof.verify.report.meter import write_report


def meter_command(
    pair: Annotated[str, typer.Option(help="zoo: tiny models. real: Gemma 3 270M and SmolLM2.")] = "zoo",
    prompts: Annotated[int, typer.Option(help="Prompts per pair, one sampled output each.")] = 8,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens per output; every position is measured.")] = 32,
    lookahead: Annotated[int, typer.Option(help="Drafted tokens per step of the outputs.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder for meter.md and .json.")] = Path("reports"),
) -> None:
    """Reads how far rules that are lossy by design are from the target's law, in one step and on toys: no verdict.

    Exit codes: 0 every reading is one that its rule allows; 1 one is not; 2 usage or tool error.

    Example: draftproof meter --prompts 2 --max-new-tokens 8
    """
    with told_in_one_line():
        plan = checked(Plan(pair, prompts, max_new_tokens, lookahead, seed), output)
        settings = settings_of(plan)
        with counting("positions, at most", len(settings) * plan.max_new_tokens) as progress:
            evidence = measure_rules(settings, seed=plan.seed, progress=progress)
        with report_written_to(output):
            write_report(evidence, plan, output)
    for one in evidence.readings:
        typer.echo(_line(one))
    for broken in evidence.broken:
        typer.echo(f"BROKEN: {broken}")
    typer.echo(f"report: {output / 'meter.md'}", err=True)
    raise typer.Exit(int(bool(evidence.broken)))


def _line(one: Reading) -> str:
    return (
        f"{one.label}: total variation {one.drafted.mean:.3f}, largest {one.drafted.largest:.3f}; bonus "
        f"{one.bonus.mean:.3f}, largest {one.bonus.largest:.3f}; on {one.pair}"
    )
