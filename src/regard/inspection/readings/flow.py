"""Flow: how much could reach a last state from each first token, if weights were the widths of pipes."""

from collections.abc import Sequence

import torch

from regard.inspection.drawing.map import Map, check_index
from regard.inspection.readings.max_flow import Network
from regard.inspection.readings.mixing import Mixing, mixing
from regard.inspection.trace.trace import Trace

CAVEAT = (
    "Flow is an upper bound on what could pass through the weights, of each token alone; rows do not sum to one, and "
    "values, feed-forward layers and norms are left out."
)


def flow(
    trace: Trace,
    *,
    decoder: Trace | None = None,
    cross: Trace | None = None,
    queries: Sequence[int] | None = None,
    example: int = 0,
    carried: float = 0.5,
) -> Map:
    r"""Give for every query and key the maximum flow from the key's first state to the query's last.

    $$F_{ij} = \max \lvert f \rvert \text{ from } j \text{ to } i, \qquad 0 \le f(u, v) \le \tilde A_{uv}$$

    where the nodes are the states of all tokens after each layer and $\tilde A$ the matrices of `mixing`. Every entry
    is a maximum-flow problem of its own, solved exactly: `queries` asks for some rows alone.

    Reference: Abnar and Zuidema (2020), section 3, arXiv:2005.00928.
    """
    result = mixing(trace, decoder=decoder, cross=cross, example=example, carried=carried)
    size, first = len(result.tokens), result.first_query
    rows = list(range(size - first)) if queries is None else list(queries)
    for row in rows:
        check_index("queries", row, size - first)
    network = _network(result)
    top = size * len(result.matrices)
    values = [[network.max_flow(top + first + row, key) for key in range(size)] for row in rows]
    return Map(
        name=f"flow through {len(trace) + len(decoder or ()) + len(cross or ())} layers",
        values=torch.tensor(values, dtype=torch.double).reshape(len(rows), size),
        axes=("query", "key"),
        labels=(tuple(result.tokens[first + row] for row in rows), result.tokens),
        caveat=CAVEAT,
    )


def _network(mixing: Mixing) -> Network:
    """Lead pipes from the states above a layer to those below it; the first states have the numbers of their tokens."""
    size = len(mixing.tokens)
    network = Network(size * (len(mixing.matrices) + 1))
    for level, matrix in enumerate(mixing.matrices):
        for above, below in (matrix > 0).nonzero().tolist():
            network.add(size * (level + 1) + above, size * level + below, float(matrix[above, below]))
    return network
