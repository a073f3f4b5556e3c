"""The kill matrix on the chain: a wrong control falls to the audit before it falls to peers' whole samples."""

from draftproof.verify.kill_matrix import AUDIT, OWN, Budget, matrix
from draftproof.verify.kill_subjects import toy_subjects


def test_a_wrong_and_a_right_control() -> None:
    subjects = [one for one in toy_subjects() if one.name in ("argmax-draft", "target-draw-match")]
    evidence = matrix("the chain", subjects, 1e-9, 0, Budget(tokens=2_000, rest=200, outputs=400, right=400))
    wrong, right = evidence.rows
    assert (wrong.control, wrong.number, wrong.wrong) == ("argmax-draft", "mutant 1", True)
    assert wrong.audit is not None
    assert wrong.audit < 500
    assert wrong.best_peer is not None
    assert wrong.distance is not None
    assert {kill.method for kill in wrong.kills} >= {AUDIT, OWN, "wide chi-square", "Hamming MMD"}
    assert right.audit is None  # a false alarm has probability 1e-9
    assert not right.wrong
