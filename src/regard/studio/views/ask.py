"""The view Ask an image: a picture that is drawn or sent, and what a model answers and attends to."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from regard.data.text.special import UNKNOWN
from regard.errors import ArgumentError, nearest
from regard.studio.models import Models, Opened
from regard.studio.tensors import pack, pack_weights
from regard.studio.views.ask_picture import MAX_ENCODED, Picture, read_picture
from regard.tasks.attribution import Attribution, attribute_answer, attribute_caption, attribute_label
from regard.tasks.captions.model import Caption, Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import Answer, QuestionAnswerer

MAX_QUESTION = 2_000
MAX_SHOWN = 50
"""Answers and labels that are sent with their probabilities, the likeliest first."""
MAX_SEED = 2**31 - 1
ANY_SCENE = (
    "how many shapes are there?",
    "what color is the shape?",
    "is there a circle?",
    "is there a red shape?",
)
"""Questions about any picture of shapes."""
_TASKS = {QuestionAnswerer: "questions", Captioner: "captions", ImageClassifier: "labels"}


class PictureRequest(BaseModel):
    """A picture for a model, the first that reads images where none is named: a seed, or a file in base64."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    seed: int | None = Field(None, ge=0, le=MAX_SEED)
    file: str | None = Field(None, max_length=MAX_ENCODED)


class QuestionRequest(PictureRequest):
    """A question about it, where the model answers questions."""

    question: str = Field("", max_length=MAX_QUESTION)


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/ask")

    @made.post("/picture")
    def picture(body: PictureRequest) -> dict[str, Any]:
        opened = find_image_model(models, body.model)
        return write_picture(opened, _read(opened, body))

    @made.post("/answer")
    async def answer(body: QuestionRequest, request: Request) -> dict[str, Any]:
        opened = find_image_model(models, body.model)
        return await opened.ask(request, lambda thing: answer_about(thing, _read(opened, body), body.question))

    @made.post("/checks")
    async def checks(body: QuestionRequest, request: Request) -> dict[str, Any]:
        opened = find_image_model(models, body.model)
        return await opened.ask(request, lambda thing: write_checks(check(thing, _read(opened, body), body.question)))

    return made


def find_image_model(models: Models, name: str) -> Opened:
    """Give the open model of that name that reads images, or the first for ""."""
    fitting = {item.name: item for item in models.all() if isinstance(item.thing, tuple(_TASKS))}
    if not fitting:
        raise ArgumentError(
            "`model` must be one that reads images; received none: no such model is open. Start the studio with one: "
            "regard studio FOLDER."
        )
    if name and name not in fitting:
        raise ArgumentError(f'`model` must be one that reads images; received "{name[:80]}". {nearest(name, fitting)}')
    return fitting[name] if name else next(iter(fitting.values()))


def _read(opened: Opened, body: PictureRequest) -> Picture:
    size, channels = size_of(opened.thing)
    return read_picture(seed=body.seed, file=body.file, size=size, channels=channels)


def size_of(thing: Any) -> tuple[tuple[int, int], int]:
    """Give the height and width that a model reads, and how many colors."""
    if isinstance(thing, ImageClassifier):
        return thing.image_size, thing.channels
    return (thing.image_size, thing.image_size), 3


def write_picture(opened: Opened, picture: Picture) -> dict[str, Any]:
    """Write the picture as the model reads it, and what is known of it: questions with answers, and a caption."""
    thing = opened.thing
    asks = isinstance(thing, QuestionAnswerer)
    questions = [
        item for item in picture.questions if asks and item.answer in thing.answers and _knows(thing, item.text)
    ]
    return {
        "model": opened.name,
        "task": _TASKS[type(thing)],
        "picture": picture.png(),
        "height": picture.pixels.shape[1],
        "width": picture.pixels.shape[2],
        "original": list(picture.original),
        "questions": [item._asdict() for item in questions],
        "suggestions": [text for text in ANY_SCENE if asks and _knows(thing, text)],
        "truth": picture.caption,
    }


def _knows(thing: QuestionAnswerer, question: str) -> bool:
    return UNKNOWN not in thing.tokenizer.encode(question).ids


def answer_about(thing: Any, picture: Picture, question: str) -> dict[str, Any]:
    """Let the model answer, describe or label, and write it with its weights."""
    match thing:
        case QuestionAnswerer():
            return write_answer(thing.ask_pixels(picture.tensor(), [question])[0])
        case Captioner():
            return write_caption(thing.caption_pixels(picture.tensor())[0])
        case _:
            return write_label(thing, picture)


def write_answer(result: Answer) -> dict[str, Any]:
    """Write an answer for the page."""
    return {
        "task": "questions",
        "output": result.answer,
        "probabilities": _ranked(result.probabilities),
        "words": list(result.attention.words),
        "word_probabilities": None,
        "unknown": list(result.unknown),
        "cut": result.cut,
        "finished": True,
        "weights": pack_weights(result.attention.weights),
        "maps": [],
    }


def write_caption(result: Caption) -> dict[str, Any]:
    """Write a caption for the page."""
    return {
        "task": "captions",
        "output": result.text,
        "probabilities": [],
        "words": list(result.attention.words),
        "word_probabilities": list(result.probabilities),
        "unknown": [],
        "cut": 0,
        "finished": result.finished,
        "weights": pack_weights(result.attention.weights) if result.attention.words else None,
        "maps": [],
    }


def write_label(thing: ImageClassifier, picture: Picture) -> dict[str, Any]:
    """Write a label for the page, with every map over positions that the network has."""
    [result] = thing.inspect_pixels(picture.pixels[None])
    maps = [
        {"name": item.name, "limit": item.limit, "signed": False, "weights": pack(item.weights)}
        for item in result.positions
    ]
    if result.evidence is not None:
        most = float(result.evidence.abs().max()) or 1.0
        maps.append({"name": "evidence", "limit": most, "signed": True, "weights": pack(result.evidence)})
    return {
        "task": "labels",
        "output": result.decision.label,
        "probabilities": _ranked(result.decision.probabilities),
        "words": [],
        "word_probabilities": None,
        "unknown": [],
        "cut": 0,
        "finished": True,
        "weights": None,
        "maps": maps,
    }


def check(thing: Any, picture: Picture, question: str) -> Attribution:
    """Measure what weights can be checked against."""
    match thing:
        case QuestionAnswerer():
            return attribute_answer(thing, picture.tensor(), question)
        case Captioner():
            return attribute_caption(thing, picture.tensor())
        case _:
            return attribute_label(thing, picture.tensor())


def write_checks(result: Attribution) -> dict[str, Any]:
    """Write what weights are checked against."""
    return {"occlusion": pack(result.occlusion), "gradient": pack(result.gradient), "uniform": result.uniform}


def _ranked(probabilities: dict[str, float]) -> list[dict[str, Any]]:
    ranked = sorted(probabilities.items(), key=lambda item: -item[1])[:MAX_SHOWN]
    return [{"name": name, "probability": probability} for name, probability in ranked]
