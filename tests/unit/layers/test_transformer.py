import re

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.transformer.residual import Residual, takes_positions, width_of


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
    assert takes_positions(MultiHeadAttention(4, 2))
    assert not takes_positions(AdditiveAttention(4, 4, 4))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Residual(4, norm="per"), '`norm` must be one of pre, post; received "per". Did you mean pre?'),
        (lambda: Residual(4, dropout=-1.0), "`dropout` must be a probability between 0 and 1; received -1.0."),
        (
            lambda: Residual(4).leave(torch.zeros(2, 3, 4), torch.zeros(2, 3, 1)),
            "a sublayer must give back the shape it was told, (2, 3, 4); received (2, 3, 1).",
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
