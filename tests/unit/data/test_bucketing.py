import numpy as np
import pytest

from regard.data.batches.bucketing import make_index_batches, padding_efficiency, share_batches
from regard.errors import ArgumentError, DataError


def make_lengths(count=2000, seed=0):
    draw = np.random.default_rng(seed)
    source = draw.integers(1, 60, count)
    return source, np.maximum(1, source + draw.integers(-8, 9, count))


SOURCE, TARGET = make_lengths()


def lists(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("tokens", [60, 500, 4096, 10**6])
def test_every_sentence_is_in_one_batch_within_the_budget(tokens, shuffle):
    batches = make_index_batches(SOURCE, TARGET, tokens=tokens, shuffle=shuffle)
    assert sorted(np.concatenate(batches)) == list(range(len(SOURCE)))
    longer = np.maximum(SOURCE, TARGET)
    for batch in batches:
        assert len(batch) * longer[batch].max() <= tokens or len(batch) == 1


def test_batches_are_as_large_as_the_budget_allows():
    lengths = np.full(100, 10)
    assert {len(batch) for batch in make_index_batches(lengths, lengths, tokens=250)} == {25}


def test_like_lengths_are_together():
    batches = make_index_batches(SOURCE, TARGET, tokens=1000)
    assert padding_efficiency(batches, SOURCE, TARGET) > 0.92
    order = np.random.default_rng(0).permutation(len(SOURCE))
    assert padding_efficiency(np.array_split(order, len(batches)), SOURCE, TARGET) < 0.6


def test_seed_and_epoch_fix_the_order():
    def order(**choices):
        return lists(make_index_batches(SOURCE, TARGET, tokens=500, **choices))

    assert order(seed=1, epoch=2) == order(seed=1, epoch=2)
    assert order(seed=1, epoch=2) != order(seed=1, epoch=3)
    assert order(seed=1, epoch=2) != order(seed=2, epoch=2)
    assert order(shuffle=False, epoch=1) == order(shuffle=False, epoch=2)


def test_the_order_is_pinned():
    lengths = np.array([3, 9, 3, 8, 5, 5, 3])
    found = lists(make_index_batches(lengths, lengths, tokens=10, seed=1, epoch=1))
    assert found == [[1], [6, 0, 2], [3], [5, 4]], "a change here breaks the resumption of running trainings"


def test_a_sentence_beyond_the_budget_is_alone_or_refused():
    lengths = np.array([5, 200, 5, 150])
    batches = make_index_batches(lengths, lengths, tokens=100, shuffle=False)
    assert lists(batches) == [[0, 2], [3], [1]]
    with pytest.raises(
        DataError,
        match=r"fit the budget of 100 tokens; received 2 that do not, the longest of 200 at index 1\. Give more tokens",
    ):
        make_index_batches(lengths, lengths, tokens=100, too_long="refuse")


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("tokens", [60, 4096])
def test_ranks_get_equal_numbers_and_every_sentence_once(ranks, tokens):
    batches = make_index_batches(SOURCE, TARGET, tokens=tokens)
    shares = [share_batches(batches, rank=rank, ranks=ranks) for rank in range(ranks)]
    assert len({len(share) for share in shares}) == 1
    together = np.concatenate([batch for share in shares for batch in share])
    assert sorted(together) == list(range(len(SOURCE)))


def test_ranks_together_take_the_batches_in_their_order():
    batches = [np.array([number]) for number in range(6)]
    shares = [share_batches(batches, rank=rank, ranks=3) for rank in range(3)]
    assert [lists(step) for step in zip(*shares, strict=True)] == [[[0], [1], [2]], [[3], [4], [5]]]


def test_more_ranks_than_sentences_are_refused():
    with pytest.raises(DataError, match=r"each of the 4 processes in every step; received 3 batches of one sentence"):
        share_batches([np.array([number]) for number in range(3)], rank=0, ranks=4)


def test_impossible_choices_are_refused():
    with pytest.raises(ArgumentError, match=r"`tokens` must be at least 1; received 0"):
        make_index_batches(SOURCE, TARGET, tokens=0)
    with pytest.raises(ArgumentError, match=r"each of the 2000 sources; received 3"):
        make_index_batches(SOURCE, TARGET[:3], tokens=10)
    with pytest.raises(ArgumentError, match=r"`rank` must be from 0 to `ranks` - 1 = 1; received 2"):
        share_batches([], rank=2, ranks=2)


def test_no_sentences_are_no_batches():
    none = np.zeros(0, dtype=np.int64)
    assert make_index_batches(none, none, tokens=10) == []
    assert padding_efficiency([], none, none) == 1.0
