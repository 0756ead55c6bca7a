"""What lectures write and what is right."""

import pytest
import torch
from torch import Tensor

from regard import Additive, Causal, attention


def masked_afterwards(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention as one lecture writes it: the mask comes after the softmax."""
    weights = torch.softmax(query @ key.mT / query.size(-1) ** 0.5, dim=-1)
    return weights.tril() @ value


@pytest.mark.parametrize("renormalized", [False, True])
def test_masking_after_the_softmax_leaks_the_future_and_ours_does_not(renormalized: bool) -> None:
    query, key, value = torch.randn(3, 5, 4).unbind()
    changed = key.clone()
    changed[-1] *= -3.0  # the last key, which only the last query may see
    past = slice(0, 4)
    assert not torch.allclose(
        masked_afterwards(query, key, value)[past], masked_afterwards(query, changed, value)[past], atol=1e-3
    )
    ours = attention(query, key, value, mask=Causal())
    assert torch.equal(ours[past], attention(query, changed, value, mask=Causal())[past])
    assert not torch.allclose(ours[past], masked_afterwards(query, key, value)[past], atol=1e-3)
    weights = attention(query, key, value, mask=Causal(), return_weights=True).weights
    if renormalized:  # dividing by what is left mends it, by undoing the softmax's own sum
        after = torch.softmax(query @ key.mT / 2, dim=-1).tril()
        torch.testing.assert_close(after / after.sum(-1, keepdim=True), weights)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5))


def test_without_the_tanh_additive_weights_do_not_depend_on_the_query() -> None:
    query, key, vector = torch.randn(2, 6, 4), torch.randn(2, 5, 4), torch.randn(4)

    def weights(activation: str) -> Tensor:
        score = Additive(vector, activation=activation)  # type: ignore[arg-type]
        return attention(query, key, score=score, return_weights=True).weights

    linear, bent = weights("identity"), weights("tanh")
    torch.testing.assert_close(linear, linear[:, :1].expand_as(linear))
    assert ((bent - bent[:, :1]).abs().amax(-1)[:, 1:] > 1e-3).all()
