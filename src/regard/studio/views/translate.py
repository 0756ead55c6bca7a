"""The view Translate: search, and a look at any hypothesis."""

import math
from dataclasses import replace
from typing import Annotated, Any

import torch
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from regard.data.text.special import END, START
from regard.decoding.search import Search
from regard.decoding.tree import BeamTree, beam_tree
from regard.errors import ArgumentError
from regard.studio.attention import MAX_TOKENS, Look, Side, Weights, look, looking_at_source, read_source, read_target
from regard.studio.models import Models
from regard.studio.tensors import pack, pack_weights
from regard.studio.views.translate_checks import Honesty, measure
from regard.tasks.translation.model import Translator

MAX_LETTERS = 50_000
MAX_OUTPUT = 640
"""Tokens that search says at most."""
CANDIDATES = 8
PRUNED = 3
MAX_TREE = 64
"""Steps of a tree that are sent."""
MAX_NUMBER = 2**31 - 1
"""The largest number of a token or a place that is looked at; tensors hold none above 2⁶³."""


Place = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Token = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]


class Sentence(BaseModel):
    """A sentence for a model; the first translator where none is named."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=MAX_LETTERS)


class Searching(Sentence):
    """A sentence to translate."""

    beam: int = Field(5, ge=1, le=12)


class Looking(Sentence):
    """A hypothesis to look at, by its tokens."""

    tokens: list[Token] = Field(max_length=MAX_OUTPUT)


class Row(Looking):
    """One row of a map whose numbers were sent rounded."""

    map: str = Field(max_length=20)
    row: Place


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/translate")

    @made.post("/search")
    async def search(asked: Searching, request: Request) -> dict[str, Any]:
        opened = models.find(asked.model, Translator)
        return await opened.ask(request, lambda translator: find(translator, asked.text, beam=asked.beam))

    @made.post("/look")
    async def look_at(asked: Looking, request: Request) -> dict[str, Any]:
        opened = models.find(asked.model, Translator)
        return await opened.ask(request, lambda translator: tell(_look(translator, asked), translator))

    @made.post("/row")
    async def exact(asked: Row, request: Request) -> dict[str, Any]:
        opened = models.find(asked.model, Translator)
        known = await opened.ask(request, lambda translator: _look(translator, asked))
        chosen = [item for item in known.maps if item.id == asked.map]
        if not chosen or asked.row >= chosen[0].weights.size(-2):
            raise ArgumentError(f'`map` and `row` must name a row that there is; received "{asked.map}", {asked.row}.')
        return {"weights": pack(chosen[0].weights[:, :, asked.row])}

    @made.post("/honesty")
    async def honesty(asked: Looking, request: Request) -> dict[str, Any]:
        opened = models.find(asked.model, Translator)
        checked = await opened.ask(request, lambda translator: check(translator, asked))
        return checked | {"others": await others(models, asked, request)}

    return made


def _look(translator: Translator, asked: Looking) -> Look:
    source, _ = read_source(translator, asked.text)
    return look(translator, source, asked.tokens)


def check(translator: Translator, asked: Looking) -> dict[str, Any]:
    """Check weights against what else could be measured, and write it for the page."""
    source, _ = read_source(translator, asked.text)
    read_target(translator, asked.tokens)  # which refuses what is no translation
    return tell_honesty(measure(translator, source, asked.tokens))


def find(translator: Translator, text: str, *, beam: int) -> dict[str, Any]:
    """Search, and give the n-best outputs and the tree."""
    source, cut = read_source(translator, text)
    longest = min(2 * len(source.ids) + 20, MAX_OUTPUT, translator.reach.target or MAX_OUTPUT)
    search = Search(beam=beam, n_best=beam, max_length=longest)
    # What is read is cut here already, so that tree, outputs and look speak of the same tokens.
    ids = torch.tensor([source.ids], device=translator.device)
    with torch.inference_mode():
        tree = beam_tree(translator.model, ids, search=replace(search, n_best=1), start=START, end=END, pruned=PRUNED)[
            0
        ]
    outputs = translator.search([text], search, max_source_length=len(source.ids))[0]
    return {
        "source": side(source),
        "cut": cut,
        "read": len(source.ids),
        "limit": min(MAX_TOKENS, translator.reach.source),
        "attends": looking_at_source(translator.model) != [],
        "outputs": [
            {
                "text": item.text,
                "tokens": list(item.hypothesis.tokens),
                "score": item.score,
                "log_probability": item.log_probability,
                "finished": item.finished,
            }
            for item in outputs
            if item.hypothesis.tokens
        ],
        "tree": tell_tree(tree, translator),
    }


def tell(seen: Look, translator: Translator) -> dict[str, Any]:
    """Write a look for the page."""
    rows = seen.log_probabilities
    likeliest = rows.topk(min(CANDIDATES, rows.size(-1)), dim=-1)
    pieces = translator.tokenizers.target.pieces
    output = [float(rows[index, token]) for index, token in enumerate(seen.target.ids)]
    return {
        "source": side(seen.source),
        "target": side(seen.target),
        "finished": seen.finished,
        "log_probabilities": output,
        "candidates": [
            [
                {"token": name, "id": number, "probability": math.exp(value)}
                for name, number, value in zip(pieces(ids), ids, values, strict=True)
            ]
            for ids, values in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        ],
        "maps": [tell_map(item) for item in seen.maps],
        "norms": None if seen.norms is None else pack(seen.norms),
        "rollout": None if seen.rollout is None else pack(seen.rollout),
    }


def side(one: Side) -> dict[str, Any]:
    """Write one side for the page."""
    return one._asdict()


def tell_map(one: Weights) -> dict[str, Any]:
    """Write the weights of one kind of attention for the page."""
    return {
        "id": one.id,
        "layers": one.layers,
        "weights": pack_weights(one.weights),
        "mask": None if one.mask is None else pack(one.mask.float()),
    }


def tell_tree(tree: BeamTree, translator: Translator) -> list[list[dict[str, Any]]]:
    """Write a beam tree for the page, without what the rules forbade."""
    pieces = translator.tokenizers.target.pieces
    return [
        [
            {
                "token": pieces([item.token])[0],
                "id": item.token,
                "log_probability": item.log_probability,
                "score": item.score,
                "parent": item.parent,
                "kept": item.kept,
                "ended": item.ended,
            }
            for item in step
            if math.isfinite(item.score)
        ]
        for step in tree.steps[:MAX_TREE]
    ]


def tell_honesty(found: Honesty) -> dict[str, Any]:
    """Write what weights were checked against."""
    return {
        "removal": None if found.removal is None else pack(found.removal),
        "gradient": None if found.gradient is None else pack(found.gradient),
        "uniform": found.uniform,
        "skipped": found.skipped,
    }


async def others(models: Models, asked: Looking, request: Request) -> list[dict[str, Any]]:
    """Let the other open translators of the same design and vocabulary say the same, and give where they looked.

    Such models differ by their seeds alone, or by their data; others would look elsewhere for other reasons.
    """
    chosen = models.find(asked.model, Translator)
    result = []
    for item in models.all("translator"):
        if item.name == chosen.name or not await run_in_threadpool(_alike, item.thing, chosen.thing):
            continue
        known = await item.ask(request, lambda translator: _look(translator, asked))
        if known.maps:
            result.append({"name": item.name, "weights": pack_weights(known.maps[0].weights)})
    return result


def _alike(one: Translator, other: Translator) -> bool:
    """Tell whether two translators are of one design and read and write the same tokens."""
    if one.config is None or other.config is None or one.config.model != other.config.model:
        return False
    return one.tokenizers.to_json() == other.tokenizers.to_json()
