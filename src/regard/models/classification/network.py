"""The shape all trained classifiers have: embed, read, sum up, decide."""

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.models.embedding import TokenEmbedding


class Sentence(NamedTuple):
    """What a network knows of the texts once it has read them."""

    tokens: Int[Tensor, "batch length"]
    mask: Bool[Tensor, "batch length"]
    """True where there is a token, False at padding."""
    states: Float[Tensor, "batch length size"]
    """A vector for each token: that of the word, or the state there; anything at padding."""
    last: Float[Tensor, "batch last_size"] | None = None
    """The state after the last token, where the reader carries one."""


class Summary(NamedTuple):
    """A text in one vector."""

    vector: Float[Tensor, "batch size"]
    weights: Float[Tensor, "batch length"] | None
    """How much each token counted, summing to one over the text; None where the summary has no such weights."""
    penalty: Float[Tensor, " batch"] | None = None
    """What the loss adds for each text."""


class Classified(NamedTuple):
    """The output of a classifier for a batch of texts."""

    logits: Float[Tensor, "batch labels"]
    weights: Float[Tensor, "batch length"] | None
    """How much each token counted, as `Summary` has it."""
    penalty: Float[Tensor, " batch"] | None


@runtime_checkable
class Reader(Protocol):
    """Turns word vectors into states."""

    size: int

    def __call__(self, embedding: Tensor, tokens: Tensor, lengths: Tensor, mask: Tensor) -> Sentence:
        """Read a batch."""


class Network(nn.Module):
    r"""Classify by one vector for the whole text.

    $$p = \text{softmax}(f(\text{summarize}(\text{read}(x_1, \dots, x_n))))$$

    where $x_j$ are the word vectors. Padding changes nothing: readers are packed or masked, and so are summaries.

    >>> from regard.config.classify import AverageSpec
    >>> from regard.models.classification.build import build_classifier
    >>> network = build_classifier(AverageSpec(), vocabulary_size=10, num_labels=2)
    >>> network(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1])).weights
    tensor([[0.3333, 0.3333, 0.3333],
            [1.0000, 0.0000, 0.0000]])
    """

    def __init__(self, embedding: TokenEmbedding, reader: nn.Module, summarize: nn.Module, output: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.reader = reader
        self.summarize = summarize
        self.output = output

    def forward(self, tokens: Int[Tensor, "batch length"], lengths: Int[Tensor, " batch"]) -> Classified:
        """Classify texts, of which the first `lengths` tokens count."""
        return self.read(self.embedding(tokens), tokens, lengths)

    def read(
        self,
        embedding: Float[Tensor, "batch length size"],
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
    ) -> Classified:
        """Classify texts whose tokens are embedded already."""
        mask = torch.arange(tokens.size(1), device=tokens.device) < lengths.to(tokens.device).unsqueeze(1)
        sentence = self.reader(embedding, tokens, lengths, mask)
        summary: Summary = self.summarize(sentence)
        return Classified(self.output(summary.vector), summary.weights, summary.penalty)
