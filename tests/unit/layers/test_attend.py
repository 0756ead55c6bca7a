import pytest
import torch

from regard import ScaledDot, Sparsemax, attention
from regard.errors import ArgumentError
from regard.layers import Attend


def test_calls_the_operator() -> None:
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    bias, mask = torch.randn(2, 3, 5), torch.rand(2, 3, 5) > 0.3
    arguments = {"score": ScaledDot(), "mask": mask, "bias": bias}
    attend = Attend(normalize=Sparsemax())
    expected = attention(query, key, value, **arguments, normalize=Sparsemax(), return_weights=True)
    found = attend(query, key, value, **arguments, return_weights=True)
    assert torch.equal(found.context, expected.context)
    assert torch.equal(found.weights, expected.weights)
    assert torch.equal(attend(query, key, value, **arguments), expected.context)


def test_drops_in_training_only() -> None:
    attend, x = Attend(dropout=0.5), torch.randn(2, 8, 4)
    plain = attention(x, x)
    assert not torch.equal(attend(x, x, score=ScaledDot()), plain)
    attend.eval()
    assert torch.equal(attend(x, x, score=ScaledDot()), plain)


def test_owns_nothing() -> None:
    attend = Attend(dropout=0.25)
    assert not attend.state_dict()
    assert repr(attend) == "Attend(normalize=Softmax, dropout=0.25)"


def test_dropout_is_a_probability() -> None:
    with pytest.raises(ArgumentError, match=r"`dropout` must be a probability between 0 and 1; received 1.5\."):
        Attend(dropout=1.5)
