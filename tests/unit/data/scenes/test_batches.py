"""Batches hold every question once an epoch, go on where they stopped, and can be halved."""

import numpy as np

from regard.data.batches.ragged import Ragged
from regard.data.scenes.batches import CaptionBatches, QuestionBatches

OWNERS = [0, 0, 1, 3, 3, 3]
TEXTS = Ragged.from_lists([[5], [6, 7], [8], [9, 9, 9], [4], [5, 5]])


def make(**settings):
    return QuestionBatches(OWNERS, TEXTS, [0, 1, 2, 3, 4, 5], size=2, **settings)


def test_a_batch_holds_pictures_with_all_their_questions():
    first, second = make(shuffle=False)
    assert first.pictures.tolist() == [0, 1]
    assert first.owners.tolist() == [0, 0, 1]
    assert first.tokens.tolist() == [[5, 0], [6, 7], [8, 0]]
    assert first.lengths.tolist() == [1, 2, 1]
    assert first.answers.tolist() == [0, 1, 2]
    assert (first.num_tokens, first.cells) == (3, 5)
    assert second.pictures.tolist() == [2, 3]
    assert second.owners.tolist() == [1, 1, 1]


def test_halves_keep_their_pictures():
    _, batch = make(shuffle=False)
    one, two = batch.halve()
    assert (one.pictures.tolist(), one.owners.tolist(), one.indices.tolist()) == ([3], [0, 0], [3, 4])
    assert (two.pictures.tolist(), two.owners.tolist(), two.tokens.tolist()) == ([3], [0], [[5, 5, 0]])
    assert len(two.halve()) == 1


def test_epochs_differ_and_are_taken_up_where_they_stopped():
    batches = make(seed=1)
    epochs = [[batch.indices.tolist() for batch in batches] for _ in range(4)]
    for epoch in epochs:
        assert sorted(index for batch in epoch for index in batch) == [0, 1, 2, 3, 4, 5]
    assert len({str(epoch) for epoch in epochs}) > 1
    again = make(seed=1)
    next(iter(again))
    other = make(seed=1)
    other.restore(again.state())
    assert [batch.indices.tolist() for batch in other] == epochs[0][1:]


def test_processes_share_the_pictures():
    parts = [[index for batch in make(rank=rank, ranks=2) for index in batch.indices.tolist()] for rank in (0, 1)]
    assert sorted(parts[0] + parts[1]) == [0, 1, 2, 3, 4, 5]


def test_captions_have_a_start_and_an_end():
    texts = Ragged.from_lists([[7, 8], [9], [4, 4, 4]])
    batches = CaptionBatches(texts, owners=[0, 1, 2], prompts=[0, 0, 0], size=2, shuffle=False)
    first, second = batches
    assert first.target_input.tolist() == [[2, 7, 8], [2, 9, 0]]
    assert first.target_output.tolist() == [[7, 8, 3], [9, 3, 0]]
    assert first.num_tokens == 5
    assert [one.indices.tolist() for one in first.halve()] == [[0], [1]]
    assert first.cells == 8
    assert second.to("cpu").indices.tolist() == [2]
    assert np.array_equal(second.target_input.numpy(), [[2, 4, 4, 4]])


def test_of_an_answer_its_question_is_read_and_not_predicted():
    texts = Ragged.from_lists([[7, 8], [9, 10, 5]])
    [batch] = CaptionBatches(texts, owners=[4, 4], prompts=[0, 2], size=2, shuffle=False)
    assert batch.target_input.tolist() == [[2, 7, 8, 0], [2, 9, 10, 5]]
    assert batch.target_output.tolist() == [[7, 8, 3, 0], [0, 0, 5, 3]]
    assert batch.indices.tolist() == [4, 4]
