"""Rollout: weights of all layers multiplied, to see through to the first tokens."""

from functools import reduce

from regard.inspection.drawing.map import Map
from regard.inspection.readings.mixing import mixing
from regard.inspection.trace.trace import Trace

CAVEAT = (
    "Rollout follows weights through the layers as if nothing but attention and residuals moved them; values, "
    "feed-forward layers and norms are left out."
)


def rollout(
    trace: Trace, *, decoder: Trace | None = None, cross: Trace | None = None, example: int = 0, carried: float = 0.5
) -> Map:
    r"""Give the share of every first token in every last state.

    $$R = \tilde A_L \cdots \tilde A_1, \qquad \tilde A_l = \tfrac12 A_l + \tfrac12 I$$

    See `mixing` for the arguments, and for decoders that attend to a source: the map then has a row for every
    target token, and columns for source and target.

    Reference: Abnar and Zuidema (2020), equation 1, arXiv:2005.00928.

    >>> import torch
    >>> from regard.inspection import record
    >>> from regard.layers import SelfAttention
    >>> layer = SelfAttention()
    >>> with record(layer) as trace:
    ...     _ = layer(torch.eye(2)[None])
    >>> rollout(trace).values
    tensor([[0.8655, 0.1345], [0.1345, 0.8655]], dtype=torch.float64)
    """
    result = mixing(trace, decoder=decoder, cross=cross, example=example, carried=carried)
    product = reduce(lambda below, layer: layer @ below, result.matrices)
    return Map(
        name=f"rollout of {len(trace) + len(decoder or ()) + len(cross or ())} layers",
        values=product[result.first_query :],
        axes=("query", "key"),
        labels=(result.tokens[result.first_query :], result.tokens),
        caveat=CAVEAT,
    )
