"""What if as one file: each weight of a step forced, each word masked, one at a time, without a model."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from regard.errors import ArgumentError
from regard.studio.models import describe
from regard.studio.single_file import MAX_BYTES, Answer, Recorded, Watch, check_letters, make_page, watch_nothing
from regard.studio.views.classify import MAX_LETTERS as MAX_CLASSIFIED
from regard.studio.views.translate import MAX_LETTERS
from regard.studio.views.whatif import ChangeRequest, WeightsRequest, begin, change_step, search_weights
from regard.studio.views.whatif_label import LabelRequest, relabel
from regard.tasks.classification.model import Classifier
from regard.tasks.translation.model import Translator

MAX_CHANGES = 400
"""Changes that are recorded: each is a decoding to the end."""
TOLERANCE = 0.01
"""How far the prediction may move while other weights are searched for, as the view has it at first."""


def what_if_page(translator: Translator, text: str, *, step: int = 0, watch: Watch = watch_nothing) -> str:
    """Give a page on which a step of a translation can be changed, as in the view What if."""
    return make_page(record_what_if(translator, text, step=step, watch=watch))


def record_what_if(translator: Translator, text: str, *, step: int = 0, watch: Watch = watch_nothing) -> Recorded:
    """Do all that a visitor may do at the step `step`, one thing at a time; the other steps stay undisturbed.

    Each word is masked, each weight forced to zero and to one, in all layers and heads and at this step alone; and
    other weights with the same prediction are searched for. Of more than `MAX_CHANGES`, or of answers that come to more
    than `MAX_BYTES`, the last are left out.
    """
    check_letters("text", text, most=MAX_LETTERS)
    request: dict[str, Any] = {"model": "", "text": text}
    begun = begin(translator, text)
    if not begun["tokens"] or not 0 <= step < len(begun["tokens"]):
        raise ArgumentError(
            f"`step` must be one of the {len(begun['tokens'])} steps of the translation; received {step}."
        )
    at = request | {"tokens": begun["tokens"], "step": step, "layer": -1}
    unchanged = at | {"head": -1, "onward": False, "hidden": [], "pinned": [], "replaced": []}
    bodies = [unchanged | change for change in _changes(begun)]
    tried = _try("whatif/change", bodies, lambda body: change_step(translator, ChangeRequest(**body)), watch)
    watch("searching for other weights", len(tried), len(tried))
    body = at | {"tolerance": TOLERANCE}
    another = Answer("whatif/another", body, search_weights(translator, WeightsRequest(**body)))
    answers = [Answer("whatif/begin", request, begun), *tried, another]
    address = f"whatif?{urlencode({'text': text, 'step': step})}"
    return Recorded("whatif", address, [describe("model", translator)], answers, len(bodies) - len(tried))


def relabeling_page(classifier: Classifier, text: str, *, watch: Watch = watch_nothing) -> str:
    """Give a page on which the weights that sum a text up can be changed, as in the view What if."""
    return make_page(record_relabeling(classifier, text, watch=watch))


def record_relabeling(classifier: Classifier, text: str, *, watch: Watch = watch_nothing) -> Recorded:
    """Mask each token, and force each weight to zero and to one, one at a time; the last are left out as above."""
    check_letters("text", text, most=MAX_CLASSIFIED)
    plain: dict[str, Any] = {"model": "model", "text": text, "hidden": [], "pinned": []}
    indices = range(len(relabel(classifier, LabelRequest(**plain))["tokens"]))
    bodies = [plain, *(plain | {"hidden": [index]} for index in indices)]
    bodies += [plain | {"pinned": [{"position": index, "share": share}]} for share in (0, 1) for index in indices]
    tried = _try("whatif/label", bodies, lambda body: relabel(classifier, LabelRequest(**body)), watch)
    address = f"whatif?{urlencode({'text': text})}"
    return Recorded("whatif", address, [describe("model", classifier)], tried, len(bodies) - len(tried))


def _try(
    verb: str, bodies: list[dict[str, Any]], answer: Callable[[dict[str, Any]], dict[str, Any]], watch: Watch
) -> list[Answer]:
    """Ask one after another, as far as the size limit allows."""
    tried: list[Answer] = []
    size, total = 0, min(len(bodies), MAX_CHANGES)
    for done, body in enumerate(bodies[:MAX_CHANGES]):
        if size > MAX_BYTES:
            break
        watch("trying changes", done, total)
        tried.append(Answer(verb, body, answer(body)))
        size += len(json.dumps(tried[-1].answer))
    return tried


def _changes(begun: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """List the changes of a step, most wanted first."""
    source = begun["attention"]["source"]
    indices = range(len(source["tokens"]))
    yield {}
    for word in range(len(source["words"])):
        yield {"hidden": [index for index in indices if source["word_of"][index] == word]}
    yield from ({"pinned": [{"position": index, "share": 0}]} for index in indices)
    yield from ({"step": step} for step in range(len(begun["tokens"])))
    yield from ({"pinned": [{"position": index, "share": 1}]} for index in indices)
