"""The list of controls: which rule each changes, where the fault was seen, and what the audit owes."""

from collections.abc import Callable
from dataclasses import dataclass

from draftproof.algorithms.decoding import Decoder
from draftproof.verify.controls import right, wrong
from draftproof.verify.settings import Setting


@dataclass(frozen=True)
class Control:
    """A decoder with one changed rule. `wrong` says whether it must be refuted or must not be.

    `like` names the decoder whose settings it runs on; `source` says where the fault was seen in public issues.
    """

    name: str
    like: str
    wrong: bool
    rule: str
    source: str
    build: Callable[[Setting], Decoder]


_ALL = (
    Control(
        "argmax-draft",
        "speculative-sampling",
        True,
        "the drafted token is the argmax of Q, while ratio and residual use all of Q",
        "mutant 1: transformers 32867, 47932; jaymody 3",
        lambda s: wrong.ArgmaxDraft(s.target, s.drafter, s.lookahead, name="argmax-draft"),
    ),
    Control(
        "residual-is-target",
        "speculative-sampling",
        True,
        "the recovered token is drawn from P instead of the residual",
        "mutant 5: mlx-lm 1085",
        lambda s: wrong.ResidualIsTarget(s.target, s.drafter, s.lookahead, name="residual-is-target"),
    ),
    Control(
        "rejected-stays",
        "speculative-sampling",
        True,
        "the rejected drafted token stays in the state that the next step conditions on",
        "mutant 10: transformers 30042, vllm 39273",
        lambda s: wrong.RejectedStays(s.target, s.drafter, s.lookahead, name="rejected-stays"),
    ),
    Control(
        "slem-reencoding",
        "slem",
        True,
        "the target's context is re-encoded from text between steps",
        "variant V2, claim SLEM-2",
        lambda s: wrong.ReencodingSlem(s.target, s.target_tokenizer, s.text_drafter, s.lookahead, "slem-reencoding"),
    ),
    Control(
        "slem-keeps-candidate",
        "slem",
        True,
        "strings are compared and the candidate's ids are kept",
        "variant V4, claim SLEM-3",
        lambda s: wrong.CandidateKeepingSlem(
            s.target, s.target_tokenizer, s.text_drafter, s.lookahead, "slem-keeps-candidate"
        ),
    ),
    Control(
        "target-draw-match",
        "speculative-sampling",
        False,
        "accepts iff the drafted token equals the target's own draw, and emits that draw",
        "look-alike C1",
        lambda s: right.TargetDrawMatch(s.target, s.drafter, s.lookahead, name="target-draw-match"),
    ),
    Control(
        "one-hot-ratio",
        "speculative-sampling",
        False,
        "accepts x with probability P(x), else draws from P without x",
        "look-alike C2",
        lambda s: right.OneHotRatio(s.target, s.drafter, s.lookahead, name="one-hot-ratio"),
    ),
    Control(
        "slem-nonsense",
        "slem",
        False,
        "the candidates are nonsense that has nothing to do with the text",
        "look-alike C8",
        lambda s: right.NonsenseSlem(s.target, s.target_tokenizer, s.text_drafter, s.lookahead, "slem-nonsense"),
    ),
)

CONTROLS = {control.name: control for control in _ALL}
