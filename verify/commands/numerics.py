"""`draftproof numerics`: what floats cost in one step, on real laws."""

from collections.abc import Sequence
from dataclasses import replace
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
    chosen_pairs,
    report_written_to,
    told_in_one_line,
)
from draftproof.verify.commands.progress import counting
from draftproof.verify.numerics.controls import controls
from draftproof.verify.numerics.evidence import NumericsEvidence, Plan
from draftproof.verify.numerics.measure import measure_numerics
from draftproof.verify.numerics.mixed import replay_mixed
from draftproof.verify.numerics.verdicts import exit_code, verdicts
from draftproof.verify.numerics.worked import worked
from draftproof.verify.pairs import PAIRS, Library, with_prompt
from draftproof.verify.report.numerics import write_report
from draftproof.verify.settings import Setting


def numerics_command(
    pair: Annotated[str, typer.Option(help="zoo: tiny models. real: Gemma 3 270M and SmolLM2.")] = "zoo",
    prompts: Annotated[int, typer.Option(help="Prompts per pair, one sampled output each.")] = 8,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens per output; every position is measured.")] = 32,
    lookahead: Annotated[int, typer.Option(help="Drafted tokens per step of the outputs.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder for numerics.md and .json.")] = Path("reports"),
) -> None:
    """Measures what float32, float16 and bfloat16 cost: the exact law of one step, against bounds (SS-4, 5, 8, 9).

    Exit codes: 0 every bound holds; 1 one is broken, or a control misjudged; 2 usage or tool error.

    Example: draftproof numerics --prompts 2 --max-new-tokens 8
    """
    with told_in_one_line():
        plan = checked(Plan(pair, prompts, max_new_tokens, lookahead, seed), output)
        evidence = _measured(settings_of(plan), plan)
        with report_written_to(output):
            write_report(evidence, plan, output)
    for verdict in verdicts(evidence):
        typer.echo(verdict.line)
    for control in controls(evidence):
        typer.echo(control.line)
    typer.echo(f"report: {output / 'numerics.md'}", err=True)
    raise typer.Exit(exit_code(evidence))


def checked(plan: Plan, output: Path) -> Plan:
    """The plan, with no more prompts than there are. Raises UsageError where an option is out of range."""
    if plan.pair not in PAIRS:
        raise UsageError(f"there is no pair {plan.pair!r} for this command; known: {', '.join(PAIRS)}")
    at_least(1, plan.prompts, "--prompts")
    at_least(1, plan.max_new_tokens, "--max-new-tokens")
    at_least(1, plan.lookahead, "--lookahead")
    at_least(0, plan.seed, "--seed")
    check_writable(output)
    return replace(plan, prompts=min(plan.prompts, len(PROMPTS)))


def settings_of(plan: Plan) -> list[Setting]:
    """The plan's pairs, each after each of its prompts. Raises ModelError where a model is not here."""
    disable_progress_bar()  # of transformers' weights
    if plan.pair == "zoo":
        torch.set_num_threads(1)  # the tiny models are slower on two threads than on one
    library = Library()
    pairs = chosen_pairs(plan.pair, None, None, library)
    settings = [library.setting(one, plan.lookahead, plan.max_new_tokens) for one in pairs]
    return [with_prompt(setting, text) for setting in settings for text in PROMPTS[: plan.prompts]]


def _measured(settings: Sequence[Setting], plan: Plan) -> NumericsEvidence:
    with counting("positions, at most", len(settings) * plan.max_new_tokens) as progress:
        evidence = measure_numerics(settings, seed=plan.seed, progress=progress)
    with counting("recordings replayed", len(settings)) as progress:
        replays = replay_mixed(settings, plan.seed, progress=progress)
    return replace(evidence, replays=replays, worked=worked())
