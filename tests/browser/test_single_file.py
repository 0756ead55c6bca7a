"""The exported page: one file, opened without any server, shows what the studio shows."""

import pytest

from browser.browsing import read_table, violations
from regard.studio.page import translation_page
from regard.tasks.translator import Translator

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
