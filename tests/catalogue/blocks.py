"""Every position, vision layer, recurrent cell and block, with an example: adding one is adding a row.

`laws/test_blocks.py` runs over them. A row's `call` runs the layer on its example inputs, whose axis 0 is the batch,
and gives one tensor, batch first. Where `sequence` is set, axis 1 of inputs and output counts places, and `lengths`
says how many of them are real.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard import Causal, Padding, attention
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.learned import LearnedPositions
from regard.layers.position.relative import RelativeBiases, RelativeBucketBiases, RelativePositions
from regard.layers.position.rotary import RotaryPositions
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.position.structural import StructuralPositions, StructuralRelations
from regard.layers.recurrent.conditional_gru import ConditionalGRU
from regard.layers.recurrent.encoder import RecurrentEncoder
from regard.layers.recurrent.input_feeding import InputFeedingCell
from regard.layers.recurrent.readout import Features, Readout
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.memory_block import TransformerMemoryBlock
from regard.layers.transformer.residual import Residual
from regard.layers.vision.channel import ChannelAttention
from regard.layers.vision.convolutional_block import ConvolutionalBlockAttention
from regard.layers.vision.patches import PatchEmbedding
from regard.layers.vision.spatial import SpatialAttention

Inputs = dict[str, Tensor]

SIZE = 8


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    build: Callable[[], nn.Module]
    inputs: dict[str, tuple[int, ...]]
    """The shape of each input behind the batch (and, for sequences, the length)."""
    call: Callable[[Any, Inputs, Tensor | None], Tensor]
    output: tuple[int, ...]
    """The shape of the output behind the batch (and the length)."""
    sequence: bool = False
    compiles: bool = True
    """False where torch.compile cannot take the whole in one graph."""
    variant: bool = False
    """True where it differs too little from the row before it to be compiled as well, which takes long."""

    @property
    def title(self) -> str:
        return self.name.partition(" ")[0]

    def example(self, batch: int = 3, length: int = 6) -> Inputs:
        generator = torch.Generator().manual_seed(11)
        lead = (batch, length) if self.sequence else (batch,)
        return {name: torch.randn(*lead, *shape, generator=generator) for name, shape in self.inputs.items()}

    def output_shape(self, batch: int = 3, length: int = 6) -> tuple[int, ...]:
        return (batch, length, *self.output) if self.sequence else (batch, *self.output)


def padding(lengths: Tensor | None) -> Padding | None:
    return None if lengths is None else Padding(lengths)


def alone(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    (only,) = inputs.values()
    result: Tensor = layer(only)
    return result


def all_of_them(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer(*inputs.values())
    return result


def positioned(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    """Self-attention of two heads through the position a module makes."""
    heads = inputs["states"].unflatten(-1, (2, -1)).transpose(1, 2)
    context = attention(heads, heads, position=layer(), mask=padding(lengths))
    return context.transpose(1, 2).flatten(2)


def chain(states: Tensor) -> Tensor:
    """Make a tree in which every word hangs from the one before it, and the first is the root."""
    return torch.arange(-1, states.size(1) - 1, device=states.device).expand(states.shape[:2])


def structured(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer(inputs["states"], chain(inputs["states"]), lengths)
    return result


def related(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    heads = inputs["states"].unflatten(-1, (2, -1)).transpose(1, 2)
    position = layer(chain(inputs["states"]), lengths)
    return attention(heads, heads, position=position, mask=padding(lengths)).transpose(1, 2).flatten(2)


def patches(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer(inputs["image"]).embedding
    return result


def residual(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer.leave(inputs["states"], layer.enter(inputs["states"]).sin())
    return result


def encoded(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    """The memory with the final state added to each real place, so that both are under the law."""
    memory, state, cell = layer(inputs["states"], lengths)
    final = state.sum(1, keepdim=True) if cell is None else (state + cell).sum(1, keepdim=True)
    result: Tensor = memory + final
    return result


def encoder(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer(inputs["states"], mask=padding(lengths))
    return result


def language_model(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    result: Tensor = layer(inputs["states"], mask=Causal())
    return result


def decoder(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    memory = layer.remember(inputs["source"], mask=padding(lengths))
    result: Tensor = layer(inputs["states"], memory)
    return result


def remembered(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    memory = layer.remember(0, inputs["source"], mask=padding(lengths))
    result: Tensor = layer(inputs["states"], [memory]).states
    return result


def stepped(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    """Three places as a prompt, then the others one by one."""
    states = inputs["states"]
    memory = layer.remember(inputs["source"], mask=padding(lengths))
    state, parts = layer.start(states.size(0), states.size(1)), []
    for part in states.tensor_split(list(range(3, states.size(1))), dim=1):
        output, state, _, _ = layer.step(part, state, memory)
        parts.append(output)
    return torch.cat(parts, dim=1)


def fed(layer: Any, inputs: Inputs, lengths: Tensor | None) -> Tensor:
    """Two steps, so that something is fed."""
    memory = layer.attention.remember(inputs["source"])
    state, _, _ = layer(inputs["embedding"], layer.start(inputs["embedding"].size(0)), memory)
    _, vector, _ = layer(inputs["embedding"], state, memory)
    result: Tensor = vector
    return result


STATES = {"states": (SIZE,)}
IMAGE = {"image": (SIZE, 4, 6)}
DECODING = {"states": (SIZE,), "source": (5,)}
HEARD = {"state": (SIZE,), "embedding": (4,), "context": (5,)}
HEARD_SIZES = {"state_size": SIZE, "embedding_size": 4, "context_size": 5}


def of_states(name: str, build: Callable[[], nn.Module], call: Any = alone, **flags: Any) -> Row:
    return Row(name=name, build=build, inputs=STATES, call=call, output=(SIZE,), sequence=True, **flags)


def of_images(name: str, build: Callable[[], nn.Module]) -> Row:
    return Row(name=name, build=build, inputs=IMAGE, call=alone, output=IMAGE["image"])


BLOCKS = [
    of_states("SinusoidalPositions", lambda: SinusoidalPositions(SIZE)),
    of_states("SinusoidalPositions cos-sin", lambda: SinusoidalPositions(SIZE, order="cos-sin"), variant=True),
    of_states("LearnedPositions", lambda: LearnedPositions(6, SIZE)),
    of_states("RotaryPositions", RotaryPositions, positioned),
    of_states("RotaryPositions halves", lambda: RotaryPositions(layout="halves", size=2), positioned, variant=True),
    of_states("RelativePositions", lambda: RelativePositions(2, 4, 4), positioned),
    of_states("RelativePositions keys", lambda: RelativePositions(2, 4), positioned, variant=True),
    of_states("RelativeBiases", lambda: RelativeBiases(2, reach=3), positioned),
    of_states("RelativeBucketBiases", lambda: RelativeBucketBiases(2, num_buckets=4, max_distance=8), positioned),
    of_states("AlibiBias", lambda: AlibiBias(2), positioned),
    of_states("AlibiBias learned", lambda: AlibiBias(2, learned=True), positioned),
    of_states("StructuralPositions", lambda: StructuralPositions(SIZE), structured),
    of_states("StructuralPositions learned", lambda: StructuralPositions(SIZE, max_depth=2), structured),
    of_states("StructuralRelations", lambda: StructuralRelations(2, 4, 4), related),
    of_states("StructuralRelations path", lambda: StructuralRelations(2, 4, rule="path"), related),
    of_images("ChannelAttention", lambda: ChannelAttention(SIZE, reduction=2)),
    of_images("ChannelAttention cbam", lambda: ChannelAttention(SIZE, reduction=2, pooling=("average", "max"))),
    of_images("SpatialAttention", lambda: SpatialAttention(kernel_size=3)),
    of_images("ConvolutionalBlockAttention", lambda: ConvolutionalBlockAttention(SIZE, reduction=2)),
    Row(
        name="PatchEmbedding",
        build=lambda: PatchEmbedding(2, channels=SIZE, size=5),
        inputs=IMAGE,
        call=patches,
        output=(6, 5),
    ),
    of_states("FeedForward", lambda: FeedForward(SIZE, 12)),
    of_states("FeedForward gelu", lambda: FeedForward(SIZE, 12, activation="gelu"), variant=True),
    of_states("FeedForward swiglu", lambda: FeedForward(SIZE, 12, activation="swiglu")),
    of_states("Residual", lambda: Residual(SIZE), residual),
    *[
        of_states(
            f"RecurrentEncoder {cell}",
            lambda cell=cell: RecurrentEncoder(cell, SIZE, SIZE // 2, bidirectional=True, num_layers=2),
            encoded,
            compiles=False,
            variant=cell != "lstm",
        )
        for cell in ("lstm", "gru", "rnn")
    ],
    *[
        of_states(
            f"TransformerEncoderBlock {name}",
            lambda norm=norm, layer=layer: TransformerEncoderBlock(layer(), FeedForward(SIZE, 12), norm=norm),
            call,
            variant=norm == "post",
        )
        for name, norm, layer, call in [
            ("pre", "pre", lambda: MultiHeadAttention(SIZE, 2), encoder),
            ("post", "post", lambda: MultiHeadAttention(SIZE, 2), encoder),
            ("additive", "pre", lambda: AdditiveAttention(SIZE, SIZE, 5), encoder),
            ("causal", "pre", lambda: MultiHeadAttention(SIZE, 2, position=RotaryPositions()), language_model),
        ]
    ],
    *[
        Row(
            name=f"TransformerDecoderBlock {name}",
            build=lambda norm=norm: TransformerDecoderBlock(
                MultiHeadAttention(SIZE, 2), MultiHeadAttention(SIZE, 2, key_size=5), FeedForward(SIZE, 12), norm=norm
            ),
            inputs=DECODING,
            call=call,
            output=(SIZE,),
            sequence=True,
            variant=norm == "post",
        )
        for name, norm, call in [("pre", "pre", decoder), ("post", "post", decoder), ("stepped", "pre", stepped)]
    ],
    *[
        Row(
            name=f"TransformerMemoryBlock {norm}",
            build=lambda norm=norm: TransformerMemoryBlock(
                [MultiHeadAttention(SIZE, 2, key_size=5)], FeedForward(SIZE, 12), norm=norm
            ),
            inputs=DECODING,
            call=remembered,
            output=(SIZE,),
            sequence=True,
            variant=norm == "post",
        )
        for norm in ("pre", "post")
    ],
    Row(
        name="ConditionalGRU",
        build=lambda: ConditionalGRU(4, SIZE, 5),
        inputs={"embedding": (4,), "state": (SIZE,), "context": (5,)},
        call=all_of_them,
        output=(SIZE,),
    ),
    *[
        Row(
            name=f"InputFeedingCell {cell}",
            build=lambda cell=cell: InputFeedingCell(
                LuongAttention(SIZE, 5), cell, embedding_size=4, state_size=SIZE, num_layers=2
            ),
            inputs={"embedding": (4,), "source": (6, 5)},
            call=fed,
            output=(SIZE,),
            variant=cell != "lstm",
        )
        for cell in ("lstm", "gru", "rnn")
    ],
    *[
        Row(
            name=f"Readout {name}",
            build=build,
            inputs=HEARD,
            call=all_of_them,
            output=(7,),
        )
        for name, build in [
            ("maxout", lambda: Readout("maxout", 7, **HEARD_SIZES, hidden_size=6)),
            ("linear", lambda: Readout("linear", 7, **HEARD_SIZES)),
            ("state", lambda: Readout("state", 7, **HEARD_SIZES)),
            ("tied", lambda: Readout("linear", 7, **HEARD_SIZES, tied=nn.Embedding(7, 4))),
        ]
    ],
    *[
        Row(
            name=f"Features {kind}",
            build=lambda kind=kind: Features(kind, **HEARD_SIZES, hidden_size=6),
            inputs=HEARD,
            call=all_of_them,
            output=(width,),
        )
        for kind, width in (("maxout", 6), ("linear", sum(HEARD_SIZES.values())))
    ],
]
