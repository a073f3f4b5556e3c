"""`draftproof kill-matrix`: every control against every method."""

from pathlib import Path
from typing import Annotated

import torch
import typer
from transformers.utils.logging import disable_progress_bar

from draftproof.verify.audit import PROMPTS
from draftproof.verify.commands.options import (
    UsageError,
    at_least,
    check_writable,
    probability,
    report_written_to,
    told_in_one_line,
)
from draftproof.verify.commands.progress import counting
from draftproof.verify.kill_matrix import Budget, Row, matrix, zoo_budget
from draftproof.verify.kill_subjects import toy_subjects, zoo_subjects
from draftproof.verify.pairs import Library
from draftproof.verify.report.kill_matrix import write_report
from draftproof.verify.statistics.ledger import BUDGET

MOST_TOY_OUTPUTS = 20_000


def kill_matrix_command(
    pair: Annotated[str, typer.Option(help="zoo: tiny models. none: a toy chain of five tokens.")] = "zoo",
    tokens: Annotated[int, typer.Option(help="Tokens that the audit may take for one control.")] = 10_000,
    alpha: Annotated[float, typer.Option(help="False-alarm level of each method.")] = BUDGET,
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder for kill_matrix.md, .json and .svg.")] = Path("reports"),
) -> None:
    """Measures after how many tokens each method refutes each control, and what engines' own criteria make of it.

    Exit codes: 0 every fault refuted by the audit and no look-alike; 1 otherwise; 2 usage or tool error.

    Example: draftproof kill-matrix --pair none --tokens 2000
    """
    with told_in_one_line():
        if pair not in ("zoo", "none"):
            raise UsageError(f"there is no pair {pair!r} for this command; known: zoo, none")
        at_least(1, tokens, "--tokens")
        at_least(0, seed, "--seed")
        probability(alpha, "--alpha")
        check_writable(output)
        torch.set_num_threads(1)  # the tiny models are slower on two threads than on one
        disable_progress_bar()
        toys = pair == "none"
        subjects = list(toy_subjects() if toys else zoo_subjects(Library(), PROMPTS[:8]))
        outputs = MOST_TOY_OUTPUTS
        budget = Budget(tokens, tokens, outputs, outputs) if toys else zoo_budget(tokens)
        domain = "a toy chain of five tokens" if toys else "tiny models"
        with counting("controls", len(subjects)) as progress:
            evidence = matrix(domain, subjects, alpha, seed, budget, progress, _tell)
        with report_written_to(output):
            write_report(evidence, output, budget.factor)
    typer.echo(f"report: {output / 'kill_matrix.md'}", err=True)
    raise typer.Exit(int(any((row.audit is None) == row.wrong for row in evidence.rows)))


def _tell(row: Row) -> None:
    best = row.best_peer
    audit = "not refuted" if row.audit is None else f"refuted after {row.audit} tokens"
    peer = f"{best.method} after {best.tokens}" if best else f"none in {row.peers_searched}"
    typer.echo(f"{row.control} ({row.number}): {audit}; peers: {peer}")
