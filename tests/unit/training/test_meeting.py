"""Processes that are started again agree on a new name, whatever an earlier start left in the store."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch.distributed import HashStore

from regard.errors import TrainingError
from regard.training.meeting import meet

SECONDS = timedelta(seconds=20)


def start(store, ranks, *, only=None):
    with ThreadPoolExecutor(ranks) as threads:
        return list(threads.map(lambda rank: meet(store, rank, ranks, timeout=SECONDS), only or range(ranks)))


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_each_start_has_one_name_of_its_own(ranks):
    store = HashStore()
    names = [set(start(store, ranks)) for _ in range(3)]
    assert all(len(item) == 1 for item in names)
    assert len(set.union(*names)) == 3


@pytest.mark.parametrize("died", [[0], [1], [2], [0, 2], [1, 2]])
def test_a_start_in_which_some_died_early_leaves_nothing_behind(died):
    """They left their names, and never came to an agreement."""
    store = HashStore()
    for rank in died:
        with pytest.raises(TrainingError):
            meet(store, rank, 3, timeout=timedelta(seconds=0))
    assert len(set(start(store, 3))) == 1


def test_whoever_waits_in_vain_says_so():
    message = r"All 2 processes must start within 0.1 seconds; process 1 waits for others. Read the logs of those"
    with pytest.raises(TrainingError, match=message):
        meet(HashStore(), 1, 2, timeout=timedelta(seconds=0.1))
