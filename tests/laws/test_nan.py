"""NaN is neither invented nor lost: it shows where it was attended to, and nowhere else."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from catalogue.layers import LAYERS, Row
from regard import Bilinear, Causal, Padding, ScaledDot, attention
from regard.layers import MultiHeadAttention, SelfAttention, StructuredSelfAttention

LENGTHS = [1, 2, 7, 8, 15, 16, 17, 33]


def spoilt(*shape: int, row: int | None) -> Tensor:
    tensor = torch.randn(shape)
    if row is None:
        return tensor.fill_(torch.nan)
    tensor[..., row, :] = torch.nan
    return tensor


@pytest.mark.parametrize("keys", LENGTHS)
@pytest.mark.parametrize("backend", ["reference", "sdpa", None])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
@pytest.mark.parametrize("value_width", [8, 3])
def test_a_query_of_nan_gives_nan(keys: int, backend: Any, mask: str, value_width: int) -> None:
    """Torch's kernel gives zeros for it where there are few keys and no mask."""
    queries = keys if mask == "causal" else 3
    given = {"none": None, "causal": Causal(), "padding": Padding(torch.full((2,), keys))}[mask]
    query, key = spoilt(2, 2, queries, 8, row=-1), torch.randn(2, 2, keys, 8)
    value = torch.randn(2, 2, keys, value_width)
    context = attention(query, key, value, mask=given, backend=backend)
    assert context[..., -1, :].isnan().all()
    assert context[..., :-1, :].isfinite().all()


@pytest.mark.parametrize("keys", LENGTHS)
@pytest.mark.parametrize("mask", [None, Causal()], ids=["open", "causal"])
def test_keys_of_nan_give_nan(keys: int, mask: Any) -> None:
    context = attention(
        torch.randn(1, 2, keys, 8), spoilt(1, 2, keys, 8, row=None), torch.randn(1, 2, keys, 8), mask=mask
    )
    assert context.isnan().all()


@pytest.mark.parametrize("backend", ["reference", "sdpa", None])
def test_no_keys_give_zero_whatever_the_query_holds(backend: Any) -> None:
    query, key = spoilt(2, 3, 4, row=1).requires_grad_(), torch.randn(2, 0, 4)
    context = attention(query, key, backend=backend)
    assert not context.any()
    assert not torch.autograd.grad(context.sum(), query, allow_unused=True, materialize_grads=True)[0].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("scale", [-1.0, 0.0, 0.5, -0.01])
@pytest.mark.parametrize("length", [3, 16, 40])
def test_any_scale_goes_with_the_causal_mask(scale: float, length: int, dtype: torch.dtype) -> None:
    """Torch's causal kernel multiplies −∞ by it."""
    query, key, value = (torch.randn(2, 2, length, 8).to(dtype) for _ in range(3))
    found = attention(query, key, value, score=ScaledDot(scale), mask=Causal())
    truth = attention(query, key, value, score=ScaledDot(scale), mask=Causal(), backend="reference")
    tolerance = 4 * torch.finfo(dtype).eps if dtype.itemsize > 2 else 0.02
    torch.testing.assert_close(found, truth, atol=tolerance, rtol=tolerance)


def test_bilinear_keeps_within_half_precision() -> None:
    query, key, value = (torch.randn(1, 1, 20, 16).half() * size for size in (300, 300, 1))
    matrix = torch.randn(16, 16) * 30
    context = attention(query, key, value, score=Bilinear(matrix))
    truth = attention(query.double(), key.double(), value.double(), score=Bilinear(matrix.double()))
    torch.testing.assert_close(context.double(), truth, atol=2e-3, rtol=2e-3)


def test_nan_behind_a_bias_of_minus_infinity_stays_there() -> None:
    """It forbids as a mask does."""
    query, key, value = torch.randn(2, 5, 4), torch.randn(2, 20, 4), torch.randn(2, 20, 4)
    bias = torch.zeros(5, 20)
    bias[:, 7], bias[3] = -torch.inf, -torch.inf
    clean = attention(query, key, value, bias=bias)
    for tensor, row in ((key, 7), (value, 7), (query, 3)):
        tensor[:, row] = torch.nan
    for backend in (None, "reference", "sdpa"):
        torch.testing.assert_close(attention(query, key, value, bias=bias, backend=backend), clean)


@pytest.mark.parametrize("poison", [torch.nan, torch.inf])
@pytest.mark.parametrize("kind", ["padding", "boolean"])
@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.name)
def test_padding_harms_neither_output_nor_parameters(row: Row, kind: str, poison: float) -> None:
    lengths = torch.tensor([6, 4, 2])
    keep = torch.arange(6) < lengths[:, None]
    own = isinstance(row.build(), (MultiHeadAttention, SelfAttention)) and row.query_size is None
    if kind == "boolean" and own:
        pytest.skip("a tensor does not say that a query is padding")
    mask = Padding(lengths) if kind == "padding" else keep
    results = []
    for bad in (0.0, poison):
        torch.manual_seed(3)
        layer: nn.Module = row.build()
        query, key = row.example()
        key = key.masked_fill(~keep.unsqueeze(-1), bad)
        output, weights = row.attend(layer, query, key, mask)
        used = output if row.query_size is not None or isinstance(layer, StructuredSelfAttention) else output[keep]
        if used.requires_grad:
            used.square().sum().backward()
        results.append([used, weights, *(p.grad for p in layer.parameters() if p.grad is not None)])
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("masked", ["plain", "Padding and Causal"])
def test_nan_in_the_padding_of_a_sequence_that_attends_to_itself(masked: str) -> None:
    lengths, x = torch.tensor([5, 3]), torch.randn(2, 5, 8)
    x[1, 3:] = torch.nan
    mask = Padding(lengths) if masked == "plain" else Causal() & Padding(lengths)
    for layer in (MultiHeadAttention(8, 2), SelfAttention(8)):
        output = layer(x, mask=mask)
        (output[0].sum() + output[1, :3].sum()).backward()
        assert output.isfinite().all()
        assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())
