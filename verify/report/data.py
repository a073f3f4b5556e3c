"""Evidence as JSON data that two runs can be compared by: no wall times, no digits that depend on the machine."""

from dataclasses import asdict
from typing import Any


def as_data(evidence: Any) -> Any:
    """A dataclass, or a part of one, as JSON data without wall times; floats to six digits."""
    if hasattr(evidence, "__dataclass_fields__"):
        return as_data(asdict(evidence))
    if isinstance(evidence, dict):
        return {key: as_data(value) for key, value in evidence.items() if not key.endswith("seconds")}
    if isinstance(evidence, list | tuple):
        return [as_data(value) for value in evidence]
    return float(f"{evidence:.6g}") if isinstance(evidence, float) else evidence
