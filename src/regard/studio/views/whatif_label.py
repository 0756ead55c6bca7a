"""What if, for classifiers: force the weights that sum a text up, hide tokens, and see what label it gets instead."""

from functools import partial
from typing import Any, NamedTuple

import torch
from fastapi import APIRouter, Request
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.studio.models import Models
from regard.studio.recording import attending
from regard.studio.views.classify import MAX_LABELS, MAX_MAPPED, Text
from regard.studio.views.whatif import Pin
from regard.studio.views.whatif_decoding import pin
from regard.tasks.classification.model import Classifier

SUMS_UP = "summarize"
"""What the names of layers begin with that make one vector of a text; the others read it."""


class Relabeling(Text):
    """A text, and what is done to its tokens."""

    pinned: list[Pin] = Field(default_factory=list, max_length=MAX_MAPPED)
    hidden: list[int] = Field(default_factory=list, max_length=MAX_MAPPED)


class Labeled(NamedTuple):
    """How a text was labeled, and how it was summed up."""

    log_probabilities: Float[Tensor, " labels"]
    weights: Float[Tensor, " tokens"]
    """The mean over the looks that sum it up."""
    tokens: list[str]


def router(models: Models) -> APIRouter:
    """Give the verb."""
    made = APIRouter(prefix="/whatif")

    @made.post("/label")
    async def label(asked: Relabeling, request: Request) -> dict[str, Any]:
        opened = models.find(asked.model, Classifier)
        return await opened.ask(request, lambda classifier: relabel(classifier, asked))

    return made


def relabel(classifier: Classifier, asked: Relabeling) -> dict[str, Any]:
    """Label a text, once undisturbed and once as asked, and write both."""
    length = _check(classifier, asked)
    before = _label(classifier, asked.text)
    shares = {item.place: item.share for item in asked.pinned if item.place not in asked.hidden}
    mask = torch.ones(1, length, dtype=torch.bool, device=classifier.device)
    mask[0, asked.hidden] = False
    change = partial(pin, shares=shares, hidden=asked.hidden)
    with intervene(
        classifier.model,
        weights={f"{SUMS_UP}*": change} if shares else None,
        mask={"*": mask} if asked.hidden else None,
    ):
        after = _label(classifier, asked.text)
    first, second = before.log_probabilities.exp(), after.log_probabilities.exp()
    shown = first.maximum(second).argsort(descending=True)[:MAX_LABELS].tolist()
    return {
        "tokens": before.tokens,
        "own": before.weights.tolist(),
        "weights": after.weights.tolist(),
        "change": float(total_variation(before.log_probabilities, after.log_probabilities)),
        "candidates": [
            {"id": item, "token": classifier.labels[item], "before": float(first[item]), "after": float(second[item])}
            for item in shown
        ],
    }


def _label(classifier: Classifier, text: str) -> Labeled:
    trace = [call for call in classifier.inspect(text).trace if call.layer.startswith(SUMS_UP)]
    ids = torch.tensor([classifier.encode([text])[0].tolist()], device=classifier.device)
    with torch.inference_mode():
        logits = classifier.model(ids, torch.tensor([ids.size(1)])).logits[0]
    weights = torch.stack([call.weights[0].mean((0, 1)) for call in trace]).mean(0)
    tokens = [str(item) for item in trace[0].key_labels or range(len(weights))]
    return Labeled(logits.double().log_softmax(-1).cpu(), weights.cpu(), tokens)


def _check(classifier: Classifier, asked: Relabeling) -> int:
    """Count the tokens; raise where there is nothing to pull at."""
    if not any(name.startswith(SUMS_UP) for name in attending(classifier.model)):
        raise ArgumentError(
            "`model` must weigh the tokens of a text; received one that does not attend. Choose another model."
        )
    length = len(classifier.encode([asked.text])[0])
    if not 0 < length <= MAX_MAPPED:
        raise ArgumentError(f"`text` must have 1 to {MAX_MAPPED} tokens to be pulled at; received {length}.")
    for name, indices in (("pinned", [item.place for item in asked.pinned]), ("hidden", asked.hidden)):
        wrong = [index for index in indices if not 0 <= index < length]
        if wrong:
            raise ArgumentError(f"`{name}` must be places of tokens from 0 to {length - 1}; received {wrong[0]}.")
    return length
