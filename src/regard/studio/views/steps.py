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
from regard.inspection.drawing.map import check_place
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


class Reading(BaseModel):
    """A text for a model, the first that reads where none is named, and what it is made to say."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=MAX_LETTERS)
    target: str | None = Field(None, max_length=MAX_LETTERS)


class Apart(Reading):
    """One query of one head of a layer."""

    layer: str = Field(max_length=200)
    head: int = 0
    query: int = 0


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/steps")

    @made.post("/read")
    async def read(asked: Reading, request: Request) -> dict[str, Any]:
        opened = find_reader(models, asked.model)
        return await opened.ask(request, lambda _: read_text(opened, asked))

    @made.post("/apart")
    async def apart(asked: Apart, request: Request) -> dict[str, Any]:
        opened = find_reader(models, asked.model)
        return await opened.ask(request, lambda _: take_apart(opened, asked))

    return made


def read_text(opened: Opened, asked: Reading) -> dict[str, Any]:
    """Let a model read a text, and tell what there is to choose from."""
    result = inspect_text(opened.thing, asked)
    if asked.target is None and result.target is not None:
        # `apart` will make it say this text: with the same tokens, and an end where search came to none.
        result = inspect_text(opened.thing, asked.model_copy(update={"target": result.target}))
    return tell_reading(result, opened)


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


def inspect_text(thing: Any, asked: Reading) -> Inspection:
    """Let a model read the text, and say the target where it says something."""
    if not asked.text.strip():
        raise ArgumentError("`text` must be a text; received nothing to read. Type one.")
    _check_length("text", thing, asked.text)
    if isinstance(thing, Classifier):
        return thing.inspect(asked.text)
    if asked.target is not None:
        _check_length("target", thing, asked.target)
    result: Inspection = thing.inspect(asked.text, target=asked.target)
    return result


def tell_reading(found: Inspection, opened: Opened) -> dict[str, Any]:
    """Write what was read and said, and what there is to choose from."""
    return {
        "model": opened.name,
        "says": isinstance(opened.thing, Translator),
        "text": found.text,
        "read_as": dict(found.read_as),
        "target": found.target,
        "layer": found.layer,
        "layers": [
            {
                "name": call.layer,
                "heads": call.weights.size(1),
                "queries": [str(item) for item in _labels(call.query_labels, call.weights.size(2))],
                "keys": [str(item) for item in _labels(call.key_labels, call.weights.size(3))],
            }
            for call in found.trace
        ],
    }


def take_apart(opened: Opened, asked: Apart) -> dict[str, Any]:
    """Let the model read again, look on at the layer, and write every stage."""
    if asked.target is None and isinstance(opened.thing, Translator):  # a search would call the layer too
        asked = asked.model_copy(update={"target": inspect_text(opened.thing, asked).target})
    readings: list[Inspection] = []

    def read_again() -> None:
        readings.append(inspect_text(opened.thing, asked))
        check_place("query", asked.query, readings[0].call(asked.layer).weights.size(2))

    known = computation(opened.thing.model, read_again, layer=asked.layer, query=asked.query, head=asked.head)
    result = readings[0]
    read = result.call(asked.layer)
    names = [str(item) for item in _labels(read.key_labels, read.weights.size(3))]
    first = max(len(known.weights) - len(names), 0)  # places of a memory that nothing was put in yet
    description = tell_stages(known, first)
    description |= {
        "query_label": str(_labels(read.query_labels, read.weights.size(2))[asked.query]),
        "key_labels": names[: len(known.weights) - first],
        "weights_recorded": pack(read.weights[0, asked.head, asked.query, : len(known.weights) - first]),
        "code": steps_code(opened.thing, asked.text, result.target, str(opened.folder), read, asked.head, asked.query),
    }
    return description


def tell_stages(seen: Computation, first: int = 0) -> dict[str, Any]:
    """Write the stages for the page, from the key `first` on."""

    def keys(tensor: Tensor | None) -> Any:
        return None if tensor is None else pack(tensor[first:].float())

    return {
        "score": tell_score(seen, first),
        "normalizer": tell_normalizer(seen),
        "position": None if seen.position is None else name_of(seen.position),
        "query": pack(seen.query),
        "keys": keys(seen.keys),
        "values": keys(seen.values),
        "unturned": None if seen.unturned is None else [pack(seen.unturned[0]), keys(seen.unturned[1])],
        "compared": keys(seen.compared),
        "bias": keys(seen.bias),
        "added": keys(seen.added),
        "scores": keys(seen.scores),
        "mask": keys(seen.mask),
        "normalized": keys(seen.normalized),
        "factors": keys(seen.factors),
        "weights": keys(seen.weights),
        "extra": None if seen.extra is None else pack(seen.extra),
        "context": pack(seen.context),
        "given": pack(seen.given),
    }


def tell_score(seen: Computation, first: int = 0) -> dict[str, Any]:
    """Write a score with what the page needs to compute it once more from two vectors.

    A matrix is not sent but applied: to the query (general), or to both sides (concat), or cut to the keys (location).
    """
    score, query, keys = seen.score, seen.query.float(), seen.keys[first:].float()
    text: dict[str, Any] = {"kind": name_of(score)}
    match score:
        case ScaledDot():
            text["scale"] = float(score.inner(query[None], keys[:1]).scale if score.scale is None else score.scale)
        case Bilinear():
            text["projected_query"] = pack(query @ score.matrix.float())
        case Additive():
            text |= {"vector": pack(score.vector), "activation": score.activation}
        case Concat():
            inner, own, others = score.projected(query[None], keys)
            assert isinstance(inner, Additive)
            text |= {"vector": pack(inner.vector), "projected_query": pack(own[0]), "projected_keys": pack(others)}
        case Location():
            text["columns"] = pack(score.matrix.mT[first : first + len(keys)])
        case Gaussian():
            text["bandwidth"] = float(score.bandwidth)
        case Cosine():
            text["temperature"] = float(score.temperature)
        case Score():
            pass
        case _:
            text["kind"] = "function"
    return text


def tell_normalizer(seen: Computation) -> dict[str, Any]:
    """Write a normalizer with its settings."""
    text: dict[str, Any] = {"kind": name_of(seen.normalizer)}
    match seen.normalizer:
        case Entmax(alpha=alpha):
            text["alpha"] = alpha
        case Sigmoid(bias=bias):
            text["bias"] = bias
        case Sink(score=score) if not score.ndim:
            text["score"] = float(score)
    return text


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
