"""Classify as one file: labels, the words that were weighed, and the maps, without a model."""

from collections.abc import Sequence
from urllib.parse import urlencode

from regard.errors import ArgumentError
from regard.studio.models import open_one
from regard.studio.single_file import Answer, Recorded, Watch, make_page, watch_nothing
from regard.studio.views.classify import write_decision, write_maps
from regard.studio.views.passage import attend_to_pronouns
from regard.tasks.classification.model import Classifier


def classification_page(classifier: Classifier, texts: Sequence[str], *, watch: Watch = watch_nothing) -> str:
    """Give a page that shows how texts were labeled, as the view Classify does; it opens at the first."""
    return make_page(record_classification(classifier, texts, watch=watch))


def record_classification(classifier: Classifier, texts: Sequence[str], *, watch: Watch = watch_nothing) -> Recorded:
    """Ask whatever a visitor of these texts may ask."""
    if isinstance(texts, str) or not texts:
        raise ArgumentError("`texts` must be one text or more in a list; received none. Give a list of texts.")
    opened = open_one(classifier)
    answers = []
    for done, text in enumerate(texts):
        watch("classifying", done, len(texts))
        request = {"model": opened.name, "text": text}
        answers += [
            Answer("classify/read", request, write_decision(classifier, text) | {"others": []}),
            Answer("classify/maps", request, write_maps(classifier, text)),
            Answer("passage/attention", request, attend_to_pronouns(opened, text)),
        ]
    return Recorded("classify", f"classify?{urlencode({'text': texts[0]})}", [opened.about], answers)
