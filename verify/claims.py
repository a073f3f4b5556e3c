"""The claims that verdicts speak of: id, statement, and what a verdict on it leaves out.

Ids are those used in docstrings, reports and tests. L1 is the law of the target token sequence, L2 the law of the
decoded string; L1 implies L2.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A statement to be settled, and the idealisations that any verdict on it shares."""

    id: str
    statement: str
    idealisations: tuple[str, ...]


_EXACT = ("real arithmetic (fractions) instead of floats", "independent fair coins", "bounded domain, as stated")
_SAMPLED = (
    "independent coins from a pseudo-random generator",
    "the target's law recomputed by a separate pass",
    "the number of tokens taken as fixed, though EOS decides it",
)
_STEP = (
    "one step with one drafted token, on the contexts that were measured",
    "the models' own laws, in float64, taken as the declared ones",
    "sums and quotients as torch computes them on a CPU",
)
_CLOSED = (
    "real arithmetic: float64, good to about 1e-13",
    "independent fair coins",
    "one step with one drafted token, on the contexts that were measured",
)

CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "SS-2",
            "speculative sampling: the first n tokens have the autoregressive joint law (L1), EOS included",
            _EXACT,
        ),
        Claim(
            "SS-4",
            "speculative sampling: near-equal laws in floats give no NaN, and the residual is never drawn when its "
            "mass is 0",
            (*_STEP, "a random generator's coins where the sample driver draws"),
        ),
        Claim(
            "SS-5",
            "speculative sampling within hardware numerics: in float32, float16 and bfloat16 the law of one step "
            "differs from the target's by at most a stated total variation",
            (*_STEP, "independent coins, each value of their grid equally likely"),
        ),
        Claim("SS-6", "the acceptance rate of a drafted token is the overlap of target law and draft law", _SAMPLED),
        Claim(
            "SS-8",
            "speculative sampling: if drafts have law Q but Q^ is declared, TV(output, P) <= TV(Q, Q^), and the bound "
            "is attained",
            _CLOSED,
        ),
        Claim(
            "SS-9",
            "an epsilon added to the denominator of the ratio is lossy: P = (3/4, 1/4), Q = (1/4, 3/4), epsilon 1/4 "
            "give a total variation of 1/16",
            _CLOSED,
        ),
        Claim("SLEM-1", "keep-history SLEM has the autoregressive joint law (L1) for any candidates", _EXACT),
        Claim("SLEM-2", "re-encoding the target's context between steps is lossless", _EXACT),
        Claim("SLEM-3", "comparing strings and keeping the candidate's ids is lossless", _EXACT),
        Claim("SLEM-6", "SLEM accepts a candidate with the target's probability of it", _SAMPLED),
        Claim("SLRS-1", "SLRS has the autoregressive joint law (L1), fixed lookahead", _EXACT),
        Claim("SLRS-8", "the acceptance rate of SLRS is the sum of min(P, psi)", _SAMPLED),
        Claim("TLI-1", "TLI has the autoregressive joint law (L1)", _EXACT),
        Claim("UNION-1", "the union-vocabulary decoder has the autoregressive joint law (L1)", _EXACT),
    )
}

LOSSLESSNESS = {
    "speculative-sampling": "SS-2",
    "slem": "SLEM-1",
    "slrs": "SLRS-1",
    "tli": "TLI-1",
    "union": "UNION-1",
}
"""The claim that each decoder owes."""

ACCEPTANCE = {
    "speculative-sampling": "SS-6",
    "slem": "SLEM-6",
    "slrs": "SLRS-8",
    "tli": "SS-6",
    "union": "SS-6",
}
"""The claim about each decoder's acceptance rate."""

CONTROL_CLAIMS = {
    "argmax-draft": "SS-2",
    "filtered-draft": "SS-2",
    "shared-noise": "SS-2",
    "shared-coin": "SS-2",
    "residual-is-target": "SS-2",
    "residual-softmaxed": "SS-2",
    "verified-at-temperature-1": "SS-2",
    "accepts-argmax": "SS-2",
    "recovered-from-next-row": "SS-2",
    "rejected-stays": "SS-2",
    "history-frozen": "SS-2",
    "one-coin-per-step": "SS-2",
    "bonus-from-row-before": "SS-2",
    "bonus-from-drafter": "SS-2",
    "bonus-is-argmax": "SS-2",
    "count-without-prefix": "SS-2",
    "last-writer-wins": "TLI-1",
    "slem-reencoding": "SLEM-2",
    "slem-keeps-candidate": "SLEM-3",
    "always-accept": "SS-2",
    "inverted-ratio": "SS-2",
    "no-coin": "SS-2",
    "absolute-residual": "SS-2",
    "reversed-residual": "SS-2",
    "first-unverified": "SS-2",
    "rejected-token-kept": "SS-2",
    "masks-on-bonus-only": "SS-2",
    "target-draw-match": "SS-2",
    "one-hot-ratio": "SS-2",
    "siblings-tried": "SS-2",
    "block-verification": "SS-2",
    "union-masked": "UNION-1",
    "merged-after-draw": "TLI-1",
    "low-confidence-kept": "SS-2",
    "slem-nonsense": "SLEM-1",
}
"""The claim that each control's rule breaks or keeps."""


def claim_of(subject: str) -> str:
    """The id of the claim that a decoder or control owes. Raises KeyError for an unknown one."""
    return LOSSLESSNESS.get(subject) or CONTROL_CLAIMS[subject]
