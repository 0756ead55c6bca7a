"""Hidden states: those of a text among those of a hundred others, on a plane, with the nearest of each."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import torch
from fastapi import APIRouter, Request
from torch import Tensor, nn

from regard.data.builtin import CORPORA, stream
from regard.data.builtin.labeled_texts import labeled_texts
from regard.data.builtin.stories import PASSAGE, stories
from regard.data.text.special import UNKNOWN
from regard.inspection.readings.states import nearest_states, principal_components, record_states
from regard.studio.models import Models, Opened
from regard.studio.schema.states import Neighbor, StatePoint, StatesAnswer, StatesRequest
from regard.studio.text_models import TextModel, text_model
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import read_source

OTHERS, NEAR = 100, 6
"""Texts beside the one that is asked for, and neighbors that are listed."""
LARGE, FEW = 30_000_000, 24
"""Of a model of more parameters, so many other texts are read."""
MAX_TOKENS = 128
"""Tokens of a text whose states are shown."""


class _Read(NamedTuple):
    """A text as a model reads it."""

    tokens: list[str]
    unknown: int
    run: Callable[[], Any]


def router(models: Models) -> APIRouter:
    """Give the verb."""
    made = APIRouter(prefix="/states")

    @made.post("/near")
    async def near(body: StatesRequest, request: Request) -> StatesAnswer:
        opened = _find(models, body.model)
        return await opened.ask(request, lambda thing: write_states(thing, opened, body))

    return made


def _find(models: Models, name: str) -> Opened:
    """Give the model that reads texts, of that name or the first."""
    fitting = [
        item for item in models.all() if isinstance(item.thing, Translator | Classifier | LanguageModel | TextModel)
    ]
    first = next((item for item in fitting if name in ("", item.name)), None)
    return first or models.find(name, Translator)  # which says what is wrong


def write_states(thing: Any, opened: Opened, body: StatesRequest) -> StatesAnswer:
    """Read the text and the others, and write where their states lie."""
    own = _read(thing, body.text)
    if not isinstance(thing.model, nn.Module):
        return _nothing("This model has no hidden states.")
    if len(own.tokens) > MAX_TOKENS:
        return _nothing(f"Not shown for more than {MAX_TOKENS} tokens; these are {len(own.tokens)}.")
    states = record_states(thing.model, own.run, length=len(own.tokens))
    if not states:
        return _nothing("This model has no layer whose states can be recorded.")
    layers = list(states)
    at = len(layers) - 1 if body.layer is None else min(body.layer, len(layers) - 1)
    texts, rows, points = [body.text], [states[layers[at]]], [(0, index) for index in range(len(own.tokens))]
    tokens = list(own.tokens)
    size = sum(parameter.numel() for parameter in thing.model.parameters())
    for text in islice(_others(thing, opened, body.text), FEW if size > LARGE else OTHERS):
        read = _read(thing, text)
        state = record_states(thing.model, read.run, length=len(read.tokens)).get(layers[at])
        if state is not None:
            points += [(len(texts), index) for index in range(len(read.tokens))]
            tokens += read.tokens
            texts.append(text)
            rows.append(state)
    if len(rows) < 2:
        return _nothing("No other text that this model knows the words of is at hand to compare with.")
    return _write(layers, at, texts, torch.cat(rows), points, tokens)


def _write(
    layers: list[str], at: int, texts: list[str], states: Tensor, points: list[tuple[int, int]], tokens: list[str]
) -> StatesAnswer:
    own = sum(text == 0 for text, _ in points)
    plane = principal_components(states)
    near = nearest_states(states[:own], states[own:], count=min(NEAR, len(states) - own))
    return StatesAnswer(
        layers=["embedding" if "mbedding" in name or name == "source" else name for name in layers],
        layer=at,
        texts=texts,
        points=[
            StatePoint(token=token, text=text, position=position, x=round(x, 3), y=round(y, 3))
            for (text, position), token, (x, y) in zip(points, tokens, plane.coordinates.tolist(), strict=True)
        ],
        shares=plane.shares,
        nearest=[
            [Neighbor(point=own + index, cosine=cosine) for index, cosine in zip(*row, strict=True)]
            for row in zip(near.indices.tolist(), near.similarities.tolist(), strict=True)
        ],
        skipped="",
    )


def _nothing(reason: str) -> StatesAnswer:
    return StatesAnswer(layers=[], layer=0, texts=[], points=[], shares=(0.0, 0.0), nearest=[], skipped=reason)


def _read(thing: Any, text: str) -> _Read:
    """Encode a text, and say how the model is called on it."""
    if isinstance(thing, Translator):
        source, _ = read_source(thing, text)
        ids = torch.tensor([source.ids], device=thing.device)
        return _Read(list(source.tokens), source.ids.count(UNKNOWN), lambda: thing.model.encode(ids))
    if isinstance(thing, Classifier):
        encoded = thing.encode([text])[0].tolist()
        rows = torch.tensor([encoded], device=thing.device)
        names = thing.tokenizer.pieces(encoded)
        return _Read(names, encoded.count(UNKNOWN), lambda: thing.model(rows, torch.tensor([len(encoded)])))
    model = text_model(thing)
    numbers = model.ids(text)[: model.reach]
    spelling, unknown = model.side(numbers, text)
    return _Read([str(item) for item in spelling.tokens], len(unknown), lambda: model.run(numbers, []))


def _others(thing: Any, opened: Opened, text: str) -> Iterator[str]:
    """Give texts of the built-in corpora that the model knows nearly all words of, its own examples first."""
    offered = [item.text for item in opened.about.examples]
    for corpus in map(list, _corpora()):
        known = [item for item in corpus[:8] if _knows(thing, item)]
        offered += corpus if len(known) > 4 else []
    yield from (item for item in dict.fromkeys(offered) if item != text and _knows(thing, item))


def _knows(thing: Any, text: str) -> bool:
    read = _read(thing, text)
    return 0 < len(read.tokens) <= MAX_TOKENS and read.unknown * 8 <= len(read.tokens) <= 3 * len(text.split()) + 3


@cache
def _corpora() -> tuple[tuple[str, ...], ...]:
    pairs = [tuple(pair.source for pair in islice(stream(name, split="valid"), OTHERS)) for name in CORPORA]
    labeled = [
        tuple(item.text for item in labeled_texts(name, split="valid", size=OTHERS // 2))
        for name in ("builtin:opinions", "builtin:topics")
    ]
    story_texts = tuple(part for story in stories(split="valid", size=OTHERS // 4) for part in story.split("\n")[:2])
    return (*pairs, *labeled, (*PASSAGE.split(". "), *story_texts))
