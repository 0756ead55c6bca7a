"""Step by step as one file: every query of one layer, with all numbers, without a model."""

import json
from typing import Any
from urllib.parse import urlencode

from torch import nn

from regard.inspection.trace.attention_layers import layers_with
from regard.studio.models import open_one
from regard.studio.single_file import MAX_BYTES, Answer, Recorded, Watch, check_letters, make_page, watch_nothing
from regard.studio.views.steps import (
    MAX_LETTERS,
    MAX_TOKENS,
    QueryRequest,
    ReadRequest,
    count_tokens,
    read_text,
    take_apart,
)
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator

MAX_QUERIES = 256
"""Queries that are recorded, each head counted."""


def steps_page(
    model: Translator | LanguageModel | Classifier,
    text: str,
    *,
    target: str | None = None,
    watch: Watch = watch_nothing,
) -> str:
    """Give a page that takes every query of a layer apart, as the view Step by step does."""
    return make_page(record_steps(model, text, target=target, watch=watch))


def can_take_apart(model: Translator | LanguageModel | Classifier, text: str, target: str | None = None) -> bool:
    """Give whether there is such a page of a text: for a model that attends, and no more tokens than are drawn."""
    if not text.strip() or not isinstance(model.model, nn.Module) or not layers_with(model.model):
        return False
    longest = max(count_tokens(model, text), 0 if target is None else count_tokens(model, target, side="target"))
    return longest <= MAX_TOKENS


def record_steps(
    model: Translator | LanguageModel | Classifier,
    text: str,
    *,
    target: str | None = None,
    watch: Watch = watch_nothing,
) -> Recorded:
    """Ask whatever a visitor may ask of the layer that is shown first; of many queries, the first.

    There are at most `MAX_QUERIES`, and no more once answers have `MAX_BYTES`.
    """
    for name, value in (("text", text), ("target", target)):
        check_letters(name, value, most=MAX_LETTERS)
    opened = open_one(model)
    request: dict[str, Any] = {"model": opened.name, "text": text, "target": target}
    read = read_text(opened, ReadRequest(**request))
    answers = [Answer("steps/read", request, read)]
    layer = next(item for item in read["layers"] if item["name"] == read["layer"])
    choices = [(head, query) for query in range(len(layer["queries"])) for head in range(layer["heads"])]
    size, left_out = len(json.dumps(read)), max(len(choices) - MAX_QUERIES, 0)
    for done, (head, query) in enumerate(choices[:MAX_QUERIES]):
        if size > MAX_BYTES:
            left_out = len(choices) - done
            break
        watch("taking queries apart", done, min(len(choices), MAX_QUERIES))
        body = request | {"target": read["target"], "layer": layer["name"], "head": head, "query": query}
        answers.append(Answer("steps/apart", body, take_apart(opened, QueryRequest(**body))))
        size += len(json.dumps(answers[-1].answer))
    state = {"text": text} | ({} if target is None else {"target": target})
    return Recorded("steps", f"steps?{urlencode(state)}", [opened.about], answers, left_out)
