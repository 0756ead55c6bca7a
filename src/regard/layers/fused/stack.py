"""Blocks of a Transformer, one after the other: each sum of states, with the norm behind it, in one pass over memory.

What a sublayer gives is not added at once, but together with the next norm, which may be that of the next block. So
the blocks are not called themselves here; where somebody watches one of them, or it has other parts, all are.
"""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Causal, Mask, Padding
from regard.attention.prepared import promises_finite
from regard.layers.attention_layer import append_positions, causal_mask
from regard.layers.fused import choose
from regard.layers.fused.choose import product_dtype, serves, serves_decoding
from regard.layers.fused.operations import TILE, Draw, Norm, activate, add_and_norm
from regard.layers.fused.projection import packed, packed_bias, project
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.transformer.decoder_block import CAUSAL, TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.residual import Residual

_CALLED = (nn.Linear, nn.LayerNorm, nn.Dropout)


def encode(
    blocks: Sequence[TransformerEncoderBlock],
    states: Float[Tensor, "batch length size"],
    *,
    mask: Mask | None,
    norm: nn.Module,
) -> Float[Tensor, "batch length size"]:
    """Let states go through encoder blocks and the norm behind them.

    >>> block = TransformerEncoderBlock(MultiHeadAttention(8, 2), FeedForward(8, 32))
    >>> encode([block], torch.zeros(2, 5, 8), mask=None, norm=nn.LayerNorm(8)).shape
    torch.Size([2, 5, 8])
    """
    if not _harmless(mask) or not serves_blocks(blocks, states, norm):
        for block in blocks:
            states = block(states, mask=mask)
        return norm(states)  # type: ignore[no-any-return]
    stream = _Stream(states)
    for block in blocks:
        stream.attend(block.attention_residual, block.attention, None, mask)
        stream.feed_forward(block.feed_forward_residual, block.feed_forward)
    return stream.finish(norm)


def decode(
    blocks: Sequence[TransformerDecoderBlock],
    states: Float[Tensor, "batch length size"],
    memories: Sequence[Memory],
    *,
    norm: nn.Module,
) -> Float[Tensor, "batch length size"]:
    """Let states go through decoder blocks, each with its memory, and the norm behind them."""
    if any(item.key.size(0) != states.size(0) for item in memories) or not serves_blocks(blocks, states, norm):
        for block, memory in zip(blocks, memories, strict=True):
            states = block(states, memory)
        return norm(states)  # type: ignore[no-any-return]
    stream = _Stream(states)
    for block, memory in zip(blocks, memories, strict=True):
        stream.attend(block.self_attention_residual, block.self_attention, None, CAUSAL)
        stream.attend(block.cross_attention_residual, block.cross_attention, memory, None)
        stream.feed_forward(block.feed_forward_residual, block.feed_forward)
    return stream.finish(norm)


def step(
    blocks: Sequence[TransformerDecoderBlock],
    states: Float[Tensor, "rows new size"],
    caches: Sequence[Memory],
    memories: Sequence[Memory],
    *,
    norm: nn.Module,
    filled: int | None,
) -> tuple[Float[Tensor, "rows new size"], list[Memory]] | None:
    """Let the next positions go through decoder blocks, each with its cache and its memory, and the norm behind them.

    Give what comes out and the caches, or None where every block must be called. There may be several rows for each
    one of a memory, side by side.
    """
    if not _all_fit(blocks, states, norm):
        return None
    modules = _modules(blocks, norm)
    if not serves_decoding(states, modules) or any(states.size(0) % item.key.size(0) for item in memories):
        return None
    dtype = next(module.weight.dtype for module in modules if isinstance(module, nn.Linear))
    stream, kept = _Stream(states, dtype), []
    for block, cache, memory in zip(blocks, caches, memories, strict=True):
        kept.append(stream.attend_causally(block.self_attention_residual, block.self_attention, cache, filled))
        stream.attend(block.cross_attention_residual, block.cross_attention, memory, None)
        stream.feed_forward(block.feed_forward_residual, block.feed_forward)
    return stream.finish(norm), kept


def remember(
    blocks: Sequence[TransformerDecoderBlock], source: Float[Tensor, "batch key size"], mask: Padding | None
) -> tuple[Memory, ...]:
    """Project a source for every decoder block, all in one product."""
    attentions = [block.cross_attention for block in blocks]
    plain = all(isinstance(item, MultiHeadAttention) and item.key.in_features == source.size(-1) for item in attentions)
    if not plain or not _harmless(mask) or not serves(source, [*blocks, *attentions]):
        return tuple(block.remember(source, mask=mask) for block in blocks)
    linears = [linear for item in attentions for linear in (item.key, item.value)]
    parts = iter(project(source, linears))  # type: ignore[arg-type]
    return tuple(item.remember_projected(next(parts), next(parts), mask) for item in attentions)  # type: ignore[operator]


def serves_blocks(blocks: Sequence[nn.Module], states: Float[Tensor, "..."], norm: nn.Module) -> bool:
    """Return whether all of these are computed together."""
    return _all_fit(blocks, states, norm) and serves(states, _modules(blocks, norm))


def _all_fit(blocks: Sequence[nn.Module], states: Tensor, norm: nn.Module) -> bool:
    """Return whether all parts are ones that this file knows."""
    if states.device.type not in choose.DEVICES or states.ndim != 3 or states.size(-1) > TILE:
        return False
    size, parts = states.size(-1), [part for block in blocks for part in block.children()]
    return all(map(partial(_fits, size=size), parts)) and (type(norm) is nn.Identity or _is_norm(norm, size))


def _modules(blocks: Sequence[nn.Module], norm: nn.Module) -> list[nn.Module]:
    """List what is computed here: attention itself, with scores, positions and normalizers, is called as ever."""
    parts = [part for block in blocks for part in block.children()]
    return [norm, *blocks, *parts, *(item for part in parts for item in part.children() if isinstance(item, _CALLED))]


def _fits(part: nn.Module, size: int) -> bool:
    """Return whether a part of a block is one that this file knows, of the block's width."""
    match part:
        case Residual():
            return _is_norm(part.norm, size) and not _drops_features(part.dropout)
        case MultiHeadAttention():
            plain = _are_linear(part.query, part.key, part.value, part.output)
            return plain and part.query.in_features == part.output.out_features == size
        case FeedForward():
            plain = _are_linear(part.expand, part.contract, *([] if part.gate is None else [part.gate]))
            return plain and part.size == size and not _drops_features(part.dropout)
    return False


def _is_norm(module: nn.Module, size: int) -> bool:
    """Return whether a module normalizes states of that width, and scales them."""
    return type(module) is nn.LayerNorm and module.normalized_shape == (size,) and module.weight is not None


def _are_linear(*modules: nn.Module) -> bool:
    """Return whether all are linear maps and nothing more: an adapter around one has its parameters too."""
    return all(
        type(module) is nn.Linear or (isinstance(module, nn.Linear) and vars(type(module)).get("fusible", False))
        for module in modules
    )


def _drops_features(dropout: nn.Module) -> bool:
    """Return whether a dropout may drop a feature at all positions at once."""
    return not isinstance(dropout, nn.Dropout) or bool(getattr(dropout, "shared", False))


def _harmless(mask: Mask | None) -> bool:
    """Return whether no key has to be zeroed before it is projected."""
    return mask is None or type(mask) is Causal or (type(mask) is Padding and promises_finite(mask))


def side_by_side(rows: Float[Tensor, "rows size"], linears: Sequence[nn.Linear]) -> Float[Tensor, "rows columns"]:
    """Give the products of linear maps without their biases; in decoding their matrices are not joined every time."""
    weights = [linear.weight for linear in linears]
    if len(weights) == 1 or torch.is_grad_enabled():
        return F.linear(rows, packed(weights).to(rows.dtype))
    product = rows.new_empty(len(rows), sum(map(len, weights)))
    for part, weight in zip(product.split([len(weight) for weight in weights], dim=1), weights, strict=True):
        torch.mm(rows, weight.to(rows.dtype).mT, out=part)
    return product


class _Stream:
    """States on their way through blocks, and the product that is still to be added to them."""

    def __init__(self, states: Tensor, dtype: torch.dtype | None = None) -> None:
        self._shape, self._rows = states.shape, states.flatten(0, -2).contiguous()
        self._dtype = product_dtype(states) if dtype is None else dtype
        self._waiting: tuple[Tensor, Tensor | None, Draw | None] | None = None
        self._seed: Tensor | None = None
        self._calls = 0

    def attend(self, residual: Residual, attention: nn.Module, memory: Memory | None, mask: Mask | None) -> None:
        assert isinstance(attention, MultiHeadAttention)
        batch = self._shape[0] if memory is None else memory.key.size(0)
        inner = self._enter(residual).view(batch, -1, self._shape[-1])
        contexts = attention.contexts(inner, memory, mask=mask)
        assert isinstance(contexts, Tensor)
        self._leave(residual, contexts.flatten(0, -2), attention.output)

    def attend_causally(self, residual: Residual, attention: nn.Module, cache: Memory, filled: int | None) -> Memory:
        assert isinstance(attention, MultiHeadAttention)
        inner = self._enter(residual).view(self._shape)
        held, cache, positions = append_positions(attention, inner, cache, filled=filled)
        contexts = attention.contexts(inner, held, mask=causal_mask(positions), query_positions=positions)
        assert isinstance(contexts, Tensor)
        self._leave(residual, contexts.flatten(0, -2), attention.output)
        return cache

    def feed_forward(self, residual: Residual, layer: nn.Module) -> None:
        assert isinstance(layer, FeedForward)
        linears = [layer.expand] if layer.gate is None else [layer.expand, layer.gate]
        product = side_by_side(self._enter(residual).to(self._dtype), linears)
        hidden = activate(product, packed_bias(linears), layer.activation, self._draw(layer.dropout))
        self._leave(residual, hidden, layer.contract)

    def finish(self, norm: nn.Module) -> Tensor:
        if isinstance(norm, nn.LayerNorm):
            return self._normalize(norm, self._dtype).view(self._shape)
        self._add()
        return self._rows.view(self._shape)

    def _enter(self, residual: Residual) -> Tensor:
        if residual.kind == "pre":
            return self._normalize(residual.norm, self._dtype)
        self._add()
        return self._rows

    def _leave(self, residual: Residual, rows: Tensor, linear: nn.Linear) -> None:
        product = F.linear(rows.to(self._dtype), linear.weight.to(self._dtype))
        self._waiting = product, linear.bias, self._draw(residual.dropout)
        if residual.kind == "post":
            self._rows = self._normalize(residual.norm, self._rows.dtype)

    def _add(self) -> None:
        if self._waiting is not None:
            (product, bias, draw), self._waiting = self._waiting, None
            self._rows, _ = add_and_norm(self._rows, product, bias, None, draw)

    def _normalize(self, norm: nn.LayerNorm, dtype: torch.dtype) -> Tensor:
        (product, bias, draw), self._waiting = self._waiting or (None, None, None), None
        wanted = Norm(norm.weight, norm.bias, norm.eps, dtype)
        self._rows, normed = add_and_norm(self._rows, product, bias, wanted, draw)
        return normed

    def _draw(self, dropout: nn.Module) -> Draw | None:
        """Give where a dropout draws from: one seed for all, drawn when the first needs it."""
        assert isinstance(dropout, nn.Dropout)
        if not dropout.training or not dropout.p:
            return None
        if self._seed is None:
            self._seed = torch.randint(2**62, (1,), device=self._rows.device)
        self._calls += 1
        return Draw(self._seed, self._calls, dropout.p)
