"""From word vectors to states: as they are, word by word, or all at once."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.recurrent.encoder import RecurrentEncoder
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.models.classification.network import Sentence


class WordReader(nn.Module):
    """Take word vectors as they are: the order of the words is not seen."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(
        self,
        embedding: Float[Tensor, "batch length size"],
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
        mask: Bool[Tensor, "batch length"],
    ) -> Sentence:
        """Give the word vectors."""
        del lengths
        return Sentence(tokens, mask, embedding)


class RecurrentReader(nn.Module):
    """Carry a state along the text; the last state is that after the last word, wherever padding begins."""

    def __init__(
        self, cell: Literal["rnn", "lstm", "gru"], input_size: int, hidden_size: int, *, bidirectional: bool
    ) -> None:
        super().__init__()
        self.encoder = RecurrentEncoder(cell, input_size, hidden_size, bidirectional=bidirectional)
        self.size = self.encoder.size
        for name, parameter in self.encoder.recurrence.named_parameters():
            if name.startswith("weight_hh"):
                for block in parameter.split(hidden_size):
                    nn.init.orthogonal_(block)
            elif cell == "lstm" and name.startswith("bias_ih"):
                nn.init.ones_(parameter.data[hidden_size : 2 * hidden_size])  # remember at first

    def forward(
        self,
        embedding: Float[Tensor, "batch length size"],
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
        mask: Bool[Tensor, "batch length"],
    ) -> Sentence:
        """Read each text to its end."""
        memory, state, _ = self.encoder(embedding, lengths)
        return Sentence(tokens, mask, memory, state[:, -1])


class TransformerReader(nn.Module):
    """Let every word attend to all others, block after block, with pre-norm and sinusoidal positions.

    Reference: Vaswani et al. (2017), section 3.1, arXiv:1706.03762.
    """

    def __init__(self, size: int, *, num_layers: int, num_heads: int, feed_forward_size: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.positions = SinusoidalPositions(size)
        self.blocks = nn.ModuleList(
            TransformerEncoderBlock(
                MultiHeadAttention(size, num_heads), FeedForward(size, feed_forward_size), dropout=dropout
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(size)

    def forward(
        self,
        embedding: Float[Tensor, "batch length size"],
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
        mask: Bool[Tensor, "batch length"],
    ) -> Sentence:
        """Read whole texts at once."""
        del lengths
        states = self.positions(embedding)
        for block in self.blocks:
            states = block(states, mask=mask.unsqueeze(1).expand(-1, tokens.size(1), -1))
        states = torch.where(mask.unsqueeze(-1), self.norm(states), 0.0)
        return Sentence(tokens, mask, states)
