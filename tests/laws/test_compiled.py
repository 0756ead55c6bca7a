"""torch.compile without graph breaks, and torch.export, give what eager gives."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from catalogue.operator import LAYOUTS, MASKS, NORMALIZERS, POSITIONS, SCORES
from reference.cases import DEFAULTS, Row, build
from regard import Additive, Causal, Not, Padding, Rotary, ScaledDot, Sink, Softmax, Sparsemax, Window, attention

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    torch.compiler.reset()


def outcomes(run: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Give the result and the gradients in one direction."""
    result = run(*inputs)
    direction = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view_as(result)
    slopes = torch.autograd.grad(result, inputs, direction, allow_unused=True, materialize_grads=True)
    return [result.detach(), *slopes]


def compare(row: Row, *, compiler: str = "aot_eager") -> None:
    """Compile one case and compare it with itself, uncompiled; the backend is chosen unless the row names one."""
    case = build({**DEFAULTS, **row})
    arguments = {**case.arguments, "backend": row.get("backend")}

    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attention(query, key, value, **arguments)

    inputs = [tensor.requires_grad_() for tensor in (case.query, case.key, case.value)]
    compiled = torch.compile(run, backend=compiler, fullgraph=True)
    torch.testing.assert_close(outcomes(compiled, inputs), outcomes(run, inputs), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_every_score_compiles(score: str) -> None:
    compare({"score": score, "mask": "Causal", "layout": "heads"})


@pytest.mark.parametrize("normalizer", [name for name in NORMALIZERS if name != "Softmax"])
def test_every_normalizer_compiles(normalizer: str) -> None:
    compare({"normalizer": normalizer, "mask": "Padding", "layout": "batch"})


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "none"])
def test_every_mask_compiles(mask: str) -> None:
    compare({"mask": mask, "layout": "heads"})


@pytest.mark.parametrize("position", [name for name in POSITIONS if name != "none"])
def test_every_position_compiles(position: str) -> None:
    compare({"position": position, "layout": "heads"})


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_compiles(layout: str) -> None:
    compare({"layout": layout, "bias": "full with −∞"})


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("score", ["Additive", "Concat", "ScoreRows", "ScoreMod"])
def test_chunks_compile(score: str) -> None:
    compare({"score": score, "layout": "batch", "backend": "chunked"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        {"mask": "and", "layout": "heads", "position": "Rotary"},
        {"score": "Additive", "normalizer": "Entmax 1.5", "mask": "Padding", "layout": "batch"},
    ],
    ids=["sdpa", "reference"],
)
def test_inductor_agrees(row: Row) -> None:
    compare(row, compiler="inductor")


def test_weights_compile_beside_the_context() -> None:
    query, key = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)

    def run(query: Tensor, key: Tensor) -> Any:
        return attention(query, key, mask=Causal(), return_weights=True)

    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)(query, key)
    for found, truth in zip(compiled, run(query, key), strict=True):
        torch.testing.assert_close(found, truth)


@pytest.mark.parametrize("score", [ScaledDot(), Additive(torch.ones(4))], ids=str)
def test_one_graph_serves_every_length(score: Any) -> None:
    graphs = 0

    def count(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        nonlocal graphs
        graphs += 1
        return graph.forward

    def run(query: Tensor, key: Tensor, lengths: Tensor) -> Tensor:
        return attention(query, key, score=score, mask=Causal() & Padding(lengths))

    compiled = torch.compile(run, backend=count, fullgraph=True, dynamic=True)
    for queries, keys in ((3, 5), (4, 9), (11, 13), (8, 17)):
        arguments = torch.randn(2, queries, 4), torch.randn(2, keys, 4), torch.tensor([keys, keys - 2])
        torch.testing.assert_close(compiled(*arguments), run(*arguments))
    assert graphs == 1


def test_a_mistake_is_found_while_compiling() -> None:
    compiled = torch.compile(lambda q, k: attention(q, k), backend="eager", fullgraph=True)
    with pytest.raises(Exception, match="must have the same width for ScaledDot; received 4 and 5"):
        compiled(torch.randn(2, 3, 4), torch.randn(2, 3, 5))


class Block(nn.Module):
    """A layer as a user would write one."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(4))
        self.sparse = sparse

    def forward(self, query: Tensor, key: Tensor, lengths: Tensor) -> Tensor:
        if self.sparse:
            return attention(query, key, score=Additive(self.vector), mask=Padding(lengths), normalize=Sparsemax())
        return attention(query, key, mask=Window(2, 1) & Padding(lengths), position=Rotary())


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["fused", "reference"])
@pytest.mark.parametrize("strict", [False, True], ids=["traced", "strict"])
def test_export(sparse: bool, strict: bool) -> None:
    block = Block(sparse)
    arguments = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.tensor([7, 3])
    queries, keys = torch.export.Dim("queries", min=2, max=64), torch.export.Dim("keys", min=2, max=64)
    shapes = {"query": {1: queries}, "key": {1: keys}, "lengths": None}
    program = torch.export.export(block, arguments, dynamic_shapes=shapes, strict=strict)
    torch.testing.assert_close(program.module()(*arguments), block(*arguments))
    longer = torch.randn(2, 11, 4), torch.randn(2, 13, 4), torch.tensor([5, 13])
    torch.testing.assert_close(program.module()(*longer), block(*longer))


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("mask", ["none", "not", "and", "sink"])
def test_grouped_heads_and_opposite_masks_compile_for_any_length(dynamic: bool | None, mask: str) -> None:
    def run(query: Tensor, key: Tensor, lengths: Tensor, sink: Tensor) -> Tensor:
        given = {"none": None, "not": Not(Padding(lengths)), "and": Not(Causal()) & Padding(lengths), "sink": Causal()}
        normalize = Sink(sink) if mask == "sink" else Softmax()
        return attention(query, key, mask=given[mask], normalize=normalize, grouped=True)

    compiled = torch.compile(run, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for keys in (6, 9, 20):
        arguments = torch.randn(2, 4, keys, 8), torch.randn(2, 2, keys, 8), torch.tensor([3, keys]), torch.randn(4)
        torch.testing.assert_close(compiled(*arguments), run(*arguments), atol=1e-5, rtol=1e-5)


class Normalized(nn.Module):
    """Attention with one normalizer, for any number of keys."""

    def __init__(self, normalize: Any) -> None:
        super().__init__()
        self.normalize = normalize

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return attention(query, key, normalize=self.normalize)


@pytest.mark.slow
@pytest.mark.parametrize("normalize", [row.normalizer for row in NORMALIZERS.values()], ids=list(NORMALIZERS))
def test_every_normalizer_exports_for_any_number_of_keys(normalize: Any) -> None:
    module = Normalized(normalize)
    keys = torch.export.Dim("keys", min=2, max=99)
    example = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    program = torch.export.export(module, example, dynamic_shapes=({}, {1: keys}))
    for length in (3, 5, 40):
        arguments = torch.randn(2, 4, 8), torch.randn(2, length, 8)
        torch.testing.assert_close(program.module()(*arguments), module(*arguments), atol=1e-5, rtol=1e-5)


def test_tracing_does_not_settle_whether_padding_holds_nan() -> None:
    """On a CPU the operator looks whether there is any; a graph made of one call must serve the next."""
    query, key, lengths = torch.randn(2, 4, 8), torch.randn(2, 20, 8), torch.tensor([20, 2])
    later = key.clone()
    later[1, 2:] = torch.nan

    def run(query: Tensor, key: Tensor, lengths: Tensor) -> Tensor:
        return attention(query, key, mask=Padding(lengths))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(run, (query, key, lengths))
    for graph in (traced, make_fx(run)(query, key, lengths)):
        torch.testing.assert_close(graph(query, later, lengths), run(query, key, lengths))
