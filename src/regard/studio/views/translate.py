"""The view Translate: search, and the attention of any hypothesis."""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from regard.decoding.search import Search
from regard.decoding.tree import BeamTree
from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.tensors import pack, pack_weights
from regard.tasks.attribution import attribute_translation
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import (
    MAX_TOKENS,
    AttentionMaps,
    TranslationAttention,
    attention_of,
    read_source,
    read_target,
    source_layers,
)
from regard.tasks.what_if import MAX_OUTPUT, max_length

MAX_LETTERS = 50_000
CANDIDATES = 8
PRUNED = 3
MAX_TREE = 64
"""Steps of a tree that are sent."""
MAX_CHECKED = 64
"""Tokens of a side up to which weights are checked: it takes as many readings as there are tokens."""
MAX_NUMBER = 2**31 - 1
"""The largest number of a token or a position that is read; tensors hold none above 2⁶³."""


Index = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Token = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]


class Sentence(BaseModel):
    """A sentence for a model; the first translator where none is named."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=MAX_LETTERS)


class SearchRequest(Sentence):
    """A sentence to translate."""

    beam: int = Field(5, ge=1, le=12)


class OutputRequest(Sentence):
    """A hypothesis, by its tokens."""

    tokens: list[Token] = Field(max_length=MAX_OUTPUT)


class RowRequest(OutputRequest):
    """One row of a map whose numbers were sent rounded."""

    map: str = Field(max_length=20)
    row: Index


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/translate")

    @made.post("/search")
    async def search(body: SearchRequest, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Translator)
        return await opened.ask(request, lambda translator: search_sentence(translator, body.text, beam=body.beam))

    @made.post("/attention")
    async def attention(body: OutputRequest, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Translator)
        return await opened.ask(request, lambda translator: write_attention(_record(translator, body), translator))

    @made.post("/row")
    async def exact(body: RowRequest, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Translator)
        recorded = await opened.ask(request, lambda translator: _record(translator, body))
        chosen = [item for item in recorded.maps if item.id == body.map]
        if not chosen or body.row >= chosen[0].weights.size(-2):
            raise ArgumentError(f'`map` and `row` must name a row that there is; received "{body.map}", {body.row}.')
        return {"weights": pack(chosen[0].weights[:, :, body.row])}

    @made.post("/checks")
    async def checks(body: OutputRequest, request: Request) -> dict[str, Any]:
        opened = models.find(body.model, Translator)
        checked = await opened.ask(request, lambda translator: check_output(translator, body.text, body.tokens))
        return checked | {"others": await others(models, body, request)}

    return made


def _record(translator: Translator, body: OutputRequest) -> TranslationAttention:
    source, _ = read_source(translator, body.text)
    return attention_of(translator, source, body.tokens)


def search_sentence(translator: Translator, text: str, *, beam: int) -> dict[str, Any]:
    """Search once, and give the n-best outputs and the tree."""
    source, cut = read_source(translator, text)
    search = Search(beam=beam, n_best=beam, max_length=max_length(translator, len(source.ids)))
    # What is read is cut here already, so that tree, outputs and attention are of the same tokens.
    outputs, tree = translator.search_tree(text, search, pruned=PRUNED, max_source_length=len(source.ids))
    return {
        "source": source._asdict(),
        "cut": cut,
        "read": len(source.ids),
        "limit": min(MAX_TOKENS, translator.reach.source),
        "attends": source_layers(translator.model) != [],
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
        "tree": write_tree(tree, translator),
    }


def write_attention(recorded: TranslationAttention, translator: Translator) -> dict[str, Any]:
    """Write the attention of an output for the page."""
    rows = recorded.log_probabilities
    likeliest = rows.topk(min(CANDIDATES, rows.size(-1)), dim=-1)
    pieces = translator.tokenizers.target.pieces
    log_probabilities = [float(rows[index, token]) for index, token in enumerate(recorded.target.ids)]
    return {
        "source": recorded.source._asdict(),
        "target": recorded.target._asdict(),
        "finished": recorded.finished,
        "log_probabilities": log_probabilities,
        "candidates": [
            [
                {"token": name, "id": number, "probability": math.exp(value)}
                for name, number, value in zip(pieces(ids), ids, values, strict=True)
            ]
            for ids, values in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        ],
        "maps": [write_map(item) for item in recorded.maps],
        "norms": None if recorded.norms is None else pack(recorded.norms),
        "rollout": None if recorded.rollout is None else pack(recorded.rollout),
    }


def write_map(maps: AttentionMaps) -> dict[str, Any]:
    """Write the weights of one kind of attention for the page."""
    return {
        "id": maps.id,
        "layers": maps.layers,
        "weights": pack_weights(maps.weights),
        "mask": None if maps.mask is None else pack(maps.mask.float()),
    }


def write_tree(tree: BeamTree, translator: Translator) -> list[list[dict[str, Any]]]:
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


def check_output(translator: Translator, text: str, tokens: list[int]) -> dict[str, Any]:
    """Measure what the weights of an output are checked against, and write it for the page."""
    source, _ = read_source(translator, text)
    read_target(translator, tokens)  # which refuses what is no translation
    longest = max(len(source.ids), len(tokens))
    if longest > MAX_CHECKED or len(source.ids) < 3 or not tokens:
        reason = f"more than {MAX_CHECKED} tokens" if longest > MAX_CHECKED else "a single word"
        return {"occlusion": None, "gradient": None, "uniform": None, "skipped": f"Not measured for {reason}."}
    result = attribute_translation(translator, source.ids, tokens)
    return {
        "occlusion": pack(result.occlusion),
        "gradient": pack(result.gradient),
        "uniform": result.uniform,
        "skipped": "",
    }


async def others(models: Models, body: OutputRequest, request: Request) -> list[dict[str, Any]]:
    """Force the other open translators of the same design and vocabulary to the same output, and give their weights.

    Such models differ by their seeds alone, or by their data; others would attend elsewhere for other reasons.
    """
    chosen = models.find(body.model, Translator)
    result = []
    for item in models.all("translator"):
        if item.name == chosen.name or not await run_in_threadpool(_alike, item.thing, chosen.thing):
            continue
        recorded = await item.ask(request, lambda translator: _record(translator, body))
        if recorded.maps:
            result.append({"name": item.name, "weights": pack_weights(recorded.maps[0].weights)})
    return result


def _alike(translator: Translator, other: Translator) -> bool:
    """Return whether two translators are of one design and read and write the same tokens."""
    if translator.config is None or other.config is None or translator.config.model != other.config.model:
        return False
    return translator.tokenizers.to_json() == other.tokenizers.to_json()
