"""The view Compare: two models, or two heads of one, on the same sentence; quality by length; training as it goes."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from regard.data.text.special import END
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.studio.attention import look, read_source
from regard.studio.models import Models
from regard.studio.views.compare_curves import read_on, run_folders, state_of
from regard.studio.views.compare_lengths import Lengths
from regard.studio.views.translate import MAX_LETTERS, MAX_OUTPUT, Sentence, tell
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import as_line

MAX_MODELS = 8
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Pair(Sentence):
    """A sentence for two models, and what both are made to say."""

    other: str = Field("", max_length=200)
    say: Literal["first", "second", "given"] = "first"
    """Whose translation: that of `model`, of `other`, or `target`."""
    target: str = Field("", max_length=MAX_LETTERS)


class Names(BaseModel):
    """Open models, by their names."""

    model_config = ConfigDict(extra="forbid")
    models: list[Name] = Field(min_length=1, max_length=MAX_MODELS)


class Reading(BaseModel):
    """A run, and how much of its figures is known already."""

    model_config = ConfigDict(extra="forbid")
    run: str = Field(max_length=200)
    offset: int = Field(0, ge=0, le=2**53)
    file: str = Field("", max_length=100)


class Nothing(BaseModel):
    """Nothing has to be said."""

    model_config = ConfigDict(extra="forbid")


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/compare")
    lengths = Lengths(models)

    @made.post("/look")
    async def look_at(asked: Pair, request: Request) -> dict[str, Any]:
        return await look_twice(models, asked, request)

    @made.post("/measure")
    def measure(asked: Names) -> dict[str, Any]:
        lengths.begin(asked.models)
        return lengths.tell(asked.models)

    @made.post("/lengths")
    def measured(asked: Names) -> dict[str, Any]:
        return lengths.tell(asked.models)

    @made.post("/runs")
    def runs(asked: Nothing) -> dict[str, Any]:
        return {"runs": [state_of(name, folder) for name, folder in run_folders(models).items()]}

    @made.post("/curve")
    def curve(asked: Reading) -> dict[str, Any]:
        known = run_folders(models)
        if asked.run not in known:
            raise ArgumentError(
                f'`run` must be one that the studio was started with; received "{asked.run[:80]}". '
                f"{'Known: ' + ', '.join(known) if known else 'None is'}."
            )
        return state_of(asked.run, known[asked.run]) | read_on(known[asked.run].metrics, asked.offset, asked.file)

    return made


async def look_twice(models: Models, asked: Pair, request: Request) -> dict[str, Any]:
    """Let both models translate, then make both say the same, and see where each looks meanwhile."""
    both = [models.find(name, Translator) for name in (asked.model, asked.other or asked.model)]
    different = list({item.name: item for item in both}.values())
    outputs = [await item.ask(request, lambda translator: _translate(translator, asked.text)) for item in different]
    outputs = outputs if len(outputs) == 2 else outputs * 2
    target = asked.target
    if asked.say != "given":
        target = outputs[asked.say == "second"]["text"]
        for item in different:
            target = await item.ask(request, partial(_shortened, target=target))
    attended = [
        await item.ask(request, partial(_force, name=item.name, text=asked.text, target=target)) for item in different
    ]
    return {
        "models": [item.name for item in both],
        "outputs": outputs,
        "target": target,
        "looks": attended if len(attended) == 2 else attended * 2,
    }


def _translate(translator: Translator, text: str) -> dict[str, Any]:
    """Give the best of a beam."""
    source, cut = read_source(translator, text)
    longest = min(2 * len(source.ids) + 20, _most(translator))
    best = translator.search([text], Search(max_length=longest), max_source_length=len(source.ids))[0][0]
    return {"text": best.text, "score": best.score, "log_probability": best.log_probability, "cut": cut}


def _force(translator: Translator, *, name: str, text: str, target: str) -> dict[str, Any]:
    """See where a model looks as it says a text, and how likely it finds that."""
    source, _ = read_source(translator, text)
    tokens = [*translator.tokenizers.target.encode(translator.read([target], side="target")[0].text).ids, END]
    most = _most(translator)
    if len(tokens) > most:
        raise ArgumentError(
            f"`target` must have at most {most - 1} tokens of {name}; received {len(tokens) - 1}. Shorten it."
        )
    return tell(look(translator, source, tokens), translator)


def _shortened(translator: Translator, *, target: str) -> str:
    """Leave out the end of what a model said where a model has no room for it and `</s>`."""
    tokenizer = translator.tokenizers.target
    ids = tokenizer.encode(target).ids
    count = min(len(ids), _most(translator) - 1)
    while len(tokenizer.encode(target).ids) >= _most(translator):  # half a character may be written as more
        target, count = as_line(tokenizer.decode(ids[:count])), count - 1
    return target


def _most(translator: Translator) -> int:
    """Give how many tokens a translator may say, `</s>` included."""
    return min(MAX_OUTPUT, translator.reach.target or MAX_OUTPUT)
