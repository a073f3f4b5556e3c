"""What the tests of all commands share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def thread_count_restored():
    """Commands set torch's threads for the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
