"""From a decoder's state to the next word: `Features`, what the output matrix reads, and `Readout`, that matrix too."""

from typing import Any, Literal, assert_never, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size

FeatureKind = Literal["maxout", "linear", "joined", "attentional", "state"]
ReadoutKind = Literal["maxout", "linear", "state"]


class Features(nn.Module):
    r"""Join state, last word and context into the vector that the output matrix reads.

    $$\text{maxout:}\ t_k = \max(\tilde t_{2k-1}, \tilde t_{2k}), \quad \tilde t = U_o s + V_o e + C_o c + b$$
    $$\text{linear:}\ [s; e; c] \qquad \text{joined:}\ [c; s] \qquad \text{attentional:}\ \tanh(W_c [c; s]) \qquad
    \text{state:}\ s$$

    where $s$ is `state`, $e$ the last word's `embedding` and $c$ the `context`; $[U_o, V_o, C_o]$ is `join.weight`, so
    that one matrix product does all three. "joined" is the lecture's, whose output is read from [a; s].

    Reference: Bahdanau, Cho and Bengio (2015), section A.2.2, arXiv:1409.0473 (maxout); Luong, Pham and Manning
    (2015), equation 5, arXiv:1508.04025 (attentional).
    Differs: maxout has a bias. The output matrix is left outside, so that a loss need not hold the logits of all words
    at once; `Readout` has it inside.

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
        embedding: Float[Tensor, "*batch embedding_size"] | None = None,
        context: Float[Tensor, "*batch context_size"] | None = None,
    ) -> Float[Tensor, "*batch features"]:
        """Join them, for all steps at once."""
        if self.kind == "state":
            return state
        if self.kind in ("joined", "attentional"):
            joined = torch.cat([self._present("context", context), state], dim=-1)
            return joined if self.join is None else torch.tanh(self.join(joined))
        parts = [state, self._present("embedding", embedding), self._present("context", context)]
        if self.join is None:
            return torch.cat(parts, dim=-1)
        first, second = self.join(torch.cat(parts, dim=-1)).unflatten(-1, (-1, 2)).unbind(-1)
        return torch.maximum(first, second)

    def _present(self, name: str, tensor: Tensor | None) -> Tensor:
        if tensor is None:
            raise ArgumentError(f'`{name}` must be given for the features "{self.kind}"; received None.')
        return tensor

    def extra_repr(self) -> str:
        """Show the kind."""
        return repr(self.kind)


class Readout(nn.Module):
    r"""Give the logits of the next word, in one of three ways.

    $$\text{maxout:}\ W_o t, \quad t_k = \max(\tilde{t}_{2k-1}, \tilde{t}_{2k}), \quad
    \tilde{t} = U_o s + V_o e + C_o c$$
    $$\text{linear:}\ W_{yh} h + W_{ye} e + W_{yc} c \qquad\qquad \text{state:}\ W s$$

    where $s$ or $h$ is `state`, $e$ the last word's `embedding` and $c$ the `context`. "maxout" is the deep output
    of Bahdanau, which reads the state *before* this step, $s_{i-1}$; $t$ is `hidden_size` wide. "linear" is that of
    the lectures, "state" the plain one, which ignores embedding and context. $[U_o, V_o, C_o]$ is
    `features.join.weight`, and $W_o$, or $[W_{yh}, W_{ye}, W_{yc}]$, is `output.weight`.

    `tied` makes the output matrix the one of an embedding. "linear" then sums in the embedding's width first:
    $W_{yh} = E A_h$, and so on, with $E$ the embedding and $[A_h, A_e, A_c]$ `project.weight`.

    Reference: Bahdanau, Cho and Bengio (2015), section A.2.2, arXiv:1409.0473; Goodfellow et al. (2013), section 3,
    arXiv:1302.4389; Press and Wolf (2017), section 3, arXiv:1608.05859 (tied).
    Differs: biases, which the paper's equations leave out, are there. State dicts of earlier versions, which had a
    matrix each for state, embedding and context, are read.

    >>> import torch
    >>> readout = Readout("maxout", 100, state_size=8, embedding_size=4, context_size=6, hidden_size=5)
    >>> readout(torch.zeros(2, 8), torch.zeros(2, 4), torch.zeros(2, 6)).shape
    torch.Size([2, 100])
    """

    def __init__(
        self,
        kind: ReadoutKind,
        vocabulary_size: int,
        *,
        state_size: int,
        embedding_size: int | None = None,
        context_size: int | None = None,
        hidden_size: int | None = None,
        tied: nn.Embedding | None = None,
    ) -> None:
        super().__init__()
        check_choice("kind", kind, get_args(ReadoutKind))
        check_size("vocabulary_size", vocabulary_size)
        self.kind: ReadoutKind = kind
        self.vocabulary_size = vocabulary_size
        self.features = Features(
            kind,
            state_size=state_size,
            embedding_size=1 if kind == "state" else _required("embedding_size", embedding_size, kind),
            context_size=1 if kind == "state" else _required("context_size", context_size, kind),
            hidden_size=_required("hidden_size", hidden_size, kind) if kind == "maxout" else 1,
        )
        width = self.features.size
        self.project: nn.Module = nn.Identity()
        if tied is not None and kind == "linear":
            width = tied.embedding_dim
            self.project = nn.Linear(self.features.size, width)
        self.output = nn.Linear(width, vocabulary_size)
        if tied is not None:
            self._tie(tied)
        self.register_load_state_dict_pre_hook(_read_three_matrices)  # type: ignore[no-untyped-call]

    def _tie(self, tied: nn.Embedding) -> None:
        expected, received = tuple(self.output.weight.shape), tuple(tied.weight.shape)
        if expected != received:
            raise ArgumentError(
                f'`tied` must be an embedding of shape (vocabulary, width) = {expected} for "{self.kind}"; received '
                f"{received}."
            )
        self.output.weight = tied.weight

    def forward(
        self,
        state: Float[Tensor, "*batch state_size"],
        embedding: Float[Tensor, "*batch embedding_size"] | None = None,
        context: Float[Tensor, "*batch context_size"] | None = None,
    ) -> Float[Tensor, "*batch vocabulary"]:
        """Give the logits; their softmax is the distribution of the next word."""
        return self.output(self.project(self.features(state, embedding, context)))  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.kind!r}, {self.vocabulary_size}"


def _required(name: str, size: int | None, kind: ReadoutKind) -> int:
    if size is None:
        raise ArgumentError(f'`{name}` must be given for Readout("{kind}"); received None.')
    return size


def _read_three_matrices(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: object) -> None:
    """Read the keys of earlier versions: a matrix each for state, embedding and context, now one beside the other."""
    assert isinstance(module, Readout)
    if f"{prefix}state.weight" not in state_dict:
        return
    untied = "output" if isinstance(module.project, nn.Identity) else "project"
    name = prefix + ("features.join" if module.kind == "maxout" else untied)
    parts = [state_dict.pop(f"{prefix}{part}.weight") for part in ("state", "embedding", "context")]
    state_dict[f"{name}.weight"] = torch.cat(parts, dim=1)
    state_dict[f"{name}.bias"] = state_dict.pop(f"{prefix}state.bias")
