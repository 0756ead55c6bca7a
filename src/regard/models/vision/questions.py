"""Questions about pictures: each word attends to the positions of a picture, and the answer is read from all words."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.recurrent.encoder import RecurrentEncoder
from regard.layers.transformer.decoder_block import DecoderBlockOutput, TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.prediction import check_lengths, check_some
from regard.models.vision.image_positions import ImagePositions


class Answered(NamedTuple):
    """What a network answers, and what the words of each question attended to."""

    logits: Float[Tensor, "questions answers"]
    weights: Float[Tensor, "questions layers heads words positions"] | None
    """How much each word attended to each position of the picture, if asked for."""
    grid: tuple[int, int]
    """Rows and columns of the positions."""


class RecurrentWords(nn.Module):
    """Read the words of a question both ways, one after the other."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.encoder = RecurrentEncoder("gru", size, size // 2, bidirectional=True)

    def forward(
        self, embedding: Float[Tensor, "questions words size"], lengths: Int[Tensor, " questions"]
    ) -> Float[Tensor, "questions words size"]:
        """Give a state for each word."""
        states: Tensor = self.encoder(embedding, lengths).memory
        return states


class AttentiveWords(nn.Module):
    """Let the words of a question attend to each other."""

    def __init__(self, blocks: Iterable[TransformerEncoderBlock]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(
        self, embedding: Float[Tensor, "questions words size"], lengths: Int[Tensor, " questions"]
    ) -> Float[Tensor, "questions words size"]:
        """Give a state for each word."""
        mask = Padding(lengths.to(embedding.device))
        for block in self.blocks:
            embedding = block(embedding, mask=mask)
        return embedding


class QuestionNetwork(nn.Module):
    r"""Let the words of a question attend to a picture, a few times, and read the answer from all of them.

    $$q^0 = \text{words}(x), \qquad q^l_j = \text{block}_l\big(q^{l-1}_j;\ \text{self}(q^{l-1}),\
    \text{cross}(q^{l-1}_j, m)\big), \qquad \text{logits} = W \phi\Big(\tfrac{1}{n} \sum_j q^L_j\Big)$$

    where $m$ are the positions of the picture: word $j$ is the query, they are keys and values. A block is that of a
    Transformer's decoder, without its causal mask: self-attention, attention over the picture, feed-forward.

    A picture is read once for all of its questions: `owners` says which picture each question is about.

    Reference: Yang et al. (2016), section 3.3, arXiv:1511.02274 (several steps of attention over a picture, led by the
    question); Tan and Bansal (2019), section 2.2, arXiv:1908.07490 (word by word, through cross-attention).
    Differs: only words attend to the picture, never the picture to words.
    """

    def __init__(
        self,
        *,
        positions: ImagePositions,
        embedding: TokenEmbedding,
        words: RecurrentWords | AttentiveWords,
        blocks: Iterable[TransformerDecoderBlock],
        num_answers: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        size = embedding.table.embedding_dim
        self.places = positions  # under this name in saved models
        self.embedding = embedding
        self.words = words
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(size)
        self.hidden = nn.Linear(size, size)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(size, num_answers)

    def forward(
        self,
        image: Float[Tensor, "pictures channels height width"],
        tokens: Int[Tensor, "questions words"],
        lengths: Int[Tensor, " questions"],
        owners: Int[Tensor, " questions"] | None = None,
        *,
        weights: bool = False,
    ) -> Answered:
        """Give a logit for each answer to each question; without `owners` there is one question a picture."""
        check_some("tokens", tokens)
        check_lengths(lengths, tokens)
        features, grid = self.places(image)
        states = self.words(self.embedding(tokens), lengths)
        padding = Padding(lengths.to(tokens.device))
        attended = []
        for block in self.blocks:
            assert isinstance(block, TransformerDecoderBlock)
            memory = block.remember(features)
            memory = memory if owners is None else memory.select(owners)
            block_output = block(states, memory, mask=padding, return_weights=weights)
            states = block_output.states if isinstance(block_output, DecoderBlockOutput) else block_output
            attended.append(block_output.cross_weights if isinstance(block_output, DecoderBlockOutput) else None)
        summary = _mean_of_words(self.norm(states), lengths)
        logits = self.output(self.dropout(torch.relu(self.hidden(summary))))
        result = [item for item in attended if item is not None]
        return Answered(logits, torch.stack(result, dim=1) if result else None, grid)


def _mean_of_words(states: Tensor, lengths: Tensor) -> Tensor:
    lengths = lengths.to(states.device)
    real = torch.arange(states.size(1), device=states.device) < lengths.unsqueeze(-1)
    total: Tensor = states.masked_fill(~real.unsqueeze(-1), 0.0).sum(1)
    return total / lengths.clamp_min(1).unsqueeze(-1)
