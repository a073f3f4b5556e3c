"""What the measurements on floats amount to: verdicts on each claim.

A deviation of one step is an exact rational, so SS-5 is EXACT at the positions measured; what is computed in float64 is
NOT REFUTED at best.

Claims: SS-4, SS-5, SS-8, SS-9.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from draftproof.verify.numerics.closed_forms import ROUNDING
from draftproof.verify.numerics.controls import controls
from draftproof.verify.numerics.evidence import (
    EpsilonCost,
    MixedPrecision,
    NearEqual,
    NumericsEvidence,
    Precision,
    Worked,
)
from draftproof.verify.verdict import Kind, Verdict

One = TypeVar("One")


def verdicts(evidence: NumericsEvidence) -> tuple[Verdict, ...]:
    """One finding for each claim and dtype, epsilon or worked example, over all pairs."""
    if not evidence.positions:
        return (Verdict("floats", "SS-5", Kind.VACUOUS, "nothing was measured: no position has a draft law"),)
    positions = sum(count for _, count in evidence.positions)
    return (
        *(near_equal(group) for group in _groups(evidence.near_equal, lambda one: one.dtype)),
        *(precision(group, positions) for group in _groups(evidence.precisions, lambda one: (one.dtype, one.sums))),
        *(example(one) for one in evidence.worked if one.claim == "SS-8"),
        *(mixed(group, positions) for group in _groups(evidence.mixed, lambda one: one.dtype)),
        *(example(one) for one in evidence.worked if one.claim == "SS-9"),
        *(epsilon(group, positions) for group in _groups(evidence.epsilons, lambda one: one.epsilon)),
    )


def near_equal(seen: list[NearEqual]) -> Verdict:
    """SS-4 in one dtype: REFUTED where a step has no law or equal laws reject, VACUOUS where no residual was empty."""
    positions, empty = sum(one.positions for one in seen), sum(one.empty for one in seen)
    faults = {
        "steps without a law on the target's support": sum(one.undefined for one in seen),
        "positions where a draft of the target's own law may be rejected": sum(one.equal_rejected for one in seen),
        "tokens that the sample driver failed to recover": sum(one.strayed for one in seen),
    }

    def verdict(kind: Kind, message: str) -> Verdict:
        return Verdict(f"near-equal laws in {seen[0].dtype}", "SS-4", kind, message)

    if any(faults.values()):
        return verdict(Kind.REFUTED, "; ".join(f"{count} {fault}" for fault, count in faults.items() if count))
    if not empty:
        return verdict(Kind.VACUOUS, f"no residual without mass was met at {positions} positions")
    return verdict(
        Kind.EXACT,
        f"steps between laws an ulp apart have a law at each of {positions} positions; at {empty} a rejection may meet "
        f"a residual without mass, with probability up to {max(one.fallback for one in seen):.1e}, and P is drawn, not "
        f"0 / 0; equal laws never reject; the sample driver recovered {sum(one.driven for one in seen)} tokens of P",
    )


def precision(seen: list[Precision], positions: int) -> Verdict:
    """SS-5 in one arithmetic: REFUTED where a step exceeds its bound, INCONCLUSIVE where there is no bound."""
    worst = max(seen, key=lambda one: one.total.largest)
    mean = max(one.total.mean for one in seen)
    measured = (
        f"one step is off by a total variation of up to {worst.total.largest:.1e} at {positions} positions "
        f"(mean of a pair up to {mean:.1e})"
    )

    def verdict(kind: Kind, message: str) -> Verdict:
        way = worst.dtype if worst.sums == "float64" else f"{worst.dtype} throughout"
        return Verdict(f"one step in {way}", "SS-5", kind, message)

    broken = [one for one in seen if not one.total.largest <= one.bound]  # what is no number must not pass
    if broken:
        one = broken[0]
        return verdict(Kind.REFUTED, f"{one.total.largest:.1e} on {one.pair} exceeds the bound {one.bound:.1e}")
    largest = max(seen, key=lambda one: one.bound)
    if largest.bound >= 1:
        return verdict(
            Kind.INCONCLUSIVE, f"not decided: there is no bound for laws over {largest.size} ids; {measured}"
        )
    return verdict(Kind.EXACT, f"{measured}; the bound for all laws over {largest.size} ids is {largest.bound:.1e}")


def mixed(seen: list[MixedPrecision], positions: int) -> Verdict:
    """SS-8 with drafts in one dtype: REFUTED where the cost exceeds the bound, or is not the bound where it must be."""

    def verdict(kind: Kind, message: str) -> Verdict:
        return Verdict(f"drafts in {seen[0].dtype}", "SS-8", kind, message)

    for one in seen:
        if not one.excess <= ROUNDING:
            return verdict(Kind.REFUTED, f"TV(output, P) exceeds TV(Q, Q^) by {one.excess:.1e} on {one.pair}")
        if not one.gap <= ROUNDING:
            return verdict(Kind.REFUTED, f"Q^ = P misses the bound by {one.gap:.1e} on {one.pair}: it is not attained")
    return verdict(
        Kind.NOT_REFUTED,
        f"TV(output, P) is at most TV(Q, Q^) at each of {positions} positions: up to "
        f"{max(one.cost.largest for one in seen):.1e} and {max(one.bound.largest for one in seen):.1e}; it is attained "
        f"where Q^ = P, up to {max(one.attained.largest for one in seen):.1e}",
    )


def epsilon(seen: list[EpsilonCost], positions: int) -> Verdict:
    """SS-9 for one epsilon: REFUTED where it costs more than its bound, INCONCLUSIVE where no cost is seen."""

    def verdict(kind: Kind, message: str) -> Verdict:
        return Verdict(f"epsilon {seen[0].epsilon:g}", "SS-9", kind, message)

    broken = [one for one in seen if not one.cost.largest <= one.bound + ROUNDING]
    if broken:
        one = broken[0]
        return verdict(Kind.REFUTED, f"{one.cost.largest:.1e} on {one.pair} exceeds the bound {one.bound:.1e}")
    largest = max(one.cost.largest for one in seen)
    if largest <= ROUNDING:
        return verdict(Kind.INCONCLUSIVE, f"not decided: no cost above rounding at {positions} positions")
    return verdict(
        Kind.NOT_REFUTED,
        f"costs a total variation of up to {largest:.1e} a step at {positions} positions (mean of a pair up to "
        f"{max(one.cost.mean for one in seen):.1e}), below the bound {max(one.bound for one in seen):.1e}",
    )


def example(one: Worked) -> Verdict:
    """EXACT where the enumerated total variation is the stated one."""
    kind = Kind.EXACT if one.found == one.stated else Kind.REFUTED
    stated = "as stated" if one.found == one.stated else f"instead of {one.stated}"
    return Verdict("worked example", one.claim, kind, f"total variation {one.found}, {stated}: {one.example}")


def exit_code(evidence: NumericsEvidence) -> int:
    """0: nothing refuted or vacuous, and the controls judged rightly; otherwise 1."""
    bad = any(verdict.kind in (Kind.REFUTED, Kind.VACUOUS) for verdict in verdicts(evidence))
    return int(bad or not all(one.right for one in controls(evidence)))


def _groups(records: Iterable[One], key: Callable[[One], object]) -> list[list[One]]:
    """Records of one key together, keys in the order in which they come."""
    found: dict[object, list[One]] = {}
    for one in records:
        found.setdefault(key(one), []).append(one)
    return list(found.values())
