"""What the next word is read from: state, last word and context, made into one vector for the output matrix."""

from typing import Literal, assert_never, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size

FeatureKind = Literal["maxout", "linear", "joined", "attentional", "state"]


class Features(nn.Module):
    r"""Join what is known into what the output matrix reads.

    $$\text{maxout:}\ t_k = \max(\tilde t_{2k-1}, \tilde t_{2k}), \quad \tilde t = U_o s + V_o e + C_o c + b$$
    $$\text{linear:}\ [s; e; c] \qquad \text{joined:}\ [c; s] \qquad \text{attentional:}\ \tanh(W_c [c; s]) \qquad
    \text{state:}\ s$$

    where $s$ is `state`, $e$ the last word's `embedding` and $c$ the `context`; $[U_o, V_o, C_o]$ is `join.weight`, so
    that one matrix product does all three. "joined" is the lecture's, whose output is read from [a; s].

    Reference: Bahdanau, Cho and Bengio (2015), section A.2.2, arXiv:1409.0473 (maxout); Luong, Pham and Manning
    (2015), equation 5, arXiv:1508.04025 (attentional).
    Differs: maxout has a bias. `layers.Readout` is the same with the output matrix inside; here it is left outside, so
    that a loss need not hold the logits of all words at once.

    >>> features = Features("maxout", state_size=8, embedding_size=4, context_size=6, hidden_size=5)
    >>> features(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.zeros(2, 3, 6)).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self, kind: FeatureKind, *, state_size: int, embedding_size: int, context_size: int, hidden_size: int
    ) -> None:
        super().__init__()
        check_choice("kind", kind, get_args(FeatureKind))
        sizes = {"state_size": state_size, "embedding_size": embedding_size, "context_size": context_size}
        for name, width in (sizes | {"hidden_size": hidden_size}).items():
            check_size(name, width)
        self.kind: FeatureKind = kind
        self.join: nn.Linear | None = None
        match kind:
            case "maxout":
                self.size = hidden_size
                self.join = nn.Linear(sum(sizes.values()), 2 * hidden_size)
            case "linear":
                self.size = sum(sizes.values())
            case "joined":
                self.size = context_size + state_size
            case "attentional":
                self.size = state_size
                self.join = nn.Linear(context_size + state_size, state_size, bias=False)
            case "state":
                self.size = state_size
            case _:
                assert_never(kind)

    def forward(
        self,
        state: Float[Tensor, "*batch state_size"],
        embedding: Float[Tensor, "*batch embedding_size"],
        context: Float[Tensor, "*batch context_size"] | None = None,
    ) -> Float[Tensor, "*batch features"]:
        """Join them, for all steps at once."""
        if self.kind == "state":
            return state
        if context is None:
            raise ArgumentError(f'`context` must be given for Features("{self.kind}"); received None.')
        if self.kind == "linear":
            return torch.cat([state, embedding, context], dim=-1)
        if self.kind == "joined":
            return torch.cat([context, state], dim=-1)
        assert self.join is not None
        if self.kind == "attentional":
            return torch.tanh(self.join(torch.cat([context, state], dim=-1)))
        hidden = self.join(torch.cat([state, embedding, context], dim=-1))
        first, second = hidden.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.maximum(first, second)

    def extra_repr(self) -> str:
        """Show the kind."""
        return repr(self.kind)
