"""An encoder-decoder as two functions of tensors, which is what an ONNX file holds: read the source, take one step.

Memory and state are lists of tensors with names. The encoder gives both, the state of nothing output yet included; the
step takes them with a token a row, and gives the next state under the same names. A row is a sentence: for a beam, the
rows of the memory are repeated.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.recurrent.encoder import Encoded, RecurrentEncoder
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.models.sequence.build import Model
from regard.models.sequence.recurrent import RecurrentModel
from regard.models.sequence.recurrent_decoder import RecurrentMemory, RecurrentState
from regard.models.sequence.transformer import TransformerModel

_GATES = {"gru": (1, 0, 2), "lstm": (0, 3, 1, 2), "rnn": (0,)}
"""Where ONNX has the gates of torch: update before reset; input, output, forget, cell."""


class Names(NamedTuple):
    """What the tensors of memory and state are called."""

    memory: tuple[str, ...]
    state: tuple[str, ...]


class OnnxRecurrence(nn.Module):
    """The layers of an `nn.RNN`, `nn.GRU` or `nn.LSTM` as ONNX's operators, which know lengths."""

    def __init__(self, recurrence: nn.RNNBase, *, reverse: bool = False) -> None:
        super().__init__()
        self.reverse = reverse
        self.kind = recurrence.mode.split("_")[0].lower()
        self.hidden_size, self.num_layers = recurrence.hidden_size, recurrence.num_layers
        self.directions = 2 if recurrence.bidirectional else 1
        parameters = dict(recurrence.named_parameters())
        sides = ["", "_reverse"][: self.directions]
        for layer in range(self.num_layers):
            of_side = [{name: parameters[f"{name}_l{layer}{side}"].detach() for name in _PARTS} for side in sides]
            self.register_buffer(f"input_{layer}", torch.stack([self._gates(one["weight_ih"]) for one in of_side]))
            self.register_buffer(f"state_{layer}", torch.stack([self._gates(one["weight_hh"]) for one in of_side]))
            biases = [torch.cat([self._gates(one["bias_ih"]), self._gates(one["bias_hh"])]) for one in of_side]
            self.register_buffer(f"bias_{layer}", torch.stack(biases))

    def _gates(self, parameter: Tensor) -> Tensor:
        parts = parameter.chunk(len(_GATES[self.kind]))
        return torch.cat([parts[index] for index in _GATES[self.kind]])

    def forward(
        self, inputs: Tensor, first: Tensor | tuple[Tensor, Tensor] | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
        """Give the states of the top layer, batch first, and the last ones of all layers, as torch's layers do."""
        below, states, cells = inputs.transpose(0, 1), [], []
        starts = (None, None) if first is None else first if isinstance(first, tuple) else (first, None)
        for layer in range(self.num_layers):
            own = slice(layer * self.directions, (layer + 1) * self.directions)
            begin = [None if item is None else item[own] for item in starts]
            below, *last = self._layer(layer, below, lengths, begin)
            states.append(last[0])
            cells += last[1:]
        final = torch.cat(states)
        return below.transpose(0, 1), (final, torch.cat(cells)) if self.kind == "lstm" else final

    def _layer(
        self, layer: int, inputs: Tensor, lengths: Tensor | None, begin: list[Tensor | None]
    ) -> tuple[Tensor, ...]:
        length, batch = inputs.shape[:2]
        directions, size = self.directions, self.hidden_size
        lengths = None if lengths is None else lengths.to(torch.int32)
        parameters = [self.get_buffer(f"{name}_{layer}") for name in ("input", "state", "bias")]
        starts = begin if self.kind == "lstm" else begin[:1]
        attributes: dict[str, Any] = {"hidden_size": size}
        if directions == 2 or self.reverse:
            attributes["direction"] = "bidirectional" if directions == 2 else "reverse"
        if self.kind == "gru":
            attributes["linear_before_reset"] = 1
        shapes = [(length, directions, batch, size)] + [(directions, batch, size)] * (2 if self.kind == "lstm" else 1)
        states, *last = torch.onnx.ops.symbolic_multi_out(
            self.kind.upper(),
            (inputs, *parameters, lengths, *starts),
            attributes,
            dtypes=[inputs.dtype] * len(shapes),
            shapes=shapes,
        )
        return states.permute(0, 2, 1, 3).reshape(length, batch, directions * size), *last


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class OnnxRecurrentEncoder(nn.Module):
    """A `RecurrentEncoder` whose layers are ONNX's; `reverse` reads each sentence from its end."""

    def __init__(self, encoder: RecurrentEncoder, *, reverse: bool) -> None:
        super().__init__()
        self.layers = OnnxRecurrence(encoder.recurrence, reverse=reverse)

    def forward(self, embedding: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Read each row up to its length."""
        memory, final = self.layers(embedding, lengths=lengths)
        state, cell = final if isinstance(final, tuple) else (final, None)
        return Encoded(memory, self._beside(state), None if cell is None else self._beside(cell))

    def _beside(self, state: Tensor) -> Tensor:
        by_layer: Tensor = state.unflatten(0, (self.layers.num_layers, -1))
        return by_layer.permute(2, 0, 1, 3).flatten(2)


class OnnxEncoder(nn.Module):
    """`forward(source, lengths)` gives the tensors of the memory and of the first state."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Read the source, of which `lengths` tokens count in each row."""
        model = self.model
        if isinstance(model, TransformerModel):
            return _transformer_tensors(model, source, lengths)
        memory = model.encode(source, lengths)
        state = model.start(memory)
        return *_memory_tensors(memory), *_state_tensors(state)


class OnnxStep(nn.Module):
    """`forward(token, memory, state)` gives log-probabilities, weights where the model attends, and the next state."""

    def __init__(self, model: Model, names: Names) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, token: Tensor, memory: list[Tensor], state: list[Tensor]) -> tuple[Tensor, ...]:
        """Take one step: `token` is the last of each row, `<s>` at first."""
        if isinstance(self.model, TransformerModel):
            return _transformer_step(self.model, token, memory, state)
        return self._recurrent_step(self.model, token, memory, state)

    def _recurrent_step(
        self, model: RecurrentModel, token: Tensor, memory: list[Tensor], state: list[Tensor]
    ) -> tuple[Tensor, ...]:
        named = dict(zip((*self.names.memory, *self.names.state), (*memory, *state), strict=True))
        source = None
        if "source_key" in named:
            source = Memory.of(named["source_key"], named["source_value"], named["source_mask"], clean=True)
        known = RecurrentMemory(source, named.get("vector"), named["state"], named.get("cell"))
        now = RecurrentState(named["state"], named.get("cell"), named.get("attentional"), named["position"])
        log_probabilities, later, weights = model.step(token.unsqueeze(1), now, known, weights=source is not None)
        attended = () if weights is None else (weights[..., 0, :],)
        return log_probabilities[:, 0], *attended, *_state_tensors(later)


def name_tensors(model: Model) -> Names:
    """Say what memory and state of a model consist of."""
    if isinstance(model, TransformerModel):
        blocks = range(len(model.decoder))
        memory = [f"source_{part}_{block}" for block in blocks for part in ("key", "value")]
        state = [f"target_{part}_{block}" for block in blocks for part in ("key", "value")]
        return Names(("source_mask", *memory), tuple(state))
    with torch.no_grad():
        known = model.encode(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, dtype=torch.long))
        now = model.start(known)
    parts = {"source_key": known.source, "source_value": known.source, "source_mask": known.source}
    memory_names = [name for name, part in {**parts, "vector": known.vector}.items() if part is not None]
    state_names = [name for name, part in now._asdict().items() if part is not None]
    return Names(tuple(memory_names), tuple(state_names))


def with_onnx_layers(model: Model) -> Model:
    """Put ONNX's recurrent layers into a model, which is changed; a Transformer stays as it is."""
    if isinstance(model, RecurrentModel):
        if not isinstance(model.encoder, RecurrentEncoder):
            raise ArgumentError(
                f"`model` must have a RecurrentEncoder for ONNX; received {type(model.encoder).__name__}."
            )
        model.encoder = OnnxRecurrentEncoder(model.encoder, reverse=model.reverse)  # type: ignore[assignment]
        model.reverse = False  # the layers do it
        recurrence = getattr(model.decoder, "recurrence", None)
        if isinstance(recurrence, nn.RNNBase):
            model.decoder.recurrence = OnnxRecurrence(recurrence)
    return model


def _memory_tensors(memory: RecurrentMemory) -> tuple[Tensor, ...]:
    source = memory.source
    parts = (None, None, None) if source is None else (source.key, source.value, source.mask)
    return tuple(part for part in (*parts, memory.vector) if part is not None)


def _state_tensors(state: RecurrentState) -> tuple[Tensor, ...]:
    return tuple(part for part in state if part is not None)


def _transformer_tensors(model: TransformerModel, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
    memory = model.encode(source, lengths)
    mask = torch.arange(source.size(1)) < lengths.unsqueeze(1)
    known, nothing = [], []
    for held, block in zip(memory.blocks, _blocks(model), strict=True):
        known += [held.key, held.value]
        own = _multi_head(block.self_attention)
        nothing += [held.key.new_zeros(source.size(0), own.num_key_value_heads, 0, own.head_size)] * 2
    return mask, *known, *nothing


def _transformer_step(
    model: TransformerModel, token: Tensor, memory: list[Tensor], state: list[Tensor]
) -> tuple[Tensor, ...]:
    mask, *known = memory
    filled = state[0].size(2)
    positions = torch.arange(filled, filled + 1)
    states, later, weights = model.target(token.unsqueeze(1), positions), [], []
    for number, block in enumerate(_blocks(model)):
        pair = slice(2 * number, 2 * number + 2)
        states, kept, attended = _block_step(block, states, positions, state[pair], (*known[pair], mask))
        later += kept
        weights.append(attended[..., 0, :])
    log_probabilities = model.output(model.decoder_norm(states)).log_softmax(-1)
    return log_probabilities[:, 0], torch.stack(weights, dim=1), *later


def _block_step(
    block: TransformerDecoderBlock,
    states: Tensor,
    positions: Tensor,
    past: list[Tensor],
    source: tuple[Tensor, ...],
) -> tuple[Tensor, list[Tensor], Tensor]:
    """Do what `block.step` does, with keys and values that grow by concatenation: ONNX has no buffer to write into."""
    text = block.self_attention_residual.enter(states)
    own = _multi_head(block.self_attention).remember(text, positions=positions)
    kept = [torch.cat([before, new], dim=2) for before, new in zip(past, (own.key, own.value), strict=True)]
    held = Memory.of(kept[0], kept[1], turned=own.turned)
    output = block.self_attention(text, held, query_positions=positions)
    states = block.self_attention_residual.leave(states, output)
    text = block.cross_attention_residual.enter(states)
    attended = block.cross_attention(text, Memory.of(*source, clean=True), return_weights=True)
    states = block.cross_attention_residual.leave(states, attended.context)
    output = block.feed_forward(block.feed_forward_residual.enter(states))
    return block.feed_forward_residual.leave(states, output), kept, attended.weights


def _multi_head(attention: nn.Module) -> MultiHeadAttention:
    assert isinstance(attention, MultiHeadAttention)
    return attention


def _blocks(model: TransformerModel) -> list[TransformerDecoderBlock]:
    return [block for block in model.decoder if isinstance(block, TransformerDecoderBlock)]
