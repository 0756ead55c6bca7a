"""Tensors of one call that depend on each other: a gradient is the same whether or not it is differentiated again.

`gradgradcheck` compares a second derivative with differences of the first one of the same graph, so it cannot see a
first derivative that is wrong throughout. These laws compare the first derivative with that of a plain backward pass.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from catalogue.layers import LAYERS
from catalogue.layers import Row as LayerRow
from catalogue.operator import INNER, MASKS, NORMALIZERS, POSITIONS, SCORES, SHAW
from reference.cases import DEFAULTS, NEEDS_WEIGHTS, Case, build
from regard import Additive, Alibi, Bilinear, Causal, Cosine, Padding, Rotary, ScaledDot, Shaw, Sink, attention
from regard.attention.kernels.twice import differentiable_twice, differentiable_twice_apart
from regard.layers import MultiHeadAttention, RelativeBiases, RelativePositions

pytestmark = pytest.mark.usefixtures("small_chunks")

#: Ways to make query, key and value of one tensor, (batch, heads, length, width).
SHARED: dict[str, Callable[[Tensor], tuple[Tensor, ...]]] = {
    "all one": lambda x: (x, x, x),
    "value defaults to key": lambda x: (x * 2, x),
    "key leads to value": lambda x: (x.detach(), x, x.cos()),
    "query leads to key": lambda x: (x, x.tanh(), x.detach()),
    "a part of the key": lambda x: (x.sin(), x, x[..., :3]),
    "views of one": lambda x: (x.flip(-2), x, x.transpose(-1, -2).mT),
    "a chain": lambda x: (x, x.sigmoid(), x.sigmoid().square()),
}


def first_derivatives(run: Callable[..., Tensor], leaves: list[Tensor]) -> tuple[tuple[Tensor, ...], ...]:
    """Give the gradients of one direction by a plain backward pass, and by one that can be differentiated again."""
    found = []
    for again in (False, True):
        result = run()
        direction = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view_as(result)
        found.append(
            torch.autograd.grad(
                result, leaves, direction, create_graph=again, allow_unused=True, materialize_grads=True
            )
        )
    return found[0], found[1]


def agree(run: Callable[..., Tensor], leaves: list[Tensor], tolerance: float = 1e-10) -> None:
    plain, again = first_derivatives(run, leaves)
    torch.testing.assert_close(again, plain, atol=tolerance, rtol=tolerance)


def backends(score: str = "ScaledDot", normalizer: str = "Softmax", position: str = "none") -> list[str]:
    """Name the backends that take these together."""
    fused = score in INNER and normalizer == "Softmax" and position not in NEEDS_WEIGHTS
    return ["reference", *(["sdpa"] if fused else []), *([] if score == "function" else ["chunked"])]


def check_case(**row: str) -> None:
    """Check one case of the catalogue with all its tensors made of one."""
    case: Case = build({**DEFAULTS, "layout": "heads", **row}, sizes=(11, 11))
    x = case.query.requires_grad_()
    wide = nn.Linear(x.size(-1), case.key.size(-1), dtype=x.dtype)
    same = case.key.size(-1) == x.size(-1)
    for name, make in SHARED.items():
        if not same and name in ("all one", "value defaults to key", "views of one"):
            continue

        def run(make: Callable[[Tensor], tuple[Tensor, ...]] = make) -> Tensor:
            query, key, *value = make(x)
            context: Tensor = attention(query, key if same else wide(key), *value, **case.arguments)
            return context

        if run().requires_grad:  # Hard and Mean do not look at scores: constant values give a constant
            agree(run, [x])


@pytest.mark.parametrize(("score", "backend"), [(score, name) for score in SCORES for name in backends(score)])
def test_every_score(score: str, backend: str) -> None:
    check_case(score=score, backend=backend, mask="Padding")


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_every_normalizer(normalizer: str) -> None:
    check_case(normalizer=normalizer)
    check_case(normalizer=normalizer, score="Additive", backend="chunked")


@pytest.mark.parametrize("mask", MASKS)
def test_every_mask(mask: str) -> None:
    check_case(mask=mask, backend="sdpa")


@pytest.mark.parametrize("position", [name for name in POSITIONS if name not in SHAW])
def test_every_position(position: str) -> None:
    for backend in backends(position=position):
        check_case(position=position, backend=backend)


x = torch.randn(2, 3, 17, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
MATRIX = torch.randn(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(4))

#: Parameters of a call that depend on its query.
DEPENDENT: dict[str, Callable[[], dict[str, Any]]] = {
    "bias": lambda: {"bias": x @ x.mT},
    "bias of one row": lambda: {"bias": x[:, :, :1] @ x.mT},
    "scale": lambda: {"score": ScaledDot(x.mean(-1, keepdim=True).exp())},
    "matrix": lambda: {"score": Bilinear(x[0, 0].mT @ x[0, 0])},
    "vector": lambda: {"score": Additive(x[0, 0, 0])},
    "vector per head": lambda: {"score": Additive(x[0, :, 0])},
    "temperature": lambda: {"score": Cosine(x.square().mean() + 0.5)},
    "slopes": lambda: {"position": Alibi(slopes=x[0, :, 0, 0])},
    "distances": lambda: {"position": Shaw(keys=x[0, 0, :5] @ MATRIX)},
    "distances of values": lambda: {"position": Shaw(keys=x[0, 0, :5], values=x[0, 1, :5])},
    "rotation": lambda: {"position": Rotary()},
    "sink": lambda: {"normalize": Sink(x[0, :, 0, 0])},
}


@pytest.mark.parametrize("mask", [None, Causal(), Padding(torch.tensor([17, 5]))], ids=["open", "causal", "padded"])
@pytest.mark.parametrize("name", DEPENDENT)
def test_parameters_that_depend_on_the_query(name: str, mask: Any) -> None:
    agree(lambda: attention(x, x @ MATRIX, x.sin(), mask=mask, **DEPENDENT[name]()), [x])
    agree(lambda: attention(x, x, mask=mask, **DEPENDENT[name]()), [x])


def test_a_gradient_penalty_is_that_of_the_reference() -> None:
    def penalty(**arguments: Any) -> Tensor:
        (slope,) = torch.autograd.grad(attention(x, x, **arguments).sum(), x, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), x)[0]

    torch.testing.assert_close(penalty(), penalty(backend="reference"), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.name)
@pytest.mark.parametrize("masked", [False, True], ids=["open", "padded"])
def test_every_layer(row: LayerRow, masked: bool) -> None:
    layer = row.build().double()
    query, key = (tensor if tensor is None else tensor.double().requires_grad_() for tensor in row.example())
    mask = Padding(torch.tensor([6, 4, 2])) if masked else None
    leaves = [*(tensor for tensor in (query, key) if tensor is not None), *layer.parameters()]
    if row.attend(layer, query, key, mask)[0].requires_grad:
        agree(lambda: row.attend(layer, query, key, mask)[0], leaves)


@pytest.mark.parametrize(
    "position", [RelativePositions(2, 4), RelativePositions(2, 4, 4), RelativeBiases(2, reach=2)], ids=repr
)
def test_layers_whose_positions_learn(position: nn.Module) -> None:
    layer = MultiHeadAttention(8, 2, position=position).double()
    y = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
    agree(lambda: layer(y, mask=Causal()), [y, *layer.parameters()])


@pytest.mark.parametrize("guard", [differentiable_twice, differentiable_twice_apart])
def test_both_guards(guard: Callable[..., Tensor]) -> None:
    y = torch.randn(3, dtype=torch.float64, requires_grad=True)
    agree(lambda: guard(torch.mul, lambda one, two: one * two, y, y.exp()), [y])
    agree(lambda: guard(torch.mul, lambda one, two: one * two, y, y), [y])
