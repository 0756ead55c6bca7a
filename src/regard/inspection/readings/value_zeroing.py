"""Value zeroing: empty what one token would give away, keep all weights, and see which states turn."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, numbered
from regard.inspection.readings.distance import cosine_distance
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.record import record

CAVEAT = (
    "Value zeroing shows which states turn when a token gives nothing away in this layer, not whether the answer would "
    "change; rows are shares of what turned."
)


@torch.no_grad()
def value_zeroing(
    model: nn.Module,
    run: Callable[[], Float[Tensor, "query size"]],
    *,
    layer: str,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
) -> Map:
    r"""Zero each token's value vector in one layer, all heads, and measure how far every state turns.

    $$C_{ij} = \frac{1 - \cos(\tilde x_i, \tilde x_i^{\neg j})}{\sum_k 1 - \cos(\tilde x_i, \tilde x_i^{\neg k})}$$

    where $\tilde x_i$ are the states that `run` gives, of one example, and $\tilde x_i^{\neg j}$ those with
    $v_j = 0$. In the paper these are the states behind the block of `layer`; states further on can be asked about too.
    A state that no token turns has a row of zeros.

    Reference: Mohebbi et al. (2023), section 3, arXiv:2301.12971.
    Differs: a weight of zero, without sharing it out again, takes the place of a value of zero; with `Shaw`, the
    vector added to that value goes too.

    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(3)[None]
    >>> value_zeroing(layer, lambda: layer(x)[0], layer="SelfAttention").values
    tensor([[0.8310, 0.0845, 0.0845],
            [0.0845, 0.8310, 0.0845],
            [0.0845, 0.0845, 0.8310]], dtype=torch.float64)
    """
    with record(model, layers=layer) as trace:
        before = _states(run())
    lengths = {call.weights.size(-1) for call in trace}
    if len(trace.layers) != 1 or len(lengths) != 1:
        raise ArgumentError(
            f"`layer` must be one layer whose calls have the same keys; received {layer}: {', '.join(trace.layers)}, "
            f"with {sorted(lengths)} keys."
        )
    keys = numbered(key_labels, lengths.pop(), name="key_labels")
    queries = numbered(query_labels, before.size(0), name="query_labels")
    turned = []
    for index in range(len(keys)):
        with intervene(model, weights={layer: _zeroing(index)}):
            turned.append(cosine_distance(before, _states(run())))
    distances = torch.stack(turned, dim=-1)[: len(queries)]
    total = distances.sum(-1, keepdim=True)
    return Map(
        name=f"{layer}, value zeroing",
        values=distances / total.masked_fill(total == 0, 1.0),
        axes=("query", "key"),
        labels=(queries, keys),
        caveat=CAVEAT,
    )


def _zeroing(index: int) -> Callable[[Tensor], Tensor]:
    def change(weights: Tensor) -> Tensor:
        kept = torch.ones(weights.size(-1), dtype=weights.dtype, device=weights.device)
        kept[index] = 0.0
        return weights * kept

    return change


def _states(output: Tensor) -> Tensor:
    if output.ndim != 2:
        raise ArgumentError(f"`run` must give states (query, size) of one example; received {tuple(output.shape)}.")
    return output.detach().double().cpu()
