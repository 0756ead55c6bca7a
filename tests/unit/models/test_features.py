import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import Readout
from regard.models.features import Features

SIZES = {"state_size": 5, "embedding_size": 3, "context_size": 4}


@pytest.fixture
def heard():
    return torch.randn(2, 6, 5).double(), torch.randn(2, 6, 3).double(), torch.randn(2, 6, 4).double()


def test_maxout_is_the_readout_layers(heard) -> None:
    features = Features("maxout", **SIZES, hidden_size=7).double()
    readout = Readout("maxout", 11, **SIZES, hidden_size=7).double()
    with torch.no_grad():
        of_state, of_embedding, of_context = features.join.weight.split([5, 3, 4], dim=1)
        readout.state.weight.copy_(of_state)
        readout.state.bias.copy_(features.join.bias)
        readout.embedding.weight.copy_(of_embedding)
        readout.context.weight.copy_(of_context)
    assert features.size == 7
    torch.testing.assert_close(readout.output(features(*heard)), readout(*heard))


def test_linear_is_the_readout_layers(heard) -> None:
    """W_yh s + W_ye e + W_yc c is one matrix times [s; e; c]."""
    features, readout = Features("linear", **SIZES, hidden_size=1), Readout("linear", 11, **SIZES).double()
    matrix = torch.cat([readout.state.weight, readout.embedding.weight, readout.context.weight], dim=1)
    assert features.size == 12
    torch.testing.assert_close(features(*heard) @ matrix.T + readout.state.bias, readout(*heard))


def test_the_others(heard) -> None:
    state, embedding, context = heard
    assert torch.equal(Features("state", **SIZES, hidden_size=1)(state, embedding), state)
    joined = Features("joined", **SIZES, hidden_size=1)
    assert torch.equal(joined(*heard), torch.cat([context, state], dim=-1))
    assert joined.size == 9
    attentional = Features("attentional", **SIZES, hidden_size=1).double()
    expected = torch.tanh(torch.cat([context, state], dim=-1) @ attentional.join.weight.T)
    torch.testing.assert_close(attentional(*heard), expected)
    assert attentional.size == 5
    assert attentional.join.bias is None


def test_bad_arguments(heard) -> None:
    with pytest.raises(ArgumentError, match=r'`context` must be given for Features\("joined"\); received None\.'):
        Features("joined", **SIZES, hidden_size=1)(*heard[:2])
    with pytest.raises(ArgumentError, match=r"`hidden_size` must be at least 1; received 0\."):
        Features("maxout", **SIZES, hidden_size=0)


@pytest.mark.usefixtures("unchecked")
def test_unknown_kind() -> None:
    with pytest.raises(ArgumentError, match=r'received "maxot". Did you mean maxout\?'):
        Features("maxot", **SIZES, hidden_size=1)
