"""The view Ask an image: a picture that is drawn or sent, and what a model answers and attends to."""

from typing import Any

from fastapi import APIRouter, Request

from regard.data.scenes import Question
from regard.data.text.special import UNKNOWN
from regard.errors import ArgumentError, nearest
from regard.studio.models import Models, Opened
from regard.studio.picture_models import PatchClassifier, PatchLabels
from regard.studio.schema.ask import (
    KnownQuestion,
    PictureAnswer,
    PictureChecks,
    PictureRequest,
    PictureTask,
    PositionMap,
    QuestionRequest,
    VisionAnswer,
)
from regard.studio.schema.parts import Probability
from regard.studio.tensors import pack, pack_map
from regard.studio.views.ask_picture import Picture, draw_picture, read_picture
from regard.tasks.attribution import Attribution, attribute_answer, attribute_caption, attribute_label
from regard.tasks.captions.model import Caption, Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import Answer, QuestionAnswerer

MAX_SHOWN = 50
"""Answers and labels that are sent with their probabilities, the likeliest first."""
ANY_SCENE = (
    "how many shapes are there?",
    "what color is the shape?",
    "is there a circle?",
    "is there a red shape?",
)
"""Questions about any picture of shapes."""
_TASKS: dict[type, PictureTask] = {
    QuestionAnswerer: "questions",
    Captioner: "captions",
    ImageClassifier: "labels",
    PatchClassifier: "labels",
}


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/ask")

    @made.post("/picture")
    def picture(body: PictureRequest) -> PictureAnswer:
        opened = find_image_model(models, body.model)
        return write_picture(opened, _read(opened, body))

    @made.post("/answer")
    async def answer(body: QuestionRequest, request: Request) -> VisionAnswer:
        opened = find_image_model(models, body.model)
        return await opened.ask(request, lambda thing: answer_about(thing, _read(opened, body), body.question))

    @made.post("/checks")
    async def checks(body: QuestionRequest, request: Request) -> PictureChecks:
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
    if isinstance(thing, ImageClassifier | PatchClassifier):
        return thing.image_size, thing.channels
    return (thing.image_size, thing.image_size), 3


def write_picture(opened: Opened, picture: Picture) -> PictureAnswer:
    """Write the picture as the model reads it, and what is known of it: questions with answers, and a caption."""
    thing = opened.thing
    asks = isinstance(thing, QuestionAnswerer)
    return PictureAnswer(
        model=opened.name,
        task=_TASKS[type(thing)],
        picture=picture.png(),
        height=picture.pixels.shape[1],
        width=picture.pixels.shape[2],
        original=picture.original,
        questions=[
            KnownQuestion(text=item.text, answer=item.answer, kind=item.kind)
            for item in known_questions(thing, picture)
        ],
        suggestions=[text for text in ANY_SCENE if asks and _knows(thing, text)],
        truth=picture.caption,
    )


def offered_questions(thing: Any, seed: int | None) -> list[str]:
    """List what could be asked of the scene of a seed, or of a picture of the visitor's own."""
    if not isinstance(thing, QuestionAnswerer):
        return []
    size, channels = size_of(thing)
    known = () if seed is None else known_questions(thing, draw_picture(seed, size, channels))
    return [item.text for item in known] or [text for text in ANY_SCENE if _knows(thing, text)]


def known_questions(thing: Any, picture: Picture) -> list[Question]:
    """List the questions about a scene whose words and answers the model knows."""
    if not isinstance(thing, QuestionAnswerer):
        return []
    return [item for item in picture.questions if item.answer in thing.answers and _knows(thing, item.text)]


def _knows(thing: QuestionAnswerer, question: str) -> bool:
    return UNKNOWN not in thing.tokenizer.encode(question).ids


def answer_about(thing: Any, picture: Picture, question: str) -> VisionAnswer:
    """Let the model answer, describe or label, and write it with its weights."""
    match thing:
        case QuestionAnswerer():
            return write_answer(thing.ask_pixels(picture.tensor(), [question])[0])
        case Captioner():
            return write_caption(thing.caption_pixels(picture.tensor())[0])
        case PatchClassifier():
            return write_patches(thing.label(picture.tensor()))
        case _:
            return write_label(thing, picture)


def write_answer(result: Answer) -> VisionAnswer:
    """Write an answer for the page."""
    return VisionAnswer(
        task="questions",
        output=result.answer,
        probabilities=_ranked(result.probabilities),
        words=list(result.attention.words),
        word_probabilities=None,
        unknown=list(result.unknown),
        cut=result.cut,
        finished=True,
        weights=pack_map(result.attention.weights),
        maps=[],
    )


def write_caption(result: Caption) -> VisionAnswer:
    """Write a caption for the page."""
    return VisionAnswer(
        task="captions",
        output=result.text,
        probabilities=[],
        words=list(result.attention.words),
        word_probabilities=list(result.probabilities),
        unknown=[],
        cut=0,
        finished=result.finished,
        weights=pack_map(result.attention.weights) if result.attention.words else None,
        maps=[],
    )


def write_label(thing: ImageClassifier, picture: Picture) -> VisionAnswer:
    """Write a label for the page, with every map over positions that the network has."""
    [result] = thing.inspect_pixels(picture.pixels[None])
    maps = [
        PositionMap(name=item.name, limit=item.limit, signed=False, weights=pack(item.weights))
        for item in result.positions
    ]
    if result.evidence is not None:
        most = float(result.evidence.abs().max()) or 1.0
        maps.append(PositionMap(name="evidence", limit=most, signed=True, weights=pack(result.evidence)))
    return VisionAnswer(
        task="labels",
        output=result.decision.label,
        probabilities=_ranked(result.decision.probabilities),
        words=[],
        word_probabilities=None,
        unknown=[],
        cut=0,
        finished=True,
        weights=None,
        maps=maps,
    )


def write_patches(result: PatchLabels) -> VisionAnswer:
    """Write a label for the page, with what the token that it is read from attends to."""
    return VisionAnswer(
        task="labels",
        output=next(iter(result.probabilities)),
        probabilities=_ranked(result.probabilities),
        words=["label"],
        word_probabilities=None,
        unknown=[],
        cut=0,
        finished=True,
        weights=pack_map(result.weights.unsqueeze(2)),
        maps=[],
    )


def check(thing: Any, picture: Picture, question: str) -> Attribution:
    """Measure what weights can be checked against."""
    match thing:
        case QuestionAnswerer():
            return attribute_answer(thing, picture.tensor(), question)
        case Captioner():
            return attribute_caption(thing, picture.tensor())
        case PatchClassifier():
            return thing.attribute(picture.tensor())
        case _:
            return attribute_label(thing, picture.tensor())


def write_checks(result: Attribution) -> PictureChecks:
    """Write what weights are checked against."""
    return PictureChecks(occlusion=pack(result.occlusion), gradient=pack(result.gradient), uniform=result.uniform)


def _ranked(probabilities: dict[str, float]) -> list[Probability]:
    ranked = sorted(probabilities.items(), key=lambda item: -item[1])[:MAX_SHOWN]
    return [Probability(name=name, probability=probability) for name, probability in ranked]
