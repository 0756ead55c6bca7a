"""Packed weights: small, close, and exact where one points."""

import base64
import json
import zlib
from dataclasses import replace

import pytest
import torch

from regard import Causal
from regard.errors import ArgumentError, DataError
from regard.inspection import Call
from regard.inspection.trace.packed import LARGEST_ERROR, exact_row, pack, pack_all, unpack, unpack_mask


def call(weights: torch.Tensor, mask: torch.Tensor | None = None) -> Call:
    return Call(layer="a", step=0, scores=weights, weights=weights, value_norms=weights[..., 0, :], mask=mask)


def causal(heads: int, length: int) -> Call:
    mask = Causal().dense((1, heads, length, length)).expand(1, heads, length, length)
    return call(torch.randn(1, heads, length, length).masked_fill(~mask, -torch.inf).softmax(-1), mask)


@pytest.mark.parametrize("length", [1, 7, 64])
def test_no_weight_is_further_off_than_said(length: int) -> None:
    one = causal(3, length)
    found = unpack(pack(one))
    assert float((found - one.weights[0]).abs().max()) <= LARGEST_ERROR + 1e-7
    assert torch.equal(unpack_mask(pack(one)) if length > 1 else one.mask[0], one.mask[0])
    edge = torch.tensor([0.0, 1.0, 0.5 / 255, 1.5 / 255, 254.5 / 255]).view(1, 1, 1, 5)
    assert float((unpack(pack(call(edge))) - edge[0]).abs().max()) <= LARGEST_ERROR + 1e-7


def test_rows_pointed_at_are_exact() -> None:
    one = causal(2, 9)
    row = exact_row(one, head=1, query=5)
    assert torch.equal(row, one.weights[0, 1, 5])
    assert [float(torch.tensor(number)) for number in json.loads(json.dumps(row.tolist()))] == row.tolist()
    with pytest.raises(ArgumentError, match="`query` must be from 0 to 8; received 9"):
        exact_row(one, head=1, query=9)
    with pytest.raises(ArgumentError, match="`head` must be from 0 to 1; received -1"):
        exact_row(one, head=-1, query=0)


def test_a_browser_can_read_it() -> None:
    """Plain deflate in base64, bytes in the order heads, queries, keys."""
    one = call(torch.tensor([[[[0.0, 1.0], [0.5, 0.25]], [[1.0, 0.0], [0.2, 0.8]]]]))
    packed = json.loads(json.dumps(pack(one).to_json()))
    assert list(zlib.decompress(base64.b64decode(packed["weights"]))) == [0, 255, 128, 64, 255, 0, 51, 204]
    assert packed["shape"] == [2, 2, 2]
    assert packed["masked"] is None


def test_labels_come_along_and_examples_are_told_apart() -> None:
    one = call(torch.randn(2, 1, 2, 3).softmax(-1))
    one.label(query=["a", "b"], key=[["c", "d", "e"], ["f"]])
    packed = pack_all([one], example=1)[0]
    assert (packed.query_labels, packed.key_labels) == (("a", "b"), ("f",))
    torch.testing.assert_close(unpack(packed), one.weights[1], atol=LARGEST_ERROR + 1e-7, rtol=0)
    with pytest.raises(ArgumentError, match="`example` must be from 0 to 1; received 2"):
        pack(one, example=2)


def test_mistakes_are_said() -> None:
    with pytest.raises(ArgumentError, match=r"`weights` must lie between 0 and 1 to be packed; received -0\.5 to 1\.5"):
        pack(call(torch.tensor([[[[-0.5, 1.5]]]])))
    with pytest.raises(ArgumentError, match="to be packed; received nan to nan"):
        pack(call(torch.full((1, 1, 1, 2), float("nan"))))
    good = pack(causal(1, 4))
    with pytest.raises(DataError, match="`packed` must hold deflated bytes in base64; received a damaged text"):
        unpack(replace(good, weights="!" + good.weights))
    with pytest.raises(DataError, match="`packed` must hold deflated bytes"):
        unpack(replace(good, weights=base64.b64encode(b"abc").decode()))
    with pytest.raises(DataError, match=r"`packed` must hold 32 bytes for its shape \(2, 4, 4\); received 16"):
        unpack(replace(good, shape=(2, 4, 4)))
