"""The peers' criteria: by hand, on decoders that are right and wrong, and what they cannot see."""

import math

import numpy as np
import pytest
from scipy import stats

from draftproof.verify.statistics.peers import (
    PEERS,
    Samples,
    distance_ratio,
    first_caught,
    hamming_mmd,
    order_of_counts,
    ten_sigma_chi_square,
)

LAW = np.array([0.4, 0.3, 0.2, 0.1])
ALPHA = 1e-3
LARGE = 100_010


def drawn(law: np.ndarray, count: int, seed: int = 0, length: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).choice(law.size, size=(count, length), p=law)


def tokens(*counts: int) -> np.ndarray:
    """First tokens with these counts, in order of ids."""
    return np.repeat(np.arange(len(counts)), counts)[:, np.newaxis]


def test_samples_must_fit_their_law() -> None:
    with pytest.raises(ValueError, match="no law"):
        Samples(tokens(1, 1), np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="no id"):
        Samples(tokens(1, 1, 1), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="no id"):
        Samples(np.array([[-1, -1]]), np.array([0.5, 0.5]))
    assert Samples(tokens(2, 0, 1), np.array([0.5, 0.25, 0.25])).counts.tolist() == [2, 0, 1]


def test_ten_sigma_by_hand() -> None:
    law = np.array([0.5, 0.5])  # 100 expected each; one degree of freedom, so 1 + 10 sqrt(2) is the threshold
    for moved, caught in ((27, False), (28, True)):
        judged = ten_sigma_chi_square(Samples(tokens(100 + moved, 100 - moved), law), ALPHA)
        assert judged.statistic == pytest.approx((2 * moved**2 / 100 - 1) / math.sqrt(2))
        assert judged.caught is caught


def test_ten_sigma_does_not_see_a_rare_token_of_mass_zero() -> None:
    law = np.array([0.5, 0.5, 0.0])
    assert not ten_sigma_chi_square(Samples(tokens(480, 480, 40), law), ALPHA).caught
    assert not ten_sigma_chi_square(Samples(tokens(4, 4, 2), law), ALPHA).caught
    # Only where other rare tokens make the common category worth keeping does it count.
    rare = np.array([0.49, 0.5, 0.0, 0.003, 0.003, 0.004])
    assert ten_sigma_chi_square(Samples(tokens(490, 500, 60, 3, 3, 4), rare), ALPHA).caught


def test_the_distance_ratio_by_hand() -> None:
    law = np.array([0.5, 0.5])
    # Ten draws all of token 0 are sqrt(1/2) away; the large sample is off by 0.001 in both, or by 0.1.
    small = np.zeros((10, 1), dtype=int)
    near = Samples(np.concatenate([small, tokens(50_100, 49_900)]), law)
    far = Samples(np.concatenate([small, tokens(60_000, 40_000)]), law)
    assert not distance_ratio(near, ALPHA).caught
    assert distance_ratio(far, ALPHA).caught
    # The distance to the target falls 500 and 5 times; that to unrelated laws (about 1/2 apart) some times less.
    assert distance_ratio(near, ALPHA).statistic / distance_ratio(far, ALPHA).statistic == pytest.approx(100, rel=0.9)
    exact = Samples(np.concatenate([small, tokens(50_000, 50_000)]), law)
    assert distance_ratio(exact, ALPHA).statistic == math.inf
    with pytest.raises(ValueError, match="needs 100010 outputs"):
        distance_ratio(Samples(small, law), ALPHA)


def test_the_order_of_counts_by_hand() -> None:
    assert not order_of_counts(Samples(tokens(4_000, 3_000, 2_000, 1_000), LAW), ALPHA).caught
    assert order_of_counts(Samples(tokens(3_000, 4_000, 2_000, 1_000), LAW), ALPHA).statistic == 1
    assert order_of_counts(Samples(tokens(3_000, 4_000, 1_000, 2_000), LAW), ALPHA).statistic == 2
    assert order_of_counts(Samples(tokens(5_000, 3_000, 2_000, 0), LAW), ALPHA).caught  # the last never occurs
    # Wrong by any measure, but in order; and equal probabilities have no order.
    assert not order_of_counts(Samples(tokens(9_000, 800, 150, 50), LAW), ALPHA).caught
    assert not order_of_counts(Samples(tokens(6_000, 2_000, 1_000, 1_000), np.full(4, 0.25)), ALPHA).caught
    # With few draws two tokens are not separated enough to be told apart.
    assert not order_of_counts(Samples(tokens(30, 40, 20, 10), LAW), ALPHA).caught


def test_the_separation_keeps_the_level() -> None:
    # At a level of 0.5 the bound is loose, but rejections must not exceed it, and some must be possible.
    law = np.array([0.36, 0.28, 0.2, 0.16])
    runs = 2_000
    caught = sum(order_of_counts(Samples(drawn(law, 200, seed), law), 0.5).caught for seed in range(runs))
    assert 0 < caught <= stats.binom.isf(1e-9, runs, 0.5)


def test_the_two_sample_peer_needs_its_second_sample_and_a_level_in_reach() -> None:
    outputs = drawn(LAW, 50, length=4)
    with pytest.raises(ValueError, match="autoregressive"):
        hamming_mmd(Samples(outputs, LAW), ALPHA)
    with pytest.raises(ValueError, match="does not reach the level 1e-06"):
        hamming_mmd(Samples(outputs, LAW, outputs), 1e-6)
    assert hamming_mmd(Samples(outputs, LAW, outputs), ALPHA).p_value == 1.0


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_catches_a_grossly_wrong_decoder_and_passes_a_right_one(peer) -> None:  # type: ignore[no-untyped-def]
    wrong = LAW[[1, 0, 2, 3]]
    count = max(peer.least_outputs, 5_000)
    plain = drawn(LAW, count, 1, 2) if peer.needs_autoregressive else None
    assert peer.judge(Samples(drawn(wrong, count, 2, 2), LAW, plain), ALPHA).caught
    assert not peer.judge(Samples(drawn(LAW, count, 3, 2), LAW, plain), ALPHA).caught


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_says_whether_the_level_moves_it(peer) -> None:  # type: ignore[no-untyped-def]
    mild = np.array([0.374, 0.326, 0.2, 0.1])
    count = max(peer.least_outputs, 1_000)
    samples = Samples(drawn(mild, count, 5, 2), LAW, drawn(LAW, count, 6, 2))
    answers = [peer.judge(samples, level).caught for level in (0.999, ALPHA)]
    assert peer.takes_level == (len(set(answers)) == 2) or peer.name == "order of counts"
    if not peer.takes_level:
        assert peer.judge(samples, 0.999) == peer.judge(samples, 1e-9)


def test_first_token_peers_are_blind_to_the_second_token() -> None:
    source = np.random.default_rng(7)
    first = source.choice(4, size=5_000, p=LAW)
    copied = np.stack([first, first], axis=1)
    samples = Samples(copied, LAW, drawn(LAW, 5_000, 8, 2))
    for peer in PEERS:
        if peer.first_token_only and peer.least_outputs == 1:
            assert not peer.judge(samples, ALPHA).caught, peer.name
    # And the Hamming kernel, with all its tokens, looks at positions one by one.
    assert not hamming_mmd(samples, ALPHA).caught


def test_a_narrow_law_shows_what_a_wide_one_hides() -> None:
    # The same total variation of 0.03, spread over 4,096 tokens and over 16, at the published numbers of draws.
    def shifted(size: int) -> tuple[np.ndarray, np.ndarray]:
        law = np.full(size, 1 / size)
        return law, law * np.where(np.arange(size) % 2, 0.94, 1.06)

    law, wrong = shifted(4_096)
    assert not ten_sigma_chi_square(Samples(drawn(wrong, 40_960), law), ALPHA).caught
    law, wrong = shifted(16)
    assert ten_sigma_chi_square(Samples(drawn(wrong, 200_000), law), ALPHA).caught


def test_the_cost_of_the_first_catch() -> None:
    law, wrong = LAW, np.array([0.35, 0.35, 0.2, 0.1])
    sizes = (100, 1_000, 10_000, 100_010)
    asked: list[int] = []

    def source(emitted: np.ndarray, length: int = 1):  # type: ignore[no-untyped-def]
        def sample(outputs: int) -> Samples:
            asked.append(outputs)
            return Samples(drawn(emitted, outputs, outputs, length), law, drawn(law, outputs, outputs + 1, length))

        return sample

    ratio, wide, _, _, mmd = PEERS
    assert first_caught(wide, source(wrong), sizes) == 10_000
    assert asked == [100, 1_000, 10_000]  # a fresh sample for each size, and none after the catch
    asked.clear()
    assert first_caught(ratio, source(wrong), sizes) == LARGE
    assert asked == [LARGE]  # smaller samples are no use to it
    assert first_caught(wide, source(law), sizes) is None
    asked.clear()
    cost = first_caught(mmd, source(wrong, 3), sizes)
    assert cost == 2 * 3 * asked[-1]  # tokens of both samples


def test_padding_is_not_counted_as_tokens() -> None:
    mmd = PEERS[-1]
    outputs = np.array([[0, 1, -1], [1, -1, -1]])
    assert mmd.tokens(Samples(outputs, LAW, outputs)) == 6
    assert mmd.tokens(Samples(outputs, LAW)) == 3
    assert PEERS[0].tokens(Samples(outputs, LAW)) == 2


def test_peers_say_what_they_are() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS) == 5
    for peer in PEERS:
        assert peer.source
        assert peer.tokens_needed >= peer.least_outputs
    assert [peer.name for peer in PEERS if peer.needs_autoregressive] == ["Hamming MMD"]
