"""The view Step by step: one query of one head, from comparing to its context, with all numbers between."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
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
from regard.inspection.trace.computation import Computation, computation
from regard.inspection.trace.inspected import Inspection
from regard.studio.models import Models, Opened
from regard.studio.tensors import pack
from regard.studio.views.steps_code import steps_code
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator

MAX_LETTERS = 50_000
MAX_TOKENS = 256
"""Tokens of a text that is taken apart: each has vectors that are sent and drawn."""
_READERS = (Translator, LanguageModel, Classifier)


class ReadRequest(BaseModel):
    """A text for a model, the first that reads where none is named, and what it is forced to output."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=MAX_LETTERS)
    target: str | None = Field(None, max_length=MAX_LETTERS)


class QueryRequest(ReadRequest):
    """One query of one head of a layer."""

    layer: str = Field(max_length=200)
    head: int = 0
    query: int = 0


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/steps")

    @made.post("/read")
    async def read(body: ReadRequest, request: Request) -> dict[str, Any]:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: read_text(opened, body))

    @made.post("/apart")
    async def apart(body: QueryRequest, request: Request) -> dict[str, Any]:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: take_apart(opened, body))

    return made


def read_text(opened: Opened, body: ReadRequest) -> dict[str, Any]:
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
        raise ArgumentError("`text` must be a text; received nothing to read. Type one.")
    _check_length("text", thing, body.text)
    if isinstance(thing, Classifier):
        return thing.inspect(body.text)
    if body.target is not None:
        _check_length("target", thing, body.target)
    result: Inspection = thing.inspect(body.text, target=body.target)
    return result


def write_reading(result: Inspection, opened: Opened) -> dict[str, Any]:
    """Write what was read and output, and what there is to choose from."""
    return {
        "model": opened.name,
        "generates": isinstance(opened.thing, Translator),
        "text": result.text,
        "read_as": dict(result.read_as),
        "target": result.target,
        "layer": result.layer,
        "layers": [
            {
                "name": call.layer,
                "heads": call.weights.size(1),
                "queries": [str(item) for item in _labels(call.query_labels, call.weights.size(2))],
                "keys": [str(item) for item in _labels(call.key_labels, call.weights.size(3))],
            }
            for call in result.trace
        ],
    }


def take_apart(opened: Opened, body: QueryRequest) -> dict[str, Any]:
    """Let the model read again, record the layer, and write every stage."""
    if body.target is None and isinstance(opened.thing, Translator):  # a search would call the layer too
        body = body.model_copy(update={"target": inspect_text(opened.thing, body).target})
    readings: list[Inspection] = []

    def read_again() -> None:
        readings.append(inspect_text(opened.thing, body))
        check_index("query", body.query, readings[0].call(body.layer).weights.size(2))

    steps = computation(opened.thing.model, read_again, layer=body.layer, query=body.query, head=body.head)
    result = readings[0]
    read = result.call(body.layer)
    names = [str(item) for item in _labels(read.key_labels, read.weights.size(3))]
    first = max(len(steps.weights) - len(names), 0)  # positions of a memory that are still empty
    stages = write_stages(steps, first)
    stages |= {
        "query_label": str(_labels(read.query_labels, read.weights.size(2))[body.query]),
        "key_labels": names[: len(steps.weights) - first],
        "weights_recorded": pack(read.weights[0, body.head, body.query, : len(steps.weights) - first]),
        "code": steps_code(opened.thing, body.text, result.target, str(opened.folder), read, body.head, body.query),
    }
    return stages


def write_stages(steps: Computation, first: int = 0) -> dict[str, Any]:
    """Write the stages for the page, from the key `first` on."""

    def keys(tensor: Tensor | None) -> Any:
        return None if tensor is None else pack(tensor[first:].float())

    return {
        "score": write_score(steps, first),
        "normalizer": write_normalizer(steps),
        "position": None if steps.position is None else name_of(steps.position),
        "query": pack(steps.query),
        "keys": keys(steps.keys),
        "values": keys(steps.values),
        "unturned": None if steps.unturned is None else [pack(steps.unturned[0]), keys(steps.unturned[1])],
        "compared": keys(steps.compared),
        "bias": keys(steps.bias),
        "added": keys(steps.added),
        "scores": keys(steps.scores),
        "mask": keys(steps.mask),
        "normalized": keys(steps.normalized),
        "factors": keys(steps.factors),
        "weights": keys(steps.weights),
        "extra": None if steps.extra is None else pack(steps.extra),
        "context": pack(steps.context),
        "output": pack(steps.output),
    }


def write_score(steps: Computation, first: int = 0) -> dict[str, Any]:
    """Write a score with what the page needs to compute it once more from two vectors.

    A matrix is not sent but applied: to the query (general), or to both sides (concat), or cut to the keys (location).
    """
    score, query, keys = steps.score, steps.query.float(), steps.keys[first:].float()
    table: dict[str, Any] = {"kind": name_of(score)}
    match score:
        case ScaledDot():
            table["scale"] = float(score.inner(query[None], keys[:1]).scale if score.scale is None else score.scale)
        case Bilinear():
            table["projected_query"] = pack(query @ score.matrix.float())
        case Additive():
            table |= {"vector": pack(score.vector), "activation": score.activation}
        case Concat():
            inner, own, others = score.projected(query[None], keys)
            assert isinstance(inner, Additive)
            table |= {"vector": pack(inner.vector), "projected_query": pack(own[0]), "projected_keys": pack(others)}
        case Location():
            table["columns"] = pack(score.matrix.mT[first : first + len(keys)])
        case Gaussian():
            table["bandwidth"] = float(score.bandwidth)
        case Cosine():
            table["temperature"] = float(score.temperature)
        case Score():
            pass
        case _:
            table["kind"] = "function"
    return table


def write_normalizer(steps: Computation) -> dict[str, Any]:
    """Write a normalizer with its settings."""
    table: dict[str, Any] = {"kind": name_of(steps.normalizer)}
    match steps.normalizer:
        case Entmax(alpha=alpha):
            table["alpha"] = alpha
        case Sigmoid(bias=bias):
            table["bias"] = bias
        case Sink(score=score) if not score.ndim:
            table["score"] = float(score)
    return table


def count_tokens(thing: Any, text: str, *, side: str = "text") -> int:
    """Count the tokens of a text, or of a target, which a translator writes in a vocabulary of its own."""
    sides = thing.tokenizers if isinstance(thing, Translator) else None
    tokenizer = thing.tokenizer if sides is None else sides.target if side == "target" else sides.source
    encoded = tokenizer.encode(text)
    return len(encoded if isinstance(encoded, list) else encoded.ids)


def _check_length(name: str, thing: Any, text: str) -> None:
    count = count_tokens(thing, text, side=name)
    if count > MAX_TOKENS:
        raise ArgumentError(
            f"`{name}` must have at most {MAX_TOKENS} tokens to be taken apart; received {count:,}. Shorten it."
        )


def _labels(labels: Any, count: int) -> list[Any]:
    return list(range(count)) if labels is None else list(labels)
