"""What holds for every attention layer of the catalogue."""

import copy
import inspect

import pytest
import torch
from torch import Tensor, nn

import regard.layers
from catalogue.layers import LAYERS, Row
from regard.attention import Padding
from regard.inspection import attention_layers, intervene, record
from regard.layers import Attend, Attentional, AttentionLayer, Interface

LENGTHS = torch.tensor([6, 4, 2])

every_layer = pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.name)


def attend(row: Row, layer: nn.Module, mask: Tensor | Padding | None = None) -> tuple[Tensor, Tensor]:
    query, key = row.example()
    return row.attend(layer, query, key, mask)


def test_the_catalogue_names_every_layer_that_attends() -> None:
    exported = [getattr(regard.layers, name) for name in regard.layers.__all__]
    layers = {thing.__name__ for thing in exported if isinstance(thing, type) and issubclass(thing, nn.Module)}
    named = {row.title for row in LAYERS}
    assert named <= layers
    assert {name for name in layers if name.endswith(("Attention", "Pooling", "Weights"))} - VISION <= named


#: Attention over channels and places of an image, which the operator does not compute: in the catalogue of blocks.
VISION = {"ChannelAttention", "SpatialAttention", "ConvolutionalBlockAttention"}


#: The layers that blocks and decoders take: they declare what a call may pass, so that no signature is read.
DECLARING = {row.title for row in LAYERS} - {"AttentionPooling", "StructuredSelfAttention", "TokenWeights"}


@every_layer
def test_a_layer_declares_the_arguments_it_takes_and_what_it_gives(row: Row) -> None:
    layer = row.build()
    declared = getattr(layer, "interface", None)
    assert isinstance(declared, Interface) == (row.title in DECLARING)
    if not isinstance(declared, Interface):
        return
    taken = inspect.signature(type(layer).forward).parameters
    remembered = inspect.signature(type(layer).remember).parameters if declared.memory else {}
    assert declared.memory == hasattr(layer, "remember") == isinstance(layer, AttentionLayer)
    assert ("query_positions" in taken, "position" in taken) == (declared.query_positions, declared.position)
    assert ("positions" in remembered) == declared.key_positions
    assert {"mask", "return_weights"} <= taken.keys()
    assert declared.query_positions or not declared.step
    query, key = row.example()
    if query is not None and declared.memory:
        indices = {"query_positions": torch.arange(query.size(1))} if declared.step else {}
        result = layer(query, layer.remember(key), **indices)
        assert isinstance(result, Attentional) == declared.joins


@every_layer
def test_shape_and_dtype(row: Row) -> None:
    for dtype in (torch.float32, torch.float64):
        query, key = row.example()
        layer = row.build().to(dtype)
        output, weights = row.attend(layer, None if query is None else query.to(dtype), key.to(dtype), None)
        assert output.dtype == dtype
        assert output.size(0) == 3
        assert output.size(-1) == row.output_size
        assert weights.dtype == dtype
        assert weights.size(-1) == key.size(1)
        if row.num_heads is not None:
            assert weights.shape == (3, row.num_heads, *output.shape[1:-1], key.size(1))
        else:
            assert weights.shape[:-1] == output.shape[:-1]


@every_layer
def test_attends_through_the_seam_alone(row: Row) -> None:
    layer = row.build()
    assert sum(isinstance(module, Attend) for module in layer.modules()) == 1
    assert list(attention_layers(layer)) == [row.title]


@every_layer
def test_gradients_reach_every_parameter(row: Row) -> None:
    layer = row.build()
    output, _ = attend(row, layer)
    if output.requires_grad:
        (output * torch.randn_like(output)).sum().backward()
    for name, parameter in layer.named_parameters():
        if row.flat and name.startswith(("query", "key")):
            continue  # Hard weights do not change with the scores
        assert parameter.grad is not None, name
        if name != "key.bias":  # adds the same to every score of a row, which a softmax ignores
            assert parameter.grad.abs().sum() > 0, name


@every_layer
@pytest.mark.parametrize("kind", ["padding", "boolean"])
def test_masked_keys_have_no_weight_and_no_gradient(row: Row, kind: str) -> None:
    layer = row.build()
    query, key = row.example()
    key.requires_grad_()
    mask = Padding(LENGTHS) if kind == "padding" else torch.arange(6) < LENGTHS[:, None]
    output, weights = row.attend(layer, query, key, mask)
    for example, length in enumerate(LENGTHS.tolist()):
        assert (weights[example, ..., length:] == 0).all()
        assert (weights[example, ..., :length] >= 0).all()
    used = output if output.size(1) != 6 else output[:, :2]  # self-attention: a padded query has a gradient of its own
    used.square().sum().backward()
    assert key.grad is not None
    for example, length in enumerate(LENGTHS.tolist()):
        assert (key.grad[example, length:] == 0).all()


@every_layer
def test_weights_sum_to_one_where_promised(row: Row) -> None:
    _, weights = attend(row, row.build(), Padding(LENGTHS))
    total = weights.sum(-1)
    if row.sums_to_one:
        torch.testing.assert_close(total[total > 0], torch.ones_like(total[total > 0]))
    else:
        assert not torch.allclose(total[total > 0], torch.ones_like(total[total > 0]))


@every_layer
def test_nothing_to_look_at_gives_zero(row: Row) -> None:
    layer = row.build()
    query, key = row.example()
    _, weights = row.attend(layer, query, key, Padding(torch.tensor([6, 0, 2])))
    assert (weights[1] == 0).all()
    assert weights.isfinite().all()


@every_layer
def test_padding_and_batch_do_not_change_an_example(row: Row) -> None:
    layer = row.build()
    query, key = row.example()
    output, weights = row.attend(layer, query, key, Padding(LENGTHS))
    for example, length in enumerate(LENGTHS.tolist()):
        one = slice(example, example + 1)
        alone, its_weights = row.attend(layer, None if query is None else query[one], key[one, :length], None)
        rows = alone.size(1) if alone.ndim == 3 else None
        torch.testing.assert_close(output[one, :rows], alone, atol=1e-6, rtol=1e-5)
        theirs = weights[one, ..., :rows, :length] if rows else weights[one, :length]
        torch.testing.assert_close(theirs, its_weights, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("row", [row for row in LAYERS if not row.ordered], ids=lambda row: row.name)
def test_permuting_the_keys_permutes_the_weights(row: Row) -> None:
    layer = row.build()
    query, key = row.example()
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    output, weights = row.attend(layer, query, key, None)
    moved, moved_weights = row.attend(layer, query, key[:, order], None)
    if query is None and output.size(1) == 6:  # the queries moved too
        output, weights = output[:, order], weights[..., order, :]
    torch.testing.assert_close(moved, output, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(moved_weights, weights[..., order], atol=1e-6, rtol=1e-5)


@every_layer
def test_state_dictionary_and_copies(row: Row) -> None:
    layer, other = row.build(), row.build()
    for name in layer.state_dict():
        assert "attend" not in name
        assert not name.startswith("_")
    other.load_state_dict(layer.state_dict())
    expected = attend(row, layer)[0]
    assert torch.equal(attend(row, other)[0], expected)
    twin = copy.deepcopy(layer)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    assert torch.equal(attend(row, twin)[0], expected)


@every_layer
@pytest.mark.parametrize("training", [False, True])
def test_recording_changes_nothing(row: Row, training: bool) -> None:
    layer = row.build().train(training)
    next(iter(attention_layers(layer).values())).dropout = 0.5
    torch.manual_seed(1)
    output, weights = attend(row, layer, Padding(LENGTHS))
    torch.manual_seed(1)
    with record(layer) as trace:
        watched, watched_weights = attend(row, layer, Padding(LENGTHS))
    assert torch.equal(watched, output)
    assert torch.equal(watched_weights, weights)
    (call,) = trace
    assert call.layer == row.title
    assert call.weights.ndim == 4
    torch.testing.assert_close(call.weights.reshape(weights.shape), weights.detach())
    assert not call.weights.requires_grad
    torch.manual_seed(1)
    assert torch.equal(attend(row, layer, Padding(LENGTHS))[0], output)


@every_layer
def test_keeping_gradients_gives_those_of_the_weights(row: Row) -> None:
    layer = row.build()
    query, key = row.example()
    key.requires_grad_()
    expected, _ = row.attend(layer, query, key, None)
    with record(layer, keep_gradients=True) as trace:
        output, _ = row.attend(layer, query, key, None)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-5)
    if trace[0].weights.requires_grad:
        output.sum().backward()
        assert trace[0].weights.grad is not None
        assert trace[0].weights.grad.shape == trace[0].weights.shape


@every_layer
def test_forcing_the_own_weights_changes_nothing(row: Row) -> None:
    layer = row.build()
    output, _ = attend(row, layer, Padding(LENGTHS))
    with intervene(layer, weights={"*": lambda weights: weights}):
        same, _ = attend(row, layer, Padding(LENGTHS))
    torch.testing.assert_close(same, output, atol=1e-6, rtol=1e-5)


@every_layer
def test_half_precision(row: Row) -> None:
    layer = row.build().eval()
    query, key = row.example()
    expected, _ = row.attend(layer, query, key, None)
    half = copy.deepcopy(layer).to(torch.bfloat16)
    output, weights = row.attend(half, None if query is None else query.bfloat16(), key.bfloat16(), None)
    assert output.dtype == torch.bfloat16
    assert weights.dtype == torch.float32
    if row.flat or "one-hot" in row.name:
        return  # a near tie may fall the other way
    torch.testing.assert_close(output.float(), expected, atol=0.06, rtol=0.06)
    with torch.autocast("cpu", torch.bfloat16):
        output, _ = row.attend(layer, query, key, None)
    torch.testing.assert_close(output.float(), expected, atol=0.06, rtol=0.06)


@pytest.mark.compiled
@every_layer
def test_compiles_into_one_graph(row: Row) -> None:
    layer = row.build()
    query, key = row.example()
    mask = Padding(LENGTHS)
    expected, expected_weights = row.attend(layer, query, key, mask)
    torch.compiler.reset()
    compiled = torch.compile(row.attend, fullgraph=True, backend="eager")
    output, weights = compiled(layer, query, key, mask)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights, atol=1e-6, rtol=1e-5)
