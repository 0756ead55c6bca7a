"""Linear biases: the farther a key, the lower its score, by a slope of each head's own."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Alibi


class AlibiBias(nn.Module):
    r"""Punish distance, more in some heads than in others.

    $$e_{hij} \mathrel{+}= -m_h |i - j|$$

    where $m_h$ is `slopes`, the paper's geometric sequence. `learned=True` trains them from there.

    Reference: Press, Smith and Lewis (2022), section 3, arXiv:2108.12409, where learned slopes did not extrapolate.
    Differs: |i − j| makes it fit attention in both directions; with a causal mask it is the paper's.

    >>> AlibiBias(4)().slopes
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """

    slopes: Float[Tensor, " heads"]

    def __init__(self, num_heads: int, *, learned: bool = False) -> None:
        super().__init__()
        slopes = Alibi.of_heads(num_heads).slopes
        if learned:
            self.slopes = nn.Parameter(slopes)
        else:
            self.register_buffer("slopes", slopes, persistent=False)

    def forward(
        self,
        query_positions: Int[Tensor, "... query"] | None = None,
        key_positions: Int[Tensor, "... key"] | None = None,
    ) -> Alibi:
        """Give the position object for one call of the operator."""
        return Alibi(query_positions=query_positions, key_positions=key_positions, slopes=self.slopes)

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.slopes.size(0)}, learned={self.slopes.requires_grad}"
