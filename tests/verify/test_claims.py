"""The claims, and who owes which."""

import pytest

from draftproof.verify.claims import ACCEPTANCE, CLAIMS, CONTROL_CLAIMS, LOSSLESSNESS, claim_of
from draftproof.verify.controls import CONTROLS
from draftproof.verify.settings import BUILDERS


def test_every_claim_is_a_statement_with_idealisations() -> None:
    for name, claim in CLAIMS.items():
        assert claim.id == name
        assert claim.statement
        assert claim.idealisations


def test_the_claims_on_floats_say_what_they_leave_out() -> None:
    floats = [CLAIMS[name] for name in ("SS-4", "SS-5", "SS-8", "SS-9")]
    assert all(any("one step" in one for one in claim.idealisations) for claim in floats)
    assert "NaN" in CLAIMS["SS-4"].statement
    assert all(dtype in CLAIMS["SS-5"].statement for dtype in ("float32", "float16", "bfloat16"))
    assert "TV(output, P) <= TV(Q, Q^)" in CLAIMS["SS-8"].statement
    assert "1/16" in CLAIMS["SS-9"].statement
    # No decoder or control owes one: they are judged by `draftproof numerics`.
    assert not {claim.id for claim in floats} & {*LOSSLESSNESS.values(), *ACCEPTANCE.values(), *CONTROL_CLAIMS.values()}


def test_every_decoder_owes_a_law_and_an_acceptance_rate() -> None:
    assert set(LOSSLESSNESS) == set(ACCEPTANCE) == set(BUILDERS)
    assert set(LOSSLESSNESS.values()) | set(ACCEPTANCE.values()) | set(CONTROL_CLAIMS.values()) <= set(CLAIMS)


def test_every_control_has_a_claim() -> None:
    assert set(CONTROL_CLAIMS) == set(CONTROLS)
    assert all(claim_of(name) == CONTROL_CLAIMS[name] for name in CONTROLS)
    assert claim_of("slem") == "SLEM-1"
    with pytest.raises(KeyError):
        claim_of("nobody")


def test_a_right_control_owes_what_its_decoder_owes() -> None:
    for control in CONTROLS.values():
        if not control.wrong:
            assert claim_of(control.name) == LOSSLESSNESS[control.like]
