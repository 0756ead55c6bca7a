"""The view Read: what a language model attends to, and what it predicts at every position."""

import math
from collections.abc import Sequence

from fastapi import APIRouter, Request
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError, nearest
from regard.studio.models import Models, Opened
from regard.studio.schema.parts import Probability
from regard.studio.schema.read import ReadAnswer, TextRequest
from regard.studio.schema.translate import MapAnswer, NextToken, Side
from regard.studio.tensors import pack, pack_map
from regard.studio.text_models import TextMaps, TextModel, text_model

CANDIDATES = 8


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/read")

    @made.post("/text")
    async def text(body: TextRequest, request: Request) -> ReadAnswer:
        opened = find_language_model(models, body.model)
        return await opened.ask(request, lambda thing: read_text(text_model(thing), body))

    return made


def find_language_model(models: Models, name: str) -> Opened:
    """Give the open language model of that name, or the first for ""."""
    fitting = {item.name: item for item in models.all("language")}
    if not fitting:
        raise ArgumentError(
            "`model` must be a language model; received none: no such model is open. Start the studio with one: "
            "regard studio FOLDER."
        )
    if name and name not in fitting:
        raise ArgumentError(f'`model` must be a language model; received "{name[:80]}". {nearest(name, fitting)}')
    return fitting[name] if name else next(iter(fitting.values()))


def read_ids(model: TextModel, text: str) -> tuple[list[int], int]:
    """Give the tokens of a text as far as they are read, and how many are not."""
    if not text.strip():
        raise ArgumentError("Type a text first.")
    ids = model.ids(text)
    return ids[: model.reach], max(len(ids) - model.reach, 0)


def read_text(model: TextModel, body: TextRequest) -> ReadAnswer:
    """Let a model read a text, and write what it attends to and predicts."""
    ids, cut = read_ids(model, body.text)
    output = check_output(model, body.output, len(ids))
    run = model.run(ids, output)
    joint = [*ids, *output] if model.reads == "causal" else ids
    follows = [*joint[1:], None] if model.reads == "causal" else joint if model.reads == "masked" else [*output, None]
    rows = run.log_probabilities
    return ReadAnswer(
        reads=model.reads,
        source=write_tokens(model, joint, body.text),
        typed=len(ids),
        target=write_tokens(model, output) if model.reads == "both" else None,
        cut=cut,
        maps=[write_maps(item) for item in run.maps],
        candidates=[] if rows is None else [next_tokens(model, row) for row in rows],
        chances=[] if rows is None else [_chance(row, token) for row, token in zip(rows, follows, strict=False)],
        output=model.decode(output),
        finished=bool(output) and output[-1] in model.ends,
        hidden=None if model.hidden is None else model.piece(model.hidden),
        labels=[Probability(name=name, probability=chance) for name, chance in run.labels[:50]],
    )


def check_output(model: TextModel, output: Sequence[int], read: int) -> list[int]:
    """Refuse tokens that the model does not have, and more than it can read."""
    if output and model.reads not in ("causal", "both"):
        raise ArgumentError("`output` must be left out for a model that generates nothing; received some.")
    known = [item for item in output if item >= 0]
    readout = model.readout
    size = int(readout.weight.shape[0]) if readout is not None and isinstance(readout.weight, Tensor) else 0
    if len(known) < len(output) or any(item >= size for item in output):
        raise ArgumentError(f"`output` must be numbers from 0 to {size - 1}; received {list(output)[:20]}.")
    most = model.reach - (read if model.reads == "causal" else 1)
    if len(output) > most:
        raise ArgumentError(f"`output` must have at most {max(most, 0)} tokens here; received {len(output)}.")
    return list(output)


def write_tokens(model: TextModel, ids: Sequence[int], text: str = "") -> Side:
    """Write tokens and the words they are parts of."""
    spelled, missing = model.side(ids, text) if ids else model.side([0])
    if not ids:
        return Side(ids=[], tokens=[], words=[], word_of=[], read_as={}, unknown=[])
    words = spelled.words()
    return Side(
        ids=list(ids),
        tokens=list(spelled.tokens),
        words=list(words.names),
        word_of=list(words.numbers),
        read_as={},
        unknown=sorted({words.numbers[index] for index in missing}),
    )


def write_maps(maps: TextMaps) -> MapAnswer:
    """Write the weights of one kind of attention."""
    mask = None if maps.mask is None else pack(maps.mask.float())
    return MapAnswer(id=maps.id, layers=maps.layers, weights=pack_map(maps.weights), mask=mask)


def next_tokens(model: TextModel, row: Float[Tensor, " vocabulary"], count: int = CANDIDATES) -> list[NextToken]:
    """List the likeliest tokens."""
    best = row.topk(min(count, row.numel()))
    return [
        NextToken(token=model.piece(number), id=number, probability=math.exp(value))
        for number, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _chance(row: Float[Tensor, " vocabulary"], token: int | None) -> float | None:
    return None if token is None else math.exp(float(row[token]))
