"""One file with answers baked in."""

import json
import re
from functools import partial
from importlib import import_module

import pytest

from regard.studio.pages import record_translation, translation_page
from regard.studio.schema.keep import RecordedAnswer, Recording
from regard.studio.schema.overview import Overview
from regard.studio.single_file import empty_page, make_page
from regard.studio.tensors import pack_map
from regard.tasks.translation.model import Translator
from unit.studio.visiting import ask

TEXT = "El libro </script><img src=x onerror=alert(1)>"


@pytest.fixture
def thing(models):
    with models.borrow("recurrent", Translator) as found:
        yield found


def test_nothing_of_a_sentence_gets_out_of_its_element(thing):
    page = translation_page(thing, TEXT, beam=2)
    assert "<img" not in page
    assert page.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="recorded">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(data)["answers"][0]["body"]["text"] == TEXT


def test_the_page_may_load_nothing(thing):
    page = translation_page(thing, TEXT, beam=2)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_what_a_visitor_may_ask_is_recorded(thing):
    recorded = record_translation(thing, "El libro", beam=3)
    asked = [(one.verb, tuple(one.body.get("tokens", ()))) for one in recorded.answers]
    assert len(asked) == len(set(asked))
    search = recorded.answers[0]
    assert search.body == {"model": "model", "text": "El libro", "beam": 3}
    for output in search.answer["outputs"]:
        assert ("translate/attention", tuple(output["tokens"])) in asked
        assert ("translate/checks", tuple(output["tokens"])) in asked
    for place, one in enumerate(search.answer["tree"][0]):
        assert (("translate/attention", (one["id"],)) in asked) == one["kept"], place


def test_the_studio_gives_the_file_without_answers(client, thing):
    response = client.get("/single-file.txt")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert response.text == empty_page()
    slot = '<script type="application/json" id="recorded">null</script>'
    assert response.text.count(slot) == 1
    before, after = response.text.split(slot)
    page = translation_page(thing, TEXT, beam=2)
    begun, rest = before.split("<title>regard studio</title>")  # which is that of the translation there
    assert page.startswith(begun)
    assert rest in page
    assert page.endswith(after)


def test_rows_of_rounded_maps_are_exact_as_far_as_there_is_room(models, client, monkeypatch):
    thing = models.find("recurrent", Translator).thing
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "EXACT", 3)
    monkeypatch.setattr(import_module("regard.studio.views.translate"), "pack_map", partial(pack_map, exact=3))
    recorded = record_translation(thing, "El libro", beam=1)
    best = recorded.answers[0].answer["outputs"][0]["tokens"]
    rows = [one for one in recorded.answers if one.verb == "translate/row"]
    look = next(one.answer for one in recorded.answers if one.verb == "translate/attention")
    assert "roots" in look["maps"][0]["weights"]
    assert [one.body["row"] for one in rows] == list(range(look["maps"][0]["weights"]["shape"][2]))
    for one in rows:
        assert one.body["tokens"] == best
        assert ask(client, one.verb, **one.body | {"model": "recurrent"}) == one.answer
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_BYTES", 1)
    assert not [one for one in record_translation(thing, "El libro", beam=1).answers if one.verb == "translate/row"]


def test_hypotheses_that_have_no_room_are_counted(thing, monkeypatch):
    whole = record_translation(thing, "El libro", beam=3)
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 5)
    cut = record_translation(thing, "El libro", beam=3)
    assert whole.left_out == 0
    assert len(whole.answers) - len(cut.answers) == cut.left_out > 0


def test_what_is_no_number_is_written_as_nothing():
    odd = {"a": float("nan"), "b": [float("inf"), 0.5, ("x", -float("inf"))], "c": 3}
    empty = Overview(version="0", models=[], waiting=[], preparing=None)
    answers = [RecordedAnswer(verb="x", body={}, answer=odd)]
    page = make_page(Recording(overview=empty, view="classify", address="classify", answers=answers, left_out=7))
    data = re.search(r'id="recorded">(.*?)</script>', page, re.DOTALL).group(1)

    def refuse(constant):
        raise AssertionError(constant)

    told = json.loads(data, parse_constant=refuse)
    assert told["answers"][0]["answer"] == {"a": None, "b": [None, 0.5, ["x", None]], "c": 3}
    assert told["left_out"] == 7
