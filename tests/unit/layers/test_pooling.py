import pytest
import torch

from regard import Padding
from regard.errors import ArgumentError
from regard.layers import AttentionPooling
from regard.layers.mechanisms.pooling import PoolingKind

QUERY = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
KEY = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(2))
VALUE = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(3))


def test_one_hot_copies_the_nearest() -> None:
    pooled, weights = AttentionPooling("one-hot")(QUERY, KEY, VALUE)
    nearest = torch.cdist(QUERY, KEY).argmin(-1)
    assert torch.equal(weights, torch.nn.functional.one_hot(nearest, 5).float())
    assert torch.equal(pooled, VALUE.gather(1, nearest[..., None].expand(-1, -1, 6)))


def test_average_is_the_mean_of_what_is_there() -> None:
    pooled, _ = AttentionPooling("average")(QUERY, KEY, VALUE)
    torch.testing.assert_close(pooled, VALUE.mean(1, keepdim=True).expand(-1, 3, -1))
    pooled, weights = AttentionPooling("average")(None, KEY, VALUE, mask=Padding(torch.tensor([5, 2])))
    torch.testing.assert_close(pooled[1, 0], VALUE[1, :2].mean(0))
    assert weights.shape == (2, 1, 5)


def test_kernel_weighs_by_distance() -> None:
    layer = AttentionPooling("kernel", bandwidth=0.8)
    pooled, weights = layer(QUERY, KEY, VALUE)
    kernel = torch.exp(-torch.cdist(QUERY, KEY).square() / (2 * 0.8**2))
    expected = kernel / kernel.sum(-1, keepdim=True)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(pooled, expected @ VALUE)


def test_learned_asks_its_own_question() -> None:
    layer = AttentionPooling("learned", size=4)
    pooled, weights = layer(None, KEY, VALUE)
    expected = torch.softmax(KEY @ layer.query, -1)
    torch.testing.assert_close(weights[:, 0], expected)
    torch.testing.assert_close(pooled[:, 0], torch.einsum("bk,bkd->bd", expected, VALUE))
    torch.testing.assert_close(layer(QUERY, KEY, VALUE).pooled, pooled.expand(-1, 3, -1))


@pytest.mark.parametrize("kind", ["one-hot", "average", "kernel", "learned"])
def test_values_default_to_the_keys(kind: PoolingKind) -> None:
    layer = AttentionPooling(kind, size=4)
    assert torch.equal(layer(QUERY, KEY).pooled, layer(QUERY, KEY, KEY).pooled)
    assert kind in repr(layer)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match='`size` must be the width of the keys, for kind "learned"; received None'):
        AttentionPooling("learned")
    with pytest.raises(ArgumentError, match='`query` must be a tensor for kind "kernel", which compares it; received'):
        AttentionPooling("kernel")(None, KEY)
    with pytest.raises(ArgumentError, match=r"`key` must have shape \(batch, length, 3\); received \(2, 5, 4\)"):
        AttentionPooling("learned", size=3)(None, KEY)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r'received "mean". Choose one of one-hot, average, kernel, learned\.'):
        AttentionPooling("mean")  # type: ignore[arg-type]
