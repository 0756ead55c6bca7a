"""Every attention layer, with an example: adding a layer is adding a row. `laws/test_layers.py` runs over them.

A row's `attend` calls the layer on (query, key, mask), where mask speaks of the keys alone, and gives what came out and
the weights. Layers that attend over their own sequence take no query.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Attended, Gaussian, Hard, Padding, Sigmoid, Sparsemax
from regard.layers import (
    AdditiveAttention,
    AttentionPooling,
    BilinearAttention,
    CosineAttention,
    DotAttention,
    GaussianAttention,
    LearnedAdditive,
    LearnedBilinear,
    LearnedCosine,
    LearnedGaussian,
    LocalAttention,
    LuongAttention,
    MultiHeadAttention,
    SelfAttention,
    StructuredSelfAttention,
    TokenWeights,
)
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.relative import RelativePositions
from regard.layers.position.rotary import RotaryPositions

KeyMask = Tensor | Padding | None
Call = Callable[[Any, Tensor | None, Tensor, KeyMask], tuple[Tensor, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    build: Callable[[], nn.Module]
    attend: Call
    key_size: int
    output_size: int
    query_size: int | None = None
    num_heads: int | None = None
    sums_to_one: bool = True
    ordered: bool = False
    """True where the position of a key matters."""
    flat: bool = False
    """True where the gradient of the weights is zero almost everywhere."""

    @property
    def title(self) -> str:
        return self.name.partition(" ")[0]

    def example(self, batch: int = 3, query: int = 4, key: int = 6) -> tuple[Tensor | None, Tensor]:
        generator = torch.Generator().manual_seed(7)
        keys = torch.randn(batch, key, self.key_size, generator=generator)
        queries = torch.randn(batch, query, self.query_size or 1, generator=generator)
        return (None if self.query_size is None else queries), keys


def over_memory(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    attended: Attended = layer(query, layer.remember(key, mask=mask), return_weights=True)
    return attended.context, attended.weights


def luong(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    attentional = layer(query, layer.remember(key, mask=mask), return_weights=True)
    return attentional.vector, attentional.weights


def monotonic(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    assert query is not None
    memory, places = layer.remember(key, mask=mask), torch.arange(query.size(1), device=query.device)
    attentional = layer(query, memory, query_positions=places, return_weights=True)
    return attentional.vector, attentional.weights


def itself(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    if isinstance(mask, Tensor) and not isinstance(layer, StructuredSelfAttention):
        mask = mask[:, None, :] if isinstance(layer, SelfAttention) else mask[:, None, None, :]
    attended: Attended = layer(key, mask=mask, return_weights=True)
    return attended.context, attended.weights


def pooling(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    pooled: tuple[Tensor, Tensor] = layer(query, key, mask=mask)
    return pooled


def tokens(layer: Any, query: Tensor | None, key: Tensor, mask: KeyMask) -> tuple[Tensor, Tensor]:
    numbers = torch.arange(key.size(1), device=key.device).expand(key.shape[:2]) % 5
    attended: Attended = layer(numbers, key, mask=mask, return_weights=True)
    return attended.context, attended.weights


def multi_head(options: dict[str, Any]) -> Callable[[], nn.Module]:
    """Build a layer with fresh copies of the modules among its options."""
    return lambda: MultiHeadAttention(8, 2, **copy.deepcopy(options))


def documents() -> list[list[int]]:
    return [[0, 1], [1, 2, 3], [3, 4], [0]]


LAYERS = [
    Row(
        name="AdditiveAttention",
        build=lambda: AdditiveAttention(5, 6, 7),
        attend=over_memory,
        query_size=5,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="BilinearAttention",
        build=lambda: BilinearAttention(5, 6),
        attend=over_memory,
        query_size=5,
        key_size=6,
        output_size=6,
    ),
    Row(name="DotAttention", build=DotAttention, attend=over_memory, query_size=6, key_size=6, output_size=6),
    Row(name="GaussianAttention", build=GaussianAttention, attend=over_memory, query_size=6, key_size=6, output_size=6),
    Row(name="CosineAttention", build=CosineAttention, attend=over_memory, query_size=6, key_size=6, output_size=6),
    Row(
        name="LuongAttention dot",
        build=lambda: LuongAttention(6, 6, score="dot"),
        attend=luong,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="LuongAttention scaled dot",
        build=lambda: LuongAttention(6, 6, score="scaled-dot"),
        attend=luong,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="LuongAttention general",
        build=lambda: LuongAttention(5, 6),
        attend=luong,
        query_size=5,
        key_size=6,
        output_size=5,
    ),
    Row(
        name="LuongAttention concat",
        build=lambda: LuongAttention(5, 6, score="concat", hidden_size=7),
        attend=luong,
        query_size=5,
        key_size=6,
        output_size=5,
    ),
    Row(
        name="LuongAttention location",
        build=lambda: LuongAttention(5, 6, score="location", max_length=9),
        attend=luong,
        query_size=5,
        key_size=6,
        output_size=5,
        ordered=True,
    ),
    Row(
        name="LocalAttention predictive",
        build=lambda: LocalAttention(5, 6, half_width=2.0),
        attend=luong,
        query_size=5,
        key_size=6,
        output_size=5,
        sums_to_one=False,
        ordered=True,
    ),
    Row(
        name="LocalAttention monotonic",
        build=lambda: LocalAttention(5, 6, kind="monotonic", half_width=2.0),
        attend=monotonic,
        query_size=5,
        key_size=6,
        output_size=5,
        ordered=True,
    ),
    Row(name="SelfAttention plain", build=SelfAttention, attend=itself, key_size=6, output_size=6),
    Row(
        name="SelfAttention mapped",
        build=lambda: SelfAttention(6, key_size=4, value_size=5, scaled=True),
        attend=itself,
        key_size=6,
        output_size=5,
    ),
    Row(
        name="StructuredSelfAttention",
        build=lambda: StructuredSelfAttention(6, 5, 3),
        attend=itself,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="AttentionPooling one-hot",
        build=lambda: AttentionPooling("one-hot"),
        attend=pooling,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="AttentionPooling average",
        build=lambda: AttentionPooling("average"),
        attend=pooling,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="AttentionPooling kernel",
        build=lambda: AttentionPooling("kernel"),
        attend=pooling,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="AttentionPooling learned",
        build=lambda: AttentionPooling("learned", size=6),
        attend=pooling,
        query_size=6,
        key_size=6,
        output_size=6,
    ),
    Row(
        name="TokenWeights learned",
        build=lambda: TokenWeights(5),
        attend=tokens,
        key_size=6,
        output_size=6,
        ordered=True,
    ),
    Row(
        name="TokenWeights tf-idf",
        build=lambda: TokenWeights.tf_idf(documents()),
        attend=tokens,
        key_size=6,
        output_size=6,
        ordered=True,
    ),
    *[
        Row(
            name=f"MultiHeadAttention {name}",
            build=multi_head(options),
            attend=look,
            query_size=size,
            key_size=6 if size else 8,
            output_size=8,
            num_heads=2,
            **flags,
        )
        for name, look, size, options, flags in [
            ("self", itself, None, {}, {}),
            ("cross", over_memory, 8, {"key_size": 6}, {}),
            ("grouped", over_memory, 8, {"key_size": 6, "num_key_value_heads": 1, "bias": False}, {}),
            ("additive", over_memory, 8, {"key_size": 6, "score": LearnedAdditive(4, num_heads=2)}, {}),
            ("bilinear", over_memory, 8, {"key_size": 6, "score": LearnedBilinear(4, 4, num_heads=2)}, {}),
            ("gaussian", over_memory, 8, {"key_size": 6, "score": LearnedGaussian(num_heads=2)}, {}),
            ("fixed gaussian", over_memory, 8, {"key_size": 6, "score": Gaussian(2.0)}, {}),
            ("cosine", over_memory, 8, {"key_size": 6, "score": LearnedCosine(num_heads=2)}, {}),
            ("sparsemax", over_memory, 8, {"key_size": 6, "normalize": Sparsemax()}, {}),
            ("sigmoid", over_memory, 8, {"key_size": 6, "normalize": Sigmoid()}, {"sums_to_one": False}),
            ("hard", over_memory, 8, {"key_size": 6, "normalize": Hard()}, {"flat": True}),
            ("rotary", itself, None, {"position": RotaryPositions()}, {"ordered": True}),
            ("relative", itself, None, {"position": RelativePositions(2, 4, 4)}, {"ordered": True}),
            ("alibi", itself, None, {"position": AlibiBias(2)}, {"ordered": True}),
        ]
    ],
]
