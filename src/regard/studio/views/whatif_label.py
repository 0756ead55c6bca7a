"""What if, for classifiers: force the weights that sum a text up, hide tokens, and show what label it gets instead."""

from fastapi import APIRouter, Request

from regard.errors import ArgumentError
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.attention_layers import layers_with
from regard.studio.models import Models
from regard.studio.schema.what_if import BeforeAfter, LabelAnswer, LabelRequest
from regard.studio.views.classify import MAX_LABELS, MAX_MAPPED
from regard.tasks.classification.model import Classifier
from regard.tasks.what_if import SUMMARY, label_text


def router(models: Models) -> APIRouter:
    """Give the verb."""
    made = APIRouter(prefix="/whatif")

    @made.post("/label")
    async def label(body: LabelRequest, request: Request) -> LabelAnswer:
        opened = models.find(body.model, Classifier)
        return await opened.ask(request, lambda classifier: relabel(classifier, body))

    return made


def relabel(classifier: Classifier, body: LabelRequest) -> LabelAnswer:
    """Label a text, once undisturbed and once as requested, and write both."""
    _check(classifier, body)
    before = label_text(classifier, body.text)
    pinned = {item.position: item.share for item in body.pinned}
    after = label_text(classifier, body.text, pinned=pinned, hidden=body.hidden)
    first, second = before.log_probabilities.exp(), after.log_probabilities.exp()
    shown = first.maximum(second).argsort(descending=True)[:MAX_LABELS].tolist()
    return LabelAnswer(
        tokens=before.tokens,
        own=before.weights.tolist(),
        weights=after.weights.tolist(),
        change=float(total_variation(before.log_probabilities, after.log_probabilities)),
        candidates=[
            BeforeAfter(id=item, token=classifier.labels[item], before=float(first[item]), after=float(second[item]))
            for item in shown
        ],
    )


def _check(classifier: Classifier, body: LabelRequest) -> None:
    """Raise where there is nothing to change."""
    if not any(name.startswith(SUMMARY) for name in layers_with(classifier.model)):
        raise ArgumentError(
            "`model` must weigh the tokens of a text; received one that does not attend. Choose another model."
        )
    length = len(classifier.encode([body.text])[0])
    if not 0 < length <= MAX_MAPPED:
        raise ArgumentError(f"`text` must have 1 to {MAX_MAPPED} tokens to be changed; received {length}.")
    for name, positions in (("pinned", [item.position for item in body.pinned]), ("hidden", body.hidden)):
        wrong = [index for index in positions if not 0 <= index < length]
        if wrong:
            raise ArgumentError(f"`{name}` must be positions of tokens from 0 to {length - 1}; received {wrong[0]}.")
