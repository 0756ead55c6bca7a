"""The code beside a computation: Python that gives the same numbers."""

from typing import Any

from regard.inspection.trace.trace import Call
from regard.tasks.classification.model import Classifier


def steps_code(
    thing: Any, text: str, target: str | None, folder: str, call: Call, head: int, query: int
) -> dict[str, str]:
    """Write how to get at the stages of one query, and how to compute them once more from query, keys and values."""
    output = "" if target is None or isinstance(thing, Classifier) else f", target={target!r}"
    return {
        "find": f"""import regard
from regard.inspection import computation

model = regard.load({folder!r})
found = computation(
    model.model,
    lambda: model.inspect({text!r}{output}),
    layer={call.layer!r}, head={head}, query={query},
)
found.scores, found.weights, found.context
""",
        "again": """from regard import attention

mask = None if found.mask is None else found.mask[None]
parts = [part for part in (found.bias, found.added) if part is not None]
bias = sum(parts)[None] if parts else None
again = attention(
    found.query[None], found.keys, found.values,
    score=found.score, mask=mask, bias=bias, normalize=found.normalizer, return_weights=True,
)
weights = again.weights[0] if found.factors is None else again.weights[0] * found.factors
context = weights @ found.values if found.extra is None else weights @ found.values + found.extra
(weights - found.weights).abs().max(), (context - found.context).abs().max()
""",
    }
