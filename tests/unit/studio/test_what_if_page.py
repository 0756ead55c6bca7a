"""What if in one file: what is recorded is what the studio answers to the same questions."""

import re
from urllib.parse import urlencode

import pytest

from regard.errors import ArgumentError
from regard.studio import what_if
from regard.studio.what_if_page import record_what_if, what_if_page
from regard.tasks.translator import Translator
from unit.studio.visiting import ask

TEXT = "El libro está"


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 3)


@pytest.mark.parametrize(("name", "text"), [("recurrent", TEXT), ("transformer", "á")])
def test_answers_are_those_of_the_studio(models, client, name, text):
    seen = []
    recorded = record_what_if(models.find(name, Translator).thing, text, step=1, watch=lambda *told: seen.append(told))
    assert recorded.view == "whatif"
    assert recorded.address == f"whatif?{urlencode({'text': text, 'step': 1})}"
    for one in recorded.answers:
        assert ask(client, one.verb, **one.body | {"model": name}) == one.answer
    begun = recorded.answers[0].answer
    places, words = len(begun["look"]["source"]["tokens"]), len(begun["look"]["source"]["words"])
    changes = [one.body for one in recorded.answers if one.verb == "whatif/change"]
    assert len(changes) == 1 + words + 2 * places + len(begun["tokens"])
    assert sorted(place for one in changes for place in one["hidden"]) == list(range(places))
    assert seen[0] == ("trying changes", 0, len(changes))
    assert seen[-1] == ("looking for other weights", len(changes), len(changes))


def test_changes_are_bounded(models, monkeypatch):
    monkeypatch.setattr("regard.studio.what_if_page.MAX_CHANGES", 3)
    with models.borrow("recurrent", Translator) as thing:
        verbs = [one.verb for one in record_what_if(thing, TEXT).answers]
        assert verbs == ["whatif/begin", *["whatif/change"] * 3, "whatif/another"]
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
