"""Weight × value norm: a large weight on a short value moves little."""

from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, map_of, scaled
from regard.inspection.trace.trace import Call

CAVEAT = (
    "Weight times value norm is how long a vector is that gets added, not which way it points, nor what later layers "
    "make of it; rows do not sum to one."
)


def norm_weighted(
    call: Call, *, head: int | None = None, example: int = 0, norms: Float[Tensor, "batch heads key"] | None = None
) -> Map:
    r"""Scale every weight by the norm of the value it carries, for one head, or the mean over heads.

    $$\lVert \alpha_{ij} v_j \rVert = \alpha_{ij} \lVert v_j \rVert$$

    Reference: Kobayashi et al. (2020), equation 4, arXiv:2004.10102.
    Differs: $v_j$ is the value as the trace has it, before the output matrix. Norms behind that matrix, which the paper
    takes, go into `norms`: those of one layer of `value_norms(model, memory)`. The mean over heads averages the norms
    of every head's vector; the paper takes the norm of the sum over heads.
    """
    own = call.value_norms if norms is None else norms
    if own.shape != call.value_norms.shape:
        raise ArgumentError(
            f"`norms` must have shape (batch, heads, key) = {tuple(call.value_norms.shape)}; received "
            f"{tuple(own.shape)}."
        )
    values = call.weights * own.unsqueeze(-2)
    return scaled(map_of(call, values, name=f"{call.layer}, weight × norm", caveat=CAVEAT, head=head, example=example))
