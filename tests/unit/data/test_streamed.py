import numpy as np
import pytest

from regard.data.corpora.pair import Pair
from regard.data.corpora.streamed import StreamedPairs
from regard.errors import DataError


def numbered(count):
    return [Pair(source=str(number), target=str(number)) for number in range(count)]


def test_only_the_pairs_of_its_side_come_in_order_and_again():
    sides = np.resize(np.array([0, 1, 2, -1, 0], dtype=np.int8), 20_000)
    pairs = StreamedPairs(read=lambda: iter(numbered(20_000)), sides=sides, side=0)
    assert len(pairs) == 8000
    for _ in range(2):
        assert [int(pair.source) for pair in pairs] == np.flatnonzero(sides == 0).tolist()


@pytest.mark.parametrize(("count", "received"), [(9, "9"), (11, "more")])
def test_files_that_change_meanwhile_are_noticed(count, received):
    pairs = StreamedPairs(read=lambda: iter(numbered(count)), sides=np.zeros(10, dtype=np.int8), side=0)
    message = rf"must stay as it is while it is read, 10 pairs; received {received} the next time. A large corpus is"
    with pytest.raises(DataError, match=message):
        list(pairs)
