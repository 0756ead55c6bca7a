import numpy as np
import pytest

from regard.data.batches.ragged import Ragged


def test_lists_go_in_and_come_out():
    lists = [[1, 2, 3], [], [4]]
    ragged = Ragged.from_lists(lists)
    assert [ragged[number].tolist() for number in range(3)] == lists
    assert ragged.values.dtype == np.int32
    assert ragged.lengths.tolist() == [3, 0, 1]


def test_parts_are_put_together():
    parts = [Ragged.from_lists([[1], [2, 3]]), Ragged.from_lists([]), Ragged.from_lists([[4, 5]])]
    whole = Ragged.concatenate(parts)
    assert [whole[number].tolist() for number in range(len(whole))] == [[1], [2, 3], [4, 5]]
    assert len(Ragged.concatenate([])) == 0


def test_an_index_outside_is_an_error():
    ragged = Ragged.from_lists([[1]])
    for index in (1, -1):
        with pytest.raises(IndexError, match=f"sequence {index} of 1"):
            ragged[index]
