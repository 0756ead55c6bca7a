"""Self-attention: every word attends to the words around it, itself included."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Dot, Mask, Normalizer, ScaledDot
from regard.attention.normalize import NormalizeFunction
from regard.errors import ArgumentError
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.attention_layer import Interface
from regard.layers.checks import check_size, check_width
from regard.layers.memory import blank_own


class SelfAttention(nn.Module):
    r"""Give each vector as a mixture of all of them, weighted by likeness.

    $$Y = \text{softmax}(X X^\top) X$$

    That is `SelfAttention()`, which has nothing to learn. `SelfAttention(size)` puts a map before each of the three
    roles, of widths `key_size` and `value_size`, by default `size`:

    $$Y = \text{softmax}(Q K^\top) V, \qquad Q = X W^Q, \quad K = X W^K, \quad V = X W^V$$

    `scaled=True` divides the scores by $\sqrt{d}$, where $d$ is the width compared.

    Reference: Cheng, Dong and Lapata (2016), section 3, arXiv:1601.06733; Vaswani et al. (2017), equation 1,
    arXiv:1706.03762.

    >>> import torch
    >>> SelfAttention()(torch.eye(3)[None])
    tensor([[[0.5761, 0.2119, 0.2119],
             [0.2119, 0.5761, 0.2119],
             [0.2119, 0.2119, 0.5761]]])
    >>> [name for name, _ in SelfAttention(3, value_size=2).named_parameters()]
    ['query.weight', 'key.weight', 'value.weight']
    """

    interface = Interface(memory=False)

    def __init__(
        self,
        size: int | None = None,
        *,
        key_size: int | None = None,
        value_size: int | None = None,
        scaled: bool = False,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.size = size
        self.query: nn.Module = nn.Identity()
        self.key: nn.Module = nn.Identity()
        self.value: nn.Module = nn.Identity()
        if size is not None:
            key_size = size if key_size is None else key_size
            value_size = size if value_size is None else value_size
            for name, width in (("size", size), ("key_size", key_size), ("value_size", value_size)):
                check_size(name, width)
            self.query = nn.Linear(size, key_size, bias=False)
            self.key = nn.Linear(size, key_size, bias=False)
            self.value = nn.Linear(size, value_size, bias=False)
        elif key_size is not None or value_size is not None:
            raise ArgumentError("`size` must be given with `key_size` or `value_size`; received None.")
        self.score = ScaledDot() if scaled else Dot()
        self.attend = Attend(normalize=normalize, dropout=dropout)

    def forward(
        self,
        sequence: Float[Tensor, "batch length size"],
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch length value_size"] | Attended:
        """Let every position attend to every other that `mask` allows: Causal(), Padding(lengths), …"""
        if self.size is not None:
            check_width("sequence", sequence, self.size)
        sequence, mask = blank_own(sequence, mask)
        attended: Tensor | Attended = self.attend(
            self.query(sequence),
            self.key(sequence),
            self.value(sequence),
            score=self.score,
            mask=mask,
            return_weights=return_weights,
        )
        return attended

    def extra_repr(self) -> str:
        """Show the score."""
        return f"size={self.size}, scaled={isinstance(self.score, ScaledDot)}"
