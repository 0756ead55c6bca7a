"""Structured self-attention: a text as a few weighted sums, with no query from outside."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Dot, Normalizer, Padding
from regard.attention.mask import Dense
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.checks import check_size, check_width
from regard.layers.memory import blank_padding, key_mask


class StructuredSelfAttention(nn.Module):
    r"""Sum a text up in `num_hops` vectors, each a weighted sum of the words that matter to one question.

    $$A = \text{softmax}(W_{s2} \tanh(W_{s1} H^\top)), \qquad M = A H$$

    where $H$ is the text, one row per word, $W_{s1}$ is `hidden.weight`, (hidden_size, size), and $W_{s2}$ is `hops`,
    (num_hops, hidden_size). The softmax runs over the words. A row of $W_{s2}$ is a query that the layer has learned;
    with one hop, $\alpha = \text{softmax}(w^\top \tanh(W H^\top))$.

    `penalty` keeps the hops from all attending to the same words.

    Reference: Lin et al. (2017), equations 6 to 8, arXiv:1703.03130.

    >>> layer = StructuredSelfAttention(size=6, hidden_size=4, num_hops=2)
    >>> matrix, weights, _ = layer(torch.ones(1, 3, 6), return_weights=True)
    >>> matrix.shape, weights.shape
    (torch.Size([1, 2, 6]), torch.Size([1, 2, 3]))
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        num_hops: int = 1,
        *,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        for name, number in (("size", size), ("hidden_size", hidden_size), ("num_hops", num_hops)):
            check_size(name, number)
        self.hidden = nn.Linear(size, hidden_size, bias=False)
        self.hops = nn.Parameter(torch.empty(num_hops, hidden_size))
        self.attend = Attend(normalize=normalize, dropout=dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both matrices as Glorot and Bengio (2010) do."""
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.xavier_uniform_(self.hops)

    def forward(
        self,
        sequence: Float[Tensor, "batch length size"],
        *,
        mask: Bool[Tensor, "batch length"] | Padding | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Attend to the text once per hop."""
        check_width("sequence", sequence, self.hidden.in_features)
        allowed = key_mask(mask, sequence)
        sequence, _ = blank_padding(mask, sequence)
        attended: Tensor | Attended = self.attend(
            self.hops.expand(sequence.size(0), -1, -1),
            torch.tanh(self.hidden(sequence)),
            sequence,
            score=Dot(),
            mask=None if allowed is None else Dense(allowed.unsqueeze(1)),
            return_weights=return_weights,
        )
        return attended

    @staticmethod
    def penalty(weights: Float[Tensor, "batch hops length"]) -> Float[Tensor, " batch"]:
        r"""Measure how much the hops overlap, per text.

        $$P = \lVert A A^\top - I \rVert_F^2$$

        Zero when each hop attends to one word, no two at the same.

        Reference: Lin et al. (2017), equation 8, arXiv:1703.03130.

        >>> StructuredSelfAttention.penalty(torch.eye(2)[None])
        tensor([0.])
        """
        identity = torch.eye(weights.size(-2), dtype=weights.dtype, device=weights.device)
        return (weights @ weights.mT - identity).square().sum((-2, -1))
