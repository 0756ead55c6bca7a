"""What a file of a view holds beside what is shown: whatever a reader may ask, stated once for page and Python."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ValidationError

from regard.data.text.special import END
from regard.errors import ArgumentError
from regard.studio.models import Models, Opened
from regard.studio.schema.ask import PictureRequest
from regard.studio.schema.compare import PairRequest
from regard.studio.schema.keep import MAX_BYTES, MAX_QUESTIONS, KeepAnswer, KeepRequest, Question
from regard.studio.schema.overview import ModelInfo
from regard.studio.schema.parts import Sentence
from regard.studio.schema.read import TextRequest
from regard.studio.schema.steps import QueryRequest, ReadRequest
from regard.studio.schema.translate import Node, OutputRequest, SearchRequest
from regard.studio.schema.what_if import ChangeRequest, LabelRequest
from regard.studio.tensors import EXACT
from regard.studio.text_models import text_model
from regard.studio.views.ask import find_image_model, offered_questions
from regard.studio.views.read import find_language_model
from regard.studio.views.read import read_text as read_any_text
from regard.studio.views.steps import find_reader, read_text
from regard.studio.views.translate import search_sentence
from regard.studio.views.whatif import begin_any, find_changeable
from regard.studio.views.whatif_label import relabel
from regard.studio.views.whatif_text import CONTINUED
from regard.tasks.classification.model import Classifier
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import attention_of, read_source

Body = TypeVar("Body", bound=BaseModel)
TOLERANCE = 0.01
"""How far the prediction may move while other weights are searched for, as the view has it at first."""
Likely = Iterator[Question]


def router(models: Models) -> APIRouter:
    """Give the verb."""
    made = APIRouter(prefix="/keep")

    @made.post("/likely")
    async def likely(body: KeepRequest, request: Request) -> KeepAnswer:
        shown = [(item.verb, item.body) for item in body.shown]
        page = Shown(body.shown)
        listed: list[Question] = []
        for verb, expand in _EXPAND.items():
            if verb in page.bodies:
                opened = _find(models, verb, str(page.bodies[verb].get("model", "")))
                listed += await opened.ask(request, lambda _: list(expand(opened, page)))  # noqa: B023 (awaited)
        unasked = {item.model_dump_json(): item for item in listed if (item.verb, item.body) not in shown}
        kept = list(unasked.values())[:MAX_QUESTIONS]
        return KeepAnswer(
            likely=kept,
            left_out=len(unasked) - len(kept),
            models=_named(models, [*body.shown, *kept]),
            max_bytes=MAX_BYTES,
        )

    return made


class Shown:
    """What a view shows, by its verbs."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.bodies = {item.verb: item.body for item in reversed(questions)}

    def read(self, verb: str, kind: type[Body]) -> Body:
        """Give the request of a verb, checked."""
        try:
            return kind(**self.bodies[verb])
        except (ValidationError, TypeError) as error:
            raise ArgumentError(f"`shown` must be requests of the page; received another {verb[:60]}.") from error


def _find(models: Models, verb: str, name: str) -> Opened:
    """Give the model that a verb asks."""
    view = verb.split("/", maxsplit=1)[0]
    if view == "steps":
        return find_reader(models, name)
    if view == "ask":
        return find_image_model(models, name)
    if view == "read":
        return find_language_model(models, name)
    if verb == "whatif/begin":
        return find_changeable(models, name)
    return models.find(name, Classifier if verb in ("classify/read", "whatif/label") else Translator)


def _named(models: Models, questions: Sequence[Question]) -> list[ModelInfo]:
    """Give the models that questions name; of those whose curve alone is shown, name and kind."""
    names, runs = set[str](), set[str]()
    for item in questions:
        several = item.body.get("models")
        both = [item.body.get("model"), item.body.get("other"), *(several if isinstance(several, list) else [])]
        names |= {name for name in both if isinstance(name, str)}
        runs |= {name for name in [item.body.get("run")] if isinstance(name, str)}
    first = next((item.name for item in models.all("translator")), "")
    names = names | {first} if "" in names else names
    result = []
    for opened in models.all():
        if opened.name in names:
            result.append(opened.about)
        elif opened.name in runs:
            result.append(opened.about.model_copy(update={"about": "", "examples": []}))
    return result


def _translate(opened: Opened, shown: Shown) -> Likely:
    """Every output with its checks, exact rows of maps that are sent rounded, and the hypotheses that search kept."""
    translator: Translator = opened.thing
    body = shown.read("translate/search", SearchRequest)
    sentence = body.model_dump(exclude_unset=True, exclude={"beam"})
    result = search_sentence(translator, body.text, beam=body.beam)
    for output in result.outputs:
        yield Question(verb="translate/attention", body={**sentence, "tokens": output.tokens})
        if result.attends:
            yield Question(verb="translate/checks", body={**sentence, "tokens": output.tokens})
    if "translate/attention" in shown.bodies:
        tokens = shown.read("translate/attention", OutputRequest).tokens
        source, _ = read_source(translator, body.text)
        for item in attention_of(translator, source, tokens).maps:
            for row in range(item.weights.size(2) if item.weights.numel() > EXACT else 0):
                yield Question(verb="translate/row", body={**sentence, "tokens": tokens, "map": item.id, "row": row})
    for path in kept_paths(result.tree):
        yield Question(verb="translate/attention", body={**sentence, "tokens": path})
    yield Question(verb="states/near", body=sentence)


def kept_paths(tree: Sequence[Sequence[Node]]) -> list[list[int]]:
    """List the hypotheses that search kept, as tokens, shorter ones first."""
    result: list[list[int]] = []
    before: list[list[int]] = [[]]
    for step in tree:
        before = [[*before[item.parent], item.id] for item in step]
        result += [path for path, item in zip(before, step, strict=True) if item.kept and path[:-1].count(END) == 0]
    return result


def _steps(opened: Opened, shown: Shown) -> Likely:
    """Every query of the layer that is shown, this head first."""
    body = shown.read("steps/read", ReadRequest)
    read = read_text(opened, body)
    apart = shown.read("steps/apart", QueryRequest) if "steps/apart" in shown.bodies else None
    named = read.layer if apart is None else apart.layer
    layer = next((item for item in read.layers if item.name == named), read.layers[0])
    first = 0 if apart is None else apart.head
    for head in sorted(range(layer.heads), key=lambda head: head != first):
        own = body.model_dump(exclude_unset=True) | {"target": read.target, "layer": layer.name, "head": head}
        yield Question(verb="steps/maps", body=own)
        for query in range(len(layer.queries)):
            yield Question(verb="steps/apart", body=own | {"query": query})


def _what_if(opened: Opened, shown: Shown) -> Likely:
    """Each word masked, each weight forced to zero and to one, every other step undisturbed, and other weights."""
    begun = begin_any(opened.thing, shown.read("whatif/begin", Sentence).text)
    if "whatif/change" not in shown.bodies or not begun.attention.maps:
        return
    body = shown.read("whatif/change", ChangeRequest).model_dump(exclude_unset=True)
    source, indices = begun.attention.source, range(len(begun.attention.source.tokens))
    words = range(len(source.words))
    changes: list[dict[str, Any]] = [{}]
    changes += [{"hidden": [index for index in indices if source.word_of[index] == word]} for word in words]
    changes += _pins(indices, 0)
    changes += [{"step": step} for step in range(len(begun.tokens))]
    changes += _pins(indices, 1)
    plain = {**body, "pinned": [], "hidden": [], "replaced": []}
    if opened.kind == "translator":
        yield Question(verb="whatif/another", body={**body, "tolerance": TOLERANCE})
    yield from (Question(verb="whatif/change", body=plain | change) for change in changes)


def _pins(indices: Sequence[int], share: float) -> list[dict[str, Any]]:
    return [{"pinned": [{"position": index, "share": share}]} for index in indices]


def _label(opened: Opened, shown: Shown) -> Likely:
    """Each token masked, and each weight forced to zero and to one."""
    body = shown.read("whatif/label", LabelRequest)
    plain = body.model_dump(exclude_unset=True) | {"pinned": [], "hidden": []}
    indices = range(len(relabel(opened.thing, LabelRequest(text=body.text)).tokens))
    changes: list[dict[str, Any]] = [{}, *({"hidden": [index]} for index in indices)]
    changes += [*_pins(indices, 0), *_pins(indices, 1)]
    yield from (Question(verb="whatif/label", body=plain | change) for change in changes)


def _classify(opened: Opened, shown: Shown) -> Likely:
    """The examples, by this model."""
    body = shown.read("classify/read", Sentence).model_dump(exclude_unset=True)
    for example in opened.about.examples:
        for verb in ("classify/read", "classify/maps", "passage/attention"):
            yield Question(verb=verb, body={**body, "text": example.text})
    yield Question(verb="states/near", body=body)


def _ask(opened: Opened, shown: Shown) -> Likely:
    """The answer to every question that is offered."""
    body = shown.read("ask/picture", PictureRequest)
    for question in offered_questions(opened.thing, body.seed):
        yield Question(verb="ask/answer", body=body.model_dump(exclude_unset=True) | {"question": question})


def _read(opened: Opened, shown: Shown) -> Likely:
    """What follows: the likeliest word, one after another, and each word that is offered next."""
    body = shown.read("read/text", TextRequest)
    model = text_model(opened.thing)
    answer = read_any_text(model, body)
    for row in answer.candidates[-1:] if model.reads in ("causal", "both") else []:
        for item in row:
            more = {"output": [*body.output, item.id]}
            yield Question(verb="read/text", body=body.model_dump(exclude_unset=True) | more)
    output = list(body.output)
    for _ in range(CONTINUED if answer.candidates and model.reads in ("causal", "both") else 0):
        if answer.finished or len(output) + len(answer.source.ids) >= model.reach:
            return
        output.append(answer.candidates[-1][0].id)
        yield Question(verb="read/text", body=body.model_dump(exclude_unset=True) | {"output": output})
        answer = read_any_text(model, body.model_copy(update={"output": output}))


def _compare(opened: Opened, shown: Shown) -> Likely:
    """Both models, forced to the output of the other."""
    body = shown.read("compare/attention", PairRequest)
    if body.forced != "target" and body.other not in ("", opened.name):
        for forced in ("first", "second"):
            yield Question(verb="compare/attention", body=body.model_dump(exclude_unset=True) | {"forced": forced})


_EXPAND: dict[str, Callable[[Opened, Shown], Likely]] = {
    "translate/search": _translate,
    "steps/read": _steps,
    "whatif/begin": _what_if,
    "whatif/label": _label,
    "classify/read": _classify,
    "ask/picture": _ask,
    "compare/attention": _compare,
    "read/text": _read,
}
"""For each view the verb that it begins with."""
