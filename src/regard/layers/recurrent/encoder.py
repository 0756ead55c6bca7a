"""A recurrent encoder: reads a sequence word by word, and remembers a state for each."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.checks import check_choice, check_size, check_width
from regard.layers.uncompiled import uncompiled

Cell = Literal["rnn", "lstm", "gru"]


class Encoded(NamedTuple):
    """What the encoder has read, batch first."""

    memory: Tensor
    """The state of the last layer at each position, (batch, length, size), zero at padding."""
    state: Tensor
    """Each layer's state after the last word, (batch, layers, size); the backward half, after the first."""
    cell: Tensor | None
    """The same for the LSTM's cell; None for the others."""

    def zeroed(self, rows: Bool[Tensor, " batch"]) -> "Encoded":
        """Make these rows of the batch zero."""
        rows = rows[:, None, None]
        cell = None if self.cell is None else self.cell.masked_fill(rows, 0.0)
        return Encoded(self.memory.masked_fill(rows, 0.0), self.state.masked_fill(rows, 0.0), cell)


class RecurrentEncoder(nn.Module):
    r"""Carry a state along the sequence, in one direction or both.

    $$\overrightarrow{h}_j = f(x_j, \overrightarrow{h}_{j-1}), \qquad \overleftarrow{h}_j = f(x_j,
    \overleftarrow{h}_{j+1}), \qquad h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]$$

    where $f$ is `cell`. `size` is the width of $h_j$: hidden_size, twice that if `bidirectional`. Sequences are packed:
    padding is not read, so that it never changes a state, and a row without any word has zero states.

    Reference: Schuster and Paliwal (1997); Bahdanau, Cho and Bengio (2015), section 3.2, arXiv:1409.0473.
    Differs: torch's GRU resets after the matrix product, not before it as printed; the fused kernels want it so.

    >>> encoder = RecurrentEncoder("gru", 8, 16, bidirectional=True)
    >>> memory, state, _ = encoder(torch.randn(2, 5, 8), torch.tensor([5, 3]))
    >>> memory.shape, state.shape, memory[1, 3:].abs().sum()
    (torch.Size([2, 5, 32]), torch.Size([2, 1, 32]), tensor(0., grad_fn=...))
    """

    def __init__(
        self,
        cell: Cell,
        input_size: int,
        hidden_size: int,
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_choice("cell", cell, get_args(Cell))
        for name, number in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            check_size(name, number)
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        if dropout and num_layers == 1:
            raise ArgumentError(
                f"`dropout` acts between layers, so it must be 0 for one layer; received {dropout}. "
                "To drop inputs or outputs, put nn.Dropout before or after."
            )
        kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.recurrence = kind(
            input_size,
            hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            dropout=dropout,
            batch_first=True,
        )
        self.size = hidden_size * (2 if bidirectional else 1)

    @uncompiled  # torch.compile traces no nn.RNN, GRU or LSTM
    def forward(
        self, embedding: Float[Tensor, "batch length input_size"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Encoded:
        """Read each row up to its length; without `lengths`, whole. On a GPU, lengths kept on the CPU save a wait."""
        check_width("embedding", embedding, self.recurrence.input_size)
        lengths = None if lengths is None else _on_cpu(lengths, embedding)
        if not embedding.numel():
            return self._nothing(embedding)
        if lengths is None or bool((lengths == embedding.size(1)).all()):
            return self._encoded(*self.recurrence(embedding))
        empty = (lengths == 0).to(embedding.device)
        if (lengths == 0).any():  # a packed row has at least one place: read a zero there, and forget it
            embedding = embedding.masked_fill(empty[:, None, None], 0.0)
        packed = pack_padded_sequence(embedding, lengths.clamp_min(1), batch_first=True, enforce_sorted=False)
        states, final = self.recurrence(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=embedding.size(1))
        encoded = self._encoded(memory, final)
        return encoded.zeroed(empty)

    def _encoded(self, memory: Tensor, final: Tensor | tuple[Tensor, Tensor]) -> Encoded:
        """Put the batch first and the two directions side by side."""
        state, cell = final if isinstance(final, tuple) else (final, None)
        return Encoded(memory, self._beside(state), None if cell is None else self._beside(cell))

    def _beside(self, state: Tensor) -> Tensor:
        by_layer: Tensor = state.unflatten(0, (self.recurrence.num_layers, -1))  # layers directions batch hidden
        return by_layer.permute(2, 0, 1, 3).flatten(2)

    def _nothing(self, embedding: Tensor) -> Encoded:
        memory = embedding.new_zeros(*embedding.shape[:2], self.size)
        state = embedding.new_zeros(embedding.size(0), self.recurrence.num_layers, self.size)
        return Encoded(memory, state, state if isinstance(self.recurrence, nn.LSTM) else None)


def _on_cpu(lengths: Tensor, embedding: Tensor) -> Tensor:
    """Check the lengths and bring them where packing wants them."""
    if lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
        raise ArgumentTypeError(f"`lengths` must be a tensor of integers; received {lengths.dtype}.")
    batch, longest = embedding.shape[:2]
    if tuple(lengths.shape) != (batch,):
        raise ArgumentError(f"`lengths` must have one number per row, ({batch},); received {tuple(lengths.shape)}.")
    lengths = lengths.cpu().long()
    if batch and not (lengths.min() >= 0 and lengths.max() <= longest):
        raise ArgumentError(
            f"`lengths` must be from 0 to the length of `embedding`, {longest}; received numbers from "
            f"{int(lengths.min())} to {int(lengths.max())}."
        )
    return lengths
