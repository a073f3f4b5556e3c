"""Bets are fair for what is right, win on what is wrong, and do not depend on how the outputs are chunked."""

from dataclasses import replace

import numpy as np
import pytest

from draftproof.verify.comparison import compare
from draftproof.verify.controls import CONTROLS
from draftproof.verify.exact import output_law
from draftproof.verify.settings import BUILDERS, autoregressive
from draftproof.verify.statistics.betting import Bettor, Histogram, reached
from draftproof.verify.statistics.observation import SHARES, Observation, joined, observe
from draftproof.verify.statistics.rows import read_rows, sources
from draftproof.verify.streams import ToyStream, alternatives_for
from draftproof.verify.toys import battery
from draftproof.verify.trials import Trial

TOY = next(iter(battery("speculative-sampling")))
SETTING = replace(TOY, max_new_tokens=3).setting
RULES = alternatives_for(SETTING, "speculative-sampling")


def observations() -> dict[tuple[int, ...], Observation]:
    law = output_law(autoregressive(SETTING), (), SETTING.max_new_tokens)
    models = sources(SETTING, "speculative-sampling")
    return {output: observe(read_rows(SETTING, models, output, ("rejected",)), RULES) for output in law}


def transforms(count: int, seed: int = 0, limit: int = 4) -> Observation:
    """`count` outputs of `limit` tokens without alternatives, whose transforms are the uniforms themselves."""
    size = count * limit
    nothing = np.zeros((size, 0))
    return Observation(
        nothing,
        nothing.astype(bool),
        nothing,
        nothing,
        np.zeros((size, 2)),
        np.ones((size, 2)),
        np.tile(np.arange(limit), count),
    )


def test_a_histogram_by_hand() -> None:
    # Two bins, first guess 1/2 each: factors 1; then 2 * (1 + 1/2) / (1 + 1); then 2 * (0 + 1/2) / (2 + 1).
    assert Histogram(2).factors(np.array([0.1, 0.2, 0.9]), np.zeros(3, dtype=np.int64)) == pytest.approx(
        [1, 1.5, 1 / 3]
    )


def test_ratio_bets_have_mean_one_over_whole_outputs() -> None:
    """The sum over outputs of P(output) times the product of its ratios is 1 for every fault that P can emit."""
    law = output_law(autoregressive(SETTING), (), SETTING.max_new_tokens)
    seen = observations()
    for index, rule in enumerate(RULES):
        for share in SHARES:
            mean = sum(
                float(mass) * float(np.prod(1 + share * (seen[output].ratios[:, index] - 1)))
                for output, mass in law.items()
            )
            # What the fault alone emits is never seen under P, so its mass is missing from the mean.
            assert mean <= 1 + 1e-9, rule.name
            assert mean > 0


def test_wealth_does_not_depend_on_the_chunks() -> None:
    stream = ToyStream(SETTING, BUILDERS["speculative-sampling"](SETTING), "speculative-sampling", 3)
    parts = [stream.draw(1).observed for _ in range(60)]
    coins = np.random.default_rng(1).random((sum(len(part) for part in parts), 2))
    whole, pieces = Bettor(len(RULES)), Bettor(len(RULES))
    whole.take(joined(parts), coins)
    start = 0
    for begin in range(0, 60, 7):
        part = joined(parts[begin : begin + 7])
        pieces.take(part, coins[start : start + len(part)])
        start += len(part)
    assert pieces.total == pytest.approx(whole.total)
    assert pieces.plug_in == pytest.approx(whole.plug_in)
    assert pieces.tokens == whole.tokens == len(coins)


@pytest.mark.parametrize("kind", ["positions", "requests"])
def test_dependent_transforms_are_seen(kind: str) -> None:
    """Each transform repeats the one before it, or that of the same place in the output before."""
    values = np.random.default_rng(2).random((400, 4, 1)) * np.ones((1, 1, 2))
    independent, dependent = Bettor(0), Bettor(0)
    independent.take(transforms(400), values.reshape(-1, 2))
    tied = {"positions": np.repeat(values[:, :1], 4, axis=1), "requests": np.repeat(values[::8], 8, axis=0)}[kind]
    dependent.take(transforms(400), tied.reshape(-1, 2))
    assert reached(dependent.plug_in, 1e-9) is not None
    assert reached(independent.plug_in, 1e-9) is None  # a false alarm has probability 1e-9 (Ville)


def test_reached_counts_tokens() -> None:
    path = np.array([0.0, 3.0, 2.0, 5.0])
    assert reached(path, np.exp(-3)) == 2
    assert reached(path, np.exp(-4)) == 4
    assert reached(path, np.exp(-6)) is None


@pytest.mark.parametrize("name", [name for name, control in CONTROLS.items() if control.number.startswith("mutant")])
def test_every_mutant_is_convicted_on_a_toy(name: str) -> None:
    control = CONTROLS[name]
    settings = (toy.setting for toy in control.battery())
    setting = next(one for one in settings if compare(one, control.build).total_variation != "0")
    trial = Trial(ToyStream(setting, control.build(setting), control.like, 0), 1e-6, 0)
    trial.run(30_000, 500)
    assert trial.refuted_after is not None
    assert trial.refuted_after <= trial.tokens


@pytest.mark.parametrize("name", [*BUILDERS, *(name for name, control in CONTROLS.items() if not control.wrong)])
def test_right_decoders_are_not_convicted(name: str) -> None:
    build = BUILDERS.get(name) or CONTROLS[name].build
    like = name if name in BUILDERS else CONTROLS[name].like
    setting = next(iter(battery(like))).setting
    trial = Trial(ToyStream(setting, build(setting), like, 0), 1e-9, 0)  # a false alarm has probability 1e-9
    trial.run(1_000, 500)
    assert trial.refuted_after is None
    assert all(0 <= direction.bound <= 1 for direction in trial.directions())
