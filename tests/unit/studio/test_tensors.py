"""Tensors on their way to the page."""

import base64
import json
import zlib

import pytest
import torch

from regard.inspection.trace.packed import LARGEST_ERROR
from regard.studio.tensors import pack, pack_weights
from unit.studio.visiting import unpacked


def test_numbers_arrive_bit_for_bit():
    tensor = torch.rand(2, 3, 5)
    assert torch.equal(unpacked(pack(tensor)), tensor)
    assert torch.equal(unpacked(pack(tensor.transpose(0, 2))), tensor.transpose(0, 2))
    assert pack(torch.zeros(0, 3))["float32"] == ""


def test_many_weights_take_a_byte_each():
    weights = torch.rand(4, 7, 9).softmax(-1)
    assert "float32" in pack_weights(weights, exact=252)
    packed = pack_weights(weights, exact=251)
    levels = zlib.decompress(base64.b64decode(packed["bytes"]))
    near = torch.tensor(list(levels)).view(packed["shape"]) / 255 * packed["scale"]
    assert packed["scale"] == 1.0
    assert float((near - weights).abs().max()) <= LARGEST_ERROR + 1e-7
    assert pack_weights(torch.zeros(3), exact=2)["scale"] == 1.0
    large = pack_weights(torch.tensor([0.0, 1.5, 3.0]), exact=2)
    assert large["scale"] == 3.0
    assert list(zlib.decompress(base64.b64decode(large["bytes"]))) == [0, 128, 255]


@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_twelve_layers_of_twelve_heads_over_512_tokens_stay_under_10_mb(spread):
    """Weights of random scores, which hardly repeat: one layer is measured, twelve are as large twelve times."""
    packed = pack_weights((spread * torch.randn(12, 512, 512)).softmax(-1))
    assert "bytes" in packed
    assert 12 * len(json.dumps(packed)) < 10_000_000
