"""The view Step by step: one query of one head, from comparing to its context, with all numbers between."""

from collections import Counter
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from torch import Tensor

from regard.attention import (
    Additive,
    Bilinear,
    Concat,
    Cosine,
    Entmax,
    Gaussian,
    Location,
    ScaledDot,
    Score,
    Sigmoid,
    Sink,
)
from regard.attention.tensors import name_of
from regard.errors import ArgumentError, nearest
from regard.inspection.drawing.map import check_index
from regard.inspection.hugging_face.folder import naming_errors
from regard.inspection.hugging_face.inspect import inspect_hugging_face
from regard.inspection.trace.computation import Computation, computation
from regard.inspection.trace.inspected import Inspection
from regard.inspection.trace.path import Path, Projection, trace_path
from regard.studio.models import Models, Opened
from regard.studio.schema.parts import MapName
from regard.studio.schema.steps import (
    ApartAnswer,
    HeadMaps,
    HeadRequest,
    LayerInfo,
    LinearMap,
    NormalizerInfo,
    QueryRequest,
    Reading,
    ReadRequest,
    ScoreInfo,
    Stages,
)
from regard.studio.tensors import Packed, pack
from regard.studio.text_models import HuggingFaceModel, TextModel, crosses
from regard.studio.views.steps_code import steps_code
from regard.studio.views.steps_path import write_path
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import source_layers

MAX_TOKENS = 256
"""Tokens of a text that is taken apart: each has vectors that are sent and drawn."""
_READERS = (Translator, LanguageModel, Classifier, TextModel)


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/steps")

    @made.post("/read")
    async def read(body: ReadRequest, request: Request) -> Reading:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: read_text(opened, body))

    @made.post("/apart")
    async def apart(body: QueryRequest, request: Request) -> ApartAnswer:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: take_apart(opened, body))

    @made.post("/maps")
    async def maps(body: HeadRequest, request: Request) -> HeadMaps:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: write_maps(opened, body))

    return made


def read_text(opened: Opened, body: ReadRequest) -> Reading:
    """Let a model read a text, and write what there is to choose from."""
    result = inspect_text(opened.thing, body)
    if body.target is None and result.target is not None:
        # `apart` will force it to this text: with the same tokens, and an end where search came to none.
        result = inspect_text(opened.thing, body.model_copy(update={"target": result.target}))
    return write_reading(result, opened)


def find_reader(models: Models, name: str) -> Opened:
    """Give the open model of that name that reads text, or the first for ""."""
    fitting = {item.name: item for item in models.all() if isinstance(item.thing, _READERS)}
    if not fitting:
        raise ArgumentError(
            "`model` must be one that reads text; received none: no such model is open. Start the studio with one: "
            "regard studio FOLDER."
        )
    if name and name not in fitting:
        raise ArgumentError(f'`model` must be one that reads text; received "{name[:80]}". {nearest(name, fitting)}')
    return fitting[name] if name else next(iter(fitting.values()))


def inspect_text(thing: Any, body: ReadRequest) -> Inspection:
    """Let a model read the text, and output the target where it generates."""
    if not body.text.strip():
        raise ArgumentError("Type a text first.")
    _check_length("text", thing, body.text)
    if isinstance(thing, Classifier):
        return thing.inspect(body.text)
    if isinstance(thing, HuggingFaceModel):
        target = body.target
        with naming_errors(thing.folder, "hold a model that can read this text"):
            if target is None and thing.reads == "both":
                target = thing.decode(thing.generate(thing.ids(body.text)))
            return inspect_hugging_face(thing.model, thing.tokenizer, body.text, target=target)
    if body.target is not None:
        _check_length("target", thing, body.target)
    result: Inspection = thing.inspect(body.text, target=body.target)
    return result


def write_reading(result: Inspection, opened: Opened) -> Reading:
    """Write what was read and output, and what there is to choose from."""
    counts: Counter[MapName] = Counter()
    numbers = {}
    for call in result.trace:
        name = map_of(opened.thing, call.layer)
        numbers[call.layer] = counts[name]
        counts[name] += 1
    return Reading(
        model=opened.name,
        generates=isinstance(opened.thing, Translator) or getattr(opened.thing, "reads", "") == "both",
        text=result.text,
        read_as=dict(result.read_as),
        target=result.target,
        layer=result.layer,
        layers=[
            LayerInfo(
                name=call.layer,
                map=map_of(opened.thing, call.layer),
                number=numbers[call.layer],
                heads=call.weights.size(1),
                queries=[str(item) for item in _labels(call.query_labels, call.weights.size(2))],
                keys=[str(item) for item in _labels(call.key_labels, call.weights.size(3))],
            )
            for call in result.trace
        ],
    )


def map_of(thing: object, layer: str) -> MapName:
    """Name the map that a layer of a model is part of."""
    if isinstance(thing, Translator):
        return "cross" if layer in source_layers(thing.model) else "source" if layer.startswith("encoder") else "target"
    if isinstance(thing, Classifier) and not layer.startswith("reader"):
        return "pooling"
    if isinstance(thing, HuggingFaceModel) and thing.two_sided:
        return "cross" if crosses(layer) else "source" if "encoder" in layer.split(".") else "target"
    return "text"


class Taken(NamedTuple):
    """One query, taken apart, with the path it is part of."""

    result: Inspection
    steps: Computation
    path: Path


def take_query(opened: Opened, body: QueryRequest) -> Taken:
    """Let the model read again, and record the layer and what lies before and after it."""
    thing = opened.thing
    if body.target is None and (isinstance(thing, Translator) or getattr(thing, "reads", "") == "both"):
        # a search would call the layer too
        body = body.model_copy(update={"target": inspect_text(thing, body).target})
    readings: list[Inspection] = []

    def read_again() -> None:
        readings.append(inspect_text(thing, body))
        check_index("query", body.query, readings[0].call(body.layer).weights.size(2))

    steps = computation(thing.model, read_again, layer=body.layer, query=body.query, head=body.head)
    leads = map_of(thing, body.layer) in ("cross", "target", "text") and not isinstance(thing, Classifier)
    own = thing.readout if isinstance(thing, TextModel) else getattr(thing.model, "output", None)
    readout = own if leads else None
    path = trace_path(thing.model, read_again, steps, query=body.query, readout=readout)
    return Taken(readings[0], steps, path)


def take_apart(opened: Opened, body: QueryRequest) -> ApartAnswer:
    """Write every stage of a query."""
    result, steps, path = take_query(opened, body)
    read = result.call(body.layer)
    names = [str(item) for item in _labels(read.key_labels, read.weights.size(3))]
    first = max(len(steps.weights) - len(names), 0)  # positions of a memory that are still empty
    return ApartAnswer(
        **write_stages(steps, first).parts(),
        path=write_path(opened.thing, path, result, body.query),
        query_label=str(_labels(read.query_labels, read.weights.size(2))[body.query]),
        key_labels=names[: len(steps.weights) - first],
        weights_recorded=pack(read.weights[0, body.head, body.query, : len(steps.weights) - first]),
        code=steps_code(opened.thing, body.text, result.target, str(opened.folder), read, body.head, body.query),
    )


def write_maps(opened: Opened, body: HeadRequest) -> HeadMaps:
    """Write the linear maps of a head."""
    path = take_query(opened, QueryRequest(**body.model_dump(), query=0)).path

    def some(projection: Projection | None) -> LinearMap | None:
        if projection is None:
            return None
        bias = None if projection.bias is None else pack(projection.bias)
        return LinearMap(name=projection.name, matrix=pack(projection.matrix), bias=bias)

    return HeadMaps(query=some(path.query), key=some(path.key), value=some(path.value), output=some(path.output))


def write_stages(steps: Computation, first: int = 0) -> Stages:
    """Write the stages for the page, from the key `first` on."""

    def keys(tensor: Tensor) -> Packed:
        return pack(tensor[first:].float())

    def some(tensor: Tensor | None) -> Packed | None:
        return None if tensor is None else keys(tensor)

    return Stages(
        score=write_score(steps, first),
        normalizer=write_normalizer(steps),
        position=None if steps.position is None else name_of(steps.position),
        query=pack(steps.query),
        keys=keys(steps.keys),
        values=keys(steps.values),
        unturned=None if steps.unturned is None else (pack(steps.unturned[0]), keys(steps.unturned[1])),
        compared=keys(steps.compared),
        bias=some(steps.bias),
        added=some(steps.added),
        scores=keys(steps.scores),
        mask=some(steps.mask),
        normalized=keys(steps.normalized),
        factors=some(steps.factors),
        weights=keys(steps.weights),
        extra=None if steps.extra is None else pack(steps.extra),
        context=pack(steps.context),
        output=pack(steps.output),
    )


def write_score(steps: Computation, first: int = 0) -> ScoreInfo:
    """Write a score with what the page needs to compute it once more from two vectors.

    A matrix is not sent but applied: to the query (general), or to both sides (concat), or cut to the keys (location).
    """
    score, query, keys = steps.score, steps.query.float(), steps.keys[first:].float()
    kind = name_of(score)
    match score:
        case ScaledDot():
            scale = float(score.inner(query[None], keys[:1]).scale if score.scale is None else score.scale)
            return ScoreInfo(kind=kind, scale=scale)
        case Bilinear():
            return ScoreInfo(kind=kind, projected_query=pack(query @ score.matrix.float()))
        case Additive():
            return ScoreInfo(kind=kind, vector=pack(score.vector), activation=score.activation)
        case Concat():
            inner, own, others = score.projected(query[None], keys)
            assert isinstance(inner, Additive)
            return ScoreInfo(
                kind=kind, vector=pack(inner.vector), projected_query=pack(own[0]), projected_keys=pack(others)
            )
        case Location():
            return ScoreInfo(kind=kind, columns=pack(score.matrix.mT[first : first + len(keys)]))
        case Gaussian():
            return ScoreInfo(kind=kind, bandwidth=float(score.bandwidth))
        case Cosine():
            return ScoreInfo(kind=kind, temperature=float(score.temperature))
        case Score():
            return ScoreInfo(kind=kind)
        case _:
            return ScoreInfo(kind="function")


def write_normalizer(steps: Computation) -> NormalizerInfo:
    """Write a normalizer with its settings."""
    kind = name_of(steps.normalizer)
    match steps.normalizer:
        case Entmax(alpha=alpha):
            return NormalizerInfo(kind=kind, alpha=alpha)
        case Sigmoid(bias=bias):
            return NormalizerInfo(kind=kind, bias=float(bias))
        case Sink(score=score) if not score.ndim:
            return NormalizerInfo(kind=kind, score=float(score))
        case _:
            return NormalizerInfo(kind=kind)


def count_tokens(thing: Any, text: str, *, side: str = "text") -> int:
    """Count the tokens of a text, or of a target, which a translator writes in a vocabulary of its own."""
    if isinstance(thing, TextModel):
        return len(thing.ids(text))
    sides = thing.tokenizers if isinstance(thing, Translator) else None
    tokenizer = thing.tokenizer if sides is None else sides.target if side == "target" else sides.source
    encoded = tokenizer.encode(text)
    return len(encoded if isinstance(encoded, list) else encoded.ids)


def _check_length(name: str, thing: Any, text: str) -> None:
    count = count_tokens(thing, text, side=name)
    most = min(MAX_TOKENS, thing.reach) if isinstance(thing, TextModel) else MAX_TOKENS
    if count > most:
        raise ArgumentError(
            f"`{name}` must have at most {most} tokens to be taken apart; received {count:,}. Shorten it."
        )


def _labels(labels: Any, count: int) -> list[Any]:
    return list(range(count)) if labels is None else list(labels)
