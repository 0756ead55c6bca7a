"""Two alignments of one pair, made in either direction, joined into one."""

from collections.abc import Collection
from typing import Literal, TypeAlias, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.corpora.pair import Link

LinkJoin: TypeAlias = Literal["intersection", "union", "grow-diag", "grow-diag-final"]
Join: TypeAlias = Literal["intersection", "union", "grow-diag", "grow-diag-final", "agreement"]
Cell: TypeAlias = tuple[int, int]

AGREED = 0.2
"""How large `mutual_weights` must be for a link, unless something else is chosen: that of the code of Chen, Sun and
Liu (2021)."""

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Collection[Link], backward: Collection[Link], join: LinkJoin) -> tuple[Link, ...]:
    """Join two alignments, both written source before target; every link of the result is sure.

    - `intersection`: links that both have; few, and nearly all right.
    - `union`: links that either has.
    - `grow-diag`: begin with the intersection; again and again add links of the union beside those already there,
      above, below, left, right or diagonally, where one of the two words has no link yet.
    - `grow-diag-final`: after that, add the links of `forward`, then of `backward`, where one of the two words has no
      link yet, beside others or not.

    Reference: Och and Ney (2003), "A systematic comparison of various statistical alignment models"; Koehn et al.
    (2005), "Edinburgh system description for the 2005 IWSLT speech translation evaluation" (grow-diag, as in Moses).
    Differs: some toolkits ask that *both* words be without a link, which adds fewer.

    >>> one, other = [Link(0, 0, True), Link(1, 1, True)], [Link(0, 0, True), Link(0, 1, True)]
    >>> print(*symmetrize(one, other, "intersection"), "|", *symmetrize(one, other, "grow-diag"))
    0-0 | 0-0 0-1 1-1
    """
    forward_cells, backward_cells = _cells(forward), _cells(backward)
    match join:
        case "intersection":
            result = forward_cells & backward_cells
        case "union":
            result = forward_cells | backward_cells
        case "grow-diag":
            result = _grow(forward_cells & backward_cells, forward_cells | backward_cells)
        case "grow-diag-final":
            result = _grow(forward_cells & backward_cells, forward_cells | backward_cells)
            for side in (forward_cells, backward_cells):
                result = _fill(result, side)
        case _:
            assert_never(join)
    return tuple(Link(source, target, sure=True) for source, target in sorted(result))


def mutual_weights(
    forward: Float[Tensor, "target source"], backward: Float[Tensor, "source target"]
) -> Float[Tensor, "target source"]:
    r"""Give the harmonic mean of the weights of both directions: large where each attends to the other.

    $$\frac{2\, \alpha_{ts}\, \beta_{st}}{\alpha_{ts} + \beta_{st}}$$

    Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162.

    >>> mutual_weights(torch.tensor([[0.9, 0.1]]), torch.tensor([[0.6], [0.0]]))
    tensor([[0.7200, 0.0000]])
    """
    turned = backward.mT
    return 2 * forward * turned / (forward + turned).clamp_min(torch.finfo(forward.dtype).tiny)


def _cells(links: Collection[Link]) -> set[Cell]:
    return {(link.source, link.target) for link in links}


def _grow(links: set[Cell], allowed: set[Cell]) -> set[Cell]:
    """Add neighbors until none can be added, target word by target word; what is added counts at once."""
    links = set(links)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    in_order = sorted(allowed, key=lambda cell: (cell[1], cell[0]))
    count = -1
    while count != len(links):
        count = len(links)
        for source, target in in_order:
            if (source, target) not in links:
                continue
            for down, right in _NEIGHBORS:
                cell = source + right, target + down
                if cell in allowed and cell not in links and not (cell[0] in sources and cell[1] in targets):
                    links.add(cell)
                    sources.add(cell[0])
                    targets.add(cell[1])
    return links


def _fill(links: set[Cell], side: set[Cell]) -> set[Cell]:
    links = set(links)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    for source, target in sorted(side, key=lambda cell: (cell[1], cell[0])):
        if not (source in sources and target in targets):
            links.add((source, target))
            sources.add(source)
            targets.add(target)
    return links
