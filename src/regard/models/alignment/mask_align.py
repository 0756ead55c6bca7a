"""Mask-Align: every word is predicted from its translation and from the other words; what it attends to is its link.

A word that is left out must be found again in the translation, so the attention to the translation goes to the word
that says the same. All words are left out at once: each position is a query that has no word of its own, and keys and
values are the vectors of the words themselves, which carry nothing from one position to another.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Mask, Padding, Window
from regard.attention.mask import Not
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.memory_block import TransformerMemoryBlock
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.prediction import check_same_rows, check_some
from regard.models.sequence.transformer import padding_mask


class MaskedRead(NamedTuple):
    """The words of one side, each read from the other words and from the other side."""

    features: Float[Tensor, "batch target size"]
    """What the output matrix reads."""
    weights: Float[Tensor, "batch heads target nothing_and_source"]
    """How much each word attends to nothing (first) and to each token of the other side."""


class AlignerRead(NamedTuple):
    """Both directions."""

    to_target: MaskedRead
    """Target words from the source."""
    to_source: MaskedRead
    """Source words from the target."""


class MaskedPredictor(nn.Module):
    r"""Predict each target word from the source and from the other target words.

    $$p(y_i \mid y_{\setminus i}, x) = \text{softmax}(W_o h_i^L), \qquad
    h_i^l = \text{block}^l\bigl(h_i^{l-1},\, \{E_{y_j} + p(j)\}_{j \ne i}\bigr), \qquad h_i^0 = p(i)$$

    where $p(i)$ is the position of $i$. The last block attends to the source besides, and there to a learned
    `null_key` with `null_value` too: what has no translation need not attend to any word.

    Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162 (static-KV and leaky attention).
    Differs: the null vectors pass through the maps of keys and values, as the others do.
    """

    def __init__(
        self,
        *,
        source: TokenEmbedding,
        encoder: Iterable[TransformerEncoderBlock],
        target: TokenEmbedding,
        decoder: Iterable[TransformerMemoryBlock],
        final_norm: bool,
    ) -> None:
        super().__init__()
        self.source, self.target = source, target
        self.encoder, self.decoder = nn.ModuleList(encoder), nn.ModuleList(decoder)
        vocabulary_size, size = target.table.num_embeddings, target.table.embedding_dim
        self.encoder_norm = nn.LayerNorm(size) if final_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size) if final_norm else nn.Identity()
        self.null_key = nn.Parameter(torch.empty(size))
        self.null_value = nn.Parameter(torch.empty(size))
        self.output = nn.Linear(size, vocabulary_size)
        self.reset_null()

    def reset_null(self) -> None:
        """Draw the vectors of nothing from N(0, 1/size), as the paper's code does."""
        for vector in (self.null_key, self.null_value):
            nn.init.normal_(vector, std=vector.size(0) ** -0.5)

    def read(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
        target_lengths: Int[Tensor, " batch"],
    ) -> MaskedRead:
        """Read every target word from all but itself, up to the output matrix: `output(features)` are the logits."""
        check_some("target", target)
        check_some("source", source)
        check_same_rows(source, target)
        keys, values, reachable = self._encode(source, source_lengths)
        words = self.target(target)
        states = self._positions(words)
        others: Mask = Not(Window(0, 0))
        padding = padding_mask(target_lengths, target)
        others = others if padding is None else others & padding
        *blocks, last = (block for block in self.decoder if isinstance(block, TransformerMemoryBlock))
        for block in blocks:
            states = block(states, [block.remember(0, words)], masks=[others]).states
        memories = [last.remember(0, words), last.remember(1, keys, values)]
        output = last(states, memories, masks=[others, reachable], return_weights=True)
        assert output.weights is not None
        return MaskedRead(self.decoder_norm(output.states), output.weights)

    def _encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Padding | None]:
        """Give keys and values of the source with nothing before them, and what of them may be attended to."""
        padding = padding_mask(lengths, source)
        states = self.source(source)
        for block in self.encoder:
            states = block(states, mask=padding)
        states = self.encoder_norm(states)
        keys, values = (
            torch.cat([null.to(states).expand(states.size(0), 1, -1), states], dim=1)
            for null in (self.null_key, self.null_value)
        )
        return keys, values, None if padding is None else Padding(padding.lengths + 1, finite=True)

    def _positions(self, words: Tensor) -> Tensor:
        """Give the queries: positions, without words."""
        nothing = torch.zeros_like(words)
        positions = nothing if self.target.positions is None else self.target.positions(nothing)
        queries: Tensor = self.target.dropout(positions)
        return queries


class MaskAligner(nn.Module):
    """Predict target words from the source and source words from the target, and attend both ways.

    The vectors of a language's words are the same in both directions, as input and as output.

    Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162.
    """

    def __init__(self, to_target: MaskedPredictor, to_source: MaskedPredictor) -> None:
        super().__init__()
        self.to_target, self.to_source = to_target, to_source

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
        target_lengths: Int[Tensor, " batch"],
    ) -> AlignerRead:
        """Read sentence pairs, of which so many tokens count in each row; neither side has special tokens."""
        return AlignerRead(
            self.to_target.read(source, source_lengths, target, target_lengths),
            self.to_source.read(target, target_lengths, source, source_lengths),
        )
