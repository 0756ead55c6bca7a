r"""Packed weights: what a page needs to draw many maps, a byte a weight, and the exact numbers of the row pointed at.

$$b_{ij} = \mathrm{round}(255\,\alpha_{ij}), \qquad \lvert b_{ij}/255 - \alpha_{ij} \rvert \le 1/510$$

Bytes are deflated and written in base64, so that they fit into JSON and a browser's `DecompressionStream("deflate")`
reads them. Of 12 layers with 12 heads over 512 tokens this leaves less than 10 MB, where JSON takes 874.
Rows of packed weights need not sum to one: for numbers to be shown there is `exact_row`.
"""

import base64
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.inspection.drawing.map import check_index, words_of
from regard.inspection.trace.trace import Call

LEVELS = 255
LARGEST_ERROR = 1 / 510
"""How far a packed weight can be from the true one."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """One call of one example, as plain values for JSON."""

    layer: str
    step: int
    shape: tuple[int, int, int]
    """Heads, queries, keys."""
    weights: str
    """Base64 of deflated bytes, one a weight, keys fastest."""
    masked: str | None
    """Base64 of deflated bits, one a weight and set where masked, highest bit first; none: nothing is masked."""
    query_labels: tuple[str, ...] | None
    key_labels: tuple[str, ...] | None

    def to_json(self) -> dict[str, Any]:
        """Give a dictionary that `json.dumps` takes."""
        return asdict(self)


def pack(call: Call, *, example: int = 0) -> Packed:
    """Pack the weights of one example, all heads.

    >>> weights = torch.tensor([[[[0.25, 0.75]]]])
    >>> call = Call(layer="a", step=0, scores=weights.log(), weights=weights, value_norms=weights[0], mask=None)
    >>> unpack(pack(call))
    tensor([[[0.2510, 0.7490]]])
    """
    check_index("example", example, call.weights.size(0))
    weights = call.weights[example].detach().float().cpu()
    low, high = (float(weights.min()), float(weights.max())) if weights.numel() else (0.0, 1.0)
    if not (low >= 0 and high <= 1 + 1e-4):
        raise ArgumentError(f"`weights` must lie between 0 and 1 to be packed; received {low:.4g} to {high:.4g}.")
    mask = None if call.mask is None else call.mask[example].cpu()
    heads, query, key = weights.shape
    return Packed(
        layer=call.layer,
        step=call.step,
        shape=(heads, query, key),
        weights=pack_levels(weights),
        masked=None if mask is None or bool(mask.all()) else _squeeze(np.packbits(~mask.numpy()).tobytes()),
        query_labels=_tuple(words_of(call.query_labels, example)),
        key_labels=_tuple(words_of(call.key_labels, example)),
    )


def pack_levels(weights: Float[Tensor, "..."]) -> str:
    """Give weights from 0 to 1 as bytes, in steps of 1/255, deflated, in base64: what every page receives."""
    levels = (weights.detach().float().cpu().clamp(0.0, 1.0) * LEVELS).round().to(torch.uint8)
    return _squeeze(levels.contiguous().numpy().tobytes())


def pack_all(calls: Iterable[Call], *, example: int = 0) -> list[Packed]:
    """Pack one example of every call of a trace."""
    return [pack(call, example=example) for call in calls]


def unpack(packed: Packed) -> Float[Tensor, "heads query key"]:
    """Give the weights back, each within `LARGEST_ERROR`."""
    return torch.from_numpy(_bytes_of(packed.weights, packed.shape).reshape(packed.shape).copy()).float() / LEVELS


def unpack_mask(packed: Packed) -> Bool[Tensor, "heads query key"] | None:
    """Give the mask back: True = may attend."""
    if packed.masked is None:
        return None
    heads, query, key = packed.shape
    count = heads * query * key
    bits = np.unpackbits(_bytes_of(packed.masked, ((count + 7) // 8,)), count=count)
    return torch.from_numpy(bits.reshape(packed.shape).astype(bool)).logical_not()


def exact_row(call: Call, *, head: int, query: int, example: int = 0) -> Float[Tensor, " key"]:
    """Give one row of weights as they are, in float32, to show beside a packed map."""
    for name, number, count in zip(
        ("example", "head", "query"), (example, head, query), call.weights.shape, strict=False
    ):
        check_index(name, number, count)
    return call.weights[example, head, query].detach().float().cpu()


def _squeeze(data: bytes) -> str:
    """Deflate without a search for repetitions, which weights hardly have, but for runs; the shorter of both."""
    tried = []
    for strategy in (zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE):
        deflate = zlib.compressobj(6, zlib.DEFLATED, 15, 9, strategy)
        tried.append(deflate.compress(data) + deflate.flush())
    return base64.b64encode(min(tried, key=len)).decode("ascii")


def _bytes_of(text: str, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    expected = int(np.prod(shape))
    try:
        data = zlib.decompress(base64.b64decode(text, validate=True))
    except (ValueError, zlib.error) as error:
        raise DataError(f"`packed` must hold deflated bytes in base64; received a damaged text ({error}).") from error
    if len(data) != expected:
        raise DataError(f"`packed` must hold {expected} bytes for its shape {shape}; received {len(data)}.")
    return np.frombuffer(data, dtype=np.uint8)


def _tuple(words: list[str] | None) -> tuple[str, ...] | None:
    return None if words is None else tuple(words)
