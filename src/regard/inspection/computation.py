"""Step by step: what one query of one head computed. Scores, weights, weighted values, context."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended
from regard.errors import ArgumentError
from regard.inspection.map import check_place, numbered
from regard.inspection.record import Seen, see
from regard.inspection.seam import four_axes, open_layers
from regard.inspection.trace import matching
from regard.layers.attend import Attend
from regard.layers.together import eager


@dataclass(frozen=True, kw_only=True, eq=False)
class Computation:
    r"""One query's way from comparing to its context, with the model's own numbers.

    $$e_j = \mathrm{score}(q, k_j), \qquad \alpha = \mathrm{normalize}(e), \qquad c = \sum_j \alpha_j v_j$$
    """

    layer: str
    score: str
    """The name of the score function."""
    normalizer: str
    query_label: str
    key_labels: tuple[str, ...]
    query: Float[Tensor, " query_size"]
    keys: Float[Tensor, "key key_size"]
    values: Float[Tensor, "key value_size"]
    scores: Float[Tensor, " key"]
    """Bias and position added; −∞ where masked."""
    weights: Float[Tensor, " key"]
    context: Float[Tensor, " value_size"]
    """What the layer really gave, before any output matrix."""
    mask: Bool[Tensor, " key"] | None

    @property
    def weighted_values(self) -> Float[Tensor, "key value_size"]:
        """Each value times its weight: what is added up."""
        return self.weights.unsqueeze(-1) * self.values

    @property
    def error(self) -> float:
        """How far the weighted values add up to something else: rounding, or what a position adds to values (Shaw)."""
        return float((self.weighted_values.sum(0) - self.context).abs().max()) if self.context.numel() else 0.0


@torch.no_grad()
def computation(
    model: nn.Module,
    run: Callable[[], Any],
    *,
    layer: str,
    query: int,
    head: int = 0,
    step: int = 0,
    example: int = 0,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
) -> Computation:
    """Take one query of one head of one call of a layer apart, while `run` calls the model.

    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(2)[None]
    >>> found = computation(layer, lambda: layer(x), layer="SelfAttention", query=0)
    >>> found.scores, found.weights, found.context
    (tensor([1., 0.]), tensor([0.7311, 0.2689]), tensor([0.7311, 0.2689]))
    >>> found.score, found.normalizer, found.error
    ('Dot', 'Softmax', 0.0)
    """
    seen: list[tuple[dict[str, Any], Tensor, Seen]] = []

    def look(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        assert isinstance(module, Attend)
        given = dict(zip(("query", "key", "value"), args, strict=False)) | kwargs
        context = output.context if isinstance(output, Attended) else output
        seen.append((given, context, see(module, *args, **kwargs)))

    with ExitStack() as stack:
        stack.enter_context(eager)
        layers = stack.enter_context(open_layers(model))
        names = matching(layer, layers)
        if len(names) != 1:
            raise ArgumentError(f"`layer` must match one layer; received {layer}, which matches {', '.join(names)}.")
        attend = layers[names[0]]
        stack.callback(attend.register_forward_hook(look, with_kwargs=True).remove)
        run()
        normalizer = _name(attend.normalize)
    check_place("step", step, len(seen))
    given, context, numbers = seen[step]
    weights = four_axes(numbers.weights)
    for name, number, count in zip(("example", "head", "query"), (example, head, query), weights.shape, strict=False):
        check_place(name, number, count)
    rows, heads, queries, keys = weights.shape

    def own(tensor: Tensor) -> Tensor:
        return _own(tensor, example, head, rows, heads)

    return Computation(
        layer=names[0],
        score=_name(given["score"]),
        normalizer=normalizer,
        query_label=dict(enumerate(numbered(query_labels, queries, name="query_labels"))).get(query, str(query)),
        key_labels=_every_label(key_labels, keys),
        query=own(given["query"])[query],
        keys=own(given["key"]),
        values=own(given["key"] if given.get("value") is None else given["value"]),
        scores=own(numbers.scores)[query],
        weights=own(numbers.weights)[query],
        context=own(context)[query],
        mask=None if numbers.mask is None else own(numbers.mask)[query],
    )


def _own(tensor: Tensor, example: int, head: int, rows: int, heads: int) -> Tensor:
    """Take what one head of one example sees; heads may share keys, and examples a memory."""
    four = four_axes(tensor.detach())
    one = four[example // max(rows // four.size(0), 1)]
    return one[head // max(heads // one.size(0), 1)].cpu()


def _every_label(labels: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Name every key, those that are padding by nothing."""
    words = numbered(labels, count, name="key_labels")
    return words + ("",) * (count - len(words))


def _name(thing: object) -> str:
    """Name a score or normalizer: its class, or the function."""
    return getattr(thing, "__name__", type(thing).__name__)
