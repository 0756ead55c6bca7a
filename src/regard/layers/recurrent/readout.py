"""From a decoder's state to a score for every word of the vocabulary."""

from typing import Literal, assert_never, get_args

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size

Kind = Literal["maxout", "linear", "state"]


class Readout(nn.Module):
    r"""Give the logits of the next word, in one of three ways.

    $$\text{maxout:}\ W_o t, \quad t_k = \max(\tilde{t}_{2k-1}, \tilde{t}_{2k}), \quad
    \tilde{t} = U_o s + V_o e + C_o c$$
    $$\text{linear:}\ W_{yh} h + W_{ye} e + W_{yc} c \qquad\qquad \text{state:}\ W s$$

    where $s$ or $h$ is `state`, $e$ the last word's `embedding` and $c$ the `context`. "maxout" is the deep output
    of Bahdanau, which reads the state *before* this step, $s_{i-1}$; $t$ is `hidden_size` wide. "linear" is that of
    the lectures, "state" the plain one, which ignores embedding and context. $U_o$, $V_o$, $C_o$ are `state`,
    `embedding` and `context`, $W_o$ is `output`.

    `tied` makes the output matrix the one of an embedding. "linear" then sums in the embedding's width first:
    $W_{yh} = E A_h$, and so on, with $E$ the embedding.

    Reference: Bahdanau, Cho and Bengio (2015), section A.2.2, arXiv:1409.0473; Goodfellow et al. (2013), section 3,
    arXiv:1302.4389; Press and Wolf (2017), section 3, arXiv:1608.05859 (tied).
    Differs: biases, which the paper's equations leave out, are there.

    >>> import torch
    >>> readout = Readout("maxout", 100, state_size=8, embedding_size=4, context_size=6, hidden_size=5)
    >>> readout(torch.zeros(2, 8), torch.zeros(2, 4), torch.zeros(2, 6)).shape
    torch.Size([2, 100])
    """

    def __init__(
        self,
        kind: Kind,
        vocabulary_size: int,
        *,
        state_size: int,
        embedding_size: int | None = None,
        context_size: int | None = None,
        hidden_size: int | None = None,
        tied: nn.Embedding | None = None,
    ) -> None:
        super().__init__()
        check_choice("kind", kind, get_args(Kind))
        check_size("vocabulary_size", vocabulary_size)
        check_size("state_size", state_size)
        self.kind: Kind = kind
        self.vocabulary_size = vocabulary_size
        final: int | None  # the width of what the output matrix reads; None where there is none
        match kind:
            case "state":
                width, final = None, state_size
            case "maxout":
                final = _given("hidden_size", hidden_size, kind)
                width = 2 * final
            case "linear":
                final = None if tied is None else tied.embedding_dim
                width = vocabulary_size if final is None else final
            case _:
                assert_never(kind)
        if width is not None:
            self.state = nn.Linear(state_size, width)
            self.embedding = nn.Linear(_given("embedding_size", embedding_size, kind), width, bias=False)
            self.context = nn.Linear(_given("context_size", context_size, kind), width, bias=False)
        self.output = None if final is None else nn.Linear(final, vocabulary_size)
        if tied is not None:
            self._tie(tied)

    def _tie(self, tied: nn.Embedding) -> None:
        assert self.output is not None
        expected, result = tuple(self.output.weight.shape), tuple(tied.weight.shape)
        if expected != result:
            raise ArgumentError(
                f'`tied` must be an embedding of shape (vocabulary, width) = {expected} for "{self.kind}"; received '
                f"{result}."
            )
        self.output.weight = tied.weight

    def forward(
        self,
        state: Float[Tensor, "*batch state_size"],
        embedding: Float[Tensor, "*batch embedding_size"] | None = None,
        context: Float[Tensor, "*batch context_size"] | None = None,
    ) -> Float[Tensor, "*batch vocabulary"]:
        """Give the logits; their softmax is the distribution of the next word."""
        if self.kind == "state":
            assert self.output is not None
            return self.output(state)  # type: ignore[no-any-return]
        if embedding is None or context is None:
            missing = " and ".join(
                name for name, value in (("`embedding`", embedding), ("`context`", context)) if value is None
            )
            raise ArgumentError(f'{missing} must be given for Readout("{self.kind}"); received None.')
        hidden: Tensor = self.state(state) + self.embedding(embedding) + self.context(context)
        if self.kind == "maxout":
            hidden = hidden.unflatten(-1, (-1, 2)).amax(-1)
        if self.output is not None:
            hidden = self.output(hidden)
        return hidden

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.kind!r}, {self.vocabulary_size}"


def _given(name: str, size: int | None, kind: Kind) -> int:
    if size is None:
        raise ArgumentError(f'`{name}` must be given for Readout("{kind}"); received None.')
    check_size(name, size)
    return size
