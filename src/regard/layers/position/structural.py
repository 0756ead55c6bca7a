"""Positions in a dependency tree: how deep a word hangs, and how far apart two words are by way of their heads.

`heads` gives each word the index of its head, (words,) or (batch, words); −1 or the word's own index is a root.
`lengths` says how many words of each row count, the rest is padding. Where a row has several roots, they hang from
one unseen node.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Shaw
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.checks import check_choice
from regard.layers.position.relative import RelativePositions
from regard.layers.position.sinusoidal import SinusoidalPositions, sinusoids

Rule = Literal["printed", "path"]


def tree_depths(
    heads: Int[Tensor, "*batch word"], lengths: Int[Tensor, "*batch"] | None = None
) -> Int[Tensor, "*batch word"]:
    """Count the edges from each word up to its root; padding counts zero.

    Reference: Wang, Tu, Wang and Shi (2019), section 3, "absolute structural position", arXiv:1909.00383.

    >>> tree_depths(torch.tensor([1, 2, -1, 4, 2]))  # The cat chased the mouse
    tensor([2, 1, 0, 2, 1])
    """
    parent, _ = _parents(heads, lengths)
    return _depths(parent)


def _depths(parent: Tensor) -> Tensor:
    depth = (parent != torch.arange(parent.size(-1), device=parent.device)).long()
    for _ in range(_doublings(parent)):  # twice as far up each time
        depth = depth + depth.gather(-1, parent)
        parent = parent.gather(-1, parent)
    return depth


def tree_distances(
    heads: Int[Tensor, "*batch word"], lengths: Int[Tensor, "*batch"] | None = None
) -> Int[Tensor, "*batch word word"]:
    r"""Count the edges on the way from each word to each other through the tree; to or from padding it is zero.

    $$d_{ij} = c_{ii} + c_{jj} - 2 c_{ij}$$

    where $c_{ij}$ counts the words that both $i$ and $j$ hang from, themselves included.

    Reference: Hewitt and Manning (2019), section 2, for why distances and depths tell the tree.

    >>> tree_distances(torch.tensor([1, 2, -1, 4, 2]))[0]  # from "The" to The cat chased the mouse
    tensor([0, 1, 2, 4, 3])
    """
    parent, real = _parents(heads, lengths)
    above = torch.eye(parent.size(-1), device=parent.device).expand(*parent.shape, -1)  # 1 where word hangs from word
    for _ in range(_doublings(parent)):
        above = above.maximum(above.gather(-2, parent.unsqueeze(-1).expand_as(above)))
        parent = parent.gather(-1, parent)
    with torch.autocast(above.device.type, enabled=False):  # half precision cannot count beyond 256
        common = above @ above.mT
    own = common.diagonal(dim1=-2, dim2=-1)
    distance = (own.unsqueeze(-1) + own.unsqueeze(-2) - 2 * common).long()
    return distance.masked_fill(~(real.unsqueeze(-1) & real.unsqueeze(-2)), 0)


def tree_relations(
    heads: Int[Tensor, "*batch word"], lengths: Int[Tensor, "*batch"] | None = None, *, rule: Rule = "printed"
) -> Int[Tensor, "*batch word word"]:
    r"""Give the relation of word j (second axis) to word i in the tree as one signed number.

    $$r_{ij} = \begin{cases} d_i - d_j & \text{if one is the other's head} \\
    \text{sign}(i - j) (d_i + d_j) & \text{otherwise} \end{cases}$$

    where $d$ are the depths: that is `rule="printed"`. The sum is the length of the way through the root, longer than
    the way itself for words of one branch; `rule="path"` takes $\text{sign}(i - j)$ times `tree_distances` instead.

    Reference: Wang, Tu, Wang and Shi (2019), section 3, "relative structural position", arXiv:1909.00383.

    >>> tree_relations(torch.tensor([1, 2, -1, 4, 2]))[1]  # cat, to The cat chased the mouse
    tensor([-1,  0,  1, -3, -2])
    """
    check_choice("rule", rule, get_args(Rule))
    positions = torch.arange(heads.size(-1), device=heads.device)
    order = (positions.unsqueeze(-1) - positions).sign()
    if rule == "path":
        return order * tree_distances(heads, lengths)
    parent, real = _parents(heads, lengths)
    depth = _depths(parent)
    hangs = parent.unsqueeze(-1) == positions
    edge = hangs | hangs.mT
    below, above = depth.unsqueeze(-1), depth.unsqueeze(-2)
    relation = torch.where(edge, below - above, order * (below + above))
    return relation.masked_fill(~(real.unsqueeze(-1) & real.unsqueeze(-2)), 0)


def _doublings(parent: Tensor) -> int:
    """Return how often a step must be doubled to reach from any word to the root."""
    return max(parent.size(-1) - 1, 0).bit_length()


def _parents(heads: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """Check the heads; give them with every root and padding its own head, and which words are real."""
    if heads.dtype.is_floating_point or heads.dtype == torch.bool:
        raise ArgumentTypeError(f"`heads` must be a tensor of integers; received {heads.dtype}.")
    positions = torch.arange(heads.size(-1), device=heads.device)
    if lengths is None:
        lengths = heads.new_full(heads.shape[:-1], heads.size(-1))
    elif lengths.shape != heads.shape[:-1]:
        raise ArgumentError(
            f"`lengths` must have one number per row of `heads`, shape {tuple(heads.shape[:-1])}; "
            f"received {tuple(lengths.shape)}."
        )
    limit = lengths.to(heads.device).unsqueeze(-1)
    real = positions < limit
    if not torch.compiler.is_compiling():
        _check_range(heads, real, limit)
    parent = torch.where(real & (heads >= 0), heads, positions)
    if not torch.compiler.is_compiling():
        _check_cycles(parent)
    return parent, real


def _first(flags: Tensor) -> tuple[tuple[int, ...], str]:
    """Give the index of the first flag that is set, and where that is in words."""
    index = tuple(int(i) for i in flags.nonzero()[0])
    return index, f"word {index[-1]}" + (f" of row {index[0]}" if len(index) > 1 else "")


def _check_range(heads: Tensor, real: Tensor, limit: Tensor) -> None:
    bad = real & ((heads < -1) | (heads >= limit))
    if bad.any():
        index, where = _first(bad)
        words = int(limit.expand_as(heads)[index])
        raise ArgumentError(
            f"`heads` must be from −1 (a root) to {words - 1}, the last word; received {int(heads[index])} for "
            f"{where}. CoNLL files count words from 1: subtract 1."
        )


def _check_cycles(parent: Tensor) -> None:
    above = parent
    for _ in range(_doublings(parent)):
        above = above.gather(-1, above)
    root = parent == torch.arange(parent.size(-1), device=parent.device)
    lost = ~root.gather(-1, above)
    if lost.any():
        _, where = _first(lost)
        raise ArgumentError(f"`heads` must lead every word up to a root; received a cycle at or above {where}.")


class StructuralPositions(nn.Module):
    r"""Add to each embedding where its word stands: in the sentence and, by its depth, in the tree.

    $$x'_t = x_t + \tanh(W_p\, p(t) + W_s\, s(d_t) + b)$$

    where $p(t)$ are the waves of the position and $s(d_t)$ those of the depth $d_t$; with `max_depth`, $s$ is a learned
    table instead, whose last row serves all greater depths. With `sequential=False` the position is left to
    others: $x'_t = x_t + s(d_t)$.

    Reference: Wang, Tu, Wang and Shi (2019), section 3, arXiv:1909.00383.
    Differs: the paper leaves the nonlinear fusion of the two encodings open; this is the plainest.

    >>> heads = torch.tensor([[1, 2, -1, 4, 2]])
    >>> StructuralPositions(8)(torch.zeros(1, 5, 8), heads).shape
    torch.Size([1, 5, 8])
    """

    depths: Float[Tensor, "depth size"] | None

    def __init__(self, size: int, *, max_depth: int | None = None, sequential: bool = True) -> None:
        super().__init__()
        self.places = SinusoidalPositions(size)
        if max_depth is not None and max_depth < 0:
            raise ArgumentError(f"`max_depth` must be zero or more, or None for waves; received {max_depth}.")
        self.depths = None if max_depth is None else nn.Parameter(torch.empty(max_depth + 1, size))
        self.fuse = nn.Linear(2 * size, size) if sequential else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the learned depths from a narrow normal distribution."""
        if self.depths is not None:
            nn.init.normal_(self.depths, std=0.02)
        if self.fuse is not None:
            self.fuse.reset_parameters()

    def forward(
        self,
        embedding: Float[Tensor, "*batch word size"],
        heads: Int[Tensor, "*batch word"],
        lengths: Int[Tensor, "*batch"] | None = None,
    ) -> Float[Tensor, "*batch word size"]:
        """Add position and depth."""
        if heads.shape != embedding.shape[:-1] or embedding.size(-1) != self.places.size:
            expected = (*heads.shape, self.places.size)
            raise ArgumentError(
                f"`embedding` must have shape (*batch, words, size) = {expected} to go with `heads`; "
                f"received {tuple(embedding.shape)}."
            )
        depth = tree_depths(heads, lengths)
        if self.depths is None:
            structural = sinusoids(depth, self.places.size, dtype=embedding.dtype)
        else:
            structural = self.depths[depth.clamp_max(self.depths.size(0) - 1)].to(embedding.dtype)
        if self.fuse is None:
            return embedding + structural
        sequential = self.places.table(heads.size(-1), dtype=embedding.dtype, device=embedding.device)
        sequential = sequential.expand_as(embedding)
        return embedding + torch.tanh(self.fuse(torch.cat([sequential, structural], dim=-1)))


@dataclass(frozen=True, eq=False)
class TreeShaw(Shaw):
    r"""Shaw's vectors, chosen by the distance in a tree instead of that in the sentence.

    $$e_{ij} = q_i^\top (k_j + a_{r_{ij}}) / \sqrt{d}$$

    where $r_{ij}$ is `relations`.

    Reference: Shaw, Uszkoreit and Vaswani (2018), equation 4, arXiv:1803.02155; Wang et al. (2019), arXiv:1909.00383,
    for the tree.
    """

    relations: Int[Tensor, "... query key"] = field(kw_only=True)

    def check(self, score: object, query: Tensor, key: Tensor, value: Tensor, shape: Sequence[int]) -> None:
        """Raise unless there is a relation for every query and key."""
        super().check(score, query, key, value, shape)
        expected, result = (*shape[:1], *shape[-2:])[-len(shape) :], tuple(self.relations.shape)
        if result not in (expected, expected[-2:]):
            raise ArgumentError(
                f"`heads` must speak of the same words as query and key, (batch, query, key) = {expected}; "
                f"received relations of shape {result}."
            )

    def offsets(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """Give the relations, the same for every head."""
        if self.relations.ndim < 3:
            return self.relations
        return self.relations.view(shape[0], *[1] * (len(shape) - 3), *shape[-2:])


class StructuralRelations(nn.Module):
    r"""Add to every key, and to every value, a learned vector for where it stands to the query in the tree.

    $$e_{ij} = q_i^\top (k_j + a^K_{ij}) / \sqrt{d}, \qquad c_i = \sum_j \alpha_{ij} (v_j + a^V_{ij}),
    \qquad a_{ij} = w_{\text{clip}(r_{ij}, -R, R)}$$

    where $r$ is `tree_relations`, $R$ is `reach`, and $w^K$, $w^V$ are `keys` and `values` as in `RelativePositions`.
    Called with the heads, it gives the position object that the operator takes, for self-attention over those words.

    Reference: Wang, Tu, Wang and Shi (2019), section 3, arXiv:1909.00383; Shaw et al. (2018), equations 3 and 4.
    Differs: the paper also combines these vectors with those of the distance in the sentence; here they stand alone.

    >>> position = StructuralRelations(3, key_size=8)(torch.tensor([[1, 2, -1, 4, 2]]))
    >>> position.relations.shape
    torch.Size([1, 5, 5])
    """

    def __init__(self, reach: int, key_size: int, value_size: int | None = None, *, rule: Rule = "printed") -> None:
        super().__init__()
        check_choice("rule", rule, get_args(Rule))
        self.rule: Rule = rule
        self.tables = RelativePositions(reach, key_size, value_size)

    def forward(self, heads: Int[Tensor, "*batch word"], lengths: Int[Tensor, "*batch"] | None = None) -> TreeShaw:
        """Give the position object for one call of the operator."""
        relations = tree_relations(heads, lengths, rule=self.rule)
        return TreeShaw(keys=self.tables.keys, values=self.tables.values, relations=relations)

    def extra_repr(self) -> str:
        """Show the rule."""
        return f"rule={self.rule!r}"
