"""The page around the views: menu, links, progress of a first model; and the bundle is what its sources give."""

import subprocess

import pytest

from browser.browsing import ROOT, violations
from regard.studio.models import Models
from regard.studio.schema.overview import Preparing
from unit.studio.seers import make_seers, opened
from unit.studio.visiting import serving

BUILT = ROOT / "src" / "regard" / "studio" / "static"


class Training:
    """A preparation that the test moves on."""

    def __init__(self, folder=ROOT / "no-such-folder"):
        self.step, self.made, self.error, self.folder = 0, None, None, folder

    def progress(self):
        return Preparing(stage="training", step=self.step, steps=100, loss=2.5, seconds=3.0, error=self.error)

    def result(self):
        return self.made


def test_without_a_model_training_is_watched_until_it_is_there(open_page, folders):
    training = Training()
    with serving(Models(preparation=training)) as address:
        page = open_page(address)
        page.get_by_text("A small translator is being trained.").wait_for()
        training.step = 40
        page.get_by_text("step 40 of 100 · loss 2.50").wait_for()
        assert page.locator("progress").get_attribute("aria-label") == "Training"
        assert violations(page) == []
        training.made = folders["recurrent"]
        page.locator(".result").wait_for()


def test_training_that_failed_is_told(open_page):
    training = Training()
    training.error = "Training ended with 1: no room left."
    with serving(Models(preparation=training)) as address:
        page = open_page(address)
        page.get_by_role("alert").filter(has_text="no room left").wait_for()


def test_a_studio_that_is_gone_is_told(open_page, folders):
    with serving(Models([folders["recurrent"]])) as address:
        page = open_page(address, expect_errors=True)
        page.locator(".result").wait_for()
    page.get_by_role("button", name="Translate", exact=True).click()
    page.get_by_role("alert").filter(has_text="The studio does not answer.").wait_for()


def test_every_view_opens_from_the_menu(visit):
    page = visit()
    page.locator("nav a").first.wait_for()
    for name in page.locator("nav a").all_inner_texts():
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", level=1, name=name, exact=True).wait_for()
        assert page.locator("nav a[aria-current]").inner_text() == name
    page.keyboard.press("Tab")


@pytest.mark.parametrize("width", [390, 320])
def test_the_whole_menu_is_seen_on_a_phone(visit, width):
    page = visit("compare", width=width)
    opener = page.get_by_role("button", name="Compare", exact=True).first
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    page.locator("nav a[aria-current]").wait_for()
    for link in page.locator("nav a").all():
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


def test_an_unknown_view_falls_back_to_the_first(visit):
    page = visit("nothing?text=La+casa")
    page.get_by_role("heading", level=1, name="Translate").wait_for()


def test_without_a_translator_the_first_view_is_one_that_fits(open_page):
    seers = make_seers()
    with serving(opened({"answerer": seers["answerer"]})) as address:
        page = open_page(address)
        page.get_by_role("heading", level=1, name="Ask an image").wait_for()


def test_what_was_typed_goes_along_to_another_view(visit):
    page = visit()
    page.locator(".result").wait_for()
    page.locator("textarea").fill("La casa es roja.")
    page.get_by_role("button", name="Translate", exact=True).click()
    page.wait_for_function("() => location.hash.includes('casa')")
    page.get_by_role("navigation").get_by_role("link", name="What if", exact=True).click()
    page.get_by_role("heading", level=1, name="What if").wait_for()
    assert page.locator("textarea").input_value() == "La casa es roja."


def test_script_and_style_are_small():
    assert sum((BUILT / name).stat().st_size for name in ("studio.js", "studio.css")) < 300 * 1024


def test_the_bundle_is_what_its_sources_give(tmp_path):
    subprocess.run(["npx", "--no-install", "tsc", "--noEmit"], cwd=ROOT / "web", check=True)
    subprocess.run(["node", "build.mjs", "--to", str(tmp_path)], cwd=ROOT / "web", check=True)
    for name in ("studio.js", "studio.css", "index.html"):
        assert (tmp_path / name).read_bytes() == (BUILT / name).read_bytes(), f"{name} is old: make web"
