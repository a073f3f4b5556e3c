"""Evidence as data: what goes to JSON."""

import json

from draftproof.verify.numerics.evidence import EpsilonCost, Figures
from draftproof.verify.report.data import as_data


def test_a_record_becomes_json_data_with_six_digits() -> None:
    found = as_data((EpsilonCost("pair", 1e-10, Figures(1.23456789e-8, 1 / 3), 0.5),))
    assert found == [
        {"pair": "pair", "epsilon": 1e-10, "cost": {"mean": 1.23457e-8, "largest": 0.333333}, "bound": 0.5}
    ]
    assert json.loads(json.dumps(found)) == found


def test_what_is_no_float_stays() -> None:
    assert as_data({"a": (1, True, None, "x")}) == {"a": [1, True, None, "x"]}


def test_wall_times_stay_out() -> None:
    assert as_data({"tokens": 3, "seconds": 1.5, "autoregressive_seconds": 2.0}) == {"tokens": 3}
