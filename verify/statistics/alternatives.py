"""The law of the next token under each known fault, given the tokens so far: what likelihood-ratio bets are placed on.

A step of a faulty decoder with i accepted tokens emits x by accepting it, with mass A(x), or by recovering, with mass
R(x), and after the last drafted token by the bonus law B(x). An output does not show where its steps begin; the chance
that i tokens of the current step were accepted is filtered along the output (a hidden Markov model whose state is i).
So the bets read tokens alone, and are fair for every right decoder, however its steps fall.

Notation: P, Q the rows of target and drafter; h = min(1, P / Q); (.)+ the positive part.
Claims: SS-2, SLEM-1, SLRS-1, TLI-1, UNION-1 (their refutation).
But: a bet needs only a law, not the exact law of the fault. Mutants 9 and 10 are read after the three likeliest
rejected tokens, mutant 10 forgets all but the last, mutant 14 takes the unseen coins at the current overlap; the others
equal the enumerated law of their control (tested).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from draftproof.verify.statistics.rows import Floats, Rows

Parts = tuple[Floats, Floats, Floats]
"""A, R, B: masses of accepting, recovering and bonus, each broadcast to (n, K, C). K counts the hidden states: 0 to
lookahead tokens accepted, then none after a rejection. A + R and B are laws of the emitted token."""


@dataclass(frozen=True)
class Alternative:
    """A fault as a law of the next token. `needs` names the extra rows without which it has none."""

    name: str
    parts: Callable[[Rows], Parts]
    needs: str | None = None


def predict(alternative: Alternative, rows: Rows) -> Floats:
    """The law of each token given those before it, under the fault: (n, C)."""
    accept, recover, bonus = alternative.parts(rows)
    draft, last = _weights(rows, accept, recover, bonus)
    # Few hidden states, many columns: one state at a time keeps the arrays small.
    law = np.zeros_like(rows.target)
    for masses, weights in ((accept + recover, draft), (bonus, last)):
        if masses.shape[1] == 1:
            law += weights.sum(1, keepdims=True) * masses[:, 0]
        else:
            law += np.einsum("nk,nkc->nc", weights, masses)
    return law


def _weights(rows: Rows, accept: Floats, recover: Floats, bonus: Floats) -> tuple[Floats, Floats]:
    """The chance of each hidden state before each token, split into states that draft and states that do not."""
    count = len(rows.tokens)
    states = rows.lookahead + 2
    accepted = np.array([*range(rows.lookahead + 1), 0])
    observed = [
        np.broadcast_to(np.take_along_axis(part, rows.tokens[:, None, None], 2)[:, :, 0], (count, states))
        for part in (accept, recover, bonus)
    ]
    proposes = rows.draft.sum(1) > 0
    begun = np.arange(count)[:, None] - accepted
    planned = np.minimum(rows.lookahead, rows.limit - begun - 1)
    drafts = (accepted < planned) & proposes[:, None]
    chance = np.zeros((count, states))
    chance[0, 0] = 1
    for place in range(count - 1):
        drafting = chance[place] * drafts[place]
        following = chance[place + 1]
        kept = drafting * observed[0][place]
        following[1 : rows.lookahead + 1] = kept[: rows.lookahead]
        following[1] += kept[-1]
        following[-1] = (drafting * observed[1][place]).sum()
        following[0] = ((chance[place] - drafting) * observed[2][place]).sum()
        total = following.sum()
        # The fault cannot have emitted this token: go on as if a step began.
        following[:] = following / total if total > 0 else np.eye(states)[0]
    return chance * drafts, chance * ~drafts


def _kept(rows: Rows) -> Floats:
    """min(P, Q): the right acceptance."""
    return np.minimum(rows.target, rows.draft)


def _excess(law: Floats, other: Floats) -> Floats:
    """The residual: the positive part of `law - other`, normalised; `law` where there is none."""
    return _law(np.maximum(law - other, 0), law)


def _law(weights: Floats, otherwise: Floats) -> Floats:
    total = weights.sum(-1, keepdims=True)
    law = np.array(np.broadcast_to(otherwise, weights.shape))
    np.divide(weights, total, out=law, where=total > 0)
    return law


def _rest(accept: Floats, law: Floats) -> Floats:
    """The mass that is not accepted, spread by `law`."""
    rest: Floats = np.maximum(1 - accept.sum(-1, keepdims=True), 0) * law
    return rest


def _ratio(rows: Rows) -> Floats:
    """The ratio h = min(1, P / Q), 1 where Q is 0."""
    ratio: Floats = np.divide(_kept(rows), rows.draft, out=np.ones_like(rows.draft), where=rows.draft > 0)
    return ratio


def _one(accept: Floats, recover: Floats, bonus: Floats) -> Parts:
    """Parts that are the same in every hidden state."""
    return accept[:, None], recover[:, None], bonus[:, None]


def _at(columns: np.ndarray, rows: Floats) -> Floats:
    """The laws that are certain of one column each."""
    certain = np.zeros_like(rows)
    np.put_along_axis(certain, columns[:, None], 1.0, 1)
    return certain


def _changed(
    accept: Callable[[Rows], Floats] = _kept,
    residual: Callable[[Rows], Floats] = lambda rows: _excess(rows.target, rows.draft),
) -> Callable[[Rows], Parts]:
    """The right decoder's parts with one of them changed."""

    def parts(rows: Rows) -> Parts:
        kept = accept(rows)
        return _one(kept, _rest(kept, residual(rows)), rows.target)

    return parts


def _bonus(law: Callable[[Rows], Floats]) -> Callable[[Rows], Parts]:
    """The right decoder's parts with another bonus law; where nothing was drafted the token is the target's."""

    def parts(rows: Rows) -> Parts:
        kept = _kept(rows)
        bonus = np.repeat(law(rows)[:, None], rows.lookahead + 2, 1)
        bonus[:, 0] = bonus[:, -1] = rows.target
        return kept[:, None], (rows.target - kept)[:, None], bonus

    return parts


def _argmax_draft(rows: Rows) -> Floats:
    return _at(rows.draft.argmax(1), rows.draft) * _ratio(rows)


FILTERED = 2
"""Draft tokens kept by mutant 2, as in its control."""


def _filtered(rows: Rows) -> Floats:
    likeliest = np.argsort(-rows.draft, axis=1, kind="stable")[:, :FILTERED]
    kept = np.zeros_like(rows.draft)
    np.put_along_axis(kept, likeliest, np.take_along_axis(rows.draft, likeliest, 1), 1)
    return _law(kept, kept) * _ratio(rows)


def _shared_noise(rows: Rows) -> Floats:
    """Mutant 3: exponential clocks of the residual that already ran while the draft's clocks did."""
    residual = _excess(rows.target, rows.draft)
    start = np.divide(rows.draft, residual, out=np.full_like(residual, np.inf), where=residual > 0)
    order = np.argsort(start, axis=1, kind="stable")
    begins, rates, drafts = (np.take_along_axis(part, order, 1) for part in (start, residual, rows.draft))
    running, drafted = rates.cumsum(1), np.where(rates > 0, drafts, 0).cumsum(1)
    ends = np.hstack([begins[:, 1:], np.full_like(begins[:, :1], np.inf)])
    with np.errstate(invalid="ignore", divide="ignore"):
        pieces = (1 / (1 - drafted + running * begins) - 1 / (1 - drafted + running * ends)) / running
    pieces = np.where((rates > 0) & np.isfinite(pieces), pieces, 0)
    later = pieces[:, ::-1].cumsum(1)[:, ::-1]
    law = np.zeros_like(residual)
    np.put_along_axis(law, order, rates * later, 1)
    return _law(np.maximum(law, 0), residual)


def _shared_coin(rows: Rows) -> Parts:
    """Mutant 4: the coin that was not below h draws from the residual by inversion."""
    kept, ratio = _kept(rows), _ratio(rows)
    ends = _excess(rows.target, rows.draft).cumsum(1)
    order = np.argsort(ratio, axis=1, kind="stable")
    ratios = np.take_along_axis(ratio, order, 1)
    masses = np.take_along_axis(rows.draft, order, 1)
    mass = np.hstack([np.zeros((len(ends), 1)), masses.cumsum(1)])
    moment = np.hstack([np.zeros((len(ends), 1)), (masses * ratios).cumsum(1)])
    below = np.stack([np.searchsorted(row, end) for row, end in zip(ratios, ends, strict=True)])
    reached = np.take_along_axis(mass, below, 1) * ends - np.take_along_axis(moment, below, 1)
    recover = np.diff(reached, axis=1, prepend=0)
    return _one(kept, _rest(kept, _law(np.maximum(recover, 0), rows.target)), rows.target)


def _softmaxed(rows: Rows) -> Floats:
    weights = np.exp(np.maximum(rows.target - rows.draft, 0))
    return _law(weights, weights)


def _raw_verified(rows: Rows) -> Parts:
    raw = rows.extras["raw"][:, 0]
    kept = np.minimum(raw, rows.draft)
    return _one(kept, _rest(kept, _excess(raw, rows.draft)), rows.target)


def _next_row(rows: Rows) -> Floats:
    return rows.extras["rejected"][:, 0]


def _rejected_stays(rows: Rows) -> Parts:
    """Mutant 10: the step after a rejection reads the laws after the rejected token."""
    states = rows.lookahead + 2
    laws = np.repeat(rows.target[:, None], states, 1)
    laws[:, -1] = rows.extras["wrong"][:, 0]
    kept = np.minimum(laws, rows.draft[:, None])
    return kept, laws - kept, laws


def _frozen_history(rows: Rows) -> Parts:
    """Mutant 11: with i tokens accepted, the processors see the history of i tokens ago."""
    frozen = rows.extras["frozen"]
    laws = np.concatenate([frozen, frozen[:, :1]], 1)
    kept = np.minimum(laws, rows.draft[:, None])
    return kept, laws - kept, laws


def _one_coin(rows: Rows) -> Parts:
    """Mutant 12: a coin that passed earlier tests is uniform below the least of their ratios."""
    ratio = _ratio(rows)
    passed = np.take_along_axis(ratio, rows.tokens[:, None], 1)[:, 0]
    least = np.ones((len(passed), rows.lookahead + 2))
    for count in range(1, rows.lookahead + 1):
        least[count:, count] = np.minimum(least[count - 1 : -1, count - 1], passed[count - 1 : -1])
    chance = np.minimum(1, ratio[:, None] / np.maximum(least, 1e-300)[:, :, None])
    kept = rows.draft[:, None] * chance
    residual = _excess(rows.target, rows.draft)[:, None]
    return kept, _rest(kept, residual), rows.target[:, None]


def _uncounted(rows: Rows) -> Parts:
    """Mutant 14: a drafted token is kept if any later coin makes up for its own."""
    overlap = _kept(rows).sum(1)[:, None]
    drafts = np.arange(rows.lookahead, -1, -1)  # tokens drafted after i
    # Given that i of the coins that are left have to be found, one more is: 1 - (1 - overlap) ** what is left.
    found = 1 - (1 - overlap) ** np.append(drafts, rows.lookahead)
    kept = found[:, :, None] * rows.draft[:, None]
    return kept, _rest(kept, _excess(rows.target, rows.draft)[:, None]), rows.target[:, None]


def _last_writer(rows: Rows) -> Parts:
    """Mutant 15: ratio and residual see one of several merged masses."""
    seen = rows.extras["declared"][:, 0]
    chance = np.divide(
        np.minimum(rows.target, seen), seen, out=np.array(rows.target > 0, dtype=np.float64), where=seen > 0
    )
    kept = rows.draft * chance
    return _one(kept, _rest(kept, _excess(rows.target, seen)), rows.target)


def _argmax_accepted(rows: Rows) -> Floats:
    return _at(rows.target.argmax(1), rows.draft) * rows.draft


def _inverted(rows: Rows) -> Floats:
    ratio = np.divide(rows.draft, rows.target, out=np.ones_like(rows.draft), where=rows.target > rows.draft)
    return rows.draft * np.minimum(1, ratio)


def _first_unverified(rows: Rows) -> Parts:
    kept = np.repeat(_kept(rows)[:, None], rows.lookahead + 2, 1)
    kept[:, 0] = kept[:, -1] = rows.draft
    return kept, _rest(kept, _excess(rows.target, rows.draft)[:, None]), rows.target[:, None]


def _token_kept(rows: Rows) -> Parts:
    kept = _kept(rows)
    return _one(kept, np.maximum(rows.draft - kept, 0) + _rest(rows.draft, rows.target), rows.target)


def _everywhere(law: Callable[[Rows], Floats]) -> Callable[[Rows], Parts]:
    """A deviation that has nothing to do with steps."""

    def parts(rows: Rows) -> Parts:
        everywhere = law(rows)
        return _one(everywhere, np.zeros_like(everywhere), everywhere)

    return parts


def _drafter(rows: Rows) -> Floats:
    return _law(rows.draft, rows.target)


def _power(exponent: float) -> Callable[[Rows], Floats]:
    return lambda rows: _law(rows.target**exponent, rows.target)


_ALL: Iterable[Alternative] = (
    Alternative("argmax-draft", _changed(accept=_argmax_draft)),
    Alternative("filtered-draft", _changed(accept=_filtered)),
    Alternative("shared-noise", _changed(residual=_shared_noise)),
    Alternative("shared-coin", _shared_coin),
    Alternative("residual-is-target", _changed(residual=lambda rows: rows.target)),
    Alternative("residual-softmaxed", _changed(residual=_softmaxed)),
    Alternative("bonus-only-processed", _raw_verified, "raw"),
    Alternative("accepts-argmax", _changed(accept=_argmax_accepted)),
    Alternative("recovered-from-next-row", _changed(residual=_next_row), "rejected"),
    Alternative("rejected-stays", _rejected_stays, "rejected"),
    Alternative("history-frozen", _frozen_history, "frozen"),
    Alternative("one-coin-per-step", _one_coin),
    Alternative("bonus-from-row-before", _bonus(lambda rows: rows.before)),
    Alternative("bonus-from-drafter", _bonus(_drafter)),
    Alternative("bonus-is-argmax", _bonus(lambda rows: _at(rows.target.argmax(1), rows.target))),
    Alternative("count-without-prefix", _uncounted),
    Alternative("last-writer-wins", _last_writer, "declared"),
    Alternative("always-accept", _changed(accept=lambda rows: rows.draft)),
    Alternative("inverted-ratio", _changed(accept=_inverted)),
    Alternative("no-coin", _changed(accept=lambda rows: np.where(rows.target >= rows.draft, rows.draft, 0))),
    Alternative("absolute-residual", _changed(residual=lambda rows: _law(abs(rows.target - rows.draft), rows.target))),
    Alternative("reversed-residual", _changed(residual=lambda rows: _excess(rows.draft, rows.target))),
    Alternative("first-unverified", _first_unverified),
    Alternative("rejected-token-kept", _token_kept),
    Alternative("leans-to-drafter", _everywhere(_drafter)),
    Alternative("too-sharp", _everywhere(_power(2))),
    Alternative("too-flat", _everywhere(_power(0.5))),
)

ALTERNATIVES = {alternative.name: alternative for alternative in _ALL}
"""Faults by name: those of the controls of the same name, and three directions that belong to no mutant."""

OF_CONTROL = {"verified-at-temperature-1": "bonus-only-processed", "masks-on-bonus-only": "bonus-only-processed"}
"""The alternative of each control whose name it does not bear: both verify with unprocessed laws."""
