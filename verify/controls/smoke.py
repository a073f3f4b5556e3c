"""Controls that any audit must see: the smoke set."""

from collections.abc import Sequence

from draftproof.algorithms.laws import Law, Mass
from draftproof.algorithms.processors import TopK
from draftproof.algorithms.requests import Choose, ChooseResidual, Program, mass_in
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.controls.control import changed
from draftproof.verify.controls.verify import BonusOnlyProcessed


class AlwaysAccepts(SpeculativeSampling):
    """Nothing is verified."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1, always."""
        return (1,) * len(drafted)


class InvertedRatio(SpeculativeSampling):
    """The ratio stands on its head."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """min(1, Q(x) / P(x))."""
        return tuple(
            draft_law.acceptance(token, target_law[token])
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )


class NoCoin(SpeculativeSampling):
    """The ratio is rounded down."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1 where P(x) >= Q(x), else 0."""
        return tuple(
            int(target_law[token] >= draft_law[token])
            for token, draft_law, target_law in zip(drafted, draft_laws, target_laws, strict=False)
        )


class FirstUnverified(SpeculativeSampling):
    """The tests begin with the second drafted token."""

    def ratios(
        self, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> tuple[Mass, ...]:
        """1 for the first drafted token."""
        return (1, *super().ratios(drafted, draft_laws, target_laws)[1:])[: len(drafted)]


class AbsoluteResidual(SpeculativeSampling):
    """The difference of the laws is not cut at 0 but folded."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from |P - Q| normalised, on the target's ids."""
        law = target_laws[position]
        masses, draft_masses = dict(law.items()), dict(draft_laws[position].items())
        folded = law.weighted(
            {
                token: abs(masses.get(token, 0) - draft_masses.get(token, 0))
                for token in masses | draft_masses
                if token < law.size
            }
        )
        token: int = yield Choose(law if folded.empty else folded)
        return token


class ReversedResidual(SpeculativeSampling):
    """The difference of the laws is taken the other way."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """A draw from (Q - P)+ normalised."""
        token: int = yield ChooseResidual(draft_laws[position], mass_in(target_laws[position]))
        return token


class RejectedIsEmitted(SpeculativeSampling):
    """A rejection ends the step and nothing else."""

    def recover(
        self, position: int, drafted: tuple[int, ...], draft_laws: Sequence[Law], target_laws: Sequence[Law]
    ) -> Program[int]:
        """The rejected token."""
        return drafted[position]
        yield  # never reached: makes this a program


_SOURCE = "smoke set"

CONTROLS = (
    changed(AlwaysAccepts, "always-accept", "smoke", "every drafted token is accepted", _SOURCE),
    changed(InvertedRatio, "inverted-ratio", "smoke", "a drafted token is accepted with min(1, Q / P)", _SOURCE),
    changed(NoCoin, "no-coin", "smoke", "a drafted token is accepted iff P >= Q", _SOURCE),
    changed(AbsoluteResidual, "absolute-residual", "smoke", "the recovered token is drawn from |P - Q|", _SOURCE),
    changed(ReversedResidual, "reversed-residual", "smoke", "the recovered token is drawn from (Q - P)+", _SOURCE),
    changed(FirstUnverified, "first-unverified", "smoke", "the first drafted token of a step is not tested", _SOURCE),
    changed(RejectedIsEmitted, "rejected-token-kept", "smoke", "the rejected token is emitted as recovered", _SOURCE),
    changed(
        BonusOnlyProcessed,
        "masks-on-bonus-only",
        "smoke",
        "the support mask reaches the bonus row only",
        _SOURCE,
        processors=(TopK(2),),
    ),
)
