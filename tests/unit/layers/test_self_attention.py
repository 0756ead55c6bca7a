import pytest
import torch

from regard import Causal, Padding
from regard.errors import ArgumentError
from regard.layers import SelfAttention


@pytest.mark.parametrize("scaled", [False, True])
def test_without_parameters_it_is_softmax_of_x_times_x(scaled: bool) -> None:
    x = torch.randn(2, 5, 4).double()
    layer = SelfAttention(scaled=scaled)
    assert not list(layer.parameters())
    scores = x @ x.mT / (2 if scaled else 1)
    torch.testing.assert_close(layer(x), torch.softmax(scores, -1) @ x)


def test_with_maps() -> None:
    x = torch.randn(2, 5, 4).double()
    layer = SelfAttention(4, key_size=9, value_size=3, scaled=True).double()
    query, key, value = (x @ side.weight.T for side in (layer.query, layer.key, layer.value))  # type: ignore[operator,union-attr]
    torch.testing.assert_close(layer(x), torch.softmax(query @ key.mT / 3, -1) @ value)


def test_the_future_can_be_hidden() -> None:
    x = torch.randn(2, 4, 3)
    weights = SelfAttention()(x, mask=Causal() & Padding(torch.tensor([4, 2])), return_weights=True).weights
    assert (weights[0] > 0).int().tolist() == torch.ones(4, 4).tril().int().tolist()
    assert (weights[1, :, 2:] == 0).all()


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="`size` must be given with `key_size` or `value_size`; received None"):
        SelfAttention(key_size=3)
    with pytest.raises(ArgumentError, match=r"`sequence` must have shape \(batch, length, 4\); received \(2, 5, 3\)"):
        SelfAttention(4)(torch.zeros(2, 5, 3))
    assert "size=4, scaled=True" in repr(SelfAttention(4, scaled=True))
