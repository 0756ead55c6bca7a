"""Chunks: the memory they take, and that they are the same scores."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import (
    Additive,
    Concat,
    Cosine,
    Dot,
    Gaussian,
    ScaledDot,
    ScoreMod,
    ScoreRows,
    Sparsemax,
    attention,
    explain_backend,
)
from regard.attention.kernels import chunked
from regard.attention.kernels.chunked_additive import additive_scores

CHUNK = 6000


@pytest.fixture(autouse=True)
def chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "CHUNK_SIZE", {"cpu": CHUNK, "other": CHUNK})


class Largest(TorchDispatchMode):
    """Remembers the most numbers any operation gave at once, backward pass included."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // tensor.element_size())
        return result


def measure(run: Callable[[], Tensor], inputs: list[Tensor]) -> tuple[int, int]:
    """Give the largest tensor of forward and backward pass, and how many numbers wait between the two."""
    own = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with Largest() as largest, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        context = run()
        context.square().sum().backward()
    return largest.numbers, sum(kept.values())


def problem(queries: int, keys: int, hidden: int, kind: str) -> tuple[dict[str, Any], list[Tensor], list[Tensor]]:
    """Give a score of `hidden` numbers per pair, its inputs, and what it learns."""
    width = hidden if kind in ("additive", "heads", "gaussian") else 6
    lead = (2, 2) if kind == "heads" else (2,)
    inputs = [torch.randn(*lead, queries, width), torch.randn(*lead, keys, width)]
    match kind:
        case "additive":
            learned = [torch.randn(hidden)]
            arguments: dict[str, Any] = {"score": Additive(learned[0])}
        case "heads":
            learned = [torch.randn(2, hidden)]
            arguments = {"score": Additive(learned[0])}
        case "concat":
            learned = [torch.randn(hidden, 12), torch.randn(hidden)]
            arguments = {"score": Concat(*learned)}
        case "gaussian":
            learned = []
            arguments = {"score": Gaussian(), "normalize": Sparsemax()}
        case _:
            learned = [torch.randn(6)]
            vector = learned[0]
            arguments = {
                "score": ScoreRows(lambda q, k, i, j: (q[..., :, None, :] * k[..., None, :, :]).sigmoid() @ vector - i)
            }
    for tensor in (*inputs, *learned):
        tensor.requires_grad_()
    return arguments, inputs, learned


KINDS = ["additive", "heads", "concat", "gaussian", "function"]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_grows_with_the_pairs_and_not_with_the_hidden_units(kind: str) -> None:
    found = {}
    for hidden in (32, 64):
        arguments, inputs, learned = problem(61, 47, hidden, kind)
        given = [*inputs, *learned]
        found[hidden] = measure(lambda: attention(*inputs, backend="chunked", **arguments), given)
        lead = 4 if kind == "heads" else 2
        pairs, row = lead * 61 * 47, lead * 47 * (6 if kind == "function" else hidden)
        sides = lead * 61 * hidden  # the projected queries
        assert found[hidden][0] <= max(pairs, CHUNK, row, sides)
        assert found[hidden][1] <= 12 * pairs + 4 * sides
        plain = measure(lambda: attention(*inputs, backend="reference", **arguments), given)
        if kind != "function":
            assert plain[0] >= pairs * hidden
            assert plain[1] >= pairs * hidden
    assert found[64][1] - found[32][1] < 4 * 4 * 61 * 32  # twice the hidden units: only the sides grow


@pytest.mark.parametrize("kind", KINDS)
def test_the_scores_and_all_gradients_are_those_of_the_reference(kind: str) -> None:
    arguments, inputs, learned = problem(61, 47, 32, kind)
    given = [*inputs, *learned]
    results = []
    for backend in ("chunked", "reference"):
        found = attention(*inputs, backend=backend, return_weights=True, **arguments)
        slopes = torch.autograd.grad(found.context.square().sum(), given)
        results.append([found.context, found.weights, *slopes])
    torch.testing.assert_close(*results, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("kind", ["additive", "heads", "concat"])
@pytest.mark.parametrize("only", ["query", "key", "learned"])
def test_what_needs_no_gradient_gets_none(kind: str, only: str) -> None:
    arguments, inputs, learned = problem(61, 47, 8, kind)
    wanted = {"query": inputs[0], "key": inputs[1], "learned": learned[-1]}[only]
    for tensor in (*inputs, *learned):
        tensor.requires_grad_(tensor is wanted)
    value = torch.randn(2, 47, 3) if kind != "heads" else torch.randn(2, 2, 47, 3)
    slopes = [
        torch.autograd.grad(attention(*inputs, value, backend=backend, **arguments).square().sum(), wanted)
        for backend in ("chunked", "reference")
    ]
    torch.testing.assert_close(*slopes, atol=1e-4, rtol=1e-4)


def test_it_is_chosen_where_it_pays() -> None:
    small, large = torch.randn(3, 4), torch.randn(900, 4)
    score = Additive(torch.ones(4))
    assert explain_backend(small, small, score=score).chosen == "reference"
    assert explain_backend(large, large, score=score).chosen == "chunked"
    assert explain_backend(large, large, score=Additive(torch.ones(4), activation="identity")).chosen == "sdpa"
    assert explain_backend(large, large, score=ScoreRows(lambda query, key, i, j: query @ key.mT)).chosen == "chunked"


def test_it_pays_with_grouped_heads_too() -> None:
    query, key = torch.randn(2, 6, 40, 8), torch.randn(2, 2, 50, 8)
    score = Additive(torch.randn(6, 8))
    assert explain_backend(query, key, score=score, grouped=True).chosen == "chunked"
    repeated = key.repeat_interleave(3, dim=1)
    torch.testing.assert_close(
        attention(query, key, score=score, grouped=True),
        attention(query, repeated, score=score, backend="reference"),
        atol=1e-5,
        rtol=1e-5,
    )


def test_the_linear_form_is_not_bent() -> None:
    """`Additive` without its tanh, in chunks, is still without it."""
    query, key = torch.randn(200, 4), torch.randn(300, 4)
    score = Additive(torch.randn(4), activation="identity")
    found, truth = (
        attention(query, key, score=score, backend=backend, return_weights=True).weights
        for backend in ("chunked", "reference")
    )
    torch.testing.assert_close(found, truth)


def test_a_vector_per_head_may_be_all_that_has_heads() -> None:
    query, key, value = torch.randn(61, 8).requires_grad_(), torch.randn(47, 8), torch.randn(3, 47, 2)
    score = Additive(torch.randn(3, 8))
    results = []
    for backend in ("chunked", "reference"):
        context = attention(query, key, value, score=score, backend=backend)
        results.append([context, *torch.autograd.grad(context.square().sum(), query)])
    torch.testing.assert_close(*results, atol=1e-4, rtol=1e-4)


def test_a_function_that_draws_random_numbers_draws_the_same_again() -> None:
    """The backward pass computes the scores again: with other noise it would differentiate another function."""
    query, key = torch.randn(200, 4, dtype=torch.float64), torch.randn(60, 4, dtype=torch.float64)
    query.requires_grad_()

    def noisy(query: Tensor, key: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.nn.functional.dropout(query, 0.5) @ key.mT

    torch.manual_seed(1)
    context = attention(query, key, score=ScoreRows(noisy), backend="chunked")
    (slope,) = torch.autograd.grad(context.sum(), query)
    dropped = slope == 0
    assert 0.4 < dropped.double().mean() < 0.6
    moved = query.detach() + dropped * 3.0  # what the forward pass dropped may change freely
    torch.manual_seed(1)
    torch.testing.assert_close(attention(moved, key, score=ScoreRows(noisy), backend="chunked"), context)


def test_each_chunk_sees_a_few_rows_and_all_keys() -> None:
    seen = []

    def score(query: Tensor, key: Tensor, query_index: Tensor, key_index: Tensor) -> Tensor:
        seen.append((tuple(query.shape), tuple(key.shape), query_index[:, 0].tolist(), tuple(key_index.shape)))
        return query @ key.mT

    attention(torch.randn(1, 100, 4), torch.randn(1, 150, 4), score=ScoreRows(score), backend="chunked")
    rows = CHUNK // (150 * 4)
    expected = [((1, rows, 4), (1, 150, 4), list(range(first, first + 10)), (1, 150)) for first in range(0, 100, 10)]
    assert seen == expected


def test_a_function_sees_the_precision_of_the_call() -> None:
    layer = torch.nn.Linear(4, 4, bias=False, dtype=torch.bfloat16)
    query, key = torch.randn(2, 5, 4).bfloat16(), torch.randn(2, 7, 4).bfloat16()
    for score, backend in (
        (lambda q, k: layer(q) @ k.mT, "reference"),
        (ScoreRows(lambda q, k, i, j: layer(q) @ k.mT), "reference"),
        (ScoreRows(lambda q, k, i, j: layer(q) @ k.mT), "chunked"),
    ):
        context = attention(query, key, score=score, backend=backend)
        assert context.dtype == torch.bfloat16


@pytest.mark.parametrize("queries", [3, 61, 300])
def test_a_plain_function_is_given_every_query_however_many(queries: int) -> None:
    """It may use where its queries stand, which a part of them would not tell."""
    query, key = torch.randn(2, queries, 8), torch.randn(2, 47, 8)

    def near(query: Tensor, key: Tensor) -> Tensor:
        i, j = torch.arange(query.size(-2))[:, None], torch.arange(key.size(-2))
        return query @ key.mT - 0.5 * (i - j).abs()

    assert explain_backend(query, key, score=near).chosen == "reference"
    report = explain_backend(query, key, score=near).refusals["chunked"]
    assert report == "near is a function of all queries; ScoreRows(function) may be given a few"
    indexed = ScoreRows(lambda query, key, i, j: query @ key.mT - 0.5 * (i - j).abs())
    changed = ScoreMod(lambda score, b, h, i, j: score - 0.5 * (i - j).abs(), score=Dot())
    truth = attention(query, key, score=near, backend="reference")
    for score in (near, indexed, changed):
        torch.testing.assert_close(attention(query, key, score=score), truth)


@pytest.mark.parametrize("make", [lambda f: Gaussian(f), lambda f: ScaledDot(f), lambda f: Cosine(f)])
@pytest.mark.parametrize("shape", [(2, 4, 100, 1), (100, 1), (4, 1, 1), ()])
def test_a_factor_per_query_goes_with_its_rows(make: Callable[[Tensor], Any], shape: tuple[int, ...]) -> None:
    query, key, factor = torch.randn(2, 4, 100, 8), torch.randn(2, 4, 30, 8), torch.rand(shape) + 0.5
    leaves = [tensor.double().requires_grad_() for tensor in (query, key, factor)]
    results = []
    for backend in ("chunked", "reference"):
        context = attention(*leaves[:2], score=make(leaves[2]), backend=backend)
        results.append([context, *torch.autograd.grad(context.square().sum(), leaves)])
    torch.testing.assert_close(*results)


def test_gradients_come_in_batches_too() -> None:
    """As `jacobian(vectorize=True)` asks for them: under vmap nothing may be written in place."""
    query, key, vector = torch.randn(1, 80, 16), torch.randn(1, 47, 16), torch.randn(16)
    query.requires_grad_(), vector.requires_grad_()
    directions, slopes = torch.randn(3, 1, 80, 16), []
    for backend in ("chunked", "reference"):
        context = attention(query, key, score=Additive(vector), backend=backend)
        slopes.append(torch.autograd.grad(context, (query, vector), directions, is_grads_batched=True))
    torch.testing.assert_close(*slopes, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 8.0, 30.0, 1e4])
def test_small_and_large_numbers_give_the_same_tanh(scale: float, dtype: torch.dtype) -> None:
    sides = [scale * torch.rand(2, rows, 8, dtype=dtype) * sign for rows, sign in ((20, 1), (300, -1))]
    leaves = [*sides, torch.randn(8, dtype=dtype)]
    exact = [leaf.double().requires_grad_() for leaf in leaves]
    ours = [leaf.requires_grad_() for leaf in leaves]
    scores = additive_scores(*ours, rows=3)
    truth = Additive(exact[2]).dense(*exact[:2])
    torch.testing.assert_close(scores.double(), truth, atol=1e-5, rtol=1e-5)
    arrived = torch.randn_like(truth)
    gradients = torch.autograd.grad(scores, ours, arrived.to(dtype))
    for gradient, true in zip(gradients, torch.autograd.grad(truth, exact, arrived), strict=True):
        torch.testing.assert_close(gradient.double(), true, atol=2e-4, rtol=1e-5)


def test_a_query_of_nan_stays_alone() -> None:
    query, key = torch.randn(2, 20, 8), torch.randn(2, 300, 8)
    query[1, 4] = torch.nan
    scores = additive_scores(query, key, torch.ones(8), rows=3)
    assert scores[1, 4].isnan().all()
    assert scores.isnan().sum() == 300
