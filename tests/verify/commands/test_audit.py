"""`draftproof audit` and `draftproof controls` as a user meets them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer
from typer.testing import CliRunner, Result

from draftproof.corpora.zoo import folder
from draftproof.verify.audit import SAMPLED_CONTROLS
from draftproof.verify.cli import app, main
from draftproof.verify.commands import audit as module
from draftproof.verify.controls import CONTROLS
from draftproof.verify.evidence import AuditEvidence
from draftproof.verify.pairs import suited
from draftproof.verify.settings import BUILDERS

TINY = [
    "--repeats",
    "1",
    "--prompts",
    "1",
    "--exact-top-k",
    "6",
    "--exact-tokens",
    "2",
    "--max-new-tokens",
    "6",
    "--no-controls",
]
OWN = ["--target", "zoo:byte-bpe", "--drafter", "zoo:byte-bpe-small", *TINY]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Runs an audit into `tmp_path / "reports"`, unless --output says otherwise."""

    def invoke(*arguments: str) -> Result:
        given = [] if "--output" in arguments else ["--output", str(tmp_path / "reports")]
        return CliRunner().invoke(app, ["audit", *arguments, *given])

    return invoke


def report(tmp_path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((tmp_path / "reports" / "losslessness.json").read_text(encoding="utf-8"))
    return document


def test_the_decoders_are_exact_on_toys_and_the_controls_are_judged_rightly(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    result = run("--pair", "none")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    decoders = [line for line in lines if not line.startswith("control ")]
    assert [line.split(": ")[::2][:1] + [line.split(": ")[2]] for line in decoders] == [
        [name, "EXACT"] for name in BUILDERS
    ]
    assert decoders[0].startswith("speculative-sampling: SS-2: EXACT: equal as fractions on each of ")
    controls = [line.removeprefix("control ") for line in lines if line.startswith("control ")]
    assert [line.split(":")[0] for line in controls] == list(CONTROLS)
    for line, control in zip(controls, CONTROLS.values(), strict=True):
        assert line.endswith(" [refuted, as it must be]" if control.wrong else " [not refuted, as it must not be]")
        assert (": REFUTED: " in line) is control.wrong
    assert result.stderr.splitlines()[-1] == f"report: {tmp_path / 'reports' / 'losslessness.md'}"
    assert all(control["judged_rightly"] for control in report(tmp_path)["controls"])


def test_a_wrong_decoder_is_refuted_with_its_counterexample(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--decoder", "argmax-draft", "--pair", "none")
    assert result.exit_code == 1
    [line] = result.stdout.splitlines()
    assert line.startswith("argmax-draft: SS-2: REFUTED: the output ")
    assert "total variation 1/2 over 1 token;" in line
    text = (tmp_path / "reports" / "losslessness.md").read_text(encoding="utf-8")
    assert text.index("### argmax-draft (SS-2)") < text.index("## Verdicts")
    assert "Total variation **1/2**" in text


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_may_be_asked_for(run: Callable[..., Result], name: str) -> None:
    result = run("--decoder", name, "--pair", "none")
    assert result.exit_code == int(CONTROLS[name].wrong)
    assert len(result.stdout.splitlines()) == 1


def test_a_control_may_be_sampled_as_a_decoder(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--decoder", "target-draw-match", *OWN)
    assert result.exit_code == 0
    assert [line.split(": ")[2] for line in result.stdout.splitlines()] == ["EXACT", "EXACT", "INCONCLUSIVE"]
    assert len(report(tmp_path)["evidence"]["sampled"]) == 1


def test_a_decoder_asked_for_twice_runs_once(run: Callable[..., Result]) -> None:
    assert len(run("--decoder", "tli", "--decoder", "tli", "--pair", "none").stdout.splitlines()) == 1


def test_json_is_all_there_is_on_standard_output(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--decoder", "slem", "--decoder", "argmax-draft", "--pair", "none", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == report(tmp_path)


def test_two_runs_write_the_same_bytes(run: Callable[..., Result], tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        assert run("--decoder", "tli", *OWN, "--output", str(tmp_path / name)).exit_code == 0
        written.append([(tmp_path / name / f"losslessness.{end}").read_bytes() for end in ("md", "json")])
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in b"".join(written[0])


def test_the_zoo_from_end_to_end(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run(*TINY, "--repeats", "8")
    assert result.exit_code == 0
    document = report(tmp_path)
    # Toys for 5 decoders; speculative sampling on one pair, the others on three.
    assert len(document["evidence"]["exact"]) == 5 + 1 + 4 * 3
    assert len(document["evidence"]["sampled"]) == 1 + 4 * 3
    # A sample as small as this leaves some questions open.
    assert {"EXACT", "NOT REFUTED"} <= {verdict["kind"] for verdict in document["verdicts"]}
    assert {verdict["kind"] for verdict in document["verdicts"]} <= {"EXACT", "NOT REFUTED", "INCONCLUSIVE"}
    assert len(result.stdout.splitlines()) == len(document["verdicts"])
    assert "x the speed of autoregressive decoding" in result.stderr
    assert "x the speed" not in result.stdout


def test_samples_too_small_to_see_a_wrong_control_do_not_count_against_the_audit(run: Callable[..., Result]) -> None:
    arguments = [argument for argument in TINY if argument != "--no-controls"]
    result = run("--pair", "zoo", *arguments)
    assert result.exit_code == 0
    assert "MISJUDGED" not in result.stdout
    [line] = [line for line in result.stdout.splitlines() if line.startswith("control argmax-draft: SS-2: REFUTED: ")]
    assert "; sampled: INCONCLUSIVE: not decided: " in line


def test_an_enumeration_in_which_no_draft_is_ever_accepted_decides_nothing(run: Callable[..., Result]) -> None:
    start = OWN.index("--exact-top-k")
    narrow = [*OWN[:start], "--exact-top-k", "1", *OWN[start + 2 :]]
    result = run("--decoder", "speculative-sampling", *narrow)
    assert "SS-2: INCONCLUSIVE: not decided: the laws are equal, but no drafted token is ever accepted" in result.stdout
    assert result.exit_code == 0
    assert run("--decoder", "speculative-sampling", *narrow, "--strict").exit_code == 1


@pytest.mark.parametrize(
    "asked", [(), ("slem",), ("argmax-draft", "target-draw-match", "one-hot-ratio", "residual-is-target")]
)
def test_alpha_is_the_budget_of_the_whole_audit(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    plans: list[Any] = []

    def nothing(plan: Any, library: Any, listener: Any) -> AuditEvidence:
        plans.append(plan)
        return AuditEvidence()

    monkeypatch.setattr(module, "audit", nothing)
    assert run(*(part for name in asked for part in ("--decoder", name)), "--alpha", "0.001").exit_code == 0
    [plan] = plans
    records = sum(len(suited(plan.pairs, module.builder(subject)[1])) for subject in plan.subjects)
    records += len(SAMPLED_CONTROLS) * plan.controls
    assert records
    assert records * plan.sampling.alpha <= 0.001 * (1 + 1e-12)


# Bad input: exit code 2, one line, no report.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--decoder nobody", "there is no decoder 'nobody'; known: speculative-sampling"),
        ("--pair nothing", "there is no pair 'nothing'; known: zoo, real, none"),
        ("--target zoo:byte-bpe", "--target and --drafter go together"),
        ("--drafter zoo:byte-bpe", "--target and --drafter go together"),
        ("--target /no/such/folder --drafter zoo:byte-bpe", "'/no/such/folder' is no model"),
        ("--target zoo:nothing --drafter zoo:byte-bpe", "the zoo holds no model named 'nothing'"),
        ("--target zoo:byte-bpe --drafter zoo:byte-bpe@9", "it can be ended after 1..3, not 9"),
        ("--lookahead 0", "--lookahead must be at least 1, not 0"),
        ("--lookahead -1", "--lookahead must be at least 1, not -1"),
        ("--max-new-tokens 0", "--max-new-tokens must be at least 1"),
        ("--exact-tokens 1", "--exact-tokens must be at least 2"),
        ("--exact-top-k 0", "--exact-top-k must be at least 1"),
        ("--prompts 0", "--prompts must be at least 1"),
        ("--repeats -2", "--repeats must be at least 0"),
        ("--seed -1", "--seed must be at least 0"),
        ("--alpha 0", "--alpha must lie strictly between 0 and 1, not 0.0"),
        ("--alpha 2", "--alpha must lie strictly between 0 and 1, not 2.0"),
        ("--alpha nan", "--alpha must lie strictly between 0 and 1, not nan"),
        ("--temperature -1", "temperature must be a finite number of at least 0, not -1.0"),
        ("--temperature nan", "temperature must be a finite number"),
        ("--top-k 0", "top-k must keep at least 1 token, not 0"),
        ("--top-p 2", "top-p must lie in (0, 1], not 2.0"),
        ("--top-p nan", "top-p must lie in (0, 1], not nan"),
        ("--dtype int7", "there is no dtype 'int7'"),
        ("--device abacus", "the device 'abacus' is not usable here"),
        (
            "--decoder speculative-sampling --target zoo:byte-bpe --drafter zoo:unigram",
            "speculative-sampling needs target and drafter to share a vocabulary",
        ),
        (
            "--decoder argmax-draft --target zoo:byte-bpe --drafter zoo:unigram",
            "argmax-draft needs target and drafter to share a vocabulary",
        ),
    ],
)
def test_bad_options_are_one_line(run: Callable[..., Result], tmp_path: Path, arguments: str, message: str) -> None:
    result = run(*arguments.split(), *(() if "--pair" in arguments or "--target" in arguments else ("--pair", "none")))
    assert result.exit_code == 2
    assert result.stdout == ""
    complaints = [line for line in result.stderr.splitlines() if line and "Loading weights" not in line]
    assert len(complaints) == 1
    assert complaints[0].startswith("error: ")
    assert message in complaints[0]
    assert not (tmp_path / "reports").exists()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a tiny model, to be damaged."""
    return Path(shutil.copytree(folder("byte-bpe-small"), tmp_path / "model"))


def refused(result: Result, tmp_path: Path) -> str:
    """The one line of a run that was refused."""
    assert result.exit_code == 2
    complaints = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(complaints) == 1
    assert "Traceback" not in result.stderr
    assert not list((tmp_path / "reports").glob("*"))
    return complaints[0]


def of_own(model: Path, decoder: str = "slem") -> list[str]:
    return ["--decoder", decoder, "--target", str(model), "--drafter", "zoo:byte-bpe-small", *TINY]


def test_an_empty_folder_is_no_model(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert "there is no config.json in it" in refused(run(*of_own(tmp_path / "model")), tmp_path)


def test_logits_that_are_no_numbers_are_named(run: Callable[..., Result], tmp_path: Path, model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["model.norm.weight"][:] = float("nan")
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    assert "gave NaN among its logits" in refused(run(*of_own(model)), tmp_path)


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(
    run: Callable[..., Result], tmp_path: Path, model: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(str(model))
    tokenizer.add_tokens(["<extra>"])
    tokenizer.save_pretrained(str(model))
    assert "they do not belong together" in refused(run(*of_own(model)), tmp_path)


def without(model: Path, word: str) -> Path:
    """The model with all special ids of that kind taken out of its settings."""
    for file in ("config.json", "generation_config.json", "tokenizer_config.json"):
        content = json.loads((model / file).read_text(encoding="utf-8"))
        content |= {key: None for key in content if key.startswith(word)}
        (model / file).write_text(json.dumps(content), encoding="utf-8")
    return model


def test_an_empty_prompt_needs_a_start_id(run: Callable[..., Result], tmp_path: Path, model: Path) -> None:
    whole = run(*of_own(model), "--prompt", "")
    assert whole.exit_code == 0
    shutil.rmtree(tmp_path / "reports")
    assert "has no ids" in refused(run(*of_own(without(model, "bos")), "--prompt", ""), tmp_path)


def test_a_prompt_that_is_no_text_is_refused(run: Callable[..., Result], tmp_path: Path) -> None:
    assert "surrogate" in refused(run("--decoder", "slem", *OWN, "--prompt", "a\udc80"), tmp_path)


def test_a_prompt_longer_than_the_model_is_refused(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--decoder", "slem", *OWN, "--prompt", "the list " * 400)
    assert "positions" in refused(result, tmp_path)


@pytest.mark.parametrize("decoder", ["slem", "speculative-sampling"])
def test_a_model_without_eos_runs_to_the_length_limit(
    run: Callable[..., Result], tmp_path: Path, model: Path, decoder: str
) -> None:
    result = run(*of_own(without(model, "eos"), decoder))
    assert result.exit_code == 0
    [sampled] = report(tmp_path)["evidence"]["sampled"]
    assert sampled["tokens"] == 6


def test_an_output_that_is_a_file_is_refused_and_left(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    for place in ("taken", "taken/below"):
        result = run("--decoder", "tli", "--pair", "none", "--output", str(tmp_path / place))
        assert refused(result, tmp_path).startswith("error: the report cannot be written to ")
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_a_fault_of_the_tool_is_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    def breaks(*arguments: Any) -> Any:
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(module, "write_report", breaks)
    monkeypatch.setattr(
        "sys.argv", ["draftproof", "audit", "--decoder", "tli", "--pair", "none", "--output", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "draftproof broke; please report this" in capsys.readouterr().err


def test_a_decoder_that_breaks_is_an_error_among_the_verdicts(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(setting: Any) -> Any:
        raise ZeroDivisionError("by accident")

    monkeypatch.setitem(BUILDERS, "slem", broken)
    result = run("--decoder", "slem", "--decoder", "tli", "--pair", "none")
    assert result.exit_code == 2
    assert "slem: -: ERROR: ZeroDivisionError: by accident" in result.stdout.splitlines()
    assert [verdict["kind"] for verdict in report(tmp_path)["verdicts"]] == ["EXACT", "ERROR"]


def test_controls_are_listed() -> None:
    result = CliRunner().invoke(app, ["controls"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == list(CONTROLS)
    for line, control in zip(lines, CONTROLS.values(), strict=True):
        owed = "must be refuted" if control.wrong else "must not be refuted"
        assert line == f"{control.name} ({control.like}, {owed}): {control.rule} [{control.source}]"


def test_help_says_the_exit_codes() -> None:
    result = CliRunner().invoke(app, ["audit", "--help"])
    assert result.exit_code == 0
    assert "Exit codes" in result.stdout
