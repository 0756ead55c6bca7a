"""Lanes and windows of a text: nothing lost, nothing twice, and a place to go back to."""

import numpy as np
import pytest
import torch

from regard.data.batches.text import Lanes, TextBatch, Windows
from regard.errors import ArgumentError, DataError

TEXT = np.arange(1, 103, dtype=np.int32)


def test_lanes_go_on_where_they_ended():
    lanes = Lanes(TEXT, rows=3, length=5)
    batches = list(lanes)
    rows = torch.cat([batch.tokens for batch in batches], dim=1)
    assert [batch.number for batch in batches] == list(range(len(lanes)))
    assert rows.tolist() == [list(range(1 + 33 * lane, 34 + 33 * lane)) for lane in range(3)]
    assert torch.equal(torch.cat([batch.target for batch in batches], dim=1), rows + 1)
    assert sum(batch.num_tokens for batch in batches) == 99


def test_each_epoch_of_lanes_begins_elsewhere():
    lanes = Lanes(TEXT, rows=2, length=7, seed=4)
    starts = set()
    for epoch in range(6):
        assert lanes.state() == {"epoch": epoch, "batch": 0}
        starts.add(int(next(iter(list(lanes))).tokens[0, 0]))
    assert len(starts) > 2
    assert starts <= set(range(1, 8))


def test_windows_cover_the_text_once():
    windows = Windows(TEXT, rows=4, length=5, seed=2)
    batches = list(windows)
    rows = torch.cat([batch.tokens for batch in batches])
    assert sorted(rows.flatten().tolist()) == list(range(1, 101))
    assert rows[:, 0].tolist() != sorted(rows[:, 0].tolist())
    assert len(batches) == 5


@pytest.mark.parametrize("kind", [Lanes, Windows])
def test_a_position_is_gone_back_to(kind):
    stream = kind(TEXT, rows=2, length=5, seed=1)
    list(stream)
    going = iter(stream)
    next(going)
    state = stream.state()
    wanted = [next(going).tokens for _ in range(3)]
    again = kind(TEXT, rows=2, length=5, seed=1)
    again.restore(state)
    assert state == {"epoch": 1, "batch": 1}
    assert all(torch.equal(one, batch.tokens) for one, batch in zip(wanted, again, strict=False))


@pytest.mark.parametrize("kind", [Lanes, Windows])
def test_processes_share_a_text(kind):
    shares = [list(kind(TEXT, rows=2, length=5, rank=rank, ranks=2)) for rank in range(2)]
    seen = [{int(token) for batch in share for token in batch.tokens.flatten()} for share in shares]
    assert not seen[0] & seen[1]
    assert len(shares[0]) == len(shares[1])
    assert sum(map(len, seen)) >= 96


def test_a_batch_is_halved():
    batch = next(iter(Lanes(TEXT, rows=3, length=5)))
    assert batch.cells == 15
    first, second = batch.halve()
    assert [first.indices.tolist(), second.indices.tolist()] == [[0, 1], [2]]
    assert second.halve() == [second]
    assert isinstance(batch.to("cpu"), TextBatch)


def test_errors():
    with pytest.raises(DataError, match="The text must be longer than a window, 200 tokens; received 102"):
        Lanes(TEXT, rows=1, length=200)
    with pytest.raises(ArgumentError, match="`rows` must be at least 1; received 0"):
        Lanes(TEXT, rows=0, length=5)
    with pytest.raises(ArgumentError, match="`state` must have the keys epoch and batch; received none"):
        Lanes(TEXT, rows=1, length=5).restore({})
    with pytest.raises(ArgumentError, match="`state` must name one of the 10 batches of an epoch; received batch 99"):
        Lanes(TEXT, rows=2, length=5).restore({"epoch": 0, "batch": 99})
