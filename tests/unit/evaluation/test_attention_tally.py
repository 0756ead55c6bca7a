"""What attention does over a set of sentences, against sums by hand."""

import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.evaluation.attention_tally import AttentionTally, entropies


def test_the_means_are_over_tokens_not_sentences():
    first = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])  # says a word, then the end
    second = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
    tally = AttentionTally()
    for weights in (first, second):
        tally.add(weights[None, None])
    [found] = tally.result()
    of_first = -(0.4 * math.log(0.2) + 0.6 * math.log(0.6))
    total = math.log(2) + of_first + math.log(4)
    assert found.entropy == pytest.approx(total / 6)
    assert found.relative_entropy == pytest.approx(((math.log(2) + of_first) / math.log(3) + 1) / 6)
    # Of two and three source words, those with more than a half: 0.7, 0.7, and 1.25, 0.25, 0.25.
    assert found.coverage == pytest.approx(3 / 5)
    # While one and three words were said, the ends left out.
    assert found.end_mass == pytest.approx((0.0 + 0.0 + 1.0 + 0.25) / 4)
    assert tally.sentences == 2


def test_an_unfinished_output_has_no_end_to_leave_out():
    tally = AttentionTally()
    tally.add(torch.tensor([[[[0.0, 1.0]]]]), finished=False)
    assert tally.result()[0].end_mass == 1.0


def test_each_head_of_each_layer_is_told_apart():
    weights = torch.full((2, 3, 4, 5), 0.2)
    weights[1, 2] = torch.nn.functional.one_hot(torch.tensor([0, 1, 2, 3]), 5).float()
    tally = AttentionTally()
    tally.add(weights)
    found = {(one.layer, one.head): one for one in tally.result()}
    assert len(found) == 6
    assert found[1, 2].entropy == 0.0
    assert found[1, 2].coverage == 1.0
    assert found[0, 1].relative_entropy == pytest.approx(1.0)
    assert found[0, 1].end_mass == pytest.approx(0.2)


def test_rows_that_do_not_sum_to_one_are_divided_by_their_sum_and_zeros_left_out():
    found, had = entropies(torch.tensor([[2.0, 2.0], [0.0, 0.0], [0.3, 0.0]]))
    assert found.tolist() == pytest.approx([math.log(2), 0.0, 0.0])
    assert had.tolist() == [True, False, True]


def test_a_source_of_nothing_but_its_end():
    tally = AttentionTally()
    tally.add(torch.ones(1, 1, 1, 1))
    assert tally.result()[0].coverage == 0.0
    assert AttentionTally().result() == []


def test_every_sentence_is_of_one_model():
    tally = AttentionTally()
    tally.add(torch.ones(1, 2, 1, 1))
    with pytest.raises(ArgumentError, match=r"`weights` must have the \(1, 2\) layers and heads.*received \(2, 1\)"):
        tally.add(torch.ones(2, 1, 1, 1))
