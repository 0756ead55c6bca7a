"""From weights over tokens to links between words."""

import pytest
import torch

from regard.data.corpora.pair import Link
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import (
    Reading,
    choose_weights,
    diagonal_links,
    link_matrix,
    links_of,
    word_weights,
)

SOURCE_WORDS, TARGET_WORDS = [0, 0, 1, 2], [0, 1, 1]


def random_weights(layers=2, heads=3, target=4, source=5):
    return torch.rand(layers, heads, target, source).softmax(-1)


@pytest.mark.parametrize("step", ["produced", "read"])
@pytest.mark.parametrize("scaled", [False, True])
def test_words_are_merged_as_by_hand(step, scaled):
    weights, norms = random_weights(), torch.rand(2, 3, 5)
    found = word_weights(
        weights, SOURCE_WORDS, TARGET_WORDS, num_words=(3, 2), step=step, norms=norms if scaled else None
    )
    assert found.shape == (2, 3, 2, 4)
    first = 0 if step == "produced" else 1
    for layer in range(2):
        for head in range(3):
            for word, tokens in ((0, [0]), (1, [1, 2])):
                for column, places in enumerate(([0, 1], [2], [3], [4])):
                    total = sum(
                        weights[layer, head, token + first, place] * (norms[layer, head, place] if scaled else 1)
                        for token in tokens
                        for place in places
                    )
                    torch.testing.assert_close(found[layer, head, word, column], total / len(tokens))


def test_rows_still_sum_to_one_and_a_word_without_tokens_has_none():
    found = word_weights(random_weights(), [0, 0, 1, 3], [0, 2, 2], num_words=(4, 3))
    torch.testing.assert_close(found.sum(-1), torch.tensor([1.0, 0.0, 1.0]).expand(2, 3, 3))
    assert not found[..., 2].any()


def test_a_pair_without_words_has_no_weights():
    assert word_weights(torch.ones(1, 1, 1, 1), [], [], num_words=(0, 0)).shape == (1, 1, 0, 1)
    assert links_of(link_matrix(torch.zeros(0, 1))) == ()
    assert links_of(link_matrix(torch.ones(2, 1))) == ()


def test_the_layer_before_the_last_and_the_mean_over_heads_are_read_by_default():
    weights = random_weights(layers=3)
    torch.testing.assert_close(choose_weights(weights, Reading()), weights[1].mean(0))
    torch.testing.assert_close(choose_weights(weights[:1], Reading()), weights[0].mean(0))
    torch.testing.assert_close(choose_weights(weights, Reading(layer=2, head=1)), weights[2, 1])


def test_scaled_weights_sum_to_one_again():
    weights = random_weights() * 7
    chosen = choose_weights(weights, Reading(norms=True))
    torch.testing.assert_close(chosen.sum(-1), torch.ones(4))
    torch.testing.assert_close(chosen, weights[0].mean(0) / weights[0].mean(0).sum(-1, keepdim=True))


@pytest.mark.parametrize(("name", "number", "last"), [("layer", 2, 1), ("head", 3, 2)])
def test_a_layer_or_head_that_is_not_there_is_refused(name, number, last):
    with pytest.raises(ArgumentError, match=rf"`{name}` must be from 0 to {last}; received {number}."):
        choose_weights(random_weights(), Reading(**{name: number}))


def test_links_are_the_heaviest_or_all_above_the_threshold():
    weights = torch.tensor([[0.1, 0.3, 0.6], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert links_of(link_matrix(weights)) == (Link(0, 1, True), Link(1, 0, True))
    assert links_of(link_matrix(weights, threshold=0.3)) == (Link(0, 1, True), Link(1, 0, True), Link(1, 1, True))


def test_a_matrix_of_links_is_made_for_many_at_once():
    weights = random_weights()
    whole = link_matrix(weights)
    assert torch.equal(whole[1, 2], link_matrix(weights[1, 2]))
    assert whole.sum(-1).eq(1).all()


def test_the_diagonal_goes_from_corner_to_corner():
    assert [link.source for link in diagonal_links(5, 5)] == [0, 1, 2, 3, 4]
    assert [link.source for link in diagonal_links(6, 3)] == [1, 3, 5]
    assert diagonal_links(0, 3) == ()
    assert diagonal_links(3, 0) == ()


def test_a_reading_is_written_as_it_is_set():
    assert str(Reading()) == "step=produced"
    assert str(Reading(step="read", layer=1, head=0, threshold=0.25, norms=True)) == (
        "step=read layer=1 head=0 threshold=0.25 norms=true"
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": "said"}, r'`step` must be produced or read; received "said".'),
        ({"layer": -1}, r"`layer` must be at least 0; received -1."),
        ({"head": -2}, r"`head` must be at least 0; received -2."),
        ({"threshold": 0.0}, r"`threshold` must be above 0, at most 1; received 0."),
        ({"threshold": 1.5}, r"`threshold` must be above 0, at most 1; received 1.5."),
    ],
)
def test_readings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        Reading(**settings)
