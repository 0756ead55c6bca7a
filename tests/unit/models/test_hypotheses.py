import pytest
import torch

from regard.attention import Attended, Padding
from regard.errors import ArgumentError
from regard.layers import AdditiveAttention, LocalAttention, MultiHeadAttention
from regard.models.sequence.hypotheses import CrossAttention, attend_by_row, fold, unfold

LENGTHS = torch.tensor([5, 2])


def test_queries_of_a_sentence_lie_behind_one_another() -> None:
    layer = AdditiveAttention(3, 3, 4)
    memory = layer.remember(torch.zeros(2, 5, 3))
    query = torch.arange(6.0)[:, None, None].expand(6, 2, 3)  # three hypotheses a sentence, two tokens each
    assert fold(query, memory)[..., 0].tolist() == [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]
    weights = fold(query, memory)[..., :1].unsqueeze(1)  # sentences heads queries source
    assert unfold(weights, 6)[:, 0, :, 0].tolist() == [[row, row] for row in range(6)]


def test_each_row_sees_what_it_would_see_alone() -> None:
    layer = LocalAttention(4, 3, kind="monotonic", half_width=1.0).double()
    source, query = torch.randn(2, 5, 3).double(), torch.randn(4, 2, 4).double()
    places = torch.tensor([[0, 1], [3, 4], [1, 2], [0, 1]])
    memory = layer.remember(source, mask=Padding(LENGTHS))
    together = attend_by_row(layer, query, memory, positions=places, weights=True)
    assert together.weights.shape == (4, 1, 2, 5)
    for row in range(4):
        own = memory.select(torch.tensor([row // 2]))
        alone = layer(query[row : row + 1], own, query_positions=places[row : row + 1], return_weights=True)
        torch.testing.assert_close(together.context[row], alone.vector[0])
        torch.testing.assert_close(together.weights[row, 0], alone.weights[0])


def test_cross_attention_is_multi_head_attention_over_a_repeated_memory() -> None:
    layer = CrossAttention(4, 2, key_size=3).double()
    plain = MultiHeadAttention(4, 2, key_size=3).double()
    plain.load_state_dict(layer.state_dict())
    source, query = torch.randn(2, 5, 3).double(), torch.randn(6, 2, 4).double()
    memory = layer.remember(source, mask=Padding(LENGTHS))
    found = layer(query, memory, return_weights=True)
    expected = plain(query, memory.select(torch.arange(2).repeat_interleave(3)), return_weights=True)
    assert isinstance(found, Attended)
    torch.testing.assert_close(found.context, expected.context)
    torch.testing.assert_close(found.weights, expected.weights)
    torch.testing.assert_close(layer(query, memory), expected.context)
    torch.testing.assert_close(layer(query[:2], memory), plain(query[:2], memory))


def test_rows_that_do_not_divide_are_refused() -> None:
    layer = AdditiveAttention(3, 3, 4)
    with pytest.raises(ArgumentError, match=r"as many rows as the memory, 2, or a multiple of it; received 5\."):
        attend_by_row(layer, torch.zeros(5, 1, 3), layer.remember(torch.zeros(2, 5, 3)))
