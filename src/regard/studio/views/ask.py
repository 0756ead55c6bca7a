"""The view Ask an image: a picture that is drawn or sent, and what a model says of it and where it looks."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from regard.data.text.special import UNKNOWN
from regard.errors import ArgumentError, nearest
from regard.studio.models import Models, Opened
from regard.studio.tensors import pack, pack_weights
from regard.studio.views.ask_checks import Checks, check_answer, check_caption, check_label
from regard.studio.views.ask_read import MAX_ENCODED, Seen, read_seen
from regard.tasks.captions.model import Caption, Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import Answer, QuestionAnswerer

MAX_QUESTION = 2_000
MAX_SHOWN = 50
"""Answers and labels that are told with their probabilities, the likeliest first."""
MAX_SEED = 2**31 - 1
ANY_SCENE = (
    "how many shapes are there?",
    "what color is the shape?",
    "is there a circle?",
    "is there a red shape?",
)
"""Questions that may be asked of any picture of shapes."""
_TASKS = {QuestionAnswerer: "questions", Captioner: "captions", ImageClassifier: "labels"}


class Picture(BaseModel):
    """A picture for a model, the first that sees where none is named: drawn from a seed, or a file in base64."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    seed: int | None = Field(None, ge=0, le=MAX_SEED)
    file: str | None = Field(None, max_length=MAX_ENCODED)


class Asking(Picture):
    """A question about it, where the model answers questions."""

    question: str = Field("", max_length=MAX_QUESTION)


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/ask")

    @made.post("/see")
    def see(asked: Picture) -> dict[str, Any]:
        opened = find_seeing(models, asked.model)
        return tell_seen(opened, _read(opened, asked))

    @made.post("/say")
    async def say(asked: Asking, request: Request) -> dict[str, Any]:
        opened = find_seeing(models, asked.model)
        return await opened.ask(request, lambda thing: say_of(thing, _read(opened, asked), asked.question))

    @made.post("/checks")
    async def checks(asked: Asking, request: Request) -> dict[str, Any]:
        opened = find_seeing(models, asked.model)
        return await opened.ask(request, lambda thing: tell_checks(check(thing, _read(opened, asked), asked.question)))

    return made


def find_seeing(models: Models, name: str) -> Opened:
    """Give the open model of that name that sees pictures, or the first for ""."""
    fitting = {item.name: item for item in models.all() if isinstance(item.thing, tuple(_TASKS))}
    if not fitting:
        raise ArgumentError(
            "`model` must be one that sees pictures; received none: no such model is open. Start the studio with one: "
            "regard studio FOLDER."
        )
    if name and name not in fitting:
        raise ArgumentError(f'`model` must be one that sees pictures; received "{name[:80]}". {nearest(name, fitting)}')
    return fitting[name] if name else next(iter(fitting.values()))


def _read(opened: Opened, asked: Picture) -> Seen:
    size, channels = size_of(opened.thing)
    return read_seen(seed=asked.seed, file=asked.file, size=size, channels=channels)


def size_of(thing: Any) -> tuple[tuple[int, int], int]:
    """Give the height and width that a model reads, and how many colors."""
    if isinstance(thing, ImageClassifier):
        return thing.image_size, thing.channels
    return (thing.image_size, thing.image_size), 3


def tell_seen(opened: Opened, seen: Seen) -> dict[str, Any]:
    """Write the picture as the model reads it, and what is known of it: questions with answers, and a caption."""
    thing = opened.thing
    asks = isinstance(thing, QuestionAnswerer)
    known = [item for item in seen.questions if asks and item.answer in thing.answers and _knows(thing, item.text)]
    return {
        "model": opened.name,
        "task": _TASKS[type(thing)],
        "picture": seen.png(),
        "height": seen.pixels.shape[1],
        "width": seen.pixels.shape[2],
        "original": list(seen.original),
        "questions": [item._asdict() for item in known],
        "suggestions": [text for text in ANY_SCENE if asks and _knows(thing, text)],
        "truth": seen.caption,
    }


def _knows(thing: QuestionAnswerer, question: str) -> bool:
    return UNKNOWN not in thing.tokenizer.encode(question).ids


def say_of(thing: Any, seen: Seen, question: str) -> dict[str, Any]:
    """Let the model answer, describe or label, and tell with it where it looked."""
    match thing:
        case QuestionAnswerer():
            return tell_answer(thing.ask_pixels(seen.tensor(), [question])[0])
        case Captioner():
            return tell_caption(thing.caption_pixels(seen.tensor())[0])
        case _:
            return tell_label(thing, seen)


def tell_answer(found: Answer) -> dict[str, Any]:
    """Write an answer for the page."""
    return {
        "task": "questions",
        "says": found.answer,
        "chances": _ranked(found.probabilities),
        "words": list(found.attention.words),
        "word_probabilities": None,
        "unknown": list(found.unknown),
        "cut": found.cut,
        "finished": True,
        "looks": pack_weights(found.attention.weights),
        "places": [],
    }


def tell_caption(found: Caption) -> dict[str, Any]:
    """Write a caption for the page."""
    return {
        "task": "captions",
        "says": found.text,
        "chances": [],
        "words": list(found.attention.words),
        "word_probabilities": list(found.probabilities),
        "unknown": [],
        "cut": 0,
        "finished": found.finished,
        "looks": pack_weights(found.attention.weights) if found.attention.words else None,
        "places": [],
    }


def tell_label(thing: ImageClassifier, seen: Seen) -> dict[str, Any]:
    """Write a label for the page, with every map over places that the network has."""
    [result] = thing.inspect_pixels(seen.pixels[None])
    indices = [
        {"name": item.name, "limit": item.limit, "signed": False, "weights": pack(item.weights)}
        for item in result.places
    ]
    if result.evidence is not None:
        most = float(result.evidence.abs().max()) or 1.0
        indices.append({"name": "evidence", "limit": most, "signed": True, "weights": pack(result.evidence)})
    return {
        "task": "labels",
        "says": result.decision.label,
        "chances": _ranked(result.decision.probabilities),
        "words": [],
        "word_probabilities": None,
        "unknown": [],
        "cut": 0,
        "finished": True,
        "looks": None,
        "places": indices,
    }


def check(thing: Any, seen: Seen, question: str) -> Checks:
    """Measure what weights can be checked against."""
    match thing:
        case QuestionAnswerer():
            return check_answer(thing, seen.tensor(), question)
        case Captioner():
            return check_caption(thing, seen.tensor())
        case _:
            return check_label(thing, seen.tensor())


def tell_checks(found: Checks) -> dict[str, Any]:
    """Write what weights were checked against."""
    return {"covered": pack(found.covered), "gradient": pack(found.gradient), "uniform": found.uniform}


def _ranked(probabilities: dict[str, float]) -> list[dict[str, Any]]:
    ranked = sorted(probabilities.items(), key=lambda item: -item[1])[:MAX_SHOWN]
    return [{"name": name, "probability": probability} for name, probability in ranked]
