"""What this machine's torch cannot do, found by trying: a test of it is skipped, and says why."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def half_precision_lstm() -> Iterator[None]:
    """Skip where oneDNN has no bfloat16 LSTM for this CPU; any other failure stays one."""
    try:
        yield
    except RuntimeError as error:
        if "primitive descriptor for the LSTM" not in str(error):
            raise
        pytest.skip("torch has no bfloat16 LSTM on this CPU")
