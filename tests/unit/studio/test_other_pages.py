"""Classify and Ask an image in one file: what is recorded is what the studio answers to the same questions."""

import base64
import re

import pytest
from PIL import Image

from regard.errors import ArgumentError
from regard.studio.examples import PASSAGE
from regard.studio.pages import classification_page, picture_page, record_classification, record_picture
from unit.studio.seers import REVIEW, make_english, make_seers, opened
from unit.studio.visiting import ask, visitor

QUESTIONS = ["is there a circle?", "how many shapes are there?"]


@pytest.fixture(scope="module")
def english():
    return make_english()


@pytest.fixture(scope="module")
def seers():
    return make_seers()


@pytest.fixture
def picture(tmp_path):
    Image.new("RGB", (40, 30), (200, 30, 30)).save(tmp_path / "mine.png")
    return tmp_path / "mine.png"


@pytest.mark.parametrize("name", ["transformer", "structured", "last"])
def test_classified_texts_are_recorded(english, name):
    recorded = record_classification(english[name], [REVIEW, PASSAGE])
    client = visitor(opened({"one": english[name]}))
    assert recorded.address == "classify?text=A+good+book%2C+though+too+long."
    asked = [(one.verb, one.body["text"]) for one in recorded.answers]
    verbs = ("classify/read", "classify/maps", "passage/attention")
    assert asked[:6] == [(verb, text) for text in (REVIEW, PASSAGE) for verb in verbs]
    for one in recorded.answers:
        assert ask(client, one.verb, **one.body | {"model": ""}) == one.answer
    assert "classify/read" in classification_page(english[name], [REVIEW])


def test_no_text_is_refused(english):
    for nothing in ([], "a text"):
        with pytest.raises(ArgumentError, match=r"`texts` must be one text or more in a list; received none\."):
            record_classification(english["last"], nothing)


@pytest.mark.parametrize(
    ("name", "asked"), [("answerer", QUESTIONS), ("captioner", []), ("gates", []), ("patches", [])]
)
def test_a_picture_is_recorded(seers, picture, name, asked):
    told = []
    recorded = record_picture(seers[name], picture, asked, watch=lambda *one: told.append(one))
    client = visitor(opened({"one": seers[name]}))
    file = base64.b64encode(picture.read_bytes()).decode()
    for one in recorded.answers:
        assert one.body["file"] == "picture mine.png"
        changed = {"model": "one"} if one.verb == "ask/picture" else {}
        assert ask(client, one.verb, **one.body | {"file": file, "model": ""}) == one.answer | changed
    assert recorded.answers[0].answer["original"] == [30, 40]
    assert [one.body["question"] for one in recorded.answers if one.verb == "ask/answer"] == (asked or [""])
    assert len(told) == 1 + 2 * (len(asked) or 1)
    assert recorded.address.startswith("ask?own=picture+mine.png")
    assert "ask/answer" in picture_page(seers[name], picture, asked[:1])


def test_questions_go_with_a_model_that_answers(seers, picture):
    message = "`questions` must be at least one for a model that answers questions; received 0."
    with pytest.raises(ArgumentError, match=re.escape(message)):
        record_picture(seers["answerer"], picture)
    message = "`questions` must be none for a model that takes no question; received 1."
    with pytest.raises(ArgumentError, match=re.escape(message)):
        record_picture(seers["gates"], picture, ["is it?"])


def test_a_name_that_is_no_text_is_replaced(seers, picture):
    odd = picture.rename(picture.with_name("p\udcff.png"))
    recorded = record_picture(seers["captioner"], odd)
    assert recorded.answers[0].body["file"] == "picture p?.png"
    assert recorded.address == "ask?own=picture+p%3F.png"
