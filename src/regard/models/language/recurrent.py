"""A recurrent language model: one state, carried from word to word."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size
from regard.layers.recurrent.encoder import Cell
from regard.models.dropout import Dropout
from regard.models.embedding import TokenEmbedding
from regard.models.language.network import LanguageNetwork, Reading


class LayerStates(NamedTuple):
    """The state of each layer, and an LSTM's cells; a row for each text."""

    states: tuple[Float[Tensor, "rows size"], ...]
    cells: tuple[Float[Tensor, "rows size"], ...]
    """Empty for other cells than the LSTM's."""

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.states[0].size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "LayerStates":
        """Take these rows, in this order."""
        chosen = [tuple(item.index_select(0, rows) for item in part) for part in self]
        return LayerStates(*chosen)

    def detach(self) -> "LayerStates":
        """Cut the gradient."""
        return LayerStates(*(tuple(item.detach() for item in part) for part in self))

    @classmethod
    def join(cls, parts: Sequence["LayerStates"]) -> "LayerStates":
        """Put the rows of several one behind the other."""
        states, cells = zip(*parts, strict=True)
        return cls(*(tuple(map(torch.cat, zip(*side, strict=True))) for side in (states, cells)))


class RecurrentStack(nn.Module):
    r"""Layers of recurrent cells, with dropout that holds for a whole stretch.

    $$h^l_t = f(m^l \circ h^{l-1}_t,\, h^l_{t-1}; U^l \circ M^l)$$

    where $m^l$ drops features, the same at every position (`dropout`), and $M^l$ drops single connections from state to
    state (`weight_dropout`), both drawn anew for each stretch of text. Under autocast the recurrence stays in float32:
    rounding adds up along it, and torch would run it in float16, whatever was asked for.

    Reference: Gal and Ghahramani (2016), section 4, arXiv:1512.05287 (the same features all along); Merity, Keskar and
    Socher (2018), section 2, arXiv:1708.02182 (connections).

    >>> stack = RecurrentStack("gru", (4, 8, 6))
    >>> stack(torch.zeros(2, 5, 4), stack.start(2))[0].shape
    torch.Size([2, 5, 6])
    """

    def __init__(self, cell: Cell, sizes: Sequence[int], *, dropout: float = 0.0, weight_dropout: float = 0.0) -> None:
        super().__init__()
        check_choice("cell", cell, get_args(Cell))
        if len(sizes) < 2:
            raise ArgumentError(f"`sizes` must name the width of the input and of each layer; received {tuple(sizes)}.")
        for size in sizes:
            check_size("sizes", size)
        self.cell: Cell = cell
        self.sizes = tuple(sizes)
        kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[cell]
        pairs = zip(self.sizes, self.sizes[1:], strict=False)
        self.layers = nn.ModuleList(kind(first, second, batch_first=True) for first, second in pairs)
        self.between, self.connections = Dropout(dropout, shared=True), Dropout(weight_dropout)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw matrices from state to state orthogonal, others as Glorot and Bengio do; forget gates start open."""
        for layer, size in zip(self.layers, self.sizes[1:], strict=True):
            from_input, from_state, *biases = layer.parameters()
            for block in from_input.split(size):
                nn.init.xavier_uniform_(block)
            for block in from_state.split(size):
                nn.init.orthogonal_(block)
            for bias in biases:
                nn.init.zeros_(bias)
            if self.cell == "lstm":
                biases[0][size : 2 * size] = 1.0

    def start(self, rows: int) -> LayerStates:
        """Begin with zeros."""
        like = next(self.parameters())
        states = tuple(like.new_zeros(rows, size) for size in self.sizes[1:])
        return LayerStates(states, states if self.cell == "lstm" else ())

    def forward(
        self, features: Float[Tensor, "rows new size"], state: LayerStates
    ) -> tuple[Float[Tensor, "rows new last"], LayerStates]:
        """Carry the state along."""
        states, cells = [], []
        for number, layer in enumerate(self.layers):
            if number:
                features = self.between(features)
            with torch.autocast(features.device.type, enabled=False):
                before = [part[number][None] for part in state if part]
                features, *after = self._run(layer, features.to(before[0].dtype), before)
            states.append(after[0][0])
            cells += [item[0] for item in after[1:]]
        return features, LayerStates(tuple(states), tuple(cells))

    def _run(self, layer: nn.Module, features: Tensor, before: list[Tensor]) -> tuple[Tensor, ...]:
        from_input, from_state, *biases = layer.parameters()
        parameters = [from_input, self.connections(from_state), *biases]
        rest = (True, 1, 0.0, self.training, False, True)  # biases, one layer, no dropout, one direction, batch first
        with warnings.catch_warnings():  # cuDNN wants the parameters in one piece, and copies them where they are not
            warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous")
            if self.cell == "lstm":
                return torch.lstm(features, before, parameters, *rest)
            run = torch.gru if self.cell == "gru" else torch.rnn_tanh
            return run(features, before[0], parameters, *rest)


class RecurrentLanguageModel(LanguageNetwork):
    r"""Read word by word, and predict the next from the state.

    $$h_t = f(x_t, h_{t-1}), \qquad f_t = h_t$$

    where $x_t$ is `embedding`'s vector of the word and the recurrence `stack`. Where the last layer is as wide as the
    embedding, `tie` makes the output matrix the embedding's.

    Reference: Mikolov et al. (2010); Zaremba, Sutskever and Vinyals (2014), section 3, arXiv:1409.2329; Press and Wolf
    (2017), section 3, arXiv:1608.05859 (tying).

    >>> model = RecurrentLanguageModel(TokenEmbedding(10, 4), RecurrentStack("lstm", (4, 6, 4)), tie=True)
    >>> model(torch.tensor([[1, 2, 3]])).features.shape
    torch.Size([1, 3, 4])
    """

    def __init__(
        self, embedding: TokenEmbedding, stack: RecurrentStack, *, dropout: float = 0.0, tie: bool = False
    ) -> None:
        super().__init__()
        self.embedding, self.stack = embedding, stack
        self.dropout = Dropout(dropout, shared=True)
        self.output = make_output(embedding, stack.sizes[-1], tie=tie)

    def start(self, rows: int, *, capacity: int | None = None) -> LayerStates:
        """Give the state before any token."""
        del capacity
        return self.stack.start(rows)

    def read(
        self, tokens: Int[Tensor, "rows new"], state: LayerStates | None = None, *, weights: bool = False
    ) -> Reading:
        """Read a stretch of text, from `state` on."""
        del weights
        features, after = self.stack(self.embedding(tokens), self.start(tokens.size(0)) if state is None else state)
        return Reading(self.dropout(features), after)


def make_output(embedding: TokenEmbedding, size: int, *, tie: bool) -> nn.Linear:
    """Make the map from features to words, the embedding's own matrix if tied; all start between -0.1 and 0.1."""
    table = embedding.table
    output = nn.Linear(size, table.num_embeddings)
    nn.init.uniform_(table.weight, -0.1, 0.1)
    nn.init.uniform_(output.weight, -0.1, 0.1)
    nn.init.zeros_(output.bias)
    if tie:
        if size != table.embedding_dim:
            raise ArgumentError(
                f"`tie` must be false where the features, {size} wide, are not as wide as the embedding; received "
                f"true with an embedding of {table.embedding_dim}."
            )
        output.weight = table.weight
    return output
