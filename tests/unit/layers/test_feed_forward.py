import math
import re

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.transformer.feed_forward import FeedForward


def test_relu_is_the_papers():
    """Vaswani et al., equation 2."""
    layer = FeedForward(4, 6)
    for x in torch.randn(5, 4):
        hidden = (layer.expand.weight @ x + layer.expand.bias).clamp_min(0)
        torch.testing.assert_close(layer(x), layer.contract.weight @ hidden + layer.contract.bias)


def test_gelu_is_the_papers():
    """Hendrycks and Gimpel, section 2: x Φ(x)."""
    layer = FeedForward(4, 6, activation="gelu")
    x = torch.randn(4)
    hidden = layer.expand.weight @ x + layer.expand.bias
    hidden = torch.stack([h * 0.5 * (1 + math.erf(h / math.sqrt(2))) for h in hidden.detach()])
    torch.testing.assert_close(layer(x), layer.contract.weight @ hidden + layer.contract.bias)


def test_swish_is_the_papers():
    """Ramachandran, Zoph and Le, equation 1, with β = 1."""
    layer = FeedForward(4, 6, activation="swish")
    x = torch.randn(4)
    hidden = layer.expand.weight @ x + layer.expand.bias
    hidden = hidden / (1 + torch.exp(-hidden))
    torch.testing.assert_close(layer(x), layer.contract.weight @ hidden + layer.contract.bias)


def test_swiglu_is_the_papers():
    """Shazeer, equation 6, without biases."""
    layer = FeedForward(4, 6, activation="swiglu")
    x = torch.randn(4)
    expanded = layer.expand.weight @ x
    hidden = expanded / (1 + torch.exp(-expanded)) * (layer.gate.weight @ x)
    torch.testing.assert_close(layer(x), layer.contract.weight @ hidden)
    assert list(layer.state_dict()) == ["expand.weight", "gate.weight", "contract.weight"]


def test_bias_can_be_chosen():
    assert FeedForward(4, 6, bias=False).expand.bias is None
    assert FeedForward(4, 6, activation="swiglu", bias=True).gate.bias is not None


def test_dropout_acts_on_the_hidden_layer_in_training_only():
    layer = FeedForward(4, 6, dropout=1.0)
    x = torch.randn(2, 4)
    torch.testing.assert_close(layer(x), layer.contract.bias.expand(2, 4))
    assert not torch.equal(layer.eval()(x), layer.contract.bias.expand(2, 4))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeedForward(0, 6), "`size` must be at least 1; received 0."),
        (lambda: FeedForward(4, -6), "`hidden_size` must be at least 1; received -6."),
        (
            lambda: FeedForward(4, 6, activation="swigelu"),
            '`activation` must be one of relu, gelu, swish, swiglu; received "swigelu". Did you mean swiglu?',
        ),
        (
            lambda: FeedForward(4, 6, dropout=1.5),
            "`dropout` must be a probability between 0 and 1; received 1.5.",
        ),
        (lambda: FeedForward(4, 6)(torch.zeros(2, 5)), "`states` must be 4 wide; received 5."),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
