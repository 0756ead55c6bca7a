"""What if in one file: what is recorded is what the studio answers to the same questions."""

import json
import re
from importlib import import_module
from urllib.parse import urlencode

import pytest

from regard.errors import ArgumentError
from regard.studio.pages import record_relabeling, record_what_if, relabeling_page, what_if_page
from regard.studio.views import whatif as what_if
from regard.tasks.translation.model import Translator
from unit.studio.seers import REVIEW, make_english
from unit.studio.visiting import ask

TEXT = "El libro está"


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 3)


@pytest.mark.parametrize(("name", "text"), [("recurrent", TEXT), ("transformer", "á")])
def test_answers_are_those_of_the_studio(models, client, name, text):
    told = []
    recorded = record_what_if(models.find(name, Translator).thing, text, step=1, watch=lambda *one: told.append(one))
    assert recorded.view == "whatif"
    assert recorded.address == f"whatif?{urlencode({'text': text, 'query': 2})}"
    for one in recorded.answers:
        assert ask(client, one.verb, **one.body | {"model": name}) == one.answer
    begun = recorded.answers[0].answer
    places, words = len(begun["attention"]["source"]["tokens"]), len(begun["attention"]["source"]["words"])
    changes = [one.body for one in recorded.answers if one.verb == "whatif/change"]
    assert len(changes) == words + 2 * places + len(begun["tokens"])  # of which one is the step itself
    assert sorted(place for one in changes for place in one["hidden"]) == list(range(places))
    more = len(recorded.answers) - 2  # beside the sentence and the step undisturbed
    assert told[0] == ("recording answers", 0, more)
    assert told[-1] == ("recording answers", more - 1, more)


def test_changes_are_bounded(models, monkeypatch):
    with models.borrow("recurrent", Translator) as thing:
        whole = record_what_if(thing, TEXT)
        monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 3)
        recorded = record_what_if(thing, TEXT)
        verbs = [one.verb for one in recorded.answers]
        assert verbs == ["whatif/begin", "whatif/change", "whatif/another", "whatif/change", "whatif/change"]
        assert recorded.left_out == len(whole.answers) - len(recorded.answers)
        assert "whatif/another" in what_if_page(thing, TEXT)


def test_a_step_that_is_not_there_is_refused(models):
    with models.borrow("recurrent", Translator) as thing:
        steps = len(record_what_if(thing, TEXT).answers[0].answer["tokens"])
        message = f"`step` must be one of the {steps} steps of the translation; received 99."
        with pytest.raises(ArgumentError, match=re.escape(message)):
            record_what_if(thing, TEXT, step=99)


def test_a_model_without_attention_is_refused(models):
    with models.borrow("fixed", Translator) as thing, pytest.raises(ArgumentError, match="`model` must attend to its"):
        record_what_if(thing, TEXT)


def test_changes_of_a_classifier_are_bounded_by_count_and_by_size(monkeypatch):
    thing = make_english()["attending"]
    whole = record_relabeling(thing, REVIEW)
    places = len(whole.answers[0].answer["tokens"])
    assert (len(whole.answers), whole.left_out) == (1 + 3 * places, 0)
    with monkeypatch.context() as small:
        small.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 4)
        cut = record_relabeling(thing, REVIEW)
        assert "whatif/label" in relabeling_page(thing, REVIEW)
    assert (cut.answers, cut.left_out) == (whole.answers[:5], 3 * places - 4)
    monkeypatch.setattr(
        import_module("regard.studio.views.keep"), "MAX_BYTES", 2 * len(json.dumps(whole.answers[0].answer))
    )
    cut = record_relabeling(thing, REVIEW)
    assert 2 <= len(cut.answers) <= 4
    assert cut.left_out == len(whole.answers) - len(cut.answers)


def test_a_text_too_long_for_the_studio_is_refused(models):
    with models.borrow("recurrent", Translator) as thing:
        for record, model in ((record_what_if, thing), (record_relabeling, make_english()["attending"])):
            message = "`text` must have at most 50,000 letters; received 50,001. Shorten it."
            with pytest.raises(ArgumentError, match=re.escape(message)):
                record(model, "a" * 50_001)
