"""Tensors on their way to the page."""

import base64
import zlib

import torch

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
    assert packed["scale"] == float(weights.max())
    assert float((near - weights).abs().max()) <= packed["scale"] / 510 + 1e-7
    assert pack_weights(torch.zeros(3), exact=2)["scale"] == 1.0
