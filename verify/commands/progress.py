"""Follows an audit on the terminal: a bar on standard error where that is one, findings on standard output."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from draftproof.verify.audit import Evidence
from draftproof.verify.evidence import ControlEvidence, ExactEvidence, SampleEvidence
from draftproof.verify.verdict import Kind, Verdict, judge_control, judge_exact, judge_sampled


class TerminalListener:
    """Prints each verdict as it comes, and where the audit is. `quiet` prints no findings."""

    def __init__(self, quiet: bool = False) -> None:
        """A context manager: the bar stands between enter and exit."""
        self._quiet = quiet
        self._began = time.perf_counter()
        self._interactive = sys.stderr.isatty()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not self._interactive, redirect_stdout=True
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> "TerminalListener":
        """Shows the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the bar away."""
        self._bar.stop()

    def started(self, task: str, total: int | None) -> None:
        """A task begins."""
        self._bar.reset(self._task, description=task, total=total)
        if not self._interactive:
            typer.echo(f"[{time.perf_counter() - self._began:6.1f} s] {task}", err=True)

    def advanced(self, done: int) -> None:
        """So many units of the task are done."""
        self._bar.update(self._task, completed=done)

    def seen(self, evidence: Evidence) -> None:
        """Prints what the evidence amounts to."""
        if not self._quiet:
            for line in findings(evidence):
                typer.echo(line)
        if isinstance(evidence, SampleEvidence) and evidence.autoregressive_seconds:
            typer.echo(f"  {timing(evidence)}", err=True)

    def failed(self, subject: str, message: str) -> None:
        """Prints that a check broke."""
        if not self._quiet:
            typer.echo(Verdict(subject, "-", Kind.ERROR, message).line)


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Shows on standard error how much is done: a bar on a terminal, elsewhere a line at every tenth."""
    if sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    told = 0

    def tell(done: int) -> None:
        nonlocal told
        tenth = 10 * done // total if total else done
        if tenth > told:
            told = tenth
            typer.echo(f"{what}: {done}" + (f" of {total}" if total else ""), err=True)

    yield tell


def findings(evidence: Evidence) -> list[str]:
    """The lines that a piece of evidence is worth."""
    match evidence:
        case ExactEvidence():
            return [judge_exact(evidence).line]
        case SampleEvidence():
            return [verdict.line for verdict in judge_sampled(evidence)]
        case ControlEvidence():
            verdict, right = judge_control(evidence)
            return [_control_line(verdict, evidence.wrong, right)]


def _control_line(verdict: Verdict, wrong: bool, right: bool) -> str:
    owed = "refuted, as it must be" if wrong else "not refuted, as it must not be"
    return f"control {verdict.line}" + (f" [{owed}]" if right else " [MISJUDGED: this audit cannot be trusted]")


def timing(evidence: SampleEvidence) -> str:
    """Wall time of a sampled run against plain decoding of as many tokens, on this machine, now."""
    speed = evidence.tokens / evidence.seconds
    ratio = evidence.autoregressive_seconds / evidence.seconds
    return (
        f"{evidence.subject}: {evidence.seconds:.1f} s for {evidence.tokens} tokens ({speed:.0f} tokens/s), "
        f"{ratio:.2f}x the speed of autoregressive decoding"
    )
