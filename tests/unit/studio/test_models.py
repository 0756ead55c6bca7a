"""The models a studio has open."""

import threading

import pytest

from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.tasks.classifier import Classifier
from regard.tasks.translator import Translator
from unit.studio.visiting import ask, visitor


def test_each_has_a_name_of_its_own(folders):
    models = Models([folders["recurrent"], folders["recurrent"]])
    assert [one.name for one in models.all()] == ["recurrent", "recurrent-2"]
    assert [one.kind for one in models.all()] == ["translator", "translator"]


def test_a_name_finds_its_model_and_no_other(models):
    assert models.find("again", Translator).name == "again"
    assert models.find("", Translator).name == "recurrent"
    with pytest.raises(
        ArgumentError, match=r'^`model` must be one that is open; received "agian"\. Did you mean again\?$'
    ):
        models.find("agian", Translator)
    with pytest.raises(
        ArgumentError,
        match=r"^`model` must be a Classifier; received none: no such model is open\. Start the studio with one: "
        r"regard studio FOLDER\.$",
    ):
        models.find("", Classifier)


def test_one_visitor_at_a_time_has_a_model(models):
    inside, waited = threading.Event(), threading.Event()

    def other():
        inside.wait(10)
        with models.borrow("recurrent", Translator):
            waited.set()

    thread = threading.Thread(target=other)
    thread.start()
    with models.borrow("recurrent", Translator):
        inside.set()
        assert not waited.wait(0.1)
    assert waited.wait(10)
    thread.join()


def test_the_overview_tells_what_is_open(client, models):
    told = ask(client, "overview")
    assert [one["name"] for one in told["models"]] == ["recurrent", "again", "transformer", "fixed"]
    assert told["preparing"] is None
    examples = told["models"][0]["examples"]
    assert "¿Me puedes traer un tenedor?" in [one["text"] for one in examples]
    assert "many to one" in [one["about"] for one in examples]


def test_without_models_there_is_still_a_page():
    client = visitor(Models())
    assert ask(client, "overview")["models"] == []
    assert client.get("/").status_code == 200
