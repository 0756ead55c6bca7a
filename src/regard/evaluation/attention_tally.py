"""What attention does over a set of sentences: how spread it is, what it leaves out, what it leaves at the end."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError

COVERED = 0.5
"""A source token is covered where the weights it got, summed over the output, exceed this."""


@dataclass(frozen=True, kw_only=True)
class HeadAttention:
    """Means over all sentences for one head of one layer, both counted from 0."""

    layer: int
    head: int
    entropy: float
    """Nats, of each output token's weights."""
    relative_entropy: float
    """The same as a share of log(source length), which equal weights have: 0 for one token, 1 for all alike."""
    coverage: float
    """Share of the source tokens, `</s>` left out, that got more than half a token's worth of weight in all."""
    end_mass: float
    """Weight on the source's `</s>`, at every output token but `</s>`."""


class AttentionTally:
    """Adds up sentences, so that the weights of no more than one have to be kept.

    A row of weights that does not sum to one (sigmoid, Gaussian windows) is divided by its sum for the entropy, and
    taken as it is for the rest; a row of zeros has no entropy and is left out there.

    >>> tally = AttentionTally()
    >>> tally.add(torch.eye(3)[None, None])
    >>> tally.result()[0]
    HeadAttention(layer=0, head=0, entropy=0.0, relative_entropy=0.0, coverage=1.0, end_mass=0.0)
    """

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._shape: tuple[int, int] | None = None
        self.sentences = 0

    def add(self, weights: Float[Tensor, "layers heads target source"], *, finished: bool = True) -> None:
        """Add one sentence; `finished` says that the last row is that of `</s>`. The last column is `</s>`."""
        layers, heads, rows, columns = weights.shape
        if self._shape not in (None, (layers, heads)):
            raise ArgumentError(
                f"`weights` must have the {self._shape} layers and heads of the sentences before; received "
                f"{(layers, heads)}."
            )
        self._shape = (layers, heads)
        self.sentences += 1
        weights = weights.double().cpu()
        word_rows = weights[:, :, : rows - 1] if finished else weights
        entropy, has_entropy = entropies(weights)
        self._sum("entropy", entropy.sum(-1), has_entropy.sum(-1))
        if columns > 1:
            self._sum("relative_entropy", entropy.sum(-1) / math.log(columns), has_entropy.sum(-1))
            covered = weights[..., :-1].sum(-2) > COVERED
            self._sum("coverage", covered.sum(-1), torch.full((layers, heads), columns - 1))
        self._sum("end_mass", word_rows[..., -1].sum(-1), torch.full((layers, heads), word_rows.size(-2)))

    def _sum(self, name: str, total: Tensor, count: Tensor) -> None:
        both = torch.stack([total.double(), count.double()])
        self._sums[name] = self._sums.get(name, torch.zeros_like(both)) + both

    def result(self) -> list[HeadAttention]:
        """Give the means, head by head; nothing where no weights were added."""
        if self._shape is None:
            return []
        layers, heads = self._shape
        none = torch.zeros(2, layers, heads)
        means = {
            name: (total / count.clamp_min(1)).tolist()
            for name in ("entropy", "relative_entropy", "coverage", "end_mass")
            for total, count in [self._sums.get(name, none)]
        }
        return [
            HeadAttention(layer=layer, head=head, **{name: mean[layer][head] for name, mean in means.items()})
            for layer in range(layers)
            for head in range(heads)
        ]


def entropies(weights: Float[Tensor, "*rows key"]) -> tuple[Float[Tensor, "*rows"], Tensor]:
    r"""Give $-\sum_j \alpha_j \log \alpha_j$ of each row, divided by its sum first, and whether it had one.

    >>> entropies(torch.tensor([[0.5, 0.5], [0.0, 0.0]]))
    (tensor([0.6931, 0.0000]), tensor([ True, False]))
    """
    total = weights.sum(-1, keepdim=True)
    result = total.squeeze(-1) > 0
    shares = weights / total.masked_fill(total <= 0, 1.0)
    return -torch.special.xlogy(shares, shares).sum(-1) + 0.0, result
