"""The endpoints under /v1: check the limits, let the model compute, write the reply."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from regard import __version__
from regard.decoding.search import Sampling, Search
from regard.errors import ArgumentError
from regard.files import json_text
from regard.serving import schema
from regard.serving.answering import LINES, TextLines, compute, first_of, generate, unless_gone, whole
from regard.serving.calls import Align, Ask, Attention, Classify, ClassifyImages, Generate, Read, Translate
from regard.serving.limits import Limits
from regard.serving.models import Models, Served
from regard.tasks.images.model import ImageClassifier

COLDEST = 0.01
"""The least temperature that text is drawn with: below it numbers overflow."""
_REASONS = {
    400: "The body is no JSON.",
    401: "No key, or none of the server's.",
    403: "Another host or page, where the server asks for no key.",
    404: "No such model.",
    413: "More than a limit allows; the error names it.",
    415: "The body is not application/json by its own account.",
    422: "A value is not as it must be.",
    429: "Too many wait; `Retry-After` says for how many seconds to wait.",
    500: "A defect of the server.",
    503: "The server is ending, or holds too many requests.",
    504: "It took longer than a request may.",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.ErrorReply, "description": reason} for status, reason in _REASONS.items()
}


def router(models: Models, limits: Limits) -> APIRouter:
    """Give the endpoints of a server."""
    made = APIRouter(prefix="/v1", responses=ERRORS)
    for add in (_add_models, _add_translate, _add_align, _add_generate, _add_classify, _add_ask, _add_attention):
        add(made, models, limits)
    return made


def _add_models(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.get("/models", response_model=schema.ModelsReply)
    async def list_models() -> Response:
        described = [item.describe() for item in models.all()]
        return reply({"models": described, "limits": asdict(limits), "version": __version__})


def _add_translate(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.post("/translate", response_model=schema.TranslateReply, response_model_exclude_none=True)
    async def translate(body: schema.TranslateBody, request: Request) -> Response:
        """Translate sentences, with the links between words and further outputs on request."""
        served = models.find(body.model, "translate")
        terms = tuple((body.terms or {}).items())
        note(request, served, limits, [*body.text, *(text for term in terms for text in term)], count=len(body.text))
        limits.check(413, "terms", "terms", len(terms))
        beam = chosen(body, "beam", limits.beam)
        limits.check(422, "beam", "beam", beam)
        limits.check(422, "n_best", "n_best", body.n_best)
        limits.check(422, "tokens", "max_length", body.max_length or 0)
        search = Search(beam=beam, n_best=body.n_best, length_penalty=body.length_penalty, max_length=body.max_length)
        call = Translate(search, body.alignment, body.markup, terms)
        results = await compute(request, served, call, body.text)
        return reply({"model": served.name, "translations": results})


def _add_align(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.post("/align", response_model=schema.AlignReply)
    async def align(body: schema.AlignBody, request: Request) -> Response:
        """Link the words of sentence pairs by the attention of a translator that is made to output the target."""
        served = models.find(body.model, "align")
        note(request, served, limits, [f"{pair.source}{pair.target}" for pair in body.pairs], "pairs")
        pairs = [(pair.source, pair.target) for pair in body.pairs]
        return reply({"model": served.name, "alignments": await compute(request, served, Align(body.words), pairs)})


def _add_generate(made: APIRouter, models: Models, limits: Limits) -> None:
    streamed = {"content": {LINES: {"schema": schema.Piece.model_json_schema()}}, "description": "A line a piece."}

    @made.post("/generate", response_model=schema.GenerateReply, responses={200: streamed})
    async def go_on(body: schema.GenerateBody, request: Request) -> Response:
        """Go on with a text, a line as soon as a piece is certain: {"text": …}; the last line is {"done": true}."""
        served = models.find(body.model, "generate")
        note(request, served, limits, [body.text])
        tokens = chosen(body, "max_tokens", limits.tokens)
        limits.check(422, "tokens", "max_tokens", tokens)
        if 0 < body.temperature < COLDEST:
            raise ArgumentError(
                f"`temperature` must be 0 for the likeliest tokens, or at least {COLDEST}; received {body.temperature}."
            )
        drawn = Sampling(temperature=body.temperature or 1.0, top_k=body.top_k, top_p=body.top_p, seed=body.seed)
        call = Generate(body.text, tokens, drawn if body.temperature else None)
        pieces = generate(served, call)
        if not body.stream:
            return reply({"model": served.name, "text": await unless_gone(request, whole(pieces))})
        # What is refused, or fails at once, has a status of its own: no line is sent before the first piece is there.
        return TextLines(pieces, await unless_gone(request, first_of(pieces)))


def _add_classify(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.post("/classify", response_model=schema.ClassifyReply, response_model_exclude_none=True)
    async def classify(body: schema.ClassifyBody, request: Request) -> Response:
        """Label texts, with the share of each word; or pictures."""
        served = models.find(body.model, "classify")
        pictures = isinstance(served.model, ImageClassifier)
        wanted, other = (body.image, body.text) if pictures else (body.text, body.image)
        if wanted is None or other is not None:
            name = "image" if pictures else "text"
            raise ArgumentError(f"`{name}` must be what {served.name} labels, and come alone; received otherwise.")
        note(request, served, limits, [] if pictures else wanted, count=len(wanted))
        results = await compute(request, served, ClassifyImages() if pictures else Classify(), wanted)
        return reply({"model": served.name, "decisions": results})


def _add_ask(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.post("/ask", response_model=schema.AskReply, response_model_exclude_none=True)
    async def ask(body: schema.AskBody, request: Request) -> Response:
        """Answer questions about a picture."""
        served = models.find(body.model, "ask")
        note(request, served, limits, body.questions, "questions")
        return reply({"model": served.name, "answers": await compute(request, served, Ask(body.image), body.questions)})


def _add_attention(made: APIRouter, models: Models, limits: Limits) -> None:
    @made.post("/attention", response_model=schema.AttentionReply)
    async def attention(body: schema.AttentionBody, request: Request) -> Response:
        """Give what every layer and head attends to while a model reads a text, and outputs another."""
        served = models.find(body.model, "attention")
        note(request, served, limits, [f"{body.text}{body.target or ''}"])
        [result] = await compute(request, served, Attention(limits), [Read(body.text, body.target)])
        return reply({"model": served.name, **result})


def note(
    request: Request,
    served: Served,
    limits: Limits,
    texts: Sequence[str],
    argument: str = "text",
    *,
    count: int | None = None,
) -> None:
    """Check how much a request asks for, and note it for the log: numbers, never words."""
    characters = sum(map(len, texts))
    count = len(texts) if count is None else count
    limits.check(413, "sentences", argument, count)
    limits.check(413, "characters", argument, characters)
    request.state.model, request.state.items, request.state.characters = served.name, count, characters


def chosen(body: BaseModel, name: str, most: int) -> int:
    """Give a number of a request, or, where it was left out, its default as far as the limit allows."""
    value: int = getattr(body, name)
    return value if name in body.model_fields_set else min(value, most)


def reply(value: dict[str, Any]) -> Response:
    """Write a reply: null for what is not finite, which JSON has no word for."""
    return Response(json_text(value), media_type="application/json")
