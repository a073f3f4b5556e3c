"""`draftproof calibrate`: null audits, to see that the stated levels hold."""

from pathlib import Path
from typing import Annotated

import typer

from draftproof.verify.calibration import calibrate
from draftproof.verify.commands.options import at_least, check_writable, report_written_to, told_in_one_line
from draftproof.verify.commands.progress import counting
from draftproof.verify.report.calibration import write_report


def calibrate_command(
    audits: Annotated[int, typer.Option(help="Null audits; 10,000 take about four minutes on one core.")] = 10_000,
    outputs: Annotated[int, typer.Option(help="Outputs per audit, of up to 6 tokens each.")] = 80,
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder for calibration.md and .json.")] = Path("reports"),
) -> None:
    """Audits right decoders many times, and counts how often each test refutes them.

    Exit codes: 0 every level holds; 1 one does not; 2 usage or tool error.

    Example: draftproof calibrate --audits 1000
    """
    with told_in_one_line():
        at_least(1, audits, "--audits")
        at_least(1, outputs, "--outputs")
        at_least(0, seed, "--seed")
        check_writable(output)
        with counting("null audits", audits) as progress:
            evidence = calibrate(audits, outputs, seed, progress)
        with report_written_to(output):
            write_report(evidence, output)
    for count in evidence.counts:
        word = "holds" if count.holds else "DOES NOT HOLD"
        typer.echo(f"{count.test}: level {count.level:g} {word}: {count.refuted} of {count.audits} refuted")
    typer.echo(f"report: {output / 'calibration.md'}", err=True)
    raise typer.Exit(int(not evidence.holds))
