import pytest
import torch

from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers import SinusoidalPositions, sinusoids
from regard.models.embedding import TokenEmbedding


def test_it_looks_up_scales_and_says_where() -> None:
    layer = TokenEmbedding(7, 4, scaled=True, positions=SinusoidalPositions(4)).double()
    tokens = torch.tensor([[3, 5, 3]])
    expected = 2 * layer.table.weight[tokens] + sinusoids(torch.arange(3), 4)
    torch.testing.assert_close(layer(tokens), expected)
    later = 2 * layer.table.weight[tokens] + sinusoids(torch.tensor([[4, 5, 6]]), 4)
    torch.testing.assert_close(layer(tokens, torch.tensor([[4, 5, 6]])), later)


def test_dropout_acts_in_training_alone() -> None:
    layer, tokens = TokenEmbedding(7, 50, dropout=0.5, word_dropout=0.5), torch.arange(6)[None]
    assert (layer(tokens) == 0).any()
    assert torch.equal(layer.eval()(tokens), layer.table.weight[tokens])


def test_words_are_dropped_before_their_place_is_added() -> None:
    layer = TokenEmbedding(7, 4, positions=SinusoidalPositions(4), word_dropout=1 - 1e-5)
    torch.testing.assert_close(layer(torch.arange(6)[None])[0], sinusoids(torch.arange(6), 4, dtype=torch.float32))


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments() -> None:
    layer = TokenEmbedding(7, 4)
    with pytest.raises(ArgumentError, match=r"`tokens` must be from 0 to 6; received numbers from 1 to 7\. Were they"):
        layer(torch.tensor([[1, 7]]))
    with pytest.raises(ArgumentError, match=r"`tokens` must have shape \(batch, length\); received \(3,\)\."):
        layer(torch.tensor([1, 2, 3]))
    with pytest.raises(ArgumentTypeError, match=r"`tokens` must be a tensor of integers; received torch.bool\."):
        layer(torch.tensor([[True]]))
    with pytest.raises(ArgumentError, match=r"`vocabulary_size` must be at least 1; received 0\."):
        TokenEmbedding(0, 4)
