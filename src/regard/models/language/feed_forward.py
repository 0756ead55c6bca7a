"""The first neural language model: the last few words, side by side, through a hidden layer."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.checks import check_size
from regard.models.dropout import Dropout
from regard.models.language.network import History, LanguageNetwork, Reading


class FeedForwardLanguageModel(LanguageNetwork):
    r"""Predict the next word from the last `context` words, whose vectors are learned along.

    $$y = b + W x + U \tanh(d + H x), \qquad x = [C_{w_{t}}; \dots; C_{w_{t-n+1}}]$$

    where $C$ is `embedding`, $H$ is `hidden`, $U$ and, if `direct`, $W$ are the two parts of `output`.

    Reference: Bengio, Ducharme, Vincent and Jauvin (2003), equation 1.
    Differs: dropout on $x$ and on the hidden layer; before the first word stands a vector of zeros.

    >>> model = FeedForwardLanguageModel(10, context=3, embedding_size=4, hidden_size=8)
    >>> model(torch.tensor([[1, 2, 3, 4]])).features.shape
    torch.Size([1, 4, 8])
    """

    def __init__(
        self,
        vocabulary_size: int,
        *,
        context: int,
        embedding_size: int,
        hidden_size: int,
        direct: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = {"vocabulary_size": vocabulary_size, "context": context}
        for name, size in (sizes | {"embedding_size": embedding_size, "hidden_size": hidden_size}).items():
            check_size(name, size)
        self.context, self.direct = context, direct
        self.embedding = nn.Embedding(vocabulary_size, embedding_size)
        self.hidden = nn.Linear(context * embedding_size, hidden_size)
        self.output = nn.Linear(hidden_size + direct * context * embedding_size, vocabulary_size)
        self.dropout = Dropout(dropout)
        nn.init.normal_(self.embedding.weight, std=0.1)
        for linear in (self.hidden, self.output):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def start(self, rows: int, *, capacity: int | None = None) -> History:
        """Give the state before any token."""
        del capacity
        return History.empty(rows, self.context - 1, self.hidden.weight.device)

    def read(self, tokens: Int[Tensor, "rows new"], state: History | None = None, *, weights: bool = False) -> Reading:
        """Read a stretch of text, after what `state` remembers."""
        del weights
        state = self.start(tokens.size(0)) if state is None else state
        embedding = self.dropout(self._embed(state.then(tokens)))
        window = embedding.unfold(1, self.context, 1).transpose(-1, -2).flatten(-2)  # rows new (context size)
        features = self.dropout(torch.tanh(self.hidden(window)))
        if self.direct:
            features = torch.cat([features, window], dim=-1)
        return Reading(features, state.after(tokens))

    def _embed(self, tokens: Int[Tensor, "rows positions"]) -> Float[Tensor, "rows positions size"]:
        there = (tokens >= 0).unsqueeze(-1)
        result: Tensor = self.embedding(tokens.clamp_min(0))
        return result * there
