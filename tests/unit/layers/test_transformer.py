import re

import pytest
import torch
from torch import nn

from regard.attention import Rotary
from regard.errors import ArgumentError
from regard.layers.attention_layer import Interface, interface_of
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.residual import Residual, width_of


def normalized(x, norm):
    """Ba, Kiros and Hinton (2016), equation 4."""
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias


@pytest.mark.parametrize("kind", ["pre", "post"])
def test_residual_is_the_papers(kind):
    residual, x = Residual(4, norm=kind), torch.randn(3, 4)
    nn.init.normal_(residual.norm.weight)
    nn.init.normal_(residual.norm.bias)
    out = residual.leave(x, torch.sin(residual.enter(x)))
    if kind == "pre":
        expected = x + torch.sin(normalized(x, residual.norm))
    else:
        expected = normalized(x + torch.sin(x), residual.norm)
    torch.testing.assert_close(out, expected)


def test_dropout_acts_on_what_is_said_in_training_only():
    residual, x = Residual(4, dropout=1.0), torch.randn(3, 4)
    assert torch.equal(residual.leave(x, x), x)
    assert torch.equal(residual.eval().leave(x, x), 2 * x)


def test_only_some_attentions_want_positions():
    assert interface_of(MultiHeadAttention(4, 2)).query_positions
    assert not interface_of(AdditiveAttention(4, 4, 4)).query_positions


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Residual(4, norm="per"), '`norm` must be one of pre, post; received "per". Did you mean pre?'),
        (lambda: Residual(4, dropout=-1.0), "`dropout` must be a probability between 0 and 1; received -1.0."),
        (
            lambda: Residual(4).leave(torch.zeros(2, 3, 4), torch.zeros(2, 3, 1)),
            "a sublayer must give back the shape of its input, (2, 3, 4); received (2, 3, 1).",
        ),
        (
            lambda: width_of(nn.Linear(4, 4)),
            "`feed_forward` must say its width as an integer attribute `size`; received Linear with None.",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


def test_a_position_goes_to_attention_that_takes_one_alone():
    block = TransformerEncoderBlock(AdditiveAttention(4, 4, 4), FeedForward(4, 8))
    message = "`position` must be None for an attention that does not take it; received one for AdditiveAttention."
    with pytest.raises(ArgumentError, match=re.escape(message)):
        block(torch.zeros(1, 3, 4), position=Rotary())


def test_a_module_that_declares_nothing_gets_what_every_layer_has():
    class Mine(nn.Module):
        def forward(self, query, *, mask=None, return_weights=False):
            return query

    assert interface_of(Mine()) == Interface(memory=False)
    assert TransformerEncoderBlock(Mine(), FeedForward(4, 8))(torch.zeros(1, 3, 4)).shape == (1, 3, 4)
