import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from regard.data.batches.pairs import Batches, Examples, make_batch
from regard.data.batches.ragged import Ragged
from regard.data.batches.word_links import WordLinks
from regard.data.text.special import END, PAD, START
from regard.errors import ArgumentError, DataError
from regard.training.job import TrainingBatch

torch.set_num_threads(1)


def make_examples(count=200, seed=0):
    draw = np.random.default_rng(seed)
    source, target = (
        Ragged.from_lists(draw.integers(4, 99, draw.integers(1, 20)).tolist() for _ in range(count)) for _ in range(2)
    )
    return Examples(source=source, target=target)


EXAMPLES = make_examples()


def indices(batches):
    return [batch.indices.tolist() for batch in batches]


def test_a_batch_is_padded_and_framed():
    examples = Examples(source=Ragged.from_lists([[5, 6], [7]]), target=Ragged.from_lists([[8], [9, 10, 11]]))
    batch = make_batch(examples, np.array([1, 0]))
    assert batch.source.tolist() == [[7, END, PAD], [5, 6, END]]
    assert batch.source_lengths.tolist() == [2, 3]
    assert batch.target_input.tolist() == [[START, 9, 10, 11], [START, 8, PAD, PAD]]
    assert batch.target_output.tolist() == [[9, 10, 11, END], [8, END, PAD, PAD]]
    assert batch.target_lengths.tolist() == [4, 2]
    assert batch.indices.tolist() == [1, 0]
    assert batch.links is None
    assert batch.num_tokens == 6
    assert {value.dtype for value in batch if value is not None} == {torch.int64}


def test_empty_sequences_are_their_end_alone():
    examples = Examples(source=Ragged.from_lists([[]]), target=Ragged.from_lists([[]]))
    batch = make_batch(examples, np.array([0]))
    assert batch.source.tolist() == batch.target_output.tolist() == [[END]]
    assert batch.target_input.tolist() == [[START]]


def word_links(examples, links):
    """Every token is a word of its own."""
    source, target = (
        Ragged.from_lists(range(int(count)) for count in side.lengths) for side in (examples.source, examples.target)
    )
    return replace(examples, links=WordLinks(source_words=source, target_words=target, links=Ragged.from_lists(links)))


def test_links_travel_with_their_sentences():
    examples = make_examples()
    links = [[0, 0] if number % 2 else [] for number in range(200)]
    for few_shapes in (False, True):
        for batch in Batches(word_links(examples, links), tokens=100, few_shapes=few_shapes):
            assert batch.links.shape == (*batch.target_output.shape, batch.source.size(1))
            assert batch.links[:, 0, 0].tolist() == [index >= 0 and index % 2 == 1 for index in batch.indices.tolist()]
            assert int(batch.links.sum()) == int(batch.links[:, 0, 0].sum())


def test_a_batch_moves_to_a_device():
    batch = make_batch(EXAMPLES, np.array([0, 1])).to("meta")
    assert {value.device.type for value in batch if value is not None} == {"meta"}


def test_an_epoch_holds_every_sentence_once_within_the_budget():
    batches = Batches(EXAMPLES, tokens=120)
    count = len(batches)
    found = list(batches)
    assert len(found) == count
    assert sorted(chain(*indices(found))) == list(range(200))
    assert all(max(batch.source.numel(), batch.target_input.numel()) <= 120 for batch in found)


def test_epochs_differ_and_repeat_by_seed():
    batches = Batches(EXAMPLES, tokens=120, seed=3)
    first, second = indices(batches), indices(batches)
    assert batches.state() == {"epoch": 2, "batch": 0}
    assert first != second
    again = Batches(EXAMPLES, tokens=120, seed=3)
    assert [indices(again), indices(again)] == [first, second]


@pytest.mark.parametrize("stop", [1, 5, 20])
def test_the_position_is_taken_up_where_it_was_saved(stop):
    batches = Batches(EXAMPLES, tokens=120, seed=3)
    list(batches)
    expected = indices(Batches(EXAMPLES, tokens=120, seed=3))  # epoch 0, for contrast
    whole = Batches(EXAMPLES, tokens=120, seed=3)
    whole.restore({"epoch": 1, "batch": 0})
    wanted = indices(whole)
    assert wanted != expected
    iterator = iter(batches)
    for _ in range(stop):
        next(iterator)
    saved = json.loads(json.dumps(batches.state()))
    assert saved == {"epoch": 1, "batch": stop}
    fresh = Batches(EXAMPLES, tokens=120, seed=3)
    fresh.restore(saved)
    assert indices(fresh) == wanted[stop:]
    assert fresh.state() == {"epoch": 2, "batch": 0}


def test_after_the_last_batch_the_next_epoch_is_at_hand():
    batches = Batches(EXAMPLES, tokens=120)
    iterator = iter(batches)
    for _ in range(len(batches)):
        next(iterator)
    assert batches.state() == {"epoch": 1, "batch": 0}, "also before the loop notices its end"


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_share_each_epoch(ranks):
    shares = [indices(Batches(EXAMPLES, tokens=120, seed=1, rank=rank, ranks=ranks)) for rank in range(ranks)]
    assert len({len(share) for share in shares}) == 1
    assert sorted(index for share in shares for batch in share for index in batch) == list(range(200))


def test_a_corpus_may_be_encoded_anew_in_every_epoch():
    asked = []

    def encode(epoch):
        asked.append(epoch)
        return make_examples(count=50, seed=epoch)

    batches = Batches(encode, tokens=100)
    for epoch in range(2):
        expected = make_examples(count=50, seed=epoch)
        for batch in batches:
            for row, index in enumerate(batch.indices.tolist()):
                length = int(batch.source_lengths[row]) - 1
                assert batch.source[row, :length].tolist() == expected.source[index].tolist()
    assert asked == [0, 1], "once an epoch"


def test_a_sentence_beyond_the_budget_can_be_refused():
    with pytest.raises(DataError, match=r"budget of 5 tokens; received \d+ that do not, the longest of 20"):
        list(Batches(EXAMPLES, tokens=5, too_long="refuse"))


def test_a_position_that_does_not_exist_is_refused():
    batches = Batches(EXAMPLES, tokens=120)
    count = len(batches)
    with pytest.raises(ArgumentError, match=rf"one of the {count} batches of epoch 0; received batch {count}\. Are"):
        batches.restore({"epoch": 0, "batch": count})
    with pytest.raises(ArgumentError, match="must have the keys epoch and batch; received step"):
        batches.restore({"step": 3})
    with pytest.raises(ArgumentError, match=r"one of the 0 batches of epoch -1; received batch 0\. Are data"):
        batches.restore({"epoch": -1, "batch": 0})
    assert batches.state() == {"epoch": 0, "batch": 0}


def test_a_batch_is_divided_into_halves_without_the_padding_of_the_other():
    corpus = Ragged.from_lists([[5, 6, 7, 8], [9], [5, 6]])
    links = [[0, 0], [], [1, 1]]
    batch = make_batch(word_links(Examples(source=corpus, target=corpus), links), np.array([0, 1, 2]))
    first, second = batch.halve()
    assert (batch.cells, first.cells, second.cells) == (30, 20, 6)
    assert (first.indices.tolist(), second.indices.tolist()) == ([0, 1], [2])
    assert second.source.tolist() == [[5, 6, END]]
    assert second.target_input.tolist() == [[START, 5, 6]]
    assert (first.links.nonzero().tolist(), second.links.nonzero().tolist()) == ([[0, 0, 0]], [[0, 1, 1]])
    assert second.links.shape == (1, 3, 3)
    assert first.num_tokens + second.num_tokens == batch.num_tokens
    (same,) = second.halve()
    assert same.source.tolist() == second.source.tolist()
    assert isinstance(batch, TrainingBatch)


def test_sides_of_unequal_number_are_refused():
    one, two = Ragged.from_lists([[5]]), Ragged.from_lists([[5], [6]])
    with pytest.raises(ArgumentError, match="`target` must have one entry for each of the 1 sources; received 2"):
        Examples(source=one, target=two)
    with pytest.raises(ArgumentError, match="`links` must have one entry for each of the 2 sources; received 1"):
        Examples(source=two, target=two, links=WordLinks(source_words=two, target_words=two, links=one))


def test_few_shapes_hold_the_same_sentences_in_few_shapes():
    draw = np.random.default_rng(0)
    source = Ragged.from_lists([draw.integers(4, 50, draw.integers(1, 60)).tolist() for _ in range(900)])
    target = Ragged.from_lists([draw.integers(4, 50, length + 3).tolist() for length in source.lengths])
    examples = Examples(source=source, target=target)
    batches = list(Batches(examples, tokens=512, seed=1, few_shapes=True))
    plain = list(Batches(examples, tokens=512, seed=1))
    assert len({item.source.shape + item.target_output.shape for item in batches}) <= 20
    assert len({item.source.shape + item.target_output.shape for item in plain}) > 40
    seen = sorted(number for item in batches for number in item.indices.tolist() if number >= 0)
    assert seen == list(range(900))
    for item in batches:
        real = item.indices >= 0
        again = make_batch(examples, item.indices[real].numpy())
        rows = len(again.indices)
        assert torch.equal(item.source[:rows, : again.source.size(1)], again.source)
        assert torch.equal(item.target_input[:rows, : again.target_input.size(1)], again.target_input)
        assert int((item.target_output != PAD).sum()) == again.num_tokens == item.num_tokens
        assert item.source.size(0) * max(item.source.size(1), item.target_output.size(1)) <= 512
        assert bool((item.source_lengths >= 1).all())
        assert sum(len(half.indices) for half in item.halve()) == rows
        assert all(bool((half.indices >= 0).all()) for half in item.halve())


def test_few_shapes_are_no_longer_than_the_longest_sentence():
    """A model's positions may end there."""
    corpus = Ragged.from_lists([[5] * length for length in (96, 90, 3)])
    batches = Batches(Examples(source=corpus, target=corpus), tokens=200, few_shapes=True)
    assert max(item.source.size(1) for item in batches) == 97


def test_where_batches_stand_says_which_shapes_they_have():
    corpus = Ragged.from_lists([[5] * (1 + index % 20) for index in range(200)])
    examples = Examples(source=corpus, target=corpus)
    few = Batches(examples, tokens=128, few_shapes=True)
    taken = iter(few)
    next(taken)
    state = few.state()
    expected = next(taken)
    assert state == {"epoch": 0, "batch": 1, "few_shapes": 1}
    for batches in (Batches(examples, tokens=128), Batches(examples, tokens=128, few_shapes=True)):
        batches.restore(state)
        assert torch.equal(next(iter(batches)).source, expected.source)
    few.restore({"epoch": 0, "batch": 1})
    assert few.state() == {"epoch": 0, "batch": 1}
