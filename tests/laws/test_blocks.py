"""What holds for every position, vision layer, recurrent cell and block."""

import copy
import importlib
import pickle
import pkgutil

import pytest
import torch
from torch import Tensor, nn

from catalogue.blocks import BLOCKS, Row
from hardware import half_precision_lstm

LENGTHS = torch.tensor([6, 2, 4])
COMPILED = [row for row in BLOCKS if not row.variant]

every = pytest.mark.parametrize("row", BLOCKS, ids=lambda row: row.name)
sequences = pytest.mark.parametrize("row", [row for row in BLOCKS if row.sequence], ids=lambda row: row.name)


def real_places(lengths: Tensor = LENGTHS, length: int = 6) -> Tensor:
    return torch.arange(length) < lengths[:, None]


FOLDERS = ("position", "recurrent", "transformer", "vision")


def test_every_module_of_these_files_has_a_row():
    found = set()
    names = [
        f"regard.layers.{folder}.{module.name}"
        for folder in FOLDERS
        for module in pkgutil.iter_modules(importlib.import_module(f"regard.layers.{folder}").__path__)
    ]
    for file in map(importlib.import_module, names):
        here = [thing for thing in vars(file).values() if getattr(thing, "__module__", None) == file.__name__]
        found |= {thing.__name__ for thing in here if isinstance(thing, type) and issubclass(thing, nn.Module)}
    assert found == {row.title for row in BLOCKS}


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_dtype(row: Row, dtype: torch.dtype):
    output = row.call(row.build().to(dtype), {name: x.to(dtype) for name, x in row.example().items()}, None)
    assert tuple(output.shape) == row.output_shape()
    assert output.dtype == dtype
    assert output.isfinite().all()


@every
def test_an_empty_batch_is_an_empty_batch(row: Row):
    assert tuple(row.call(row.build(), row.example(batch=0), None).shape) == row.output_shape(batch=0)


@every
def test_gradients_reach_every_parameter_and_input(row: Row):
    layer, inputs = row.build(), row.example()
    for tensor in inputs.values():
        tensor.requires_grad_()
    output = row.call(layer, inputs, LENGTHS if row.sequence else None)
    (output * torch.randn_like(output)).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name
    unheard = ["embedding", "context"] if row.name == "Readout state" else []
    for name, tensor in inputs.items():
        assert (tensor.grad is None) == (name in unheard)


@sequences
def test_padding_does_not_matter_and_gets_no_gradient(row: Row):
    layer, inputs = row.build().double(), {name: x.double() for name, x in row.example().items()}
    real = real_places()
    others = {name: torch.where(real[..., None], x, 100 * torch.randn_like(x)) for name, x in inputs.items()}
    for tensor in others.values():
        tensor.requires_grad_()
    expected, found = row.call(layer, inputs, LENGTHS), row.call(layer, others, LENGTHS)
    torch.testing.assert_close(found[real], expected[real])
    (found * torch.randn_like(found))[real].sum().backward()
    for tensor in others.values():
        assert (tensor.grad[~real] == 0).all()


@sequences
def test_an_example_is_the_same_alone_and_without_its_padding(row: Row):
    layer, inputs = row.build().double(), {name: x.double() for name, x in row.example().items()}
    output = row.call(layer, inputs, LENGTHS)
    for index, length in enumerate(LENGTHS.tolist()):
        alone = row.call(layer, {name: x[index : index + 1, :length] for name, x in inputs.items()}, None)
        torch.testing.assert_close(output[index, :length], alone[0])


@every
def test_an_example_is_the_same_in_any_batch(row: Row):
    layer, inputs = row.build().double(), {name: x.double() for name, x in row.example().items()}
    output = row.call(layer, inputs, None)
    order = torch.tensor([2, 0, 1, 0])
    shuffled = row.call(layer, {name: x[order] for name, x in inputs.items()}, None)
    torch.testing.assert_close(shuffled, output[order])


@every
def test_parameters_and_copies_carry_everything(row: Row):
    layer, inputs = row.build(), row.example()
    expected = row.call(layer, inputs, None)
    other = row.build()
    missing, unexpected = other.load_state_dict(copy.deepcopy(layer.state_dict()), strict=True)
    assert not missing
    assert not unexpected
    assert torch.equal(row.call(other, inputs, None), expected)
    assert torch.equal(row.call(copy.deepcopy(layer), inputs, None), expected)
    assert torch.equal(row.call(pickle.loads(pickle.dumps(layer)), inputs, None), expected)


@every
def test_it_keeps_nothing_between_calls(row: Row):
    layer, inputs = row.build(), row.example()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    first = row.call(layer, inputs, None)
    row.call(layer, row.example(batch=2), None)
    assert torch.equal(row.call(layer, inputs, None), first)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


@every
def test_half_precision_is_near(row: Row):
    layer, inputs = row.build(), row.example()
    exact = row.call(layer, inputs, None)
    half = row.call(layer.bfloat16(), {name: x.bfloat16() for name, x in inputs.items()}, None)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.1, atol=0.1)


@every
def test_autocast_is_near(row: Row):
    layer, inputs = row.build(), row.example()
    exact = row.call(layer, inputs, None)
    with half_precision_lstm(), torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = row.call(layer, inputs, None)
    torch.testing.assert_close(mixed.float(), exact, rtol=0.1, atol=0.1)
    if list(layer.parameters()):
        mixed.float().square().sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in layer.parameters())


@pytest.mark.gpu
@every
def test_on_a_gpu_it_is_the_same(row: Row):
    layer, inputs, lengths = row.build(), row.example(), LENGTHS if row.sequence else None
    expected = row.call(layer, inputs, lengths)
    layer, inputs = layer.cuda(), {name: x.cuda().requires_grad_() for name, x in inputs.items()}
    found = row.call(layer, inputs, None if lengths is None else lengths.cuda())
    assert found.is_cuda
    real = real_places() if row.sequence else slice(None)
    torch.testing.assert_close(found.cpu()[real], expected[real], rtol=2e-3, atol=2e-3)  # TF32 in cuDNN
    found.square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("row", [row for row in COMPILED if row.compiles], ids=lambda row: row.name)
def test_compiled_in_one_graph_it_is_the_same(row: Row):
    torch._dynamo.reset()
    layer, inputs, lengths = row.build(), row.example(length=4), LENGTHS.clamp_max(4) if row.sequence else None
    tracked = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    compiled = torch.compile(lambda given: row.call(layer, given, lengths), fullgraph=True, backend="aot_eager")
    expected, found = row.call(layer, tracked, lengths), compiled(tracked)
    torch.testing.assert_close(found, expected)
    gradients = [
        torch.autograd.grad(output.square().sum(), list(layer.parameters()), retain_graph=True)
        for output in (expected, found)
        if output.requires_grad and list(layer.parameters())
    ]
    for pair in zip(*gradients, strict=True):
        torch.testing.assert_close(*pair)


@pytest.mark.compiled
@pytest.mark.parametrize("row", [row for row in COMPILED if not row.compiles], ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # dynamo's own
def test_compiled_in_pieces_it_is_the_same(row: Row):
    """torch.compile takes no recurrent network of torch's into a graph; it must run around it."""
    torch._dynamo.reset()
    layer, inputs = row.build(), row.example()
    compiled = torch.compile(lambda given: row.call(layer, given, LENGTHS), backend="aot_eager")
    torch.testing.assert_close(compiled(inputs), row.call(layer, inputs, LENGTHS))
