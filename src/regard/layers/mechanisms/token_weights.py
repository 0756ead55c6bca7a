"""Token weights: static attention, where a word counts the same whoever asks."""

from collections.abc import Hashable, Iterable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attended, Dot, Padding
from regard.attention.mask import Dense
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.attend import Attend
from regard.layers.checks import check_size
from regard.layers.mechanisms.tf_idf import TfIdf, Variant
from regard.layers.memory import key_mask


class TokenWeights(nn.Module):
    r"""Give every entry of the vocabulary one number, and every text the softmax of its tokens' numbers.

    $$\alpha_j = \text{softmax}_j(u_{x_j}), \qquad c = \sum_j \alpha_j v_j$$

    where $x_j$ is the token at position $j$, $v_j$ its vector and $u$ is `scores`, (vocabulary_size,), learned for the
    task at hand. `TokenWeights.tf_idf(documents)` fixes $u_t = \log \text{idf}_t$ instead: since a token met twice has
    two positions, its weights add up to count · idf, divided by the sum over the text.

    Reference: Spärck Jones (1972), for idf. Learned weights are its plainest generalization: no query, no context.

    A negative token is no token: its weight is zero, as is that of a token that TF-IDF has never seen.

    >>> layer = TokenWeights(4)
    >>> tokens, vectors = torch.tensor([[1, 3, -1]]), torch.eye(3)[None]
    >>> layer(tokens, vectors).detach()
    tensor([[0.5000, 0.5000, 0.0000]])
    """

    scores: Float[Tensor, " vocabulary"]

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        check_size("vocabulary_size", vocabulary_size)
        self.scores = nn.Parameter(torch.zeros(vocabulary_size))
        self.attend = Attend()

    @classmethod
    def tf_idf(
        cls,
        documents: Iterable[Sequence[Hashable]] | TfIdf,
        *,
        variant: Variant = "lecture",
        vocabulary_size: int | None = None,
    ) -> "TokenWeights":
        """Weigh by TF-IDF, fitted on documents or given: not learned, but saved and moved with the model."""
        model = documents
        if not isinstance(model, TfIdf):
            model = TfIdf.fit(model, variant=variant, vocabulary_size=vocabulary_size)
        layer = cls(max(len(model.idf), 1))
        del layer.scores
        layer.register_buffer("scores", model.idf.log())
        return layer

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        value: Float[Tensor, "batch length size"],
        *,
        mask: Bool[Tensor, "batch length"] | Padding | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Average the vectors of a text by its tokens' weights: (batch, size), and weights (batch, length)."""
        _check_tokens(tokens, value)
        number = self.scores[tokens.clamp_min(0)]
        allowed = (tokens >= 0) & (number > -torch.inf)
        key_allowed = key_mask(mask, value)
        allowed = allowed if key_allowed is None else allowed & key_allowed
        attended: Tensor | Attended = self.attend(
            value.new_ones(tokens.size(0), 1, 1),
            number.masked_fill(~allowed, 0.0).unsqueeze(-1).to(value.dtype),
            value,
            score=Dot(),
            mask=Dense(allowed.unsqueeze(1)),
            return_weights=return_weights,
        )
        if isinstance(attended, Attended):
            log_normalizer = attended.log_normalizer
            return Attended(
                attended.context.squeeze(1),
                attended.weights.squeeze(1),
                None if log_normalizer is None else log_normalizer.squeeze(1),
            )
        return attended.squeeze(1)

    def extra_repr(self) -> str:
        """Show the size, and whether it learns."""
        return f"vocabulary_size={self.scores.numel()}, learned={isinstance(self.scores, nn.Parameter)}"


def _check_tokens(tokens: Tensor, value: Tensor) -> None:
    if tokens.dtype.is_floating_point or tokens.dtype == torch.bool:
        raise ArgumentTypeError(f"`tokens` must be a tensor of integers; received {tokens.dtype}.")
    if tokens.ndim != 2 or value.shape[:2] != tokens.shape:
        raise ArgumentError(
            f"`value` must have a vector for each of the {tuple(tokens.shape)} tokens, (batch, length, size); "
            f"received shape {tuple(value.shape)}."
        )
