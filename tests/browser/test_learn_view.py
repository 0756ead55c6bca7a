"""The view Learn: a map that forms, on a slider, also while the run goes."""

import os
import time

import pytest
from playwright.sync_api import expect

from browser.browsing import check_accessible
from regard.models.folder import CONFIG
from regard.studio.models import Models
from unit.studio.runs import make_runs, metrics, write_metrics
from unit.studio.visiting import make_folders, serving

SOURCE, TARGET = ["la", "casa", "</s>"], ["the", "house", "</s>"]


def validation(step, sharp):
    """Give a validation whose map is the sharper, the later it is."""
    rest = (1 - sharp) / 2
    weights = [[sharp if row == column else rest for column in range(3)] for row in range(3)]
    table = {"source": SOURCE, "target": TARGET, "weights": weights}
    sample = {"source": "la casa", "reference": "the house", "hypothesis": f"output {step}", "looks": table}
    samples = [{**sample, "alignment": table}, {**sample, "source": "otra <b>casa", "alignment": table}]
    return {"event": "valid", "step": step, "loss": 1 / step, "bleu": step / 10, "best": True, "samples": samples}


@pytest.fixture
def learning(tmp_path, open_page):
    """A studio with a run that goes, and its page."""
    done, going = make_runs(tmp_path)
    write_metrics(done, [validation(50, 0.4)])
    old = time.time() - 600
    os.utime(done.metrics, (old, old))
    os.utime(done.model / CONFIG, (old + 1, old + 1))
    write_metrics(going, [validation(20, 0.4), validation(40, 0.6)])
    with serving(Models([done.path, going.path])) as address:
        yield lambda state="learn", **settings: open_page(f"{address}#{state}", **settings), going


def test_the_map_forms_while_the_run_goes(learning):
    visit, going = learning
    page = visit()
    status = page.locator(".side .result")
    expect(status).to_have_text("output 40")  # the run that goes is shown first, at its last validation
    write_metrics(going, [*metrics([70]), validation(60, 0.9)])
    expect(status).to_have_text("output 60")
    expect(page.locator(".cell-number").first).to_have_text("0.90")
    slider = page.get_by_label("Training step")
    slider.focus()
    page.keyboard.press("Home")
    expect(status).to_have_text("output 20")
    assert "step=20" in page.url
    write_metrics(going, [validation(80, 0.95)])  # one that was chosen stays
    page.wait_for_function("() => document.querySelector('input[type=range]').max === '3'")
    expect(status).to_have_text("output 20")
    assert page.evaluate("document.activeElement.type") == "range"
    page.get_by_role("button", name="Next step").click()
    expect(status).to_have_text("output 40")
    page.get_by_role("button", name="Sentence 2").click()
    page.get_by_text("otra <b>casa").wait_for()
    check_accessible(page)
    page.close()


def test_another_run_is_chosen_and_a_link_reopens_its_step(learning):
    visit, _ = learning
    page = visit()
    page.get_by_label("Run", exact=True).select_option("done")
    expect(page.locator(".side .result")).to_have_text("output 50")
    page.locator(".curves svg").first.wait_for()
    page.close()
    page = visit("learn?run=going&step=20")  # a link reopens the step
    expect(page.locator(".side .result")).to_have_text("output 20")
    page.set_viewport_size({"width": 390, "height": 844})
    check_accessible(page)
    page.close()


def test_a_model_that_is_written_appears_without_a_reload(tmp_path, open_page):
    done, going = make_runs(tmp_path)
    folders = make_folders(tmp_path / "others")
    with serving(Models([folders["recurrent"], going.path])) as address:
        page = open_page(f"{address}#translate?text=El+libro")
        page.locator(".result").wait_for()
        done.model.rename(going.model)
        page.get_by_text("going is trained.").wait_for()
        page.get_by_role("link", name="Open it in Translate").click()
        page.wait_for_function("() => location.hash.includes('model=going')")
        expect(page.locator(".ask-buttons")).to_contain_text("going · beam 5")
    with serving(Models([going.path])) as address:  # alone, it is what the page opens on
        page = open_page(address)
        page.get_by_role("button", name="Translate", exact=True).wait_for()


def test_without_a_run_one_can_be_begun(visit_all):
    page = visit_all("learn")
    page.get_by_role("button", name="Train a small translator now").wait_for()
    check_accessible(page)
