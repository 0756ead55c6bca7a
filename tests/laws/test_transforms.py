"""vmap, jvp, hessian, autocast, checkpointing: what other code does to a call changes nothing but its form."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap
from torch.utils.checkpoint import checkpoint

from catalogue.operator import LAYOUTS, NORMALIZERS, POSITIONS, SCORES, UNEQUAL_WIDTHS, Setting, position_row
from reference.cases import DEFAULTS, build
from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Dot,
    Gaussian,
    Padding,
    RelativeBias,
    Rotary,
    ScaledDot,
    attention,
    explain_backend,
)
from regard.errors import BackendError


def close(found: Any, truth: Any, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, truth, atol=tolerance, rtol=tolerance)


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype)


def arguments_of(kind: str, name: str) -> tuple[dict[str, Any], list[Tensor]]:
    """Give one score, normalizer or position without a head axis, and inputs that suit it."""
    case = build({**DEFAULTS, kind: name, "layout": "plain"})
    arguments = {key: case.arguments[key] for key in ("score", "normalize", "position")}
    return arguments, [case.query, case.key, case.value]


EVERYTHING = [
    *(("score", name) for name in SCORES),
    *(("normalizer", name) for name in NORMALIZERS),
    *(("position", name) for name in POSITIONS if name != "GaussianWindow"),
]


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_vmap_is_a_batch_axis(kind: str, name: str) -> None:
    arguments, inputs = arguments_of(kind, name)
    batches = [torch.stack([tensor, tensor.flip(-2), tensor * 0.5]) for tensor in inputs]
    alone = torch.stack([attention(*rows, mask=Causal(), **arguments) for rows in zip(*batches, strict=True)])
    close(vmap(lambda *rows: attention(*rows, mask=Causal(), **arguments))(*batches), alone)


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_forward_mode_agrees_with_backward_mode(kind: str, name: str) -> None:
    arguments, inputs = arguments_of(kind, name)
    mask = torch.ones(7, 11, dtype=torch.bool).tril(3)
    mask[2], mask[:, 5] = False, False

    def run(*tensors: Tensor) -> Tensor:
        return attention(*tensors, mask=mask, **arguments)

    tangents = tuple(draw(*tensor.shape) for tensor in inputs)
    context, forward = jvp(run, tuple(inputs), tangents)
    close(context, run(*inputs))
    backward = jacrev(run, argnums=(0, 1, 2))(*inputs)
    products = [
        (slope.flatten(2) @ tangent.flatten()).view_as(context)
        for slope, tangent in zip(backward, tangents, strict=True)
    ]
    close(forward, products[0] + products[1] + products[2])


def test_dual_numbers_are_sent_to_the_reference() -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(query, torch.ones_like(query))
        report = explain_backend(dual, key)
        assert report.chosen == "reference"
        assert report.refusals["sdpa"] == "forward-mode derivatives need plain operations"
        with pytest.raises(BackendError, match="forward-mode derivatives need plain operations"):
            attention(dual, key, backend="sdpa")
        tangent = forward_ad.unpack_dual(attention(dual, key)).tangent
    close(tangent, jvp(lambda x: attention(x, key), (query,), (torch.ones_like(query),))[1])


def test_functional_transforms_are_sent_to_the_reference() -> None:
    key, seen = draw(7, 4), []

    def run(query: Tensor) -> Tensor:
        seen.append(explain_backend(query, key))
        with pytest.raises(BackendError, match=r"torch.func transforms \(vmap, jvp, grad\) need plain operations"):
            attention(query, key, backend="chunked")
        return attention(query, key)

    vmap(run)(draw(3, 5, 4))
    assert [report.chosen for report in seen] == ["reference"]


def test_a_hessian_is_symmetric_and_right() -> None:
    query, key = draw(3, 2), draw(4, 2)
    found = hessian(lambda x: attention(x, key).square().sum())(query).view(6, 6)
    close(found, found.mT)
    small, place = 1e-5, torch.zeros(3, 2, dtype=torch.float64)
    place[1, 0] = small

    def slope(x: Tensor) -> Tensor:
        return grad(lambda y: attention(y, key, backend="reference").square().sum())(x)

    numeric = (slope(query + place) - slope(query - place)) / (2 * small)
    close(found[2].view(3, 2), numeric, 1e-7)


PARAMETERS: dict[str, tuple[tuple[int, ...], Callable[[Tensor], dict[str, Any]]]] = {
    "bias": ((5, 7), lambda bias: {"bias": bias}),
    "matrix": ((4, 4), lambda matrix: {"score": Bilinear(matrix)}),
    "vector": ((4,), lambda vector: {"score": Additive(vector)}),
    "scale": ((), lambda scale: {"score": ScaledDot(scale)}),
    "bandwidth": ((), lambda width: {"score": Gaussian(width.abs() + 1)}),
    "temperature": ((), lambda width: {"score": Cosine(width.abs() + 1)}),
    "table": ((3,), lambda table: {"position": RelativeBias(table=table)}),
    "slopes": ((), lambda slope: {"position": Alibi(slopes=slope)}),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_transforms_of_a_parameter_alone(name: str) -> None:
    """Query, key and value are plain tensors then; the call must still be seen to be transformed."""
    shape, make = PARAMETERS[name]
    query, key, parameters = draw(5, 4), draw(7, 4), draw(3, *shape)

    def total(parameter: Tensor) -> Tensor:
        return attention(query, key, **make(parameter)).square().sum()

    slopes = torch.stack([torch.autograd.functional.jacobian(total, parameter) for parameter in parameters])
    close(vmap(total)(parameters), torch.stack([total(parameter) for parameter in parameters]))
    close(vmap(grad(total))(parameters), slopes)
    close(jvp(total, (parameters[0],), (torch.ones(shape, dtype=torch.float64),))[1], slopes[0].sum())


def test_lengths_and_masks_may_be_mapped_over() -> None:
    query, key = draw(5, 4), draw(7, 4)
    lengths = torch.tensor([0, 3, 7])
    alone = torch.stack([attention(query, key, mask=Padding(length)) for length in lengths])
    close(vmap(lambda length: attention(query, key, mask=Padding(length)))(lengths), alone)
    masks = torch.rand(3, 5, 7) < 0.5
    close(
        vmap(lambda mask: attention(query, key, mask=mask))(masks),
        torch.stack([attention(query, key, mask=mask) for mask in masks]),
    )


def test_per_sample_gradients() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = torch.nn.Linear(4, 4, dtype=torch.float64)

        def forward(self, x: Tensor) -> Tensor:
            return attention(self.project(x), x, mask=Causal(), position=Rotary())

    layer, batch = Layer(), draw(3, 5, 4)
    parameters = dict(layer.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(layer, parameters, x).square().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(parameters, batch)
    for index, x in enumerate(batch):
        truth = torch.autograd.grad(layer(x).square().sum(), list(parameters.values()))
        close([found[name][index] for name in parameters], list(truth))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("backend", ["reference", "sdpa", "chunked"])
def test_checkpointing_changes_nothing(backend: Any) -> None:
    query, key = draw(2, 5, 4).requires_grad_(), draw(2, 7, 4).requires_grad_()

    def run(query: Tensor, key: Tensor) -> Tensor:
        return attention(query, key, score=Gaussian(), mask=Causal(), backend=backend)

    plain = torch.autograd.grad(run(query, key).square().sum(), (query, key))
    again = torch.autograd.grad(checkpoint(run, query, key, use_reentrant=False).square().sum(), (query, key))
    close(again, plain)


# Autocast

SHARED = {
    "Dot": Dot(),
    "ScaledDot": ScaledDot(),
    "Bilinear": Bilinear(torch.eye(4)),
    "Additive": Additive(torch.ones(4)),
    "Concat": Concat(torch.ones(3, 8) / 3, torch.ones(3)),
    "Gaussian": Gaussian(),
    "Cosine": Cosine(),
    "function": lambda query, key: query @ key.mT,
}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("backend", ["reference", "sdpa", "chunked", None])
@pytest.mark.parametrize("name", SHARED)
def test_autocast(name: str, backend: Any) -> None:
    if backend == "sdpa" and name in ("Additive", "Concat", "function"):
        pytest.skip("not an inner product")
    if backend == "chunked" and name == "function":
        pytest.skip("a function is never cut into rows")
    query, key, score = draw(2, 9, 4).float().requires_grad_(), draw(2, 11, 4).float().requires_grad_(), SHARED[name]
    truth = attention(query, key, score=score, mask=Causal(), backend="reference")
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(query, key, score=score, mask=Causal(), backend=backend)
    assert context.dtype == torch.bfloat16
    torch.testing.assert_close(context.float(), truth, atol=0.05, rtol=0.05)
    slopes = torch.autograd.grad(context.float().square().sum(), (query, key))
    true_slopes = torch.autograd.grad(truth.square().sum(), (query, key))
    assert all(slope.dtype == torch.float32 for slope in slopes)
    torch.testing.assert_close(slopes, true_slopes, atol=0.3, rtol=0.1)


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
def test_autocast_mixes_precisions_and_differentiates_twice(backend: Any) -> None:
    query, key = draw(2, 5, 4).float().requires_grad_(), draw(2, 7, 4).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(query, key, bias=draw(5, 7).float(), backend=backend)
    (slope,) = torch.autograd.grad(context.float().square().sum(), query, create_graph=True)
    assert torch.autograd.grad(slope.square().sum(), query)[0].isfinite().all()


def test_autocast_leaves_float64_alone() -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(query, key)
    assert torch.equal(context, attention(query, key))


@pytest.mark.parametrize("cast", ["autocast", "input"])
def test_the_gaussian_keeps_its_norms_in_half_precision(cast: str) -> None:
    """In one bfloat16 number a squared norm of hundreds would be off by more than the scores differ."""
    random = torch.Generator().manual_seed(1)
    query, key = (torch.randn(2, length, 64, generator=random) * 5 for length in (40, 50))
    score = Gaussian(3.0)
    half = query.bfloat16(), key.bfloat16()
    rounded = attention(half[0].double(), half[1].double(), score=score, backend="reference")
    if cast == "input":
        truth, fused = rounded, attention(*half, score=score, backend="sdpa")
        plain = ((half[0][:, :, None] - half[1][:, None]).square().sum(-1) / -18).softmax(-1) @ half[1]
        allowed = 0.35 * (plain - truth).abs().mean()
    else:
        truth = attention(query.double(), key.double(), score=score, backend="reference")
        with torch.autocast("cpu", torch.bfloat16):
            fused = attention(query, key, score=score, backend="sdpa")
        allowed = 1.6 * (rounded - truth).abs().mean()  # what rounding the inputs alone would do
    assert (fused - truth).abs().mean() < allowed


# Dropout


@pytest.mark.parametrize("backend", ["reference", "chunked", None])
def test_a_generator_makes_dropout_repeatable(backend: Any) -> None:
    query, key = draw(2, 9, 4), draw(2, 11, 4)

    def attend(seed: int) -> Tensor:
        torch.rand(seed)  # the state torch keeps for all must not matter
        return attention(query, key, dropout=0.5, generator=torch.Generator().manual_seed(seed), backend=backend)

    assert torch.equal(attend(1), attend(1))
    assert not torch.equal(attend(1), attend(2))


@pytest.mark.parametrize("backend", ["reference", "sdpa", "chunked"])
@pytest.mark.parametrize("own", [False, True], ids=["global", "generator"])
def test_dropout_keeps_the_mean(backend: Any, own: bool) -> None:
    if own and backend == "sdpa":
        pytest.skip("takes no generator")
    query, key = draw(1, 2000, 4), draw(1, 6, 4)
    generator = torch.Generator().manual_seed(1) if own else None
    equal = attention(query * 0, key, dropout=0.25, generator=generator, backend=backend)
    close(equal.mean(1), key.mean(1), 0.05)
    assert equal.std(1).min() > 0.01


@pytest.mark.parametrize("own", [False, True], ids=["global", "generator"])
@pytest.mark.parametrize("backend", ["reference", "chunked"])
def test_dropping_everything_leaves_nothing(backend: Any, own: bool) -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    generator = torch.Generator().manual_seed(1) if own else None
    found = attention(query, key, dropout=1.0, generator=generator, backend=backend, return_weights=True)
    assert not found.context.any()
    close(found.weights.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_rows_of_the_catalogue_suit_vmap() -> None:
    """The widths the tests above rely on."""
    for name in SCORES:
        _, inputs = arguments_of("score", name)
        assert (inputs[0].size(-1) != inputs[1].size(-1)) == (name in UNEQUAL_WIDTHS)
    assert position_row("none", Setting(LAYOUTS["plain"]), 3).position is None
