"""`draftproof audit`: the main job on the command line.

Findings go to standard output, one line each; progress and timing go to standard error.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from transformers.utils.logging import disable_progress_bar

from draftproof.algorithms.processors import Processor, Temperature, TopK, TopP
from draftproof.verify.audit import BAD_INPUT, PROMPTS, SAMPLED_CONTROLS, Plan, audit, builder
from draftproof.verify.commands.exits import USAGE_OR_TOOL_ERROR
from draftproof.verify.commands.progress import TerminalListener
from draftproof.verify.controls import CONTROLS
from draftproof.verify.evidence import AuditEvidence
from draftproof.verify.pairs import PAIRS, Library, Pair, suited
from draftproof.verify.report.losslessness import write_report
from draftproof.verify.sampling import Sampling
from draftproof.verify.settings import BUILDERS
from draftproof.verify.verdict import exit_code

ROUNDING = {"float64": 1e-6, "float32": 1e-3, "float16": 0.05, "bfloat16": 0.2}
"""Relative errors of probabilities that a model's dtype explains: well above what passes of different shapes show."""


class UsageError(ValueError):
    """The options do not make an audit; the message says what to change."""


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
    try:
        subjects = _subjects(decoder)
        processors = _processors(temperature, top_k, top_p)
        _check_writable(output)
        disable_progress_bar()  # of transformers' weights: it would stand between the findings
        library = Library(_device(device), _dtype(dtype), processors)
        if target is None and pair != "real":
            torch.set_num_threads(1)  # the tiny models are slower on two threads than on one
        pairs = _pairs(pair, target, drafter, library)
        _check_suited(decoder, subjects, pairs)
        count = _repeats(repeats, pair if target is None else "own")
        sampled = sum(len(suited(pairs, builder(subject)[1])) for subject in subjects) + len(SAMPLED_CONTROLS)
        plan = Plan(
            subjects=subjects,
            pairs=pairs,
            controls=controls and decoder is None,
            lookahead=_at_least(1, lookahead, "--lookahead"),
            max_new_tokens=_at_least(1, max_new_tokens, "--max-new-tokens"),
            sampling=Sampling(
                repeats=count,
                batch=32 if pair == "zoo" and target is None else 8,
                seed=_at_least(0, seed, "--seed"),
                alpha=_probability(alpha, "--alpha") / sampled,
                by_ratio=pair == "zoo" and target is None,
                rounding=ROUNDING[dtype],
            ),
            sampled_prompts=_at_least(1, prompts, "--prompts"),
            exact_tokens=_at_least(2, exact_tokens, "--exact-tokens"),
            exact_top_k=_at_least(1, exact_top_k, "--exact-top-k"),
            prompt_texts=tuple(prompt) if prompt else PROMPTS,
        )
        with TerminalListener(quiet=as_json) as listener:
            evidence = audit(plan, library, listener)
        report = _written(evidence, plan, output)
    except (*BAD_INPUT, UsageError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(USAGE_OR_TOOL_ERROR) from None
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


def _pairs(pair: str, target: str | None, drafter: str | None, library: Library) -> tuple[Pair, ...]:
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


def _written(evidence: AuditEvidence, plan: Plan, output: Path) -> dict[str, Any]:
    try:
        return write_report(evidence, plan, output)
    except OSError as error:
        raise UsageError(f"the report cannot be written to {output}: {error}") from None


def _check_writable(output: Path) -> None:
    """Raises UsageError where the report could not be written: better now than after the audit."""
    place = output.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(f"the report cannot be written to {output}: {place} is no folder that can be written to")


def _device(device: str) -> str:
    try:
        float(torch.zeros(1, device=device))  # meta devices can be named but hold nothing
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"the device {device!r} is not usable here: {str(error).splitlines()[0]}") from None
    return device


def _dtype(dtype: str) -> str:
    if dtype not in ROUNDING:
        raise UsageError(f"there is no dtype {dtype!r}; known: {', '.join(ROUNDING)}")
    return dtype


def _repeats(repeats: int, kind: str) -> int:
    if repeats < -1:
        raise UsageError(f"--repeats must be at least 0, not {repeats}")
    return repeats if repeats >= 0 else {"zoo": 24, "real": 1}.get(kind, 4)


def _at_least(least: int, value: int, option: str) -> int:
    if value < least:
        raise UsageError(f"{option} must be at least {least}, not {value}")
    return value


def _probability(value: float, option: str) -> float:
    if not 0 < value < 1:
        raise UsageError(f"{option} must lie strictly between 0 and 1, not {value}")
    return value
