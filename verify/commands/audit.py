"""`draftproof audit`: the main job on the command line.

Findings go to standard output, one line each; progress and timing go to standard error.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from transformers.utils.logging import disable_progress_bar

from draftproof.algorithms.processors import Processor, Temperature, TopK, TopP
from draftproof.verify.audit import PROMPTS, Plan, audit, builder
from draftproof.verify.commands.options import (
    ROUNDING,
    UsageError,
    at_least,
    check_writable,
    chosen_pairs,
    known_dtype,
    probability,
    report_written_to,
    told_in_one_line,
    usable_device,
)
from draftproof.verify.commands.progress import TerminalListener
from draftproof.verify.controls import CONTROLS
from draftproof.verify.pairs import Library, Pair, suited
from draftproof.verify.report.losslessness import write_report
from draftproof.verify.sampling import Sampling
from draftproof.verify.settings import BUILDERS
from draftproof.verify.verdict import exit_code


def audit_command(
    decoder: Annotated[
        list[str] | None,
        typer.Option(help=f"What to audit, repeatable: {', '.join(BUILDERS)}; or a control: {', '.join(CONTROLS)}."),
    ] = None,
    pair: Annotated[
        str, typer.Option(help="zoo: tiny models, no download. real: Gemma 3 270M and SmolLM2. none: toys only.")
    ] = "zoo",
    target: Annotated[str | None, typer.Option(help="A target of your own: zoo:NAME, folder or hub id.")] = None,
    drafter: Annotated[str | None, typer.Option(help="Its drafter; SPEC@N ends a model after N layers.")] = None,
    lookahead: Annotated[int, typer.Option(help="Drafted tokens per step when sampling.")] = 3,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens per sampled output.")] = 32,
    repeats: Annotated[
        int, typer.Option(help="Sampled outputs per prompt; 0 samples none, -1 takes 24 (zoo), 4 (your own), 1 (real).")
    ] = -1,
    prompts: Annotated[int, typer.Option(help="Prompts that are sampled from.")] = 8,
    prompt: Annotated[list[str] | None, typer.Option(help="A prompt of your own, repeatable.")] = None,
    exact_tokens: Annotated[int, typer.Option(help="Tokens of the enumerated joint law of float models.")] = 3,
    exact_top_k: Annotated[int, typer.Option(help="Tokens kept per law when float models are enumerated.")] = 4,
    temperature: Annotated[float, typer.Option(help="Temperature of target and drafter.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Top-k of target and drafter.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Top-p of target and drafter.")] = None,
    controls: Annotated[bool, typer.Option(help="Audit the audit: run the controls beside the decoders.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    alpha: Annotated[float, typer.Option(help="False-alarm budget of the whole audit.")] = 1e-6,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16.")] = "float32",
    output: Annotated[Path, typer.Option(help="Folder for losslessness.md and .json.")] = Path("reports"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the report's JSON instead of lines.")] = False,
    strict: Annotated[bool, typer.Option(help="Exit with 1 where something is inconclusive, too.")] = False,
) -> None:
    """Audits whether decoders emit exactly the target model's law.

    By default all four decoders of draftproof and the union baseline: enumerated on toys, enumerated and sampled on
    pairs of models. Writes losslessness.md and losslessness.json.

    Exit codes: 0 nothing refuted; 1 something refuted or vacuous, or a control misjudged; 2 usage or tool error.

    Example: draftproof audit --decoder slem --decoder argmax-draft --pair none
    """
    with told_in_one_line():
        subjects = _subjects(decoder)
        processors = _processors(temperature, top_k, top_p)
        check_writable(output)
        disable_progress_bar()  # of transformers' weights: it would stand between the findings
        library = Library(usable_device(device), known_dtype(dtype), processors)
        if target is None and pair != "real":
            torch.set_num_threads(1)  # the tiny models are slower on two threads than on one
        pairs = chosen_pairs(pair, target, drafter, library)
        _check_suited(decoder, subjects, pairs)
        count = _repeats(repeats, pair if target is None else "own")
        plan = Plan(
            subjects=subjects,
            pairs=pairs,
            controls=controls and decoder is None,
            alpha=probability(alpha, "--alpha"),
            lookahead=at_least(1, lookahead, "--lookahead"),
            max_new_tokens=at_least(1, max_new_tokens, "--max-new-tokens"),
            sampling=Sampling(
                repeats=count,
                batch=32 if pair == "zoo" and target is None else 8,
                seed=at_least(0, seed, "--seed"),
                rejected=pair == "zoo" and target is None,
                rounding=ROUNDING[dtype],
            ),
            sampled_prompts=at_least(1, prompts, "--prompts"),
            exact_tokens=at_least(2, exact_tokens, "--exact-tokens"),
            exact_top_k=at_least(1, exact_top_k, "--exact-top-k"),
            prompt_texts=tuple(prompt) if prompt else PROMPTS,
        )
        with TerminalListener(quiet=as_json) as listener:
            evidence = audit(plan, library, listener)
        with report_written_to(output):
            report = write_report(evidence, plan, output)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    typer.echo(f"report: {output / 'losslessness.md'}", err=True)
    raise typer.Exit(exit_code(evidence, strict))


def _subjects(decoder: Sequence[str] | None) -> tuple[str, ...]:
    known = [*BUILDERS, *CONTROLS]
    for name in decoder or ():
        if name not in known:
            raise UsageError(f"there is no decoder {name!r}; known: {', '.join(known)}")
    return tuple(dict.fromkeys(decoder)) if decoder else tuple(BUILDERS)


def _processors(temperature: float, top_k: int | None, top_p: float | None) -> tuple[Processor, ...]:
    try:
        chosen: list[Processor] = [] if temperature == 1 else [Temperature(temperature)]
        chosen += [] if top_k is None else [TopK(top_k)]
        chosen += [] if top_p is None else [TopP(top_p)]
    except ValueError as error:
        raise UsageError(str(error)) from None
    return tuple(chosen)


def _check_suited(asked: Sequence[str] | None, subjects: Sequence[str], pairs: tuple[Pair, ...]) -> None:
    """A decoder that was asked for by name and has no pair to run on is an error; otherwise it is left out, aloud."""
    for subject in subjects if pairs else ():
        if suited(pairs, builder(subject)[1]):
            continue
        if asked:
            raise UsageError(
                f"{subject} needs target and drafter to share a vocabulary, and {pairs[0].name} do not; "
                "use tli, union, slem or slrs"
            )
        typer.echo(f"{subject} runs on toys only: {pairs[0].name} do not share a vocabulary", err=True)


def _repeats(repeats: int, kind: str) -> int:
    if repeats < -1:
        raise UsageError(f"--repeats must be at least 0, not {repeats}")
    return repeats if repeats >= 0 else {"zoo": 24, "real": 1}.get(kind, 4)
