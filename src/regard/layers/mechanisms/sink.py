"""A learned sink: what a head's queries need not spend on any key."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Sink
from regard.layers.checks import check_size


class LearnedSink(nn.Module):
    r"""Normalize by softmax beside one more score for each head, whose value is zero.

    $$\alpha_{hij} = \exp(e_{hij}) / (\exp(s_h) + \sum_l \exp(e_{hil}))$$

    where $s$ is `score`, (num_heads,), zero at first: a row of n keys then spends about 1/(n + 1) on nothing. For
    `MultiHeadAttention(normalize=LearnedSink(num_heads))`; called, it gives the operator's `Sink`.

    Reference: OpenAI (2025), section 2.1, arXiv:2508.10925; Xiao et al. (2024), section 3.3, arXiv:2309.17453.

    >>> LearnedSink(4)().score.shape
    torch.Size([4])
    """

    score: Float[Tensor, " heads"]

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.score = nn.Parameter(torch.zeros(num_heads))

    def forward(self) -> Sink:
        """Give the normalizer with the scores it has now."""
        return Sink(self.score)

    def extra_repr(self) -> str:
        """Show the heads."""
        return f"{self.score.numel()}"
