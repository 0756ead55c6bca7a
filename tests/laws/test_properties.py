"""What holds for every kind of attention, drawn at random from all of them."""

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws.strategies import BACKENDS, allowed, allowed_by_mask, cases
from reference.cases import Case
from regard import Causal, Documents, Dot, Gaussian, Padding, ScaledDot, attention

PLACED = ["none", "RelativeBias ragged", "Rotary halves ragged", "Shaw ragged"]
#: Scores that depend on the two vectors alone, not on where they stand.
CONTENT = [
    *("ScaledDot", "Bilinear", "Additive", "Additive identity", "Concat", "Gaussian learned", "Cosine"),
    *("function", "Softcap"),
]
DISTRIBUTIONS = ["Softmax", "Sparsemax", "Entmax 1.5", "Entmax 1.3", "Hard", "Mean"]


@pytest.fixture(scope="module", autouse=True)
def every_chunk_small() -> Any:
    from regard.attention.kernels import chunked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "CHUNK_SIZE", {"cpu": 200, "other": 200})
        yield


def close(found: Any, truth: Any, tolerance: float = 1e-11) -> None:
    torch.testing.assert_close(found, truth, atol=tolerance, rtol=tolerance)


def run(case: Case, query: Tensor, key: Tensor, value: Tensor, **changes: Any) -> Any:
    return attention(query, key, value, return_weights=True, **{**case.arguments, **changes})


def last_axis(tensor: Tensor | None, order: Tensor) -> Tensor | None:
    return None if tensor is None else tensor[..., order]


@given(cases(score=CONTENT, position=PLACED), st.randoms(use_true_random=False))
def test_the_order_of_keys_with_their_values_does_not_matter(case: Case, random: Any) -> None:
    order = list(range(case.key.size(-2)))
    random.shuffle(order)
    chosen = torch.tensor(order)
    mask = allowed(case)
    position = case.arguments["position"]
    moved = position and dataclasses.replace(position, key_positions=position.key_positions[..., chosen])
    before = run(case, case.query, case.key, case.value, mask=mask)
    after = run(
        case,
        case.query,
        case.key[..., chosen, :],
        case.value[..., chosen, :],
        mask=mask[..., chosen],
        bias=last_axis(case.arguments["bias"], chosen),
        position=moved,
    )
    close(after.context, before.context)
    close(after.weights, before.weights[..., chosen])


@given(cases(position=PLACED), st.integers(1, 4), st.sampled_from([0.0, 7.0, torch.nan, torch.inf]))
def test_padding_changes_nothing(case: Case, extra: int, filling: float) -> None:
    mask = allowed(case)
    position, bias = case.arguments["position"], case.arguments["bias"]

    def longer(tensor: Tensor, axis: int, filling: float) -> Tensor:
        shape = list(tensor.shape)
        shape[axis] = extra
        return torch.cat([tensor, torch.full(shape, filling, dtype=tensor.dtype)], dim=axis)

    if position is not None:
        position = dataclasses.replace(position, key_positions=longer(position.key_positions, -1, 3))
    before = run(case, case.query, case.key, case.value, mask=mask)
    after = run(
        case,
        case.query,
        longer(case.key, -2, filling),
        longer(case.value, -2, filling),
        mask=longer(mask, -1, False),
        bias=None if bias is None else longer(bias, -1, filling),
        position=position,
    )
    close(after.context, before.context)
    close(after.weights, longer(before.weights, -1, 0.0))
    if before.log_normalizer is not None:
        close(after.log_normalizer, before.log_normalizer)


def shared_places(flags: Tensor, tensor: Tensor, grouped: bool) -> Tensor:
    """Say for each row of key or value whether any pair that shares it is set."""
    counts = flags.double()
    if grouped:
        counts = counts.unflatten(-2, (tensor.size(-3), -1)).sum(-2)
    return counts.sum_to_size(tensor.shape[:-1]) > 0


@given(
    cases(
        mask=["Padding", "Window", "tensor with gaps", "Padding of everything", "and", "nothing", "Causal ragged"],
        dtype=["float64", "float32", "bfloat16", "float16"],
    ),
    st.sampled_from([torch.nan, torch.inf, -torch.inf]),
)
def test_what_nobody_may_attend_to_cannot_do_harm(case: Case, poison: float) -> None:
    grouped, bias = case.arguments["grouped"], case.arguments["bias"]
    may = allowed_by_mask(case)
    rows = {
        "query": may.any(-1).double().sum_to_size(case.query.shape[:-1]) > 0,
        "key": shared_places(may.any(-2), case.key, grouped),
        "value": shared_places(may.any(-2), case.value, grouped),
    }
    clean = {name: getattr(case, name).clone().requires_grad_() for name in rows}
    spoilt = {
        name: getattr(case, name).masked_fill(~keep.unsqueeze(-1), poison).requires_grad_()
        for name, keep in rows.items()
    }
    if bias is not None:
        never = ~(may.double().sum_to_size(bias.shape) > 0)
        clean["bias"] = bias.clone().requires_grad_()
        spoilt["bias"] = bias.masked_fill(never, torch.nan).requires_grad_()
    results = []
    for tensors in (clean, spoilt):
        context, weights, _ = run(case, tensors["query"], tensors["key"], tensors["value"], bias=tensors.get("bias"))
        direction = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)
        leaves = list(tensors.values())
        found = torch.autograd.grad(context, leaves, direction, materialize_grads=True, allow_unused=True)
        results.append((context, weights, *found))
    close(results[1], results[0], 4 * torch.finfo(case.query.dtype).eps)
    for name, gradient in zip(spoilt, results[1][2:], strict=True):
        if name in rows:
            assert not gradient[~rows[name]].any(), name


@given(cases(), st.sampled_from([0.0, 0.4]), st.booleans())
def test_asking_for_weights_never_changes_the_context(case: Case, dropout: float, seeded: bool) -> None:
    if dropout and seeded and case.row["backend"] == "sdpa":
        seeded = False

    def attend(**more: Any) -> Any:
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(3) if seeded else None
        return attention(
            case.query, case.key, case.value, dropout=dropout, generator=generator, **case.arguments, **more
        )

    alone, beside = attend(), attend(return_weights=True)
    assert torch.equal(alone, beside.context)
    assert beside.weights.shape == case.shape
    without = attention(case.query, case.key, case.value, return_weights=True, **case.arguments)
    assert torch.equal(beside.weights, without.weights)


@given(
    cases(
        position=["none", "Rotary", "Alibi"],
        mask=["Causal"],
        normalizer=["Softmax", "Sigmoid", "Mean"],
        layout=["plain", "batch", "heads"],
    ),
    st.data(),
)
def test_a_causal_prefix_ignores_the_future(case: Case, data: st.DataObject) -> None:
    queries, keys = case.query.size(-2), case.key.size(-2)
    seen = data.draw(st.integers(1, keys - 1))
    key, value = case.key.clone(), case.value.clone()
    key[..., seen:, :] = torch.randn_like(key[..., seen:, :]) * 9
    value[..., seen:, :] += 5
    before = run(case, case.query, case.key, case.value)
    after = run(case, case.query, key, value)
    blind = max(seen - (keys - queries), 0)
    close(before.context[..., :blind, :], after.context[..., :blind, :])


@given(
    cases(
        score=[*CONTENT, "ScoreRows"],
        layout=["batch", "heads", "three axes", "grouped", "multi-query"],
    ),
    st.data(),
)
def test_a_batch_element_alone_equals_itself_in_the_batch(case: Case, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, case.shape[0] - 1))
    one = slice(index, index + 1)
    position, bias, score = (case.arguments[name] for name in ("position", "bias", "score"))
    for name in ("query_positions", "key_positions"):
        if position is not None and getattr(position, name) is not None:
            position = dataclasses.replace(position, **{name: getattr(position, name)[one]})
    if case.row["position"] == "GaussianWindow":
        position = dataclasses.replace(position, center=position.center[one])
    if case.row["layout"] == "batch":  # the axis of the batch is that of the heads
        for thing, names in ((position, ("slopes", "table")), (score, ("scale", "matrix", "vector", "bandwidth"))):
            for name in names:
                tensor = getattr(thing, name, None)
                per_head = {"slopes": 1, "table": 2, "scale": 3, "bandwidth": 3, "matrix": 3, "vector": 2}[name]
                if isinstance(tensor, Tensor) and tensor.ndim == per_head:
                    thing = dataclasses.replace(thing, **{name: tensor[one]})
            position, score = (thing, score) if names[0] == "slopes" else (position, thing)
    whole = run(case, case.query, case.key, case.value)
    alone = run(
        case,
        case.query[one],
        case.key[one],
        case.value[one],
        score=score,
        mask=allowed_by_mask(case)[one],
        bias=bias if bias is None or bias.ndim == 2 else bias[one],
        position=position,
    )
    close(alone.context, whole.context[one])
    close(alone.weights, whole.weights[one])


@given(cases(normalizer=DISTRIBUTIONS, position=["none", "Rotary", "Alibi", "RelativeBias ragged", "Shaw keys"]))
def test_rows_sum_to_one_or_are_zero(case: Case) -> None:
    context, weights, log_normalizer = run(case, case.query, case.key, case.value)
    may = allowed(case)
    some = may.any(-1)
    close(weights.sum(-1), some.double())
    assert not weights[~may].any()
    assert not context[~some].any()
    assert (weights >= 0).all()
    if log_normalizer is not None:
        assert torch.equal(log_normalizer == -torch.inf, ~some)


@given(st.integers(0, 99), st.sampled_from(BACKENDS), st.sampled_from(["Gaussian", "ScaledDot"]))
def test_on_keys_of_equal_norm_the_gaussian_is_the_dot(seed: int, backend: Any, other: str) -> None:
    random = torch.Generator().manual_seed(seed)
    query = torch.randn(2, 5, 3, generator=random, dtype=torch.float64)
    key = torch.nn.functional.normalize(torch.randn(2, 7, 3, generator=random, dtype=torch.float64), dim=-1) * 2
    wide = attention(query, key, score=Gaussian(1.7), backend=backend, return_weights=True)
    dot = attention(query / 1.7**2, key, score=Dot(), return_weights=True)
    scaled = attention(query, key, score=ScaledDot(1 / 1.7**2), return_weights=True)
    close(wide.weights, dot.weights)
    close(wide.context, dot.context)
    close(wide.weights, scaled.weights)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.sampled_from(BACKENDS), st.booleans())
def test_packed_sentences_equal_each_alone(lengths: list[int], backend: Any, causal: bool) -> None:
    total = sum(lengths)
    query, key, value = torch.randn(3, total, 4), torch.randn(3, total, 4), torch.randn(3, total, 5)
    mask = Documents.of_lengths(lengths)
    packed = attention(query, key, value, mask=mask & Causal() if causal else mask, backend=backend)
    start = 0
    for length in lengths:
        part = slice(start, start + length)
        alone = attention(query[:, part], key[:, part], value[:, part], mask=Causal() if causal else None)
        torch.testing.assert_close(packed[:, part], alone, atol=1e-5, rtol=1e-5)
        start += length


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from(BACKENDS))
def test_padded_sentences_equal_each_alone(one: int, other: int, backend: Any) -> None:
    lengths = torch.tensor([one, other])
    query, key = torch.randn(2, 3, 4), torch.randn(2, 6, 4)
    padded = attention(query, key, mask=Padding(lengths), backend=backend)
    for element, length in enumerate(lengths.tolist()):
        alone = attention(query[element], key[element, :length])
        torch.testing.assert_close(padded[element], alone, atol=1e-5, rtol=1e-5)
