"""Trees of tuples with tensors at their ends: what a captured step reads and writes."""

from typing import Any

from jaxtyping import Shaped
from torch import Tensor

from regard.layers.memory import Memory


def of_tensors(tree: Any) -> Any:
    """Let memories keep nothing but tensors, which a slot is given anew: what is kept of a mask is of one batch."""
    if not isinstance(tree, tuple):
        return tree
    if isinstance(tree, Memory):
        return tree._replace(padding=None)
    parts = [of_tensors(part) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def signature(tree: Any) -> Any:
    """Describe the shapes and precisions of all tensors, and where there are none."""
    if isinstance(tree, Tensor):
        return tree.shape, tree.dtype
    if isinstance(tree, tuple):
        return type(tree), tuple(signature(part) for part in tree)
    return tree


def parts(tree: Any) -> list[Any]:
    """List a tree and all that is in it."""
    return [tree, *(part for child in tree for part in parts(child))] if isinstance(tree, tuple) else [tree]


def leaves(tree: Any) -> list[Shaped[Tensor, "..."]]:
    """List the tensors of a tree of tuples."""
    return [part for part in parts(tree) if isinstance(part, Tensor)]


def rebuilt(tree: Any, leaves: Any) -> Any:
    """Put other tensors in place of a tree's own."""
    if isinstance(tree, Tensor):
        return next(leaves)
    if not isinstance(tree, tuple):
        return tree
    parts = [rebuilt(part, leaves) for part in tree]
    return type(tree)._make(parts) if hasattr(tree, "_make") else tuple(parts)
