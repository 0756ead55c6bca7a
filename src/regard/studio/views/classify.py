"""The view Classify: a label with its probability, and the words that were weighed, in three ways."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from regard.errors import ArgumentError
from regard.inspection.trace.attention_layers import layers_with
from regard.studio.models import Models
from regard.studio.tensors import EXACT, pack
from regard.tasks.attribution import label_with_uniform_weights
from regard.tasks.classification.model import By, Classifier, Decision
from regard.tasks.classification.page import MEANING

MAX_LETTERS = 50_000
MAX_REMOVED = 200
"""Words up to which each is left out in turn: it takes as many readings as there are words."""
MAX_MAPPED = 256
"""Tokens of a text whose maps are drawn."""
MAX_LABELS = 50


class Text(BaseModel):
    """A text for a classifier; the first that is open where none is named."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=MAX_LETTERS)


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/classify")

    @made.post("/read")
    async def read(body: Text, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Classifier)
        decision = await opened.ask(request, lambda classifier: write_decision(classifier, body.text))
        return decision | {"others": await others(models, body, decision["words"], request)}

    @made.post("/maps")
    async def maps(body: Text, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Classifier)
        return await opened.ask(request, lambda classifier: write_maps(classifier, body.text))

    return made


def write_decision(classifier: Classifier, text: str) -> dict[str, Any]:
    """Write the label, and the shares of the words by the model, by gradient and by removal."""
    _check(classifier, text)
    own = _decide(classifier, text, "model")
    count = len(own.words)
    removed = None if count > MAX_REMOVED else _decide(classifier, text, "removal")
    ranked = sorted(own.probabilities.items(), key=lambda item: -item[1])[:MAX_LABELS]
    return {
        "label": own.label,
        "labels": len(own.probabilities),
        "probabilities": [{"name": name, "probability": probability} for name, probability in ranked],
        "words": list(own.words),
        "cut": own.cut,
        "kind": classifier.spec.kind,
        "meaning": MEANING[classifier.spec.kind],
        "weighs": classifier.spec.kind not in ("feed-forward", "last-state"),
        "shares": {
            "model": list(own.weights),
            "gradient": list(_decide(classifier, text, "gradient").weights),
            "removal": None if removed is None else list(removed.weights),
        },
        "skipped": f"Not measured for more than {MAX_REMOVED} words." if removed is None else "",
        "uniform": label_with_uniform_weights(classifier, text, own.label),
    }


async def others(models: Models, body: Text, words: list[str], request: Request) -> list[dict[str, Any]]:
    """Give the shares by the other open classifiers of the same kind, labels and words: the same with other seeds."""
    chosen = models.find(body.model, Classifier)
    result = []
    for item in models.all("classifier"):
        if item.name == chosen.name or item.thing.spec != chosen.thing.spec or item.thing.labels != chosen.thing.labels:
            continue
        decision = await item.ask(request, lambda classifier: _decide(classifier, body.text, "model"))
        if list(decision.words) == words:
            result.append({"name": item.name, "label": decision.label, "shares": list(decision.weights)})
    return result


def write_maps(classifier: Classifier, text: str) -> dict[str, Any]:
    """Write what every token, and every query that sums the text up, attends to."""
    _check(classifier, text)
    count = len(classifier.encode([text])[0])
    if not layers_with(classifier.model):
        return {"maps": [], "skipped": "This model has no attention: there is no map of it."}
    if count > MAX_MAPPED:
        return {"maps": [], "skipped": f"Not drawn for more than {MAX_MAPPED} tokens; these are {count}."}
    trace = classifier.inspect(text).trace
    if sum(call.weights.numel() for call in trace) > EXACT:
        return {"maps": [], "skipped": "Not drawn: this model has too many heads for so long a text."}
    maps = [
        {
            "layer": call.layer,
            "reads": call.layer.split(".")[0] == "reader",
            "queries": [str(item) for item in call.query_labels or range(call.weights.size(2))],
            "keys": [str(item) for item in call.key_labels or range(call.weights.size(3))],
            "weights": pack(call.weights[0]),
        }
        for call in trace
    ]
    return {"maps": maps, "skipped": ""}


def _decide(classifier: Classifier, text: str, by: By) -> Decision:
    return classifier.classify([text], by=by)[0]


def _check(classifier: Classifier, text: str) -> None:
    if not len(classifier.encode([text])[0]):
        raise ArgumentError("`text` must hold something that the model reads; received no token of it. Type words.")
