"""The view Classify: a label with its probability, and the words that were weighed, in three ways."""

from fastapi import APIRouter, Request

from regard.data.text.special import UNKNOWN
from regard.errors import ArgumentError
from regard.inspection.trace.attention_layers import layers_with
from regard.studio.models import Models
from regard.studio.schema.classify import DecisionAnswer, MapsAnswer, OtherShares, Shares, TextMap
from regard.studio.schema.parts import Probability, Sentence
from regard.studio.tensors import EXACT, pack
from regard.tasks.attribution import label_with_uniform_weights, signed_shares
from regard.tasks.classification.model import By, Classifier, Decision
from regard.tasks.classification.page import MEANING

MAX_REMOVED = 200
"""Words up to which each is left out in turn: it takes as many readings as there are words."""
MAX_MAPPED = 256
"""Tokens of a text whose maps are drawn."""
MAX_LABELS = 50


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/classify")

    @made.post("/read")
    async def read(body: Sentence, request: Request) -> DecisionAnswer:
        opened = models.find(body.model, Classifier)
        decision = await opened.ask(request, lambda classifier: write_decision(classifier, body.text))
        return decision.model_copy(update={"others": await others(models, body, decision.words, request)})

    @made.post("/maps")
    async def maps(body: Sentence, request: Request) -> MapsAnswer:
        opened = models.find(body.model, Classifier)
        return await opened.ask(request, lambda classifier: write_maps(classifier, body.text))

    return made


def write_decision(classifier: Classifier, text: str) -> DecisionAnswer:
    """Write the label, and the shares of the words by the model, by gradient and by removal."""
    _check(classifier, text)
    own = _decide(classifier, text, "model")
    count = len(own.words)
    removed = None if count > MAX_REMOVED else _decide(classifier, text, "removal")
    ranked = sorted(own.probabilities.items(), key=lambda item: -item[1])[:MAX_LABELS]
    return DecisionAnswer(
        label=own.label,
        labels=len(own.probabilities),
        probabilities=[Probability(name=name, probability=probability) for name, probability in ranked],
        words=list(own.words),
        unknown=_unknown(classifier, text),
        cut=own.cut,
        kind=classifier.spec.kind,
        meaning=MEANING[classifier.spec.kind],
        weighs=classifier.spec.kind not in ("feed-forward", "last-state"),
        shares=Shares(
            model=list(own.weights),
            gradient=list(_decide(classifier, text, "gradient").weights),
            removal=None if removed is None else list(removed.weights),
            signed=signed_shares(classifier, text),
        ),
        skipped=f"Not measured for more than {MAX_REMOVED} words." if removed is None else "",
        uniform=label_with_uniform_weights(classifier, text, own.label),
        others=[],
    )


async def others(models: Models, body: Sentence, words: list[str], request: Request) -> list[OtherShares]:
    """Give the shares by the other open classifiers of the same kind, labels and words: the same with other seeds."""
    chosen = models.find(body.model, Classifier)
    result = []
    for item in models.all("classifier"):
        if item.name == chosen.name or item.thing.spec != chosen.thing.spec or item.thing.labels != chosen.thing.labels:
            continue
        decision = await item.ask(request, lambda classifier: _decide(classifier, body.text, "model"))
        if list(decision.words) == words:
            result.append(OtherShares(name=item.name, label=decision.label, shares=list(decision.weights)))
    return result


def write_maps(classifier: Classifier, text: str) -> MapsAnswer:
    """Write what every token, and every query that sums the text up, attends to."""
    _check(classifier, text)
    count = len(classifier.encode([text])[0])
    if not layers_with(classifier.model):
        return MapsAnswer(maps=[], skipped="This model has no attention: there is no map of it.")
    if count > MAX_MAPPED:
        return MapsAnswer(maps=[], skipped=f"Not drawn for more than {MAX_MAPPED} tokens; these are {count}.")
    trace = classifier.inspect(text).trace
    if sum(call.weights.numel() for call in trace) > EXACT:
        return MapsAnswer(maps=[], skipped="Not drawn: this model has too many heads for so long a text.")
    maps = [
        TextMap(
            layer=call.layer,
            map="text" if call.layer.split(".")[0] == "reader" else "pooling",
            queries=[str(item) for item in call.query_labels or range(call.weights.size(2))],
            keys=[str(item) for item in call.key_labels or range(call.weights.size(3))],
            weights=pack(call.weights[0]),
        )
        for call in trace
    ]
    return MapsAnswer(maps=maps, skipped="")


def _decide(classifier: Classifier, text: str, by: By) -> Decision:
    return classifier.classify([text], by=by)[0]


def _unknown(classifier: Classifier, text: str) -> list[int]:
    """Give the words that the model does not know."""
    encoded = classifier.tokenizer.encode(text)
    return sorted({word for word, token in zip(encoded.words, encoded.ids, strict=True) if token == UNKNOWN})


def _check(classifier: Classifier, text: str) -> None:
    if not len(classifier.encode([text])[0]):
        raise ArgumentError("The model reads no token of this text. Type words of its language.")
