"""First and second derivatives: of the reference by finite differences, of the other backends by the reference."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from catalogue.operator import INNER, LAYOUTS, NORMALIZERS, SCORES, Setting
from reference.cases import DEFAULTS, FUSED_TABLE, Row, build, name_of
from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Dot,
    Entmax,
    Gaussian,
    GaussianWindow,
    Hard,
    Location,
    Mean,
    RelativeBias,
    Rotary,
    ScaledDot,
    ScoreMod,
    ScoreRows,
    Shaw,
    Sigmoid,
    Sink,
    Softcap,
    Softmax,
    Sparsemax,
    attention,
)

#: The first query may look nowhere, and nobody may look at the last key.
MASK = torch.tensor([[False, False, False, False], [True, True, True, False]])


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def check(run: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Compare both derivatives with finite differences."""
    assert gradcheck(run, inputs, atol=1e-6)
    assert gradgradcheck(run, inputs, atol=1e-6)


#: What each score learns, and how it is made of it: query width 2, key width 2 or, where they may differ, 3.
LEARNED: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any], int]] = {
    "Dot": ([], Dot, 2),
    "ScaledDot": ([()], ScaledDot, 2),
    "ScaledDot per head": ([(2, 1, 1)], ScaledDot, 2),
    "Bilinear": ([(2, 3)], Bilinear, 3),
    "Bilinear per head": ([(2, 2, 3)], Bilinear, 3),
    "Additive": ([(2,)], Additive, 2),
    "Additive per head": ([(2, 2)], Additive, 2),
    "Additive identity": ([(2,)], lambda vector: Additive(vector, activation="identity"), 2),
    "Concat": ([(3, 5), (3,)], Concat, 3),
    "Gaussian": ([()], lambda width: Gaussian(width.abs() + 1), 2),
    "Cosine": ([()], lambda temperature: Cosine(temperature.abs() + 1), 2),
    "Location": ([(2, 5)], Location, 3),
    "function": ([(2, 2)], lambda matrix: lambda query, key: (query @ matrix @ key.mT).tanh(), 2),
    "ScoreRows": ([(2,)], lambda v: ScoreRows(lambda q, k, i, j: torch.tanh(q * v @ k.mT) * (i + j)), 2),
    "ScoreMod": ([(2,), ()], lambda v, s: ScoreMod(lambda e, b, h, i, j: e * s * (i - j), Additive(v)), 2),
    "Softcap": ([], lambda: Softcap(0.7), 2),
}


@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
@pytest.mark.parametrize("name", LEARNED)
def test_the_reference_differentiates_every_score(name: str, masked: bool) -> None:
    shapes, make, key_width = LEARNED[name]

    def run(query: Tensor, key: Tensor, value: Tensor, *learned: Tensor) -> Tensor:
        return attention(query, key, value, score=make(*learned), mask=MASK if masked else None, backend="reference")

    check(run, draw(2, 2, 2), draw(2, 4, key_width), draw(2, 4, 1), *(draw(*shape) for shape in shapes))


def test_every_score_is_differentiated() -> None:
    learned = {type(make(*(torch.ones(shape) for shape in shapes))) for shapes, make, _ in LEARNED.values()}
    listed = {type(row(Setting(LAYOUTS["batch"])).score) for row in SCORES.values()}
    assert learned == listed


@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
@pytest.mark.parametrize(
    "normalizer",
    [
        Softmax(),
        Sink(torch.tensor(0.3)),
        Sparsemax(),
        Entmax(1.5),
        Entmax(1.25),
        Entmax(1.75),
        Entmax(2.0),
        Sigmoid(-1.0),
        Hard(),
        Mean(),
    ],
    ids=repr,
)
def test_the_reference_differentiates_every_normalizer(normalizer: Any, masked: bool) -> None:
    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = MASK if masked else None
        return attention(query, key, value, normalize=normalizer, mask=mask, backend="reference")

    check(run, draw(2, 2), draw(4, 2), draw(4, 1))


def test_every_normalizer_is_differentiated() -> None:
    listed = {type(row.normalizer) for row in NORMALIZERS.values()} - {type(lambda: None)}
    assert listed == {Softmax, Sink, Sparsemax, Entmax, Sigmoid, Hard, Mean}


POSITIONS: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "Rotary": ([], Rotary),
    "Rotary halves": ([], lambda: Rotary(layout="halves")),
    "Alibi": ([(2,)], lambda slopes: Alibi(slopes=slopes)),
    "RelativeBias": ([(3,)], lambda table: RelativeBias(table=table)),
    "RelativeBias per head": ([(2, 3)], lambda table: RelativeBias(table=table)),
    "Shaw": ([(3, 2), (5, 1)], lambda keys, values: Shaw(keys=keys, values=values)),
    "GaussianWindow": ([(2, 2)], lambda center: GaussianWindow(center=center + 1.5, half_width=2.2)),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_the_reference_differentiates_every_position(name: str) -> None:
    shapes, make = POSITIONS[name]

    def run(query: Tensor, key: Tensor, value: Tensor, *learned: Tensor) -> Tensor:
        return attention(query, key, value, position=make(*learned), mask=MASK, backend="reference")

    check(run, draw(2, 2, 2), draw(2, 4, 2), draw(2, 4, 1), *(draw(*shape) for shape in shapes))


def test_a_bias_is_differentiated_also_where_it_forbids() -> None:
    closed = torch.zeros(2, 4, dtype=torch.bool)
    closed[0], closed[1, 2] = True, True

    def run(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
        return attention(query, key, bias=bias.masked_fill(closed, -torch.inf), mask=MASK, backend="reference")

    check(run, draw(2, 2), draw(4, 2), draw(2, 4))


def test_weights_and_log_normalizer_are_differentiated() -> None:
    def run(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        _, weights, log_normalizer = attention(query, key, mask=MASK, backend="reference", return_weights=True)
        return weights, log_normalizer.masked_fill(log_normalizer == -torch.inf, 0.0)

    check(run, draw(2, 2), draw(4, 2))


def twice(row: Row, *, only: str | None = None, **changes: Any) -> list[Tensor]:
    """Give first and second derivatives of a case, in one fixed direction each."""
    case = build({**row, "dtype": "float64"})
    inputs = [tensor.requires_grad_() for name, tensor in case.inputs.items() if only in (None, name)]
    arguments = {**case.arguments, **changes}
    context = attention(case.query, case.key, case.value, **arguments)
    direction = torch.linspace(-1, 1, context.numel(), dtype=torch.float64).view_as(context).requires_grad_()
    first = torch.autograd.grad(context, inputs, direction, create_graph=True, materialize_grads=True)
    total = sum(
        (gradient * torch.linspace(-1, 2, gradient.numel(), dtype=torch.float64).view_as(gradient)).sum()
        for gradient in first
    )
    second = torch.autograd.grad(total, [*inputs, direction], allow_unused=True, materialize_grads=True)
    return [*first, *second]


@pytest.mark.parametrize("row", [row for row in FUSED_TABLE if row["dtype"] != "float64"], ids=name_of)
def test_the_fused_kernel_differentiates_twice(row: Row) -> None:
    for found, truth in zip(twice(row), twice(row, backend="reference"), strict=True):
        torch.testing.assert_close(found, truth, atol=1e-9, rtol=1e-9)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("score", [name for name in SCORES if name != "function"])
@pytest.mark.parametrize("layout", ["plain", "grouped", "shared keys"])
def test_chunks_differentiate_twice(score: str, layout: str) -> None:
    row = {**DEFAULTS, "score": score, "layout": layout, "mask": "tensor with gaps", "backend": "chunked"}
    for found, truth in zip(twice(row), twice(row, backend="reference"), strict=True):
        torch.testing.assert_close(found, truth, atol=1e-9, rtol=1e-9)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("only", ["query", "key", "value"])
@pytest.mark.parametrize("score", ["ScaledDot", "Additive"])
def test_one_input_alone_is_differentiated_twice(score: str, only: str) -> None:
    backend = "sdpa" if score in INNER else "chunked"
    row = {**DEFAULTS, "score": score, "mask": "Padding", "layout": "heads", "backend": backend}
    for found, truth in zip(twice(row, only=only), twice(row, only=only, backend="reference"), strict=True):
        torch.testing.assert_close(found, truth, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("backend", ["sdpa", "reference"])
def test_a_gradient_penalty_trains(backend: Any) -> None:
    query, key = draw(2, 5, 4), draw(2, 5, 4)
    context = attention(query, key, mask=Causal(), backend=backend)
    (slope,) = torch.autograd.grad(context.square().sum(), query, create_graph=True)
    (context.sum() + slope.square().sum()).backward()
    assert query.grad is not None
    assert key.grad is not None
    found = query.grad.clone(), key.grad.clone()

    def loss(one: Tensor, two: Tensor) -> Tensor:
        again = attention(one, two, mask=Causal(), backend="reference")
        (slope,) = torch.autograd.grad(again.square().sum(), one, create_graph=True)
        return again.sum() + slope.square().sum()

    fresh = query.detach().requires_grad_(), key.detach().requires_grad_()
    truth = torch.autograd.grad(loss(*fresh), fresh)
    torch.testing.assert_close(found, truth, atol=1e-10, rtol=1e-10)


def test_the_fused_kernel_differentiates_three_times() -> None:
    def third(backend: Any) -> Tensor:
        torch.manual_seed(1)
        query, key = draw(1, 3, 2), draw(1, 4, 2)
        total = attention(query, key, backend=backend).square().sum()
        for _ in range(3):
            (slope,) = torch.autograd.grad(total, query, create_graph=True)
            total = (slope * torch.tensor([1.0, -0.5], dtype=torch.float64)).sum()
        return slope

    torch.testing.assert_close(third("sdpa"), third("reference"), atol=1e-10, rtol=1e-10)


def test_a_graph_can_be_walked_more_than_once() -> None:
    query, key = draw(1, 3, 2), draw(1, 4, 2)
    context = attention(query, key, backend="sdpa")
    first = torch.autograd.grad(context.sum(), key, retain_graph=True)
    again = torch.autograd.grad(context.sum(), key, create_graph=True)
    once_more = torch.autograd.grad(context.sum(), key)
    torch.testing.assert_close(first, again)
    torch.testing.assert_close(first, once_more)


def test_half_precision_differentiates_twice() -> None:
    query, key = (tensor.detach().bfloat16().requires_grad_() for tensor in (draw(1, 5, 4), draw(1, 7, 4)))

    def second(backend: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        (slope,) = torch.autograd.grad(attention(*inputs, backend=backend).square().sum(), inputs[0], create_graph=True)
        return torch.autograd.grad(slope.square().sum(), inputs)

    wide = query.detach().double().requires_grad_(), key.detach().double().requires_grad_()
    for found, truth in zip(second("sdpa", query, key), second("reference", *wide), strict=True):
        torch.testing.assert_close(found.double(), truth, atol=0.05, rtol=0.05)
