"""The edges, where every peer fails somewhere."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from catalogue.operator import INNER, NORMALIZERS, SCORES
from reference.cases import DEFAULTS, build
from regard import (
    Additive,
    Alibi,
    Attended,
    Bilinear,
    Causal,
    Cosine,
    Dot,
    Gaussian,
    Hard,
    Padding,
    RelativeBias,
    Rotary,
    ScaledDot,
    Shaw,
    Sigmoid,
    Softmax,
    Sparsemax,
    Window,
    attention,
    explain_backend,
)
from regard.attention import Score
from regard.attention.score import Inner

pytestmark = pytest.mark.usefixtures("small_chunks")
BACKENDS = ["reference", "sdpa", "chunked"]


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype)


def close(found: Any, truth: Any, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, truth, atol=tolerance, rtol=tolerance)


def suits(score: str, normalizer: str, backend: str) -> bool:
    if backend == "chunked":
        return score != "function"
    return backend != "sdpa" or (score in INNER and normalizer == "Softmax")


EVERY_KIND = [
    (score, normalizer, backend)
    for backend in BACKENDS
    for score, normalizer in [*((score, "Softmax") for score in SCORES), *(("ScaledDot", name) for name in NORMALIZERS)]
    if suits(score, normalizer, backend)
]


# Nothing to attend to


@pytest.mark.parametrize(("score", "normalizer", "backend"), EVERY_KIND)
@pytest.mark.parametrize("poison", [0.0, torch.nan], ids=["numbers", "NaN"])
def test_rows_with_nothing_to_attend_to(score: str, normalizer: str, backend: str, poison: float) -> None:
    row = {**DEFAULTS, "score": score, "normalizer": normalizer, "layout": "heads", "mask": "tensor with gaps"}
    case = build(row)
    empty = 2  # the query that may look nowhere; key 5 is looked at by nobody
    query, key, value = (tensor.clone() for tensor in (case.query, case.key, case.value))
    query[..., empty, :] += poison
    key[..., 5, :] += poison
    value[..., 5, :] += poison
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    found = attention(*inputs, return_weights=True, **{**case.arguments, "backend": backend})
    assert not found.context[..., empty, :].any()
    assert not found.weights[..., empty, :].any()
    assert found.context.isfinite().all()
    if normalizer == "Softmax":
        assert found.log_normalizer is not None
        assert (found.log_normalizer[..., empty] == -torch.inf).all()
        assert found.log_normalizer[..., :empty].isfinite().all()
    else:
        assert found.log_normalizer is None
    slopes = torch.autograd.grad(found.context.square().sum(), inputs, allow_unused=True, materialize_grads=True)
    assert all(slope.isfinite().all() for slope in slopes)
    assert not slopes[0][..., empty, :].any()
    assert not slopes[1][..., 5, :].any()
    assert not slopes[2][..., 5, :].any()


@pytest.mark.parametrize(("score", "normalizer", "backend"), EVERY_KIND)
@pytest.mark.parametrize("lengths", [(0, 7), (5, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("mask", ["none", "Causal"])
def test_no_queries_or_no_keys(score: str, normalizer: str, backend: str, lengths: tuple[int, int], mask: str) -> None:
    row = {**DEFAULTS, "score": score, "normalizer": normalizer, "layout": "heads", "mask": mask}
    case = build(row, sizes=lengths)
    inputs = [tensor.requires_grad_() for tensor in (case.query, case.key, case.value)]
    found = attention(*inputs, return_weights=True, **{**case.arguments, "backend": backend})
    assert found.context.shape == (2, 3, lengths[0], 19)
    assert found.weights.shape == (2, 3, *lengths)
    assert not found.context.any()
    if found.log_normalizer is not None:
        assert (found.log_normalizer == -torch.inf).all()
    slopes = torch.autograd.grad(found.context.sum(), inputs, allow_unused=True, materialize_grads=True)
    assert all(slope.shape == tensor.shape and not slope.any() for slope, tensor in zip(slopes, inputs, strict=True))


@pytest.mark.parametrize(
    "position",
    [
        Rotary(),
        Alibi(slopes=torch.tensor(0.5)),
        RelativeBias(table=torch.ones(3)),
        Shaw(keys=torch.ones(3, 4), values=torch.ones(3, 4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_positions_of_nothing(position: Any, lengths: tuple[int, int]) -> None:
    query, key = torch.randn(2, lengths[0], 4), torch.randn(2, lengths[1], 4)
    context = attention(query, key, position=position)
    assert context.shape == (2, lengths[0], 4)
    assert not context.any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 0, 4), (2, 3, 0)], ids=["batch", "heads", "width"])
def test_other_axes_may_be_empty(backend: Any, sizes: tuple[int, int, int]) -> None:
    batch, heads, width = sizes
    query, key, value = draw(batch, heads, 5, width), draw(batch, heads, 7, width), draw(batch, heads, 7, 2)
    context = attention(query, key, value, mask=Causal(), backend=backend)
    assert context.shape == (batch, heads, 5, 2)
    assert context.isfinite().all()
    assert attention(query, key, value[..., :0], backend=backend).shape == (batch, heads, 5, 0)


# Lengths that differ


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lengths", [(3, 7), (7, 3), (1, 6), (6, 1)], ids=str)
def test_causal_with_unequal_lengths(backend: Any, lengths: tuple[int, int]) -> None:
    queries, keys = lengths
    query, key, value = draw(2, queries, 4), draw(2, keys, 4), draw(2, keys, 5)
    end = attention(query, key, value, mask=Causal(), backend=backend)
    start = attention(query, key, value, mask=Causal(align="start"), backend=backend)
    for i in range(queries):
        for context, seen in ((end, i + 1 + keys - queries), (start, i + 1)):
            seen = max(0, min(seen, keys))
            alone = attention(query[:, i : i + 1], key[:, :seen], value[:, :seen], backend="reference")
            close(context[:, i : i + 1], alone)


def test_a_step_of_decoding_sees_the_whole_cache() -> None:
    sequence = draw(2, 9, 4)
    whole = attention(sequence, sequence, mask=Causal(), position=Rotary())
    for step in range(9):
        one = attention(sequence[:, step : step + 1], sequence[:, : step + 1], mask=Causal(), position=Rotary())
        close(one, whole[:, step : step + 1])


POSITIONED: dict[str, Any] = {
    "Causal": lambda query, key: {"mask": Causal(positions=query)},
    "Window": lambda query, key: {"mask": Window(2, 1, positions=query)},
    "Rotary": lambda query, key: {"position": Rotary(query_positions=query, key_positions=key)},
    "Rotary halves": lambda query, key: {"position": Rotary(layout="halves", query_positions=query)},
    "Alibi": lambda query, key: {"position": Alibi(
        slopes=torch.tensor([0.5, 0.25, 0.1], dtype=torch.float64), query_positions=query, key_positions=key)},
    "RelativeBias": lambda query, key: {"position": RelativeBias(
        table=torch.linspace(-1, 1, 7, dtype=torch.float64), query_positions=query, key_positions=key)},
    "Shaw": lambda query, key: {"position": Shaw(
        keys=torch.linspace(-1, 1, 20, dtype=torch.float64).view(5, 4),
        values=torch.linspace(-1, 1, 20, dtype=torch.float64).view(5, 4),
        query_positions=query,
        key_positions=key,
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", POSITIONED)
@pytest.mark.parametrize("backend", ["reference", None, "chunked"])
@pytest.mark.parametrize("integer", [torch.int64, torch.int32], ids=str)
def test_ragged_positions_equal_one_call_each(name: str, backend: Any, integer: torch.dtype) -> None:
    query, key = draw(2, 3, 5, 4), draw(2, 3, 7, 4)
    places, key_places = torch.randint(0, 9, (2, 5)).to(integer), torch.randint(0, 9, (2, 7)).to(integer)
    make = POSITIONED[name]
    ragged = attention(query, key, backend=backend, **make(places, key_places))
    for element in range(2):
        alone = attention(
            query[element], key[element], backend="reference", **make(places[element], key_places[element])
        )
        close(ragged[element], alone)


# Shapes


@pytest.mark.parametrize("backend", BACKENDS)
def test_widths_may_differ(backend: Any) -> None:
    query, key, value, matrix = draw(2, 5, 3), draw(2, 7, 6), draw(2, 7, 9), draw(3, 6)
    truth = (query @ matrix @ key.mT).softmax(-1) @ value
    close(attention(query, key, value, score=Bilinear(matrix), backend=backend), truth)
    close(attention(key, key, value[..., :1], backend=backend), (key @ key.mT / 6**0.5).softmax(-1) @ value[..., :1])


def test_the_value_defaults_to_the_key() -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    assert torch.equal(attention(query, key), attention(query, key, key))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("heads", [(6, 2), (6, 3), (6, 6), (6, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("mask", [None, "causal", "heads", "padding"])
def test_grouped_heads_equal_repeated_ones(backend: Any, heads: tuple[int, int], mask: str | None) -> None:
    many, few = heads
    query, key, value = draw(2, many, 5, 4), draw(2, few, 7, 4), draw(2, few, 7, 3)
    given = {
        "causal": Causal(),
        "heads": torch.rand(2, many, 5, 7) < 0.5,
        "padding": Padding(torch.tensor([0, 5])),
        None: None,
    }[mask]
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    grouped = attention(*inputs, grouped=True, mask=given, backend=backend)
    repeated = [query, *(tensor.repeat_interleave(many // few, dim=1) for tensor in (key, value))]
    plain = attention(*repeated, mask=given, backend="reference")
    close(grouped, plain)
    slopes = [torch.autograd.grad(context.square().sum(), inputs) for context in (grouped, plain)]
    close(*slopes)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("score", ["Gaussian", "Cosine", "Bilinear per head", "Additive per head"])
def test_grouped_heads_go_with_every_score(backend: Any, score: str) -> None:
    if not suits(score, "Softmax", backend):
        pytest.skip("not an inner product")
    case = build({**DEFAULTS, "score": score, "layout": "grouped", "mask": "tensor", "backend": backend})
    repeated = [tensor.repeat_interleave(3, dim=1) for tensor in (case.key, case.value)]
    plain = attention(case.query, *repeated, **{**case.arguments, "grouped": False, "backend": "reference"})
    close(case.attend().context, plain)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mask", ["none", "padding", "whole"])
@pytest.mark.parametrize(
    ("lead", "key_lead", "value_lead"),
    [
        ((2, 6), (1, 2), (1, 2)),
        ((6,), (2, 2), (2, 2)),
        ((5, 2, 6), (2, 2), (2, 2)),
        ((2, 6), (2,), (3,)),
        ((5, 2, 6), (1, 1, 3), (2, 1)),
    ],
    ids=str,
)
def test_grouped_heads_broadcast_too(
    backend: Any, mask: str, lead: tuple[int, ...], key_lead: tuple[int, ...], value_lead: tuple[int, ...]
) -> None:
    query, key, value = draw(*lead, 5, 4), draw(*key_lead, 7, 4), draw(*value_lead, 7, 3)
    wide_key, wide_value = (
        key.repeat_interleave(6 // key_lead[-1], -3),
        value.repeat_interleave(6 // value_lead[-1], -3),
    )
    shape = torch.broadcast_shapes(lead, wide_key.shape[:-2], wide_value.shape[:-2])
    given = {
        "none": None,
        "padding": Padding(torch.arange(shape[0])) if len(shape) > 1 else Padding(torch.tensor(3)),
        "whole": torch.rand(*shape, 5, 7) < 0.5,
    }[mask]
    for score in (ScaledDot(), Gaussian(1.3)):
        truth = attention(query, wide_key, wide_value, score=score, mask=given, backend="reference")
        close(attention(query, key, value, score=score, mask=given, grouped=True, backend=backend), truth)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("heads", [(2, 4), (4, 2), (1, 2), (2, 1)], ids=str)
def test_keys_and_values_may_be_grouped_differently(backend: Any, heads: tuple[int, int]) -> None:
    query, key, value = draw(2, 4, 5, 3), draw(2, heads[0], 7, 3), draw(2, heads[1], 7, 3)
    truth = attention(
        query, key.repeat_interleave(4 // heads[0], 1), value.repeat_interleave(4 // heads[1], 1), backend="reference"
    )
    close(attention(query, key, value, grouped=True, backend=backend), truth)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("lead", "key_lead", "value_lead"),
    [
        ((), (), ()),
        ((2,), (2,), (2,)),
        ((2, 3, 5), (2, 3, 5), (2, 3, 5)),
        ((2, 3, 5, 2), (2, 3, 5, 2), (2, 3, 5, 2)),
        ((), (2,), (2,)),
        ((2,), (), ()),
        ((2, 3), (2, 1), (2, 1)),
        ((2, 1), (1, 3), (1, 1)),
        ((3,), (2, 1), (2, 3)),
        ((2, 3), (), (3,)),
        ((), (), (2, 3)),
        ((5, 1, 3), (2, 1), ()),
    ],
    ids=str,
)
def test_leading_axes_broadcast(
    backend: Any, lead: tuple[int, ...], key_lead: tuple[int, ...], value_lead: tuple[int, ...]
) -> None:
    query, key, value = draw(*lead, 5, 4), draw(*key_lead, 7, 4), draw(*value_lead, 7, 3)
    truth = (query @ key.mT / 2).softmax(-1) @ value
    found = attention(query, key, value, backend=backend, return_weights=True)
    close(found.context, truth)
    assert found.weights.shape == (*truth.shape[:-1], 7)
    gaps = torch.ones(5, 7, dtype=torch.bool)
    gaps[:, 2], gaps[1] = False, False
    spoilt = key.masked_fill(~gaps.any(0)[:, None], torch.nan), value.masked_fill(~gaps.any(0)[:, None], torch.nan)
    masked = attention(query, *spoilt, mask=gaps, backend=backend)
    close(masked, attention(query, key, value, mask=gaps, backend="reference"))
    assert not masked[..., 1, :].any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_memory_need_not_be_contiguous(backend: Any, dtype: torch.dtype) -> None:
    query = draw(5, 3, 2, 8).to(dtype).permute(2, 1, 0, 3)[..., ::2]
    key = draw(2, 4, 3, 9).to(dtype).permute(0, 2, 3, 1)
    value = draw(1, 3, 9, 4).to(dtype).expand(2, -1, -1, -1)
    mask = (torch.rand(7, 5) < 0.7).repeat(2, 1)[:9].mT
    assert not query.is_contiguous()
    assert not key.is_contiguous()
    spoilt = key.masked_fill(~mask.any(0)[:, None], torch.nan)
    found = attention(query, spoilt, value, mask=mask, backend=backend)
    truth = attention(query.contiguous(), key.contiguous(), value.contiguous(), mask=mask.contiguous(), backend=backend)
    assert (found - truth).abs().max() <= 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_rounded_once(backend: Any, dtype: torch.dtype) -> None:
    query, key = draw(2, 3, 9, 8).to(dtype), draw(2, 3, 11, 8).to(dtype)
    truth = attention(query.double(), key.double(), mask=Causal(), backend="reference")
    found = attention(query, key, mask=Causal(), backend=backend, return_weights=True)
    assert found.context.dtype == dtype
    assert found.weights.dtype == torch.float32
    assert (found.context.double() - truth).abs().max() < 2 * torch.finfo(dtype).eps
    close(found.weights.sum(-1), torch.ones(2, 3, 9), 1e-6)


def test_parameters_may_be_of_another_precision() -> None:
    """A float32 parameter goes with a half-precision model, and a half-precision one with float32."""
    for inner, outer in (
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.float64),
    ):
        query, key = draw(2, 5, 4).to(inner), draw(2, 7, 4).to(inner)
        bias, vector, scale = draw(5, 7).to(outer), draw(4).to(outer), draw(1, 1).abs().to(outer) + 0.5
        for score in (ScaledDot(scale), Gaussian(scale), Additive(vector), Bilinear(draw(4, 4).to(outer)), Dot()):
            for backend in BACKENDS:
                if backend == "sdpa" and isinstance(score, Additive):
                    continue
                found = attention(query, key, score=score, bias=bias, backend=backend)
                assert found.dtype == inner
                truth = attention(query.double(), key.double(), score=score, bias=bias, backend="reference")
                torch.testing.assert_close(found.double(), truth, atol=0.06, rtol=0.06)


# Bias


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 5, 7), (1, 3, 1, 7), (1, 7), (5, 1), (1, 1), (2, 1, 5, 7)], ids=str)
def test_a_bias_broadcasts_and_learns(backend: Any, shape: tuple[int, ...]) -> None:
    query, key, bias = draw(2, 3, 5, 4), draw(2, 3, 7, 4), draw(*shape).requires_grad_()
    truth = (query @ key.mT / 2 + bias).softmax(-1) @ key
    found = attention(query, key, bias=bias, backend=backend)
    close(found, truth)
    close(torch.autograd.grad(found.square().sum(), bias), torch.autograd.grad(truth.square().sum(), bias), 1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mask", [None, Causal(), Padding(torch.tensor([7, 3]))], ids=repr)
def test_a_bias_of_minus_infinity_forbids(backend: Any, mask: Any) -> None:
    query, key, bias = draw(2, 5, 4), draw(2, 7, 4), draw(5, 7)
    closed = torch.rand(5, 7) < 0.4
    closed[3] = True
    bias = bias.masked_fill(closed, -torch.inf).requires_grad_()
    found = attention(query, key, bias=bias, mask=mask, backend=backend, return_weights=True)
    both = ~closed if mask is None else mask.dense((2, 5, 7)) & ~closed
    truth = attention(
        query, key, bias=bias.detach().masked_fill(closed, 0.0), mask=both.expand(2, 5, 7), backend="reference",
        return_weights=True,
    )  # fmt: skip
    close(found.context, truth.context)
    close(found.weights, truth.weights)
    close(found.log_normalizer, truth.log_normalizer)
    assert not found.context[:, 3].any()
    (slope,) = torch.autograd.grad(found.context.square().sum(), bias)
    assert slope.isfinite().all()
    assert not slope[closed].any()


# Extremes


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_scores_of_a_great_size(backend: Any, dtype: torch.dtype) -> None:
    query, key = (draw(2, 5, 4) * 1e15).to(dtype), (draw(2, 7, 4) * 1e15).to(dtype)
    value = draw(2, 7, 4).to(dtype)
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    found = attention(*inputs, score=Dot(), backend=backend)
    best = (query.detach().double() @ key.detach().double().mT).argmax(-1)
    truth = value.gather(1, best.unsqueeze(-1).expand(-1, -1, 4))
    torch.testing.assert_close(found, truth)
    assert all(slope.isfinite().all() for slope in torch.autograd.grad(found.sum(), inputs))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bias_of_a_great_size_is_not_a_mask(backend: Any) -> None:
    query, key = draw(5, 4, dtype=torch.float32), draw(7, 4, dtype=torch.float32)
    found = attention(query, key, bias=torch.full((5, 7), -1e30), backend=backend)
    torch.testing.assert_close(found, key.mean(0, keepdim=True).expand(5, 4))


@pytest.mark.parametrize("normalizer", [Softmax(), Sparsemax(), Hard(), Sigmoid()], ids=str)
def test_keys_nobody_sees_may_be_of_any_size(normalizer: Any) -> None:
    query, key, value = (draw(2, 5, 4, dtype=torch.float32) for _ in range(3))
    clean = attention(query, key, value, mask=Padding(torch.tensor([3, 4])), normalize=normalizer)
    key[0, 3:], key[1, 4:] = 3e38, -3e38
    value[0, 3:], value[1, 4:] = 3e38, -3e38
    assert torch.equal(attention(query, key, value, mask=Padding(torch.tensor([3, 4])), normalize=normalizer), clean)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("offset", [0.0, 10.0, 100.0])
def test_the_gaussian_far_from_the_origin_behind_much_padding(dtype: torch.dtype, offset: float) -> None:
    """Nine keys in ten are padding at the origin: their mean would be a bad place to expand around."""
    lengths = torch.tensor([100, 80])
    query, key = (draw(2, 20, 8) + offset).to(dtype), (draw(2, 1000, 8) + offset).to(dtype)
    key = key.masked_fill(~Padding(lengths).dense((2, 1, 1000)).mT, 0.0)
    wide = query.double(), key.double()
    truth = attention(*wide, key.double() - offset, score=Gaussian(), mask=Padding(lengths), backend="reference")
    found = attention(query, key, key - offset, score=Gaussian(), mask=Padding(lengths))
    pairs = (query[:, :, None] - key[:, None]).square().sum(-1) / -2
    allowed = Padding(lengths).dense((2, 20, 1000))
    plain = pairs.masked_fill(~allowed, -torch.inf).softmax(-1) @ (key - offset)
    error = (found.double() - truth).abs().max()
    assert error <= 2 * (plain.double() - truth).abs().max() + 4 * torch.finfo(dtype).eps
    assert error < {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.05}[dtype]


def test_the_gaussian_does_not_overflow_half_precision() -> None:
    query, key = (draw(1, 5, 64) * 60).half(), (draw(1, 7, 64) * 60).half()
    truth = attention(query.double(), key.double(), score=Gaussian(100.0), backend="reference")
    found = attention(query, key, score=Gaussian(100.0))
    assert explain_backend(query, key, score=Gaussian(100.0)).chosen != "sdpa"
    torch.testing.assert_close(found.double(), truth, atol=0.1, rtol=1e-2)


# One's own parts


class Squared(Score):
    """A user's score with a bias in its inner form: 2 q·k − ‖k‖² is −‖q − k‖² but for a constant per row."""

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return -(query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
        return Inner(query, key, -key.square().sum(-1).unsqueeze(-2), 2.0)


@pytest.mark.parametrize("mask", [None, Causal(), Padding(torch.tensor([7, 2])), Window(1, 0)], ids=repr)
@pytest.mark.parametrize("lengths", [(5, 7), (7, 7), (1, 7)], ids=str)
def test_a_score_of_ones_own_may_state_a_bias(mask: Any, lengths: tuple[int, int]) -> None:
    query, key = draw(2, 3, lengths[0], 4), draw(2, 3, lengths[1], 4)
    assert explain_backend(query, key, score=Squared(), mask=mask).chosen == "sdpa"
    close(
        attention(query, key, score=Squared(), mask=mask),
        attention(query, key, score=Squared(), mask=mask, backend="reference"),
    )


def test_a_score_of_ones_own_may_have_no_inner_form() -> None:
    class Manhattan(Score):
        activation = "relu"  # an attribute of this name means nothing here

        def dense(self, query: Tensor, key: Tensor) -> Tensor:
            return -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)

    query, key = draw(2, 5, 4), draw(2, 7, 4)
    assert explain_backend(query, key, score=Manhattan()).refusals["sdpa"] == "Manhattan is not an inner product"
    truth = (-(query[:, :, None] - key[:, None]).abs().sum(-1)).softmax(-1) @ key
    close(attention(query, key, score=Manhattan()), truth)


def test_a_module_may_be_the_score() -> None:
    class Deep(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))

        def forward(self, query: Tensor, key: Tensor) -> Tensor:
            one, other = torch.broadcast_tensors(query.unsqueeze(-2), key.unsqueeze(-3))
            return self.layers(torch.cat([one, other], -1)).squeeze(-1)

    score, query, key = Deep(), draw(2, 5, 4, dtype=torch.float32), draw(2, 7, 4, dtype=torch.float32)
    attention(query, key, score=score).sum().backward()
    assert all(parameter.grad is not None for parameter in score.parameters())


def test_a_normalizer_of_ones_own_may_be_careless() -> None:
    """NaN in rows with nothing to attend to, and weight on masked keys, do not get past `normalize`."""

    def careless(scores: Tensor, mask: Tensor | None) -> Tensor:
        open_scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return open_scores.softmax(-1) + 0.1

    mask = torch.tensor([[True, False, True], [False, False, False]])
    found = attention(draw(2, 4), draw(3, 4), mask=mask, normalize=careless, return_weights=True)
    assert not found.weights[1].any()
    assert found.weights[0, 1] == 0
    assert found.context.isfinite().all()


def test_what_is_given_back() -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    found = attention(query, key, return_weights=True)
    assert isinstance(found, Attended)
    assert found._fields == ("context", "weights", "log_normalizer")
    close(found.log_normalizer, (query @ key.mT / 2).logsumexp(-1))
    assert isinstance(attention(query, key), Tensor)
    assert attention(query, key, normalize=Hard(), return_weights=True).log_normalizer is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_given_is_changed(backend: Any) -> None:
    query, key, bias = draw(2, 5, 4), draw(2, 7, 4), draw(5, 7)
    key[:, 5] = torch.nan
    mask = Padding(torch.tensor([5, 3]))
    before = [tensor.clone() for tensor in (query, key, bias)]
    attention(query, key, bias=bias, mask=mask, position=Rotary(), backend=backend, return_weights=True)
    for tensor, copy in zip((query, key, bias), before, strict=True):
        assert torch.equal(tensor.nan_to_num(99.0), copy.nan_to_num(99.0))


@pytest.mark.parametrize("backend", ["reference", None])
def test_tensors_without_data_have_shapes(backend: Any) -> None:
    query, key = torch.zeros(2, 5, 4, device="meta"), torch.zeros(2, 7, 4, device="meta")
    assert attention(query, key, mask=Causal(), backend=backend).shape == (2, 5, 4)


# Biases of another precision


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("learned", [False, True], ids=["constant", "learned"])
def test_a_bias_keeps_its_precision_beside_half_precision(dtype: torch.dtype, learned: bool) -> None:
    """Rounded to bfloat16 first, numbers of size 10 would be off by 0.04."""
    query, key, value = (torch.randn(1, 8, 64, 64).to(dtype).requires_grad_() for _ in range(3))
    bias = (torch.randn(1, 8, 64, 64) * 10).requires_grad_(learned)
    exact = attention(*(tensor.double() for tensor in (query, key, value)), bias=bias.double(), backend="reference")
    reference = (attention(query, key, value, bias=bias, backend="reference").double() - exact).abs().max()
    context = attention(query, key, value, bias=bias)
    assert (context.double() - exact).abs().max() <= 2 * reference + torch.finfo(dtype).eps
    for position in (Alibi.of_heads(8), RelativeBias(table=torch.randn(8, 127) * 10)):
        wide = attention(*(tensor.double() for tensor in (query, key, value)), position=position, backend="reference")
        plain = (attention(query, key, value, position=position, backend="reference").double() - wide).abs().max()
        found = (attention(query, key, value, position=position).double() - wide).abs().max()
        assert found <= 2 * plain + torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_a_very_low_bias_is_not_minus_infinity(dtype: torch.dtype) -> None:
    query, key = torch.randn(1, 2, 20, 8).to(dtype), torch.randn(1, 2, 20, 8).to(dtype)
    for low in (-1e9, torch.finfo(torch.float32).min / 2):
        found = attention(query, key, bias=torch.full((20, 20), low), return_weights=True)
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(1, 2, 20))
        assert found.context.abs().max() > 0


@pytest.mark.parametrize("name", ["bias", "Alibi", "RelativeBias", "Shaw"])
def test_a_constant_bias_trains_on_the_fused_kernel(name: str) -> None:
    """Torch leaves it for a bias that seems to want a gradient."""
    query, key, value = (torch.randn(2, 4, 33, 8).requires_grad_() for _ in range(3))
    arguments: dict[str, Any] = {
        "bias": {"bias": torch.randn(33, 33)},
        "Alibi": {"position": Alibi.of_heads(4)},
        "RelativeBias": {"position": RelativeBias(table=torch.randn(4, 5))},
        "Shaw": {"position": Shaw(keys=torch.randn(5, 8))},
    }[name]
    if name == "Shaw":
        query = query.detach()  # its bias is computed from the query
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        context = attention(query, key, value, **arguments)
    found = torch.autograd.grad(context.square().sum(), (key, value))
    truth = attention(query, key, value, backend="reference", **arguments)
    torch.testing.assert_close(found, torch.autograd.grad(truth.square().sum(), (key, value)), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("backend", ["sdpa", "reference", None])
@pytest.mark.parametrize("mask", [None, Causal(), "tensor"], ids=str)
def test_grouped_heads_need_no_batch(backend: Any, mask: Any) -> None:
    query, key, value = torch.randn(4, 20, 8), torch.randn(2, 20, 8), torch.randn(2, 20, 3)
    mask = torch.rand(4, 20, 20) < 0.7 if mask == "tensor" else mask
    batched = None if mask is None else mask if isinstance(mask, Causal) else mask[None]
    truth = attention(query[None], key[None], value[None], mask=batched, grouped=True, backend="reference")[0]
    found = attention(query, key, value, mask=mask, grouped=True, backend=backend)
    torch.testing.assert_close(found, truth, atol=1e-5, rtol=1e-5)


def test_the_cosine_of_very_long_vectors() -> None:
    """The sum of their magnitudes would overflow."""
    query, key = torch.full((1, 1, 8), 2e38), torch.full((1, 2, 8), 2e38)
    for score in (Cosine(), Cosine(torch.tensor(1.0))):
        assert score.dense(query, key).tolist() == [[[pytest.approx(1), pytest.approx(1)]]]
    nothing = attention(torch.ones(1, 2, 0), torch.ones(1, 3, 0), torch.ones(1, 3, 2), score=Cosine())
    torch.testing.assert_close(nothing, torch.ones(1, 2, 2))
