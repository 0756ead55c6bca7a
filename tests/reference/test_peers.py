"""Agreement with torch and entmax where they are right, and none of the faults they were seen to have."""

import entmax
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard import (
    Additive,
    Causal,
    Entmax,
    Gaussian,
    Padding,
    Sigmoid,
    Softmax,
    Sparsemax,
    Window,
    attention,
    explain_backend,
    from_torch_mha,
)
from regard.errors import ArgumentError

BACKENDS = ["reference", "sdpa", "chunked"]
NORMALIZERS = [Softmax(), Sparsemax(), Entmax(1.5), Sigmoid()]


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype)


# Agreement


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mask", [None, "dense", "causal"])
def test_scaled_dot_is_that_of_torch(backend: str, mask: str | None) -> None:
    query, key, value = draw(2, 3, 5, 8), draw(2, 3, 5, 8), draw(2, 3, 5, 8)
    dense = torch.rand(2, 1, 5, 5) < 0.6 if mask == "dense" else None
    truth = F.scaled_dot_product_attention(query, key, value, attn_mask=dense, is_causal=mask == "causal")
    ours = attention(query, key, value, mask=Causal() if mask == "causal" else dense, backend=backend)
    torch.testing.assert_close(ours, truth, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_grouped_heads_and_bias_are_those_of_torch(backend: str) -> None:
    query, key, value, bias = draw(2, 6, 5, 8), draw(2, 2, 7, 8), draw(2, 2, 7, 8), draw(2, 6, 5, 7)
    truth = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, enable_gqa=True)
    torch.testing.assert_close(attention(query, key, value, bias=bias, grouped=True, backend=backend), truth)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_are_those_of_torch(backend: str) -> None:
    inputs = [draw(2, 3, 5, 8).requires_grad_() for _ in range(3)]
    with sdpa_kernel(SDPBackend.MATH):
        truth = torch.autograd.grad(F.scaled_dot_product_attention(*inputs, is_causal=True).square().sum(), inputs)
    ours = torch.autograd.grad(attention(*inputs, mask=Causal(), backend=backend).square().sum(), inputs)
    torch.testing.assert_close(ours, truth, atol=1e-11, rtol=1e-11)


def split_heads(layer: nn.MultiheadAttention, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Apply the layer's three projections and split the heads."""
    weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    projected = [F.linear(z, w, b) for z, w, b in zip((x, y, y), weights, biases, strict=True)]
    query, key, value = (part.unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for part in projected)
    return query, key, value


def merge_heads(layer: nn.MultiheadAttention, context: Tensor) -> Tensor:
    return layer.out_proj(context.transpose(1, 2).flatten(-2))


@pytest.mark.parametrize("kind", ["none", "pairs", "keys", "heads", "pairs and keys"])
def test_the_layer_of_torch_is_reproduced(kind: str) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    x, y = draw(3, 5, 8), draw(3, 7, 8)
    ignored = {
        "pairs": {"attn_mask": torch.rand(5, 7) < 0.3},
        "keys": {"key_padding_mask": torch.arange(7) >= torch.tensor([[7], [4], [1]])},
        "heads": {"attn_mask": torch.rand(6, 5, 7) < 0.3},
    }
    given = {**ignored["pairs"], **ignored["keys"]} if kind == "pairs and keys" else ignored.get(kind, {})
    for part in given.values():
        part[..., 0] = False  # a row that may look nowhere is NaN there
    truth, weights = layer(x, y, y, average_attn_weights=False, **given)
    mask = None
    if given:
        mask = from_torch_mha(given.get("attn_mask"), key_padding_mask=given.get("key_padding_mask"), num_heads=2)
    ours = attention(*split_heads(layer, x, y), mask=mask, return_weights=True)
    torch.testing.assert_close(merge_heads(layer, ours.context), truth, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(ours.weights, weights, atol=1e-12, rtol=1e-12)


def test_a_float_mask_of_torch_is_a_bias() -> None:
    query, key, mask = draw(2, 3, 5, 8), draw(2, 3, 7, 8), draw(5, 7)
    mask[1, 2:5] = -torch.inf
    truth = F.scaled_dot_product_attention(query, key, key, attn_mask=mask)
    torch.testing.assert_close(attention(query, key, bias=mask), truth, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("spread", [0.1, 1.0, 30.0])
def test_sparse_normalizers_are_those_of_entmax(spread: float) -> None:
    scores = (draw(5, 6, 11) * spread).requires_grad_()
    direction = draw(5, 6, 11)
    for ours, theirs in (
        (Sparsemax(), entmax.sparsemax),
        (Entmax(1.5), entmax.entmax15),
        (Entmax(1.2), lambda e: entmax.entmax_bisect(e, alpha=1.2, n_iter=100)),
        (Entmax(1.8), lambda e: entmax.entmax_bisect(e, alpha=1.8, n_iter=100)),
        (Entmax(2.0), entmax.sparsemax),
    ):
        weights, truth = ours(scores, None), theirs(scores)
        torch.testing.assert_close(weights, truth, atol=1e-10, rtol=1e-8)
        slope, true_slope = (torch.autograd.grad(found, scores, direction)[0] for found in (weights, truth))
        torch.testing.assert_close(slope, true_slope, atol=1e-8, rtol=1e-6)


# Faults


@pytest.mark.parametrize("backend", BACKENDS)
def test_unequal_numbers_of_keys_and_values_are_refused(backend: str) -> None:
    """SDPA on a CPU accepts them and reads past the keys."""
    with pytest.raises(ArgumentError, match="received 4 keys and 9 values"):
        attention(draw(2, 3, 4), draw(2, 4, 4), draw(2, 9, 4), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("poison", [torch.nan, torch.inf])
def test_nan_in_a_masked_key_or_value_stays_there(backend: str, poison: float) -> None:
    """It reaches the output of SDPA."""
    query, key, value = (draw(1, 2, 5, 8, dtype=torch.float32) for _ in range(3))
    mask = torch.tensor([True, True, True, True, False]).expand(1, 1, 5, 5)
    clean = attention(query, key, value, mask=mask, backend=backend)
    key[..., 4, :], value[..., 4, :] = poison, poison
    assert F.scaled_dot_product_attention(query, key, value, attn_mask=mask).isnan().any()
    assert torch.equal(attention(query, key, value, mask=mask, backend=backend), clean)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_with_nothing_to_attend_to_is_zero_with_weights_and_without(backend: str) -> None:
    """`nn.MultiheadAttention` gives NaN with need_weights=True and zero without; Keras changes its output."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    x, ignored = draw(1, 3, 8), torch.ones(1, 3, dtype=torch.bool)
    assert layer(x, x, x, key_padding_mask=ignored)[0].isnan().all()
    mask = from_torch_mha(key_padding_mask=ignored)
    query, key, value = (part.detach().requires_grad_() for part in split_heads(layer, x, x))
    context, weights, _ = attention(query, key, value, mask=mask, backend=backend, return_weights=True)
    assert not context.any()
    assert not weights.any()
    assert torch.equal(attention(query, key, value, mask=mask, backend=backend), context)
    assert all(not slope.any() for slope in torch.autograd.grad(context.sum(), (query, key, value)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_are_those_before_dropout(backend: str) -> None:
    """Those of `nn.MultiheadAttention` are after it, so that rows do not sum to one."""
    layer = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
    x = draw(1, 30, 8, dtype=torch.float32)
    assert not torch.allclose(layer(x, x, x)[1].sum(-1), torch.ones(1, 30), atol=1e-2)
    context, weights, _ = attention(x, x, dropout=0.5, backend=backend, return_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 30))
    assert not torch.allclose(context, weights @ x, atol=1e-2)


def test_true_means_may_attend() -> None:
    """In `nn.MultiheadAttention` it means ignore; `from_torch_mha` turns it round."""
    query, key, value = draw(2, 4), draw(3, 4), draw(3, 4)
    only_first = torch.tensor([[True, False, False], [True, False, False]])
    torch.testing.assert_close(attention(query, key, value, mask=only_first), value[:1].expand(2, 4))
    torch.testing.assert_close(attention(query, key, value, mask=from_torch_mha(~only_first)), value[:1].expand(2, 4))


@pytest.mark.parametrize("score", [Gaussian(0.7), Additive(torch.ones(4, dtype=torch.float64), "identity")], ids=str)
def test_fused_and_plain_paths_agree(score: object) -> None:
    """Those of x-transformers do not: on empty rows, on a causal override, and in the scale of its distance."""
    query, key = draw(2, 3, 6, 4), draw(2, 3, 6, 4)
    mask = Causal() & Window(None, 0) & ~Padding(torch.tensor([0, 3]))
    plain = attention(query, key, score=score, mask=mask, backend="reference")
    fused = attention(query, key, score=score, mask=mask, backend="sdpa")
    torch.testing.assert_close(fused, plain, atol=1e-12, rtol=1e-12)
    assert not plain[1, :, :3].any()


@pytest.mark.parametrize("normalizer", [Sparsemax(), Entmax(1.5), Entmax(1.3)], ids=repr)
def test_sparse_normalizers_differentiate_twice(normalizer: Entmax | Sparsemax) -> None:
    """entmax15 and entmax_bisect fail `gradgradcheck`, without a word."""
    scores = draw(3, 5).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda e: normalizer(e, None), scores)


def test_entmax_itself_fails_that_check() -> None:
    scores = draw(3, 5).requires_grad_()
    assert not torch.autograd.gradgradcheck(entmax.entmax15, scores, raise_exception=False)


@pytest.mark.parametrize("normalizer", [Sparsemax(), Entmax(1.5), Entmax(1.3)], ids=repr)
def test_sparse_normalizers_take_rows_with_nothing(normalizer: Entmax | Sparsemax) -> None:
    """entmax raises, or gives NaN, where everything is masked."""
    mask = torch.tensor([[False] * 4, [True, False, True, False]])
    context, weights, _ = attention(draw(2, 3), draw(4, 3), mask=mask, normalize=normalizer, return_weights=True)
    assert not context[0].any()
    assert not weights[0].any()
    torch.testing.assert_close(weights[1].sum(), torch.tensor(1.0, dtype=torch.float64))
    assert not weights[1, [1, 3]].any()


def test_dropout_and_additive_scores_train_on_a_cpu() -> None:
    """FlexAttention cannot train on a CPU, has no dropout and fails on additive scores."""
    query, key, vector = draw(2, 5, 4).requires_grad_(), draw(2, 7, 4).requires_grad_(), draw(4).requires_grad_()
    context = attention(query, key, score=Additive(vector), dropout=0.3, mask=Window(3, 3))
    slopes = torch.autograd.grad(context.square().sum(), (query, key, vector))
    assert all(slope.isfinite().all() and slope.any() for slope in slopes)
    assert explain_backend(query, key, mask=Window(1, 1)).refusals["flex"] is not None


def test_the_fused_path_has_weights_and_double_backward() -> None:
    """SDPA has neither, and no forward-mode derivative."""
    query, key = draw(1, 2, 5, 4).requires_grad_(), draw(1, 2, 5, 4)
    (slope,) = torch.autograd.grad(attention(query, key, backend="sdpa").sum(), query, create_graph=True)
    assert torch.autograd.grad(slope.square().sum(), query)[0].any()
    assert attention(query, key, backend="sdpa", return_weights=True).weights.shape == (1, 2, 5, 5)
    _, tangent = torch.func.jvp(lambda x: attention(x, key), (query.detach(),), (torch.ones_like(key),))
    small = 1e-6
    numeric = (attention(query.detach() + small, key) - attention(query.detach() - small, key)) / (2 * small)
    torch.testing.assert_close(tangent, numeric, atol=1e-7, rtol=1e-6)
