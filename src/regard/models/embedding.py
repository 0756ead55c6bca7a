"""From token numbers to the vectors a model reads."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.checks import check_size
from regard.models.dropout import Dropout, drop_words


class TokenEmbedding(nn.Module):
    r"""Look up each token, and add its position where there are `positions`.

    $$x_t = \sqrt{d}\, E_{y_t} + p(t)$$

    where $E$ is `table.weight`; the factor is there if `scaled`. `word_dropout` drops whole words, `dropout` features.

    Reference: Vaswani et al. (2017), sections 3.4 and 3.5, arXiv:1706.03762.

    >>> TokenEmbedding(10, 4)(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        vocabulary_size: int,
        size: int,
        *,
        scaled: bool = False,
        positions: nn.Module | None = None,
        dropout: float = 0.0,
        shared_dropout: bool = False,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("vocabulary_size", vocabulary_size)
        check_size("size", size)
        self.table = nn.Embedding(vocabulary_size, size)
        self.scale = math.sqrt(size) if scaled else None
        self.positions = positions
        self.dropout = Dropout(dropout, shared=shared_dropout)
        self.word_dropout = word_dropout

    def forward(
        self,
        tokens: Int[Tensor, "batch position"],
        positions: Int[Tensor, "batch position"] | Int[Tensor, " position"] | None = None,
    ) -> Float[Tensor, "batch position size"]:
        """Embed tokens that stand at 0, 1, …, or at `positions`, which all rows may share."""
        embedding = self._look_up(tokens)
        if self.scale is not None:
            embedding = embedding * self.scale
        if self.training and self.word_dropout:
            embedding = drop_words(embedding, self.word_dropout)
        if self.positions is not None:
            embedding = self.positions(embedding, positions)
        return self.dropout(embedding)  # type: ignore[no-any-return]

    def _look_up(self, tokens: Tensor) -> Tensor:
        if tokens.dtype.is_floating_point or tokens.dtype == torch.bool:
            raise ArgumentTypeError(f"`tokens` must be a tensor of integers; received {tokens.dtype}.")
        if tokens.ndim != 2:
            raise ArgumentError(f"`tokens` must have shape (batch, length); received {tuple(tokens.shape)}.")
        try:
            return self.table(tokens)  # type: ignore[no-any-return]
        except IndexError:
            raise ArgumentError(
                f"`tokens` must be from 0 to {self.table.num_embeddings - 1}; received numbers from "
                f"{int(tokens.min())} to {int(tokens.max())}. Were they made by another tokenizer?"
            ) from None

    def extra_repr(self) -> str:
        """Show what is done besides the look-up."""
        return f"scaled={self.scale is not None}, word_dropout={self.word_dropout}"
