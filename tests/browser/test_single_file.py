"""The exported page: one file, opened without any server, shows what the studio shows."""

import pytest
from PIL import Image
from playwright.sync_api import expect
from regard.studio.views.ask_page import picture_page
from regard.studio.views.classify_page import classification_page
from regard.studio.views.translate_page import translation_page
from regard.studio.views.whatif_page import record_what_if, relabeling_page

from browser.browsing import number, read_table, violations
from regard.studio.examples import PASSAGE
from regard.studio.single_file import make_page
from regard.studio.views import whatif as what_if
from regard.tasks.translation.model import Translator
from unit.studio.seers import REVIEW, make_english, make_seers

TEXT = "El libro está <img src=x onerror=window.stolen=1> en </script> la mesa."


@pytest.fixture(params=["recurrent", "transformer"])
def opened(request, models, tmp_path, open_page):
    with models.borrow(request.param, Translator) as thing:
        (tmp_path / "page.html").write_text(translation_page(thing, TEXT, beam=3), encoding="utf-8")
    page = open_page((tmp_path / "page.html").as_uri())
    page.locator(".matrix").wait_for()
    return page


def test_it_opens_without_a_server_and_runs_nothing_of_the_sentence(opened):
    assert opened.get_by_label("Sentence", exact=True).input_value() == TEXT
    assert opened.get_by_label("Sentence", exact=True).is_disabled()
    assert opened.evaluate("window.stolen") is None
    assert opened.locator("main img").count() == 0
    assert "A recording" in opened.locator("form").inner_text()
    assert violations(opened) == []


def test_it_shows_every_output_and_hypothesis(opened):
    opened.get_by_text("Rank correlation with leave-one-out").wait_for()
    opened.locator(".nbest button").nth(1).click()
    opened.wait_for_function("() => document.querySelectorAll('.nbest button')[1].ariaPressed === 'true'")
    opened.locator(".node.kept").first.focus()
    opened.keyboard.press("Enter")
    opened.get_by_label("Decoding step").focus()
    opened.keyboard.press("ArrowLeft")
    opened.get_by_role("radio", name="Tokens").check()
    assert len(read_table(opened)) >= 1
    assert opened.get_by_role("alert").count() == 0


@pytest.fixture
def written(tmp_path, open_page):
    """Open a page that Python has made, and wait for something on it."""

    def open_written(page, waited):
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        opened = open_page((tmp_path / "page.html").as_uri())
        opened.locator(waited).first.wait_for()
        assert opened.get_by_role("alert").filter(visible=True).count() == 0
        assert violations(opened) == []
        return opened

    return open_written


def test_what_if_from_python(written, models, monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 3)
    with models.borrow("recurrent", Translator) as thing:
        recorded = record_what_if(thing, "El libro", step=1)
    page = written(make_page(recorded), ".moved b")
    page.locator(".pulls li").nth(1).locator(".name").click()
    page.get_by_role("button", name="Mask the word").click()
    change = next(one.answer for one in recorded.answers if one.body.get("hidden") == [1])["change"]
    expect(page.locator(".moved b")).to_have_text(number(change))
    assert page.locator(".chip:disabled, .tool-row button:disabled").count() == 0
    page.get_by_role("button", name="Search for other weights").click()
    page.locator(".verdict").wait_for()


def test_classifiers_from_python(written):
    thing = make_english()["transformer"]
    page = written(classification_page(thing, [REVIEW, PASSAGE]), ".matrix")
    page.get_by_role("group", name="Also in this file").get_by_role("button").nth(1).click()
    page.locator(".passage").wait_for()
    page = written(relabeling_page(thing, REVIEW), ".moved b")
    page.get_by_role("slider").nth(2).focus()
    page.keyboard.press("0")
    expect(page.locator(".pulls .number").nth(2)).to_have_text("0.0000")


def test_pictures_from_python(written, tmp_path):
    Image.new("RGB", (40, 30), (200, 30, 30)).save(tmp_path / "mine.png")
    seers = make_seers()
    asked = ["is there a circle?", "how many shapes are there?"]
    page = written(picture_page(seers["answerer"], tmp_path / "mine.png", asked), ".check-maps figure")
    assert "mine.png, 40 × 30 pixels" in page.locator(".picture-controls").inner_text()
    page.get_by_role("button", name=asked[1], exact=True).click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(asked[1])
    page.locator(".check-maps figure").first.wait_for()
    for name in ("captioner", "patches"):
        written(picture_page(seers[name], tmp_path / "mine.png"), ".check-maps figure")
