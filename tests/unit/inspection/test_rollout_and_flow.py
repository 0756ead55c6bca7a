"""Rollout and flow against loops, hand-made cases and every cut of small networks."""

import itertools

import pytest
import torch
from torch import Tensor, nn

from catalogue.models import small
from regard import Causal, Padding
from regard.errors import ArgumentError
from regard.inspection import Call, Trace, flow, joined, record, rollout
from regard.inspection.readings.max_flow import Network
from regard.inspection.readings.mixing import mixing
from regard.layers import MultiHeadAttention
from regard.models import build_model
from regard.tasks.translation.presets import preset


def trace_of(*layers: Tensor, name: str = "layers") -> Trace:
    """Calls with these weights, (heads, query, key) each."""
    return Trace(
        [
            Call(
                layer=f"{name}.{number}",
                step=0,
                scores=one[None],
                weights=one[None],
                value_norms=one[None, :, 0],
                mask=None,
            )
            for number, one in enumerate(layers)
        ]
    )


def some(heads: int, query: int, key: int) -> Tensor:
    return (2 * torch.randn(heads, query, key)).softmax(-1)


def test_rollout_is_the_product_written_out() -> None:
    layers = [some(2, 3, 3) for _ in range(3)]
    expected = torch.zeros(3, 3, dtype=torch.double)
    mixed = [0.5 * one.mean(0).double() + 0.5 * torch.eye(3).double() for one in layers]
    for i, j, k, m in itertools.product(range(3), repeat=4):
        expected[i, m] += mixed[2][i, j] * mixed[1][j, k] * mixed[0][k, m]
    found = rollout(trace_of(*layers))
    torch.testing.assert_close(found.values, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found.values.sum(-1), torch.ones(3).double())
    assert found.name == "rollout of 3 layers"
    plain = rollout(trace_of(*layers), carried=0.0)
    torch.testing.assert_close(plain.values, (layers[2].mean(0) @ layers[1].mean(0) @ layers[0].mean(0)).double())


def test_causal_rollout_never_sees_what_comes_later_and_padding_is_left_out() -> None:
    layer = MultiHeadAttention(8, 2)
    words = [["a", "b", "c", "d"], ["e", "f"]]
    with record(layer, query_labels=words, key_labels=words) as trace:
        layer(torch.randn(2, 4, 8), mask=Causal() & Padding(torch.tensor([4, 2])))
    assert (rollout(trace).values.triu(1) == 0).all()
    padded = rollout(trace, example=1)
    assert padded.labels == (("e", "f"), ("e", "f"))
    torch.testing.assert_close(padded.values.sum(-1), torch.ones(2).double())


def test_a_row_with_nothing_to_look_at_is_carried_whole() -> None:
    weights = torch.tensor([[[0.0, 0.0], [0.5, 0.5]]])
    assert rollout(trace_of(weights)).values.tolist() == [[1.0, 0.0], [0.25, 0.75]]


def test_through_encoder_and_decoder_by_hand() -> None:
    """One block on each side: the target holds ½ of itself mixed, and ½ of what the encoder made of the source."""
    encoder, own, cross = some(2, 3, 3), some(1, 2, 2), some(1, 2, 3)
    found = rollout(trace_of(encoder), decoder=trace_of(own, name="own"), cross=trace_of(cross, name="cross"))
    states = 0.5 * encoder.mean(0) + 0.5 * torch.eye(3)
    expected = torch.cat([0.5 * cross[0] @ states, 0.5 * (0.5 * own[0] + 0.5 * torch.eye(2))], dim=-1).double()
    torch.testing.assert_close(found.values, expected, atol=1e-6, rtol=1e-6)
    assert found.labels == (("0", "1"), ("0", "1", "2", "0", "1"))


def test_a_translator_rolled_out_whole_and_word_by_word() -> None:
    model = build_model(small(preset("transformer-tiny")), source_vocabulary=11, target_vocabulary=11).eval()
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 5, 6]])
    with torch.no_grad(), record(model) as whole:
        model(source, None, target)
    with torch.no_grad(), record(model) as steps:
        memory = model.encode(source)
        state = model.start(memory)
        for place in range(3):
            state = model.step(target[:, place : place + 1], state, memory).state

    def parts(trace: Trace) -> dict[str, Trace]:
        return {
            "trace": trace["encoder.*"],
            "decoder": trace["decoder.*.self_attention"],
            "cross": trace["decoder.*.cross_attention"],
        }

    found, again = rollout(**parts(whole)), rollout(**parts(joined(steps)))
    assert found.values.shape == (3, 7)
    torch.testing.assert_close(found.values.sum(-1), torch.ones(3).double())
    torch.testing.assert_close(again.values, found.values, atol=1e-5, rtol=1e-5)
    flowed = flow(**parts(whole))
    assert (flowed.values >= found.values - 1e-9).all()  # what passes along all paths fits through the pipes


def smallest_cut(matrices: tuple[Tensor, ...], query: int, key: int) -> float:
    """Try every way to part the inner nodes, for the cut that lets least through: as much as the flow."""
    size, levels = matrices[0].size(0), len(matrices)
    top, best = levels * size + query, float("inf")
    inner = [node for node in range((levels + 1) * size) if node not in (top, key)]
    for chosen in itertools.product((False, True), repeat=len(inner)):
        near = {top} | {node for node, is_near in zip(inner, chosen, strict=True) if is_near}
        width = sum(
            float(matrix[above, below])
            for level, matrix in enumerate(matrices)
            for above in range(size)
            for below in range(size)
            if (level + 1) * size + above in near and level * size + below not in near
        )
        best = min(best, width)
    return best


@pytest.mark.parametrize(("size", "layers"), [(2, 2), (3, 2), (2, 4)])
def test_flow_is_the_smallest_cut(size: int, layers: int) -> None:
    trace = trace_of(*(some(2, size, size) for _ in range(layers)))
    matrices = mixing(trace).matrices
    found = flow(trace)
    for query, key in itertools.product(range(size), repeat=2):
        assert float(found.values[query, key]) == pytest.approx(smallest_cut(matrices, query, key), abs=1e-9)


def test_flow_by_hand() -> None:
    """Two layers of equal weights: ¾ and ¼ pipes; through either node of the middle."""
    trace = trace_of(torch.full((1, 2, 2), 0.5), torch.full((1, 2, 2), 0.5))
    assert flow(trace).values.tolist() == [[1.0, 0.5], [0.5, 1.0]]
    some_rows = flow(trace, queries=[1])
    assert some_rows.values.tolist() == [[0.5, 1.0]]
    assert some_rows.labels == (("1",), ("0", "1"))
    with pytest.raises(ArgumentError, match="`queries` must be from 0 to 1; received 2"):
        flow(trace, queries=[2])


def test_water_may_have_to_turn_back() -> None:
    """The first path found takes a pipe that the best flow leaves to another."""
    network = Network(4)
    for start, end in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]:
        network.add(start, end, 1.0)
    assert network.max_flow(0, 3) == 2.0
    assert network.max_flow(3, 0) == 0.0
    assert network.max_flow(0, 3) == 2.0  # nothing is left behind


def test_traces_must_fit() -> None:
    square, wide = some(1, 3, 3), some(1, 2, 3)
    with pytest.raises(
        ArgumentError, match=r"`trace` must hold self-attention over 3 tokens; received 2 queries × 3 keys"
    ):
        rollout(trace_of(wide))
    with pytest.raises(ArgumentError, match=r"one call for each layer, and a layer; received 0 calls of 0 layers"):
        rollout(Trace())
    with pytest.raises(ArgumentError, match=r"received 2 calls of 1 layers. Choose layers by trace\[pattern\]; joined"):
        rollout(Trace([*trace_of(square), *trace_of(square)]))
    with pytest.raises(
        ArgumentError, match="`decoder` and `cross` must both have one call for each block; received 1 and 0"
    ):
        rollout(trace_of(square), decoder=trace_of(square))
    message = "`cross` must have weights for 3 target and 3 source tokens; received 2 queries × 3 keys in layers.0"
    with pytest.raises(ArgumentError, match=message):
        rollout(trace_of(square), decoder=trace_of(square), cross=trace_of(wide))
    with pytest.raises(ArgumentError, match="`carried` must be a share, from 0 to below 1; received 1"):
        rollout(trace_of(square), carried=1.0)
    with pytest.raises(ArgumentError, match="`example` must be from 0 to 0; received 3"):
        rollout(trace_of(square), example=3)


def test_steps_join_into_what_reading_at_once_gives() -> None:
    layer = MultiHeadAttention(8, 2).eval()
    x = torch.randn(1, 4, 8)
    with record(layer) as whole:
        layer(x, mask=Causal())
    memory = layer.remember(x[:, :0]).reserve(4)
    with record(nn.ModuleDict({"a": layer})) as steps:
        for place in range(4):
            memory = memory.append(layer.remember(x[:, place : place + 1]))
            layer(x[:, place : place + 1], memory)
    steps.label(query=["w"])
    (call,) = joined(steps)
    torch.testing.assert_close(call.weights, whole[0].weights)
    torch.testing.assert_close(call.scores, whole[0].scores)
    assert torch.equal(call.mask, whole[0].mask)  # type: ignore[arg-type]
    assert call.query_labels == ["w"] * 4
    mixed = Trace([trace_of(some(1, 2, 2))[0], trace_of(some(2, 2, 2))[0]])
    with pytest.raises(
        ArgumentError, match=r"one number of examples and heads to be joined; received \[\(1, 1\), \(1, 2\)\]"
    ):
        joined(mixed)
