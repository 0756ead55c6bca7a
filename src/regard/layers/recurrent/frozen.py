"""Recurrent layers over padded rows, without packing: at padding, gates are shut, so that the state stays as it is.

Packing wants the lengths on the CPU, for which a GPU would be waited for, and gives another shape for every batch. Here
each input gets one feature more, one at padding, whose weight shuts the gates that let anything in:

$$\\text{GRU:}\\ z = \\sigma(\\dots + \\infty) = 1 \\Rightarrow h_j = h_{j-1}$$
$$\\text{LSTM:}\\ f = 1,\\ i = 0 \\Rightarrow c_j = c_{j-1}$$

So the forward half keeps its last state through the padding behind it, and the backward half is still zero where it
comes to the last word. A plain network has no gates: it is packed.
"""

import warnings

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

#: Added to what a gate reads: a sigmoid of it is one, or of its negative zero, in every precision.
SHUT = 1e4
#: How many features an input gets: one, and zeros that keep rows aligned for the matrix units.
MORE = 8


def can_freeze(recurrence: nn.RNNBase) -> bool:
    """Return whether there are gates to shut."""
    return isinstance(recurrence, nn.GRU | nn.LSTM) and bool(recurrence.bias) and not recurrence.proj_size


def run_frozen(
    recurrence: nn.RNNBase, embedding: Float[Tensor, "batch length features"], lengths: Int[Tensor, " batch"]
) -> tuple[
    Float[Tensor, "batch length size"], Float[Tensor, "batch layers size"], Float[Tensor, "batch layers size"] | None
]:
    """Read each row up to its length, one layer after the other; give memory, state and cell as `Encoded` has them."""
    padding = torch.arange(embedding.size(1), device=embedding.device) >= lengths[:, None]
    last = (lengths - 1).clamp_min(0)[:, None, None]
    states, final, cells = embedding, [], []
    for layer in range(recurrence.num_layers):
        if layer and recurrence.dropout:
            states = F.dropout(states, recurrence.dropout, recurrence.training)
        states, hidden, cell = _run_layer(recurrence, layer, states, padding)
        if cell is not None:  # an LSTM's cell is frozen, what it shows of it is not
            size = recurrence.hidden_size
            ahead = states[..., :size].take_along_dim(last.expand(-1, 1, size), dim=1).squeeze(1)
            hidden = torch.stack([ahead, *hidden[1:]])
            cells.append(_beside(cell))
        final.append(_beside(hidden))
        states = states.masked_fill(padding[..., None], 0.0)
    return states, torch.stack(final, dim=1), torch.stack(cells, dim=1) if cells else None


def _beside(state: Tensor) -> Tensor:
    """Put the directions of (directions, batch, size) side by side."""
    return state.transpose(0, 1).flatten(1)


def _run_layer(
    recurrence: nn.RNNBase, layer: int, inputs: Tensor, padding: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Run one layer in its directions: the states at each position, and the last ones, (directions, batch, size)."""
    both = recurrence.bidirectional
    device = inputs.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else inputs.dtype
    indicator = torch.zeros(*inputs.shape[:2], MORE, dtype=dtype, device=inputs.device)
    indicator[..., 0] = padding
    weights = [
        item.to(dtype)
        for suffix in ([f"_l{layer}", f"_l{layer}_reverse"] if both else [f"_l{layer}"])
        for item in _weights(recurrence, suffix)
    ]
    inputs = torch.cat([inputs.to(dtype), indicator], dim=-1)
    start = inputs.new_zeros(2 if both else 1, inputs.size(0), recurrence.hidden_size)
    with torch.autocast(device, enabled=False):
        return _run(isinstance(recurrence, nn.LSTM), inputs, start, weights, both=both)


def _weights(recurrence: nn.RNNBase, suffix: str) -> list[Tensor]:
    """Give the matrices and biases of one direction; the first matrix has a column that shuts the gates."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    first, *others = (getattr(recurrence, name + suffix) for name in names)
    column = torch.zeros(first.size(0), MORE, dtype=first.dtype, device=first.device)
    if isinstance(recurrence, nn.LSTM):  # rows are: input, forget, cell, output
        column[: recurrence.hidden_size, 0] = -SHUT
        column[recurrence.hidden_size : 2 * recurrence.hidden_size, 0] = SHUT
    else:  # rows are: reset, update, candidate
        column[recurrence.hidden_size : 2 * recurrence.hidden_size, 0] = SHUT
    return [torch.cat([first, column], dim=1), *others]


def _run(
    lstm: bool, inputs: Tensor, start: Tensor, weights: list[Tensor], *, both: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Call torch's fused layer with these matrices, which are no module's own."""
    if inputs.is_cuda:  # these matrices are made anew at each call, so that they never lie one behind the other
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
    # Not `is_acceptable`, which knows nothing of bfloat16; torch.gru would call cuDNN too, but as for evaluation.
    if inputs.is_cuda and torch.backends.cudnn.enabled and torch.backends.cudnn.is_available():
        mode, size, cell = (2, start.size(-1), start) if lstm else (3, start.size(-1), None)
        states, hidden, last, *_ = torch._cudnn_rnn(
            inputs, weights, 4, None, start, cell, mode, size, 0, 1, True, 0.0, torch.is_grad_enabled(), both, [], None
        )
        return states, hidden, last if lstm else None
    if lstm:
        states, hidden, last = torch.lstm(inputs, [start, start], weights, True, 1, 0.0, False, both, True)
        return states, hidden, last
    states, hidden = torch.gru(inputs, start, weights, True, 1, 0.0, False, both, True)
    return states, hidden, None
