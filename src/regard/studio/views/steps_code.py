"""The code beside a computation: Python that gives the same numbers."""

from typing import Any

from regard.inspection.trace.trace import Call
from regard.studio.schema.steps import Code
from regard.studio.text_models import HuggingFaceModel
from regard.tasks.classification.model import Classifier


def steps_code(thing: Any, text: str, target: str | None, folder: str, call: Call, head: int, query: int) -> Code:
    """Write how to get at the stages of one query, and how to compute them once more from query, keys and values."""
    argument = "" if target is None or isinstance(thing, Classifier) else f", target={target!r}"
    loading = f"""import regard
from regard.inspection import computation

model = regard.load({folder!r})
"""
    network, called = "model.model", f"model.inspect({text!r}{argument})"
    if isinstance(thing, HuggingFaceModel):
        loading = f"""import regard
from regard.inspection import computation
from regard.inspection.hugging_face.folder import load_hugging_face

model, tokenizer = load_hugging_face({folder!r})
"""
        network, called = "model", f"regard.inspect(model, tokenizer, {text!r}{argument})"
    return Code(
        find=f"""{loading}steps = computation(
    {network},
    lambda: {called},
    layer={call.layer!r}, head={head}, query={query},
)
steps.scores, steps.weights, steps.context
""",
        again="""from regard import attention

mask = None if steps.mask is None else steps.mask[None]
parts = [part for part in (steps.bias, steps.added) if part is not None]
bias = sum(parts)[None] if parts else None
again = attention(
    steps.query[None], steps.keys, steps.values,
    score=steps.score, mask=mask, bias=bias, normalize=steps.normalizer, return_weights=True,
)
weights = again.weights[0] if steps.factors is None else again.weights[0] * steps.factors
context = weights @ steps.values if steps.extra is None else weights @ steps.values + steps.extra
(weights - steps.weights).abs().max(), (context - steps.context).abs().max()
""",
    )
