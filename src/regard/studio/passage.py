"""What a model does with the words that stand for others: where "it" and "their" look, computed, not claimed."""

from typing import Any, NamedTuple

import torch
from fastapi import APIRouter, Request
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from regard.data.pair import words as divide_words
from regard.data.special import END, UNKNOWN
from regard.errors import ArgumentError, with_article
from regard.inspection.trace import Trace
from regard.studio.attending import attending
from regard.studio.examples import PASSAGE, REFERENTS
from regard.studio.models import Models, Opened
from regard.studio.steps import MAX_TOKENS, find_reader
from regard.tasks.classifier import Classifier
from regard.tasks.language_model import LanguageModel

PRONOUNS = frozenset({"it", "its", "they", "them", "their", "he", "him", "his", "she", "her"})
MAX_PRONOUNS = 8
TOP = 3
"""Words that are told for each."""


class Text(BaseModel):
    """A text for a classifier or a language model."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field("", max_length=200)
    text: str = Field(max_length=50_000)


class Divided(NamedTuple):
    """Words, and for each token the word that it is part of."""

    words: list[str]
    word_of: list[int]
    unknown: list[str]
    """Words that the model has never seen: it reads one and the same token in their place."""


def router(models: Models) -> APIRouter:
    """Give its verb."""
    made = APIRouter(prefix="/passage")

    @made.post("/look")
    async def look(asked: Text, request: Request) -> dict[str, Any]:
        opened = find_reader(models, asked.model)
        return await opened.ask(request, lambda _: look_from_pronouns(opened, asked.text))

    return made


def look_from_pronouns(opened: Opened, text: str) -> dict[str, Any]:
    """Tell for each pronoun which words are looked at most, the mean over all layers and heads in which words look.

    Where the text is our passage, tell also how much it looks at the word that a reader takes it for, and which single
    head looks there most: of many heads one will by chance.
    """
    thing = opened.thing
    if not isinstance(thing, Classifier | LanguageModel):
        raise ArgumentError(
            f"`model` must be a classifier or a language model; received {opened.name}, {with_article(opened.kind)}."
        )
    divided = divide(thing, text)
    places = [place for place, word in enumerate(divided.words) if word.lower() in PRONOUNS][:MAX_PRONOUNS]
    if not places:
        return _nothing("no pronoun")
    if len(divided.word_of) > MAX_TOKENS:
        return _nothing(f"Not measured for more than {MAX_TOKENS} tokens.")
    if not isinstance(thing.model, nn.Module) or not attending(thing.model):
        return _nothing("This model does not attend.")
    found = self_attention(thing.inspect(text).trace, divided)
    if found is None:
        return _nothing("In this model no word looks at others: words are only weighed.")
    names, weights = found
    causal = isinstance(thing, LanguageModel)
    return {
        "looks": [_tell(place, divided.words, names, weights, causal=causal) for place in places],
        "heads": len(names),
        "why": "",
        "unknown": divided.unknown,
    }


def _nothing(why: str) -> dict[str, Any]:
    return {"looks": [], "heads": 0, "why": why, "unknown": []}


def self_attention(trace: Trace, divided: Divided) -> tuple[list[str], Float[Tensor, "heads words words"]] | None:
    """Give every head of every layer in which tokens look at tokens, from words to words, with their names.

    Of a word in several tokens: sums over what is looked at, means over what looks.
    """
    count = len(divided.word_of)
    calls = [call for call in trace if call.weights.shape[-2:] == (count, count)]
    if not calls:
        return None
    parts = torch.zeros(len(divided.words), count)
    parts[torch.tensor(divided.word_of), torch.arange(count)] = 1.0
    means = parts / parts.sum(-1, keepdim=True).clamp_min(1)
    weights = torch.cat([call.weights[0].float().cpu() for call in calls])  # heads tokens tokens
    names = [f"{call.layer}, head {head + 1}" for call in calls for head in range(call.weights.size(1))]
    return names, means @ weights @ parts.mT


def divide(thing: Classifier | LanguageModel, text: str) -> Divided:
    """Give the words of a text and the word of each token that the model reads, `</s>` before a language model's."""
    if isinstance(thing, Classifier):
        encoded = thing.tokenizer.encode(text)
        word_of = list(encoded.words[: thing.max_length])
        return _divided(divide_words(thing.tokenizer.normalize(text)), word_of, encoded.ids)
    tokenizer = thing.tokenizer
    ids = tokenizer.encode(text)
    named = text.split() if tokenizer.kind == "space" else divide_words(text)
    if len(ids) == len(named):
        return _divided(["</s>", *named], list(range(len(ids) + 1)), [END, *ids])
    written = tokenizer.decode(ids)
    named, starts, reached = divide_words(written), [], 0
    for word in named:
        reached = written.index(word, reached)
        starts.append(reached)
        reached += len(word)
    ends = [len(tokenizer.decode(ids[: number + 1])) for number in range(len(ids))]
    begun = [max(sum(start < end for start in starts), 1) for end in ends]  # spaces belong to the word before them
    return _divided(["</s>", *named], [0, *begun], [END, *ids])


def _divided(words: list[str], word_of: list[int], ids: list[int]) -> Divided:
    unknown = {words[word] for word, token in zip(word_of, ids, strict=False) if token == UNKNOWN}
    return Divided(words[: max(word_of, default=-1) + 1], word_of, sorted(unknown))


def _tell(
    place: int, words: list[str], names: list[str], weights: Float[Tensor, "heads words words"], *, causal: bool
) -> dict[str, Any]:
    row = weights[:, place].mean(0)
    seen = place + 1 if causal else len(words)
    best = row[:seen].topk(min(TOP, seen))
    return {
        "word": words[place],
        "place": place,
        "number": place + (words[0] != "</s>"),
        "seen": seen,
        "uniform": 1 / seen,
        "top": [
            {"word": words[one], "place": one, "weight": weight}
            for one, weight in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
        "referent": _referent(place, words, names, weights, seen),
    }


def _referent(place: int, words: list[str], names: list[str], weights: Tensor, seen: int) -> dict[str, Any] | None:
    """Tell of the word that a reader takes the pronoun for, where the text is our passage."""
    expected = [one.lower() for one in divide_words(PASSAGE)]
    first = len(words) - len(expected)
    if [one.lower() for one in words[first:]] != expected:
        return None
    meant = REFERENTS.get(divide_words(PASSAGE)[place - first])
    if meant is None:
        return None
    where = first + expected.index(meant)
    row = weights[:, place].mean(0)
    most = int(weights[:, place, where].argmax())
    return {
        "word": words[where],
        "place": where,
        "weight": float(row[where]),
        "rank": 1 + int((row[:seen] > row[where]).sum()),
        "head": names[most],
        "head_weight": float(weights[most, place, where]),
    }
