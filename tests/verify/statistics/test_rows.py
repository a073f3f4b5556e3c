"""Rows: the models' laws at each place of an output, and what is left of them when a vocabulary is cut into cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from draftproof.algorithms.interfaces import Query
from draftproof.algorithms.laws import Law, LawError
from draftproof.algorithms.models.table import explicit
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.processors import PresencePenalty, Temperature
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.verify.exact import output_law
from draftproof.verify.settings import Setting, autoregressive, processed
from draftproof.verify.statistics.alternatives import ALTERNATIVES, predict
from draftproof.verify.statistics.rows import LARGE, LIKELIEST, Sources, read_rows, sources
from draftproof.verify.toys import battery

A, B = 0, 1
THIRD = Fraction(1, 3)
EVERY = ("raw", "frozen", "declared", "rejected")


def two_letters() -> Setting:
    """The target says a twice as often as b, and after b certainly b; the drafter always b, and after a nothing."""
    target = explicit({(B,): {B: Fraction(1)}}, 2, otherwise={A: 2 * THIRD, B: THIRD})
    drafter = explicit({(A,): {}}, 2, otherwise={B: Fraction(1)})
    tokenizer = ToyTokenizer(("a", "b"))
    return Setting("hand", target, tokenizer, drafter, tokenizer, (), lookahead=1, psi_lookahead=1, max_new_tokens=2)


SHARED = "speculative-sampling"


# By hand.


def test_the_rows_of_an_output_by_hand() -> None:
    setting = two_letters()
    rows = read_rows(setting, sources(setting, SHARED), (A, B))
    assert rows.tokens.tolist() == [A, B]
    assert rows.target == pytest.approx(np.array([[2 / 3, 1 / 3], [2 / 3, 1 / 3]]))
    assert rows.draft.tolist() == [[0, 1], [0, 0]]
    assert rows.observed == pytest.approx([2 / 3, 1 / 3])
    assert (rows.lookahead, rows.limit, rows.extras) == (1, 2, {})
    after_b = read_rows(setting, sources(setting, SHARED), (B, A))
    assert after_b.target == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    assert after_b.before == pytest.approx(np.array([[2 / 3, 1 / 3], [2 / 3, 1 / 3]]))
    assert after_b.observed == pytest.approx([1 / 3, 0])  # a has no mass after b


def test_laws_after_rejected_tokens_by_hand() -> None:
    """At first b can be rejected, after which b is certain; after a nothing is drafted, so any law may stand there."""
    setting = two_letters()
    rows = read_rows(setting, sources(setting, SHARED), (A, B), ["rejected"])
    assert rows.extras["rejected"][0].tolist() == [[0, 1]]
    assert rows.extras["rejected"][1].sum() == pytest.approx(1)
    assert rows.extras["wrong"][1].tolist() == [[0, 1]]  # of the place before
    assert rows.extras["wrong"][0] == pytest.approx(np.array([[2 / 3, 1 / 3]]))


def test_processors_see_older_histories_by_hand() -> None:
    """Said ids keep a quarter of their odds: a has 2/3, after one a 1/3 (2/4 : 1), seen from before again 2/3."""
    setting = processed(two_letters(), (PresencePenalty(Fraction(1, 4)),))
    rows = read_rows(setting, sources(setting, SHARED), (A, A), ["raw", "frozen"])
    assert rows.target[:, A] == pytest.approx([2 / 3, 1 / 3])
    assert rows.extras["raw"][:, 0, A] == pytest.approx([2 / 3, 2 / 3])
    assert rows.extras["frozen"][:, :, A] == pytest.approx(np.array([[2 / 3, 2 / 3], [1 / 3, 2 / 3]]))


def test_what_a_setting_has_not_is_no_extra() -> None:
    setting = two_letters()
    assert set(read_rows(setting, sources(setting, SHARED), (A,), EVERY).extras) == {"rejected", "wrong"}


def test_an_output_without_tokens_has_no_rows() -> None:
    setting = two_letters()
    with pytest.raises(ValueError, match="without tokens"):
        read_rows(setting, sources(setting, SHARED), ())


# On toys.


@pytest.mark.parametrize("like", ["speculative-sampling", "slem", "slrs", "tli", "union"])
def test_rows_are_the_models_laws_at_each_place(like: str) -> None:
    for toy in [toy for toy, _ in zip(battery(like), range(3), strict=False)]:
        setting = replace(toy, max_new_tokens=3).setting
        models = sources(setting, like)
        for output in output_law(autoregressive(setting), setting.prompt, 3):
            rows = read_rows(setting, models, output)
            for place in range(len(output)):
                history = setting.prompt + output[:place]
                [[target], [draft]] = (model.laws([(history, ())])[0] for model in (models.target, models.draft))
                ids = range(setting.target.size)
                assert rows.target[place] == pytest.approx([float(target[token]) for token in ids], abs=1e-15)
                assert rows.draft[place].tolist() == [float(draft[token]) for token in ids]
            assert rows.before[1:].tolist() == rows.target[:-1].tolist()
            assert (rows.draft.sum(1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("like", ["speculative-sampling", "tli", "union"])
def test_no_law_is_read_that_the_token_could_have_changed(like: str) -> None:
    """Bets on a token are placed before it: rows and faulty laws are the same whatever token follows."""
    toy = replace(next(iter(battery(like))), max_new_tokens=3, processors=(PresencePenalty(Fraction(1, 4)),))
    setting = toy.setting
    models = sources(setting, like)
    read = {}
    for output in output_law(autoregressive(setting), setting.prompt, 3):
        for place in range(len(output)):
            for token in range(setting.target.size):  # also those that the target excludes
                changed = (*output[:place], token)
                rows = read_rows(setting, models, changed, EVERY)
                mine = [rows.target, rows.draft, rows.before, *(rows.extras[name] for name in sorted(rows.extras))]
                mine += [
                    predict(one, rows) for one in ALTERNATIVES.values() if one.needs is None or one.needs in rows.extras
                ]
                last = [np.array(part[place]) for part in mine]
                first = read.setdefault(output[:place], last)
                assert all(np.array_equal(one, other) for one, other in zip(first, last, strict=True))
    assert len(read) > 3


# Large vocabularies.

SIZE = LARGE + 904


@dataclass(frozen=True)
class Given:
    """A model with one given law at each place, whatever the ids."""

    laws_at: tuple[TensorLaw, ...]
    size: int = SIZE
    eos: frozenset[int] = frozenset()

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [
            [self.laws_at[len(context) + place] for place in range(len(drafted) + 1)] for context, drafted in queries
        ]


def large(seed: int, zeros: float, count: int = 4) -> Given:
    source = np.random.default_rng(seed)
    laws = []
    for _ in range(count):
        weights = np.exp(4 * source.standard_normal(SIZE)) * (source.random(SIZE) >= zeros)
        laws.append(TensorLaw(torch.tensor(weights / weights.sum())))
    return Given(tuple(laws))


def large_setting(zeros: float) -> Setting:
    tokenizer = ToyTokenizer(tuple("ab"))
    target, drafter = large(1, zeros), large(2, zeros)
    whole = Setting("large", target, tokenizer, drafter, tokenizer, (), 2, psi_lookahead=1, max_new_tokens=3)
    return replace(whole, target=processed(whole, (Temperature(0.5),)).target)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.99])
def test_cells_keep_sums_and_the_support(zeros: float) -> None:
    setting = large_setting(zeros)
    models = Sources(setting.target, setting.drafter)
    query = ((), (0, 0))
    laws = [law.probabilities.numpy() for law in setting.target.laws([query])[0]]
    drafts = [law.probabilities.numpy() for law in setting.drafter.laws([query])[0]]
    source = np.random.default_rng(3)
    for _ in range(40):
        tokens = tuple(int(token) for token in source.integers(0, SIZE, 3))
        rows = read_rows(setting, models, tokens, ["raw", "rejected"])
        assert rows.target.shape[1] <= 2 * LIKELIEST + 20
        for made in (rows.target, rows.before, rows.extras["raw"][:, 0], rows.extras["rejected"][:, 0]):
            assert made.sum(1) == pytest.approx(1)
        assert rows.draft.sum(1) == pytest.approx(1)
        for place, token in enumerate(tokens):
            inside = laws[place][token] > 0
            assert bool(rows.observed[place] > 0) is bool(inside)
            assert rows.observed[place] >= laws[place][token] * (1 - 1e-9)
            # A likely id has a column of its own, with its own masses.
            if inside and (laws[place] > laws[place][token]).sum() < LIKELIEST:
                assert rows.observed[place] == pytest.approx(laws[place][token])
                assert rows.draft[place, rows.tokens[place]] == pytest.approx(drafts[place][token])


def test_ids_of_one_cell_have_a_similar_ratio() -> None:
    setting = large_setting(0.0)
    models = Sources(setting.target, setting.drafter)
    [law] = [law.probabilities.numpy() for law in setting.target.laws([((), ())])[0]]
    [draft] = [law.probabilities.numpy() for law in setting.drafter.laws([((), ())])[0]]
    seen = 0
    for token in np.random.default_rng(4).integers(0, SIZE, 400):
        rows = read_rows(setting, models, (int(token),))
        own, cell = law[token] / draft[token], rows.target[0] / np.maximum(rows.draft[0], 1e-300)
        if 2**-8 < own < 2**8:
            assert 1 / 2.01 <= cell[rows.tokens[0]] / own <= 2.01
            seen += rows.observed[0] > law[token] * 1.5
    assert seen > 5  # some stood in a cell with others


def test_a_cell_that_mixes_what_is_excluded_with_what_is_not_would_fail_these_checks() -> None:
    """Cells by ratio alone put an excluded id among possible ones, where it convicts nobody."""
    setting = large_setting(0.3)
    [law] = [law.probabilities.numpy() for law in setting.target.laws([((), ())])[0]]
    mixed = np.bincount(np.arange(SIZE) % 20, law, 20)
    excluded = int(np.flatnonzero(law == 0)[0])
    assert mixed[excluded % 20] > 0
    rows = read_rows(setting, Sources(setting.target, setting.drafter), (excluded,))
    assert rows.observed.tolist() == [0]


# What is no law.


def given(*masses: float) -> Given:
    return Given((TensorLaw(torch.tensor(masses, dtype=torch.float64)),) * 4, len(masses))


def models_of(target: Given, draft: Given) -> tuple[Setting, Sources]:
    setting = replace(two_letters(), target=target, drafter=draft)
    return setting, Sources(target, draft)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1])
@pytest.mark.parametrize("where", ["target", "drafter"])
def test_what_is_no_mass_is_refused(bad: float, where: str) -> None:
    """A comparison with NaN is false, so a token of such a law would be neither outside the support nor bet on."""
    good, wrong = given(0.5, 0.5), given(bad, 0.5)
    setting, models = models_of(*((wrong, good) if where == "target" else (good, wrong)))
    with pytest.raises(LawError, match="negative, NaN or infinite"):
        read_rows(setting, models, (B, B))


@pytest.mark.parametrize("masses", [(0.5, 0.4), (0.0, 0.0), (0.8, 0.8)])
def test_a_target_that_does_not_sum_to_1_is_refused(masses: tuple[float, float]) -> None:
    setting, models = models_of(given(*masses), given(0.5, 0.5))
    with pytest.raises(LawError, match="does not sum to 1"):
        read_rows(setting, models, (B,))


def test_rounding_is_divided_out() -> None:
    setting, models = models_of(given(0.5002, 0.5002), given(0.5, 0.25))
    rows = read_rows(setting, models, (B, A))
    assert rows.target.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert rows.draft.tolist() == [[0.5, 0.25], [0.5, 0.25]]  # what the target lacks is missing rightly


def test_ids_that_the_target_lacks_are_left_out() -> None:
    setting, models = models_of(given(0.5, 0.5), given(0.25, 0.25, 0.5))
    assert read_rows(setting, models, (A,)).draft.tolist() == [[0.25, 0.25]]
    exact = replace(models, draft=explicit({}, 3, otherwise={2: Fraction(1)}))
    assert read_rows(setting, exact, (A,)).draft.tolist() == [[0, 0]]
