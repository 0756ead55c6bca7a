import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.recurrent.readout import Features

SIZES = {"state_size": 5, "embedding_size": 3, "context_size": 4}


@pytest.fixture
def inputs():
    return torch.randn(2, 6, 5).double(), torch.randn(2, 6, 3).double(), torch.randn(2, 6, 4).double()


def test_linear_is_the_concatenation(inputs) -> None:
    """W_yh s + W_ye e + W_yc c is one matrix times [s; e; c]."""
    features = Features("linear", **SIZES, hidden_size=1)
    assert features.size == 12
    assert torch.equal(features(*inputs), torch.cat(inputs, dim=-1))


def test_the_others(inputs) -> None:
    state, embedding, context = inputs
    assert torch.equal(Features("state", **SIZES, hidden_size=1)(state, embedding), state)
    joined = Features("joined", **SIZES, hidden_size=1)
    assert torch.equal(joined(*inputs), torch.cat([context, state], dim=-1))
    assert joined.size == 9
    attentional = Features("attentional", **SIZES, hidden_size=1).double()
    expected = torch.tanh(torch.cat([context, state], dim=-1) @ attentional.join.weight.T)
    torch.testing.assert_close(attentional(*inputs), expected)
    assert attentional.size == 5
    assert attentional.join.bias is None


def test_bad_arguments(inputs) -> None:
    with pytest.raises(ArgumentError, match=r'`context` must be given for the features "joined"; received None\.'):
        Features("joined", **SIZES, hidden_size=1)(*inputs[:2])
    with pytest.raises(ArgumentError, match=r"`hidden_size` must be at least 1; received 0\."):
        Features("maxout", **SIZES, hidden_size=0)


@pytest.mark.usefixtures("unchecked")
def test_unknown_kind() -> None:
    with pytest.raises(ArgumentError, match=r'received "maxot". Did you mean maxout\?'):
        Features("maxot", **SIZES, hidden_size=1)
