"""The view Step by step, as a person uses it. Every number shown equals the tensor."""

import math
import re
from functools import partial
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect
from regard.studio.views.steps_page import steps_page

from browser.browsing import check_accessible, number, violations
from regard.inspection import computation

TEXT, TARGET = "El libro está en la mesa.", "the book"


def address(**state):
    return f"steps?{urlencode({'text': TEXT, 'target': TARGET, **state})}"


def taken_apart(models, name, layer, *, head=0, query=1, target=TARGET):
    """Take a look apart past the server."""
    thing = models.find(name, object).thing
    seen = thing.inspect(TEXT, target=target)
    run = partial(thing.inspect, TEXT, target=target)
    return seen.call(layer), computation(thing.model, run, layer=layer, query=query, head=head)


def stage(page, name):
    return page.get_by_role("region", name=name, exact=True)


def column(page, name, index):
    """The cells of a column of a stage's table, one for each key."""
    return (
        stage(page, name).locator("tbody tr:not(.query-line)").locator(f"td:nth-child({index + 1})").all_inner_texts()
    )


def shown(page):
    page.locator(".check-line").wait_for()
    return page


def test_every_number_is_the_models(visit, models):
    page = shown(visit(address(model="recurrent")))
    call, found = taken_apart(models, "recurrent", "decoder.attention")
    assert stage(page, "1 · Compare").locator("tbody th button").all_inner_texts() == list(call.key_labels)
    assert column(page, "1 · Compare", 2) == [number(one) for one in found.scores.tolist()]
    most = float(found.scores.max())
    assert column(page, "2 · Weigh", 1) == [number(one) for one in found.scores.tolist()]
    below = [one - most for one in found.scores.double().tolist()]
    assert column(page, "2 · Weigh", 2) == [number(one) for one in below]
    assert column(page, "2 · Weigh", 3) == [number(math.exp(one)) for one in below]
    assert column(page, "2 · Weigh", 4) == [number(one) for one in found.weights.tolist()]
    assert column(page, "3 · Add up", 1) == [number(one) for one in found.weights.tolist()]
    stage(page, "3 · Add up").get_by_text(f"All {len(found.context)} numbers").click()
    cells = stage(page, "3 · Add up").locator("details td")
    expect(cells).to_have_text([number(one, 6) for one in found.context.tolist()])
    assert float(page.locator(".check-line").get_attribute("data-largest")) < 1e-5


def test_a_pair_is_worked_out(visit, models):
    page = shown(visit(address(model="recurrent")))
    _, found = taken_apart(models, "recurrent", "decoder.attention")
    stage(page, "1 · Compare").locator("button.key").nth(3).click()
    pair = stage(page, "1 · Compare").locator(".one-pair")
    assert "key=3" in page.url
    exact = found.score.dense(found.query.double()[None], found.keys.double())[0, 3]
    assert pair.locator("math").last.text_content() == f"={number(float(exact), 6)}"
    pair.get_by_text("All 8 features").click()
    pair.locator("tbody tr").first.wait_for()
    rows = [row.locator("td").all_inner_texts() for row in pair.locator("tbody tr").all()]
    hidden = torch.tanh(found.query + found.keys[3])
    parts = zip(found.query, found.keys[3], hidden, found.score.vector, strict=True)
    running = (hidden.double() * found.score.vector.double()).cumsum(0)
    for cells, (query, key, bent, vector), so_far in zip(rows, parts, running, strict=True):
        expected = [float(one) for one in (query, key, bent, vector, bent * vector, so_far)]
        assert [float(cell.replace("−", "-")) for cell in cells] == pytest.approx(expected, abs=6e-5)


def test_arrow_keys_move_between_keys_and_stages_are_reached(visit):
    page = shown(visit(address(model="recurrent", key=0)))
    stage(page, "2 · Weigh").locator("button.key").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.dataset.key")
    assert (focused, "key=2" in page.url) == ("2", True)
    assert stage(page, "2 · Weigh").locator("button.key[aria-pressed=true]").get_attribute("data-key") == "2"
    for name in ("1 · Compare", "2 · Weigh", "3 · Add up", "Check and code"):
        page.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.querySelector('h2').textContent") == name


def test_a_feature_is_added_up(visit, models):
    page = shown(visit(address(model="recurrent")))
    _, found = taken_apart(models, "recurrent", "decoder.attention")
    slider = page.get_by_label("Feature", exact=True)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.type") == "range"
    total = page.locator(".feature-sum math").last.text_content()
    assert re.sub(r"\s", "", total) == f"={number(float(found.context[3]), 6)}"
    assert "feature=3" in page.url


def test_pointing_at_a_strip_tells_the_number(visit, models):
    page = shown(visit(address(model="recurrent")))
    _, found = taken_apart(models, "recurrent", "decoder.attention")
    strip = stage(page, "1 · Compare").locator(".query-line canvas")
    box = strip.bounding_box()
    strip.hover(position={"x": box["width"] * 2.5 / len(found.query), "y": 5})
    told = stage(page, "1 · Compare").locator(".readout").inner_text()
    assert told.endswith(f"feature 2: {number(float(found.query[2]), 6)}")


def test_layers_heads_and_queries_of_a_transformer(visit, models):
    page = shown(visit(address(model="transformer")))
    page.get_by_label("Layer", exact=True).select_option("decoder.0.self_attention")
    page.get_by_label("Head", exact=True).select_option("1")
    page.wait_for_function("() => location.hash.includes('head=1')")
    page.get_by_role("group", name="Query").get_by_role("button").nth(2).click()
    page.wait_for_function("() => location.hash.includes('query=2')")
    call, found = taken_apart(models, "transformer", "decoder.0.self_attention", head=1, query=2)
    scores = [
        number(one) if allowed else "masked"
        for one, allowed in zip(found.scores.tolist(), found.mask.tolist(), strict=True)
    ]
    cells = stage(page, "2 · Weigh").locator("tbody tr")
    expect(cells.locator("td:nth-child(2)")).to_have_text(scores)
    assert "masked" in scores
    assert page.locator(".query-line th").inner_text() == f"query {call.query_labels[2]}"
    assert column(page, "2 · Weigh", 4) == [number(one) for one in found.weights.tolist()]
    assert stage(page, "1 · Compare").get_by_text("Scaled dot product", exact=True).is_visible()
    link = page.url
    again = shown(visit(link.split("#")[1]))
    assert column(again, "2 · Weigh", 4) == [number(one) for one in found.weights.tolist()]


def test_a_text_is_typed(visit, models):
    page = shown(visit(address(model="recurrent")))
    page.get_by_label("Text", exact=True).fill("La casa")
    page.get_by_label("Translation it is forced to").fill("")
    page.get_by_role("button", name="Read").click()
    said = models.find("recurrent", object).thing.translate(["La casa"])[0]
    page.wait_for_function(
        "text => document.querySelector('.result-line')?.textContent === `Output: ${text}`", arg=said
    )


def test_what_cannot_be_taken_apart_is_said(visit):
    page = visit(address(model="fixed"), expect_errors=True)
    page.get_by_role("alert").get_by_text("must hold a layer that attends").wait_for()
    page.get_by_label("Model", exact=True).select_option("recurrent")
    shown(page)
    page.get_by_label("Text", exact=True).fill("la " * 300)
    page.get_by_label("Text", exact=True).press("Enter")
    page.get_by_role("alert").get_by_text("at most 256 tokens").wait_for()


def test_hostile_words_are_only_text(visit):
    page = shown(visit(address(model="transformer", text="<img src=x onerror=alert(1)> \u202eabc")))
    assert page.locator("main img").count() == 0
    assert page.get_by_label("Text", exact=True).input_value().startswith("<img src=x")


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, width):
    page = shown(visit(address(model="transformer", layer="decoder.0.self_attention"), width=width))
    for details in page.locator("details summary").all():
        details.click()
    check_accessible(page)


def test_a_recording_takes_apart_without_a_model(open_page, models, tmp_path):
    thing = models.find("transformer", object).thing
    file = tmp_path / "steps.html"
    file.write_text(steps_page(thing, TEXT, target=TARGET), encoding="utf-8")
    page = shown(open_page(file.as_uri()))
    assert page.get_by_label("Text", exact=True).is_disabled()
    page.get_by_label("Head", exact=True).select_option("1")
    page.get_by_role("group", name="Query").get_by_role("button").nth(3).click()
    _, found = taken_apart(models, "transformer", "decoder.0.cross_attention", head=1, query=3)
    cells = stage(page, "2 · Weigh").locator("tbody tr td.weight")
    expect(cells).to_have_text([number(one) for one in found.weights.tolist()])
    assert page.get_by_text("A recording: only what was recorded").is_visible()
    assert violations(page) == []
