"""What if as one file: each weight of a step forced, each word masked, one at a time, without a model."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from regard.errors import ArgumentError
from regard.studio.models import describe
from regard.studio.single_file import Answer, Recorded, Watch, make_page, watch_nothing
from regard.studio.what_if import Change, Searching, begin, meddle, search
from regard.studio.what_if_label import Relabeling, relabel
from regard.tasks.classifier import Classifier
from regard.tasks.translator import Translator

MAX_CHANGES = 400
"""Changes that are recorded: each is a decoding to the end."""
TOLERANCE = 0.01
"""How far the prediction may move while other weights are looked for, as the view has it at first."""


def what_if_page(translator: Translator, text: str, *, step: int = 0, watch: Watch = watch_nothing) -> str:
    """Give a page on which a step of a translation can be meddled with, as in the view What if."""
    return make_page(record_what_if(translator, text, step=step, watch=watch))


def record_what_if(translator: Translator, text: str, *, step: int = 0, watch: Watch = watch_nothing) -> Recorded:
    """Do all that a visitor may do at the step `step`, one thing at a time; the other steps stay undisturbed.

    Each word is masked, each weight forced to zero and to one, in all layers and heads and at this step alone; and
    other weights with the same prediction are looked for.
    """
    asked: dict[str, Any] = {"model": "", "text": text}
    begun = begin(translator, text)
    if not begun["tokens"] or not 0 <= step < len(begun["tokens"]):
        raise ArgumentError(
            f"`step` must be one of the {len(begun['tokens'])} steps of the translation; received {step}."
        )
    at = asked | {"tokens": begun["tokens"], "step": step, "layer": -1}
    answers = [Answer("whatif/begin", asked, begun)]
    changes = list(_changes(begun))[:MAX_CHANGES]
    for done, change in enumerate(changes):
        watch("trying changes", done, len(changes))
        body = at | {"head": -1, "onward": False, "hidden": [], "pinned": [], "replaced": []} | change
        answers.append(Answer("whatif/change", body, meddle(translator, Change(**body))))
    body = at | {"tolerance": TOLERANCE}
    watch("looking for other weights", len(changes), len(changes))
    answers.append(Answer("whatif/another", body, search(translator, Searching(**body))))
    address = f"whatif?{urlencode({'text': text, 'step': step})}"
    return Recorded("whatif", address, [describe("model", translator)], answers)


def relabeling_page(classifier: Classifier, text: str, *, watch: Watch = watch_nothing) -> str:
    """Give a page on which the weights that sum a text up can be pulled at, as in the view What if."""
    return make_page(record_relabeling(classifier, text, watch=watch))


def record_relabeling(classifier: Classifier, text: str, *, watch: Watch = watch_nothing) -> Recorded:
    """Mask each token, and force each weight to zero and to one, one at a time."""
    asked: dict[str, Any] = {"model": "model", "text": text, "hidden": [], "pinned": []}
    places = range(len(relabel(classifier, Relabeling(**asked))["tokens"]))
    changes: list[dict[str, Any]] = [{}]
    changes += [{"hidden": [place]} for place in places]
    changes += [{"pinned": [{"place": place, "share": share}]} for share in (0, 1) for place in places]
    changes = changes[:MAX_CHANGES]
    answers = []
    for done, change in enumerate(changes):
        watch("trying changes", done, len(changes))
        body = asked | change
        answers.append(Answer("whatif/label", body, relabel(classifier, Relabeling(**body))))
    return Recorded("whatif", f"whatif?{urlencode({'text': text})}", [describe("model", classifier)], answers)


def _changes(begun: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """List the changes of a step, most wanted first."""
    source = begun["look"]["source"]
    places = range(len(source["tokens"]))
    yield {}
    for word in range(len(source["words"])):
        yield {"hidden": [place for place in places if source["word_of"][place] == word]}
    yield from ({"pinned": [{"place": place, "share": 0}]} for place in places)
    yield from ({"step": step} for step in range(len(begun["tokens"])))
    yield from ({"pinned": [{"place": place, "share": 1}]} for place in places)
