"""reports/kill_matrix.md, .json and .svg: which method refutes which control, after how many tokens."""

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from draftproof.verify.kill_matrix import AUDIT, PEER_ALPHA, Kill, KillEvidence, Row
from draftproof.verify.report.files import write_both, write_whole
from draftproof.verify.report.templates import environment
from draftproof.verify.statistics.peers import PEERS

SCHEMA = "draftproof-kill-matrix-1"
NAME = "kill_matrix"
CHEAPER = 10
WITHIN = 5_000


PUBLISHED = {peer.name: peer.tokens_needed for peer in PEERS}


def cheaper(row: Row) -> bool:
    """Whether the audit took at most a tenth of the tokens of the best peer, or of all that the peers were given."""
    best = row.best_peer
    tokens = best.tokens if best and best.tokens else row.peers_searched
    return row.audit is not None and CHEAPER * row.audit <= tokens


def cheaper_as_published(row: Row) -> bool:
    """The same against the sizes at which engines run them: the least of a peer that catches the fault at its own.

    A peer that needs more than its published size does not catch the fault there.
    """
    sizes = [
        PUBLISHED[kill.method]
        for kill in row.kills
        if not kill.ours and kill.tokens is not None and kill.tokens <= PUBLISHED[kill.method]
    ]
    return row.audit is not None and (not sizes or CHEAPER * row.audit <= min(sizes))


@dataclass(frozen=True)
class Summary:
    """What a matrix amounts to. Several forms of one mutant count once, by the worst."""

    faults: int
    refuted: int
    within: int
    lookalikes: int
    flagged: int
    mutants: int
    mutants_within: int
    cheaper: int
    published: int


def summary_of(evidence: KillEvidence) -> Summary:
    """Counts over all rows: faults refuted, within `WITHIN` tokens, and cheaper than peers; look-alikes flagged."""
    wrong = [row for row in evidence.rows if row.wrong]
    right = [row for row in evidence.rows if not row.wrong]
    mutants: dict[str, list[Row]] = {}
    for row in wrong:
        if row.number.startswith("mutant"):
            mutants.setdefault(row.number, []).append(row)
    return Summary(
        faults=len(wrong),
        refuted=sum(row.audit is not None for row in wrong),
        within=sum(map(_within, wrong)),
        lookalikes=len(right),
        flagged=sum(row.audit is not None for row in right),
        mutants=len(mutants),
        mutants_within=sum(all(map(_within, rows)) for rows in mutants.values()),
        cheaper=sum(all(map(cheaper, rows)) for rows in mutants.values()),
        published=sum(all(map(cheaper_as_published, rows)) for rows in mutants.values()),
    )


def _within(row: Row) -> bool:
    return row.audit is not None and row.audit <= WITHIN


def as_markdown(evidence: KillEvidence, factor: int | None = None, plot: str | None = None) -> str:
    """The report for a reader."""
    methods = list(dict.fromkeys(kill.method for row in evidence.rows for kill in row.kills))

    def cells(row: Row) -> list[str]:
        found = {kill.method: kill for kill in row.kills}
        return [_cell(found.get(method)) for method in methods]

    return (
        environment()
        .get_template("kill_matrix.md.j2")
        .render(
            evidence=evidence,
            methods=methods,
            cells=cells,
            peer_alpha=PEER_ALPHA,
            factor=factor,
            plot=plot,
            within_tokens=WITHIN,
            sizes=PUBLISHED,
            places=_places(evidence.rows),
            flagged_by_peers=_flags([row for row in evidence.rows if not row.wrong]),
            **asdict(summary_of(evidence)),
        )
    )


def _places(rows: Sequence[Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.where, []).append(row.control)
    return found


def _flags(rows: Sequence[Row]) -> Counter[str]:
    """How many of these rows each peer caught."""
    return Counter(kill.method for row in rows for kill in row.kills if not kill.ours and kill.tokens is not None)


def _cell(kill: Kill | None) -> str:
    if kill is None or not kill.searched:
        return "-"
    return f"{kill.tokens}" if kill.tokens is not None else f"no ({kill.searched})"


def as_svg(evidence: KillEvidence) -> str:
    """The audit against the cheapest peer: tokens until refuted, by fault; hollow where a peer never refuted."""
    rows = [row for row in evidence.rows if row.wrong][::-1]
    with mpl.rc_context({"svg.hashsalt": NAME, "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 0.28 * len(rows) + 1.2), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            if row.audit is not None:
                axes.plot(row.audit, place, "o", color="C0")
            best = row.best_peer
            tokens = best.tokens if best and best.tokens else row.peers_searched
            axes.plot(tokens, place, "s", color="C1", fillstyle="full" if best else "none")
        axes.plot([], [], "o", color="C0", label=AUDIT)
        axes.plot([], [], "s", color="C1", label="cheapest peer")
        axes.plot([], [], "s", color="C1", fillstyle="none", label="no peer, in so many")
        axes.set_yticks(range(len(rows)), [f"{row.control} ({row.number})" for row in rows], fontsize=8)
        axes.set_xscale("log")
        axes.set_xlabel("tokens until refuted")
        axes.legend(fontsize=8)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def write_report(evidence: KillEvidence, folder: Path, factor: int | None = None) -> None:
    """Writes the three files into `folder`. Raises OSError."""
    text, picture = as_markdown(evidence, factor, f"{NAME}.svg"), as_svg(evidence)
    document = {
        "schema": SCHEMA,
        "evidence": {key: value for key, value in asdict(evidence).items() if key != "seconds"},
    }
    write_whole(folder / f"{NAME}.svg", picture)
    write_both(folder, NAME, document, text)


def read_report(path: Path) -> KillEvidence:
    """The evidence of a kill_matrix.json. Raises OSError, and ValueError for another document."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no kill matrix of schema {SCHEMA}")
    evidence = document["evidence"]
    rows = (Row(**{**row, "kills": tuple(Kill(**kill) for kill in row["kills"])}) for row in evidence["rows"])
    return KillEvidence(**{**evidence, "rows": tuple(rows)})
