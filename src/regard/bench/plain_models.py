"""The models of `training.py` as a user would write them in torch."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config.language import TransformerLanguageSpec
from regard.config.model import TransformerSpec
from regard.data.batches.pairs import Batch
from regard.data.batches.text import TextBatch


class PlainTransformer(nn.Module):
    """`nn.Transformer` between embeddings and an output, as its tutorial has it."""

    def __init__(self, spec: TransformerSpec, vocabulary: int) -> None:
        super().__init__()
        self.size = spec.size
        self.embedding = nn.Embedding(vocabulary, spec.size)
        self.positions = nn.Parameter(torch.zeros(512, spec.size))
        layers = (spec.num_encoder_layers, spec.num_decoder_layers, spec.feed_forward_size, spec.dropout)
        self.transformer = nn.Transformer(spec.size, spec.num_heads, *layers, batch_first=True)
        self.output = nn.Linear(spec.size, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        """Give the loss."""
        source, target = (
            self.embedding(item) * math.sqrt(self.size) + self.positions[: item.size(1)]
            for item in (batch.source, batch.target_input)
        )
        padding = batch.source == 0
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device, dtype=torch.bool)
        states = self.transformer(
            source, target, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding
        )
        return _cross_entropy(self.output(states), batch.target_output, smoothing=0.1)


class PlainRecurrent(nn.Module):
    """A bidirectional GRU, and a loop over a cell with additive attention."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, embedding), nn.Embedding(vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True, batch_first=True)
        self.start = nn.Linear(hidden, hidden)
        self.key, self.query = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, hidden)
        self.vector = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.output = nn.Linear(embedding + 3 * hidden, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        """Give the loss."""
        memory, last = self.encoder(self.source(batch.source))
        keys, state = self.key(memory), torch.tanh(self.start(last[1]))
        padding, features = batch.source == 0, []
        words = self.target(batch.target_input)
        for word in words.unbind(1):
            scores = self.vector(torch.tanh(keys + self.query(state)[:, None])).squeeze(-1)
            weights = scores.masked_fill(padding, -torch.inf).softmax(-1)
            context = (weights[:, None].to(memory.dtype) @ memory).squeeze(1)
            state = self.cell(torch.cat([word, context], dim=-1), state)
            features.append(torch.cat([word, context, state], dim=-1))
        return _cross_entropy(self.output(torch.stack(features, dim=1)), batch.target_output, smoothing=0.1)


class PlainLanguage(nn.Module):
    """A decoder-only Transformer in the manner of nanoGPT."""

    def __init__(self, spec: TransformerLanguageSpec, vocabulary: int) -> None:
        super().__init__()
        self.heads, size = spec.num_heads, spec.size
        self.embedding, self.positions = nn.Embedding(vocabulary, size), nn.Embedding(spec.context, size)
        self.dropout = nn.Dropout(spec.dropout)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "first": nn.LayerNorm(size, bias=False),
                    "projections": nn.Linear(size, 3 * size, bias=False),
                    "joined": nn.Linear(size, size, bias=False),
                    "second": nn.LayerNorm(size, bias=False),
                    "wide": nn.Linear(size, spec.feed_forward_size, bias=False),
                    "narrow": nn.Linear(spec.feed_forward_size, size, bias=False),
                }
            )
            for _ in range(spec.num_layers)
        )
        self.norm = nn.LayerNorm(size, bias=False)
        self.output = nn.Linear(size, vocabulary, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, batch: TextBatch) -> Tensor:
        """Give the loss."""
        positions = torch.arange(batch.tokens.size(1), device=batch.tokens.device)
        states = self.dropout(self.embedding(batch.tokens) + self.positions(positions))
        share = self.dropout.p if self.training else 0.0
        for block in self.blocks:
            assert isinstance(block, nn.ModuleDict)
            projected = block["projections"](block["first"](states)).unflatten(-1, (3, self.heads, -1))
            query, key, value = projected.permute(2, 0, 3, 1, 4).unbind(0)
            attended = F.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=share)
            states = states + self.dropout(block["joined"](attended.transpose(1, 2).flatten(2)))
            states = states + self.dropout(block["narrow"](F.gelu(block["wide"](block["second"](states)))))
        return _cross_entropy(self.output(self.norm(states)), batch.target, smoothing=0.0)


def _cross_entropy(logits: Tensor, target: Tensor, *, smoothing: float) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=smoothing)
