"""Which words "it" and "their" attend to, for the page."""

from fastapi import APIRouter, Request
from torch import nn

from regard.errors import ArgumentError, with_article
from regard.inspection.trace.attention_layers import layers_with
from regard.studio.models import Models, Opened
from regard.studio.schema.classify import PassageAnswer, Pronoun
from regard.studio.schema.parts import Sentence
from regard.studio.views.steps import MAX_TOKENS, find_reader
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.pronouns import Pronouns, attend_from_pronouns, divide, pronoun_positions


def router(models: Models) -> APIRouter:
    """Give its verb."""
    made = APIRouter(prefix="/passage")

    @made.post("/attention")
    async def attention(body: Sentence, request: Request) -> PassageAnswer:
        opened = find_reader(models, body.model)
        return await opened.ask(request, lambda _: attend_to_pronouns(opened, body.text))

    return made


def attend_to_pronouns(opened: Opened, text: str) -> PassageAnswer:
    """Give what the pronouns of a text attend to, or why there is nothing to give."""
    thing = opened.thing
    if not isinstance(thing, Classifier | LanguageModel):
        raise ArgumentError(
            f"`model` must be a classifier or a language model; received {opened.name}, {with_article(opened.kind)}."
        )
    divided = divide(thing, text)
    if not pronoun_positions(divided):
        return _as_answer(Pronouns([], 0, "no pronoun"))
    if len(divided.word_of) > MAX_TOKENS:
        return _as_answer(Pronouns([], 0, f"Not measured for more than {MAX_TOKENS} tokens."))
    if not isinstance(thing.model, nn.Module) or not layers_with(thing.model):
        return _as_answer(Pronouns([], 0, "This model does not attend."))
    return _as_answer(attend_from_pronouns(thing, thing.inspect(text).trace, divided))


def _as_answer(pronouns: Pronouns) -> PassageAnswer:
    attended = [Pronoun(**item) for item in pronouns.attention]
    return PassageAnswer(attention=attended, heads=pronouns.heads, why=pronouns.why, unknown=list(pronouns.unknown))
