"""The view What if: pulling while the pointer moves, keys, masking, replacing; words, labels, language models."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser.browsing import number, violations
from regard.studio.views import whatif as what_if
from unit.studio.visiting import unpacked

TEXT = "El libro está en la mesa."


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 20)


def address(**state):
    return f"whatif?{urlencode({'text': TEXT, **state})}"


def shown(page):
    page.locator(".moved b").wait_for()
    return page


def changed(answered, model="recurrent", step=0, **done):
    """Do the same past the page."""
    begun = answered("whatif/begin", model=model, text=TEXT)
    return answered("whatif/change", model=model, text=TEXT, tokens=begun["tokens"], step=step, **done)


def check(page, answer):
    """Compare what is shown with what the model does: distance, both outputs, probabilities."""
    expect(page.locator(".moved b")).to_have_text(number(answer["change"]))
    expect(page.locator(".outputs dd").last).to_contain_text(answer["after"]["text"])
    rows = {row.locator(".name").inner_text(): row.locator(".number").inner_text() for row in likely(page)}
    expected = {one["token"]: f"{number(one['before'])} → {number(one['after'])}" for one in answer["candidates"]}
    assert rows
    assert rows.items() <= expected.items()


def likely(page):
    return page.locator(".outcome .twin li").all()


def test_undisturbed_nothing_changes(visit_all, answered):
    page = shown(visit_all(address(query=2)))
    check(page, changed(answered, step=1))
    assert page.locator(".moved b").inner_text() == "0.0000"
    assert page.locator(".step-words [aria-pressed=true]").count() == 1


def test_the_prediction_follows_while_the_pointer_moves(visit_all, answered):
    page = shown(visit_all(address()))
    page.evaluate(
        """() => { window.drawn = 0;
        new MutationObserver(() => window.drawn++).observe(document.querySelector(".outcome"), {childList: true}); }"""
    )
    track = page.get_by_role("slider").nth(2)
    box = track.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 3, middle)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(box["x"] + 3 + step * box["width"] / 80, middle)
        page.wait_for_timeout(25)
    assert page.evaluate("window.drawn") >= 3  # while it is held and moves
    page.mouse.up()
    share = float(re.search(r"pin=3%3A([\d.]+)", page.url).group(1))
    check(page, changed(answered, pinned=[{"position": 2, "share": share}]))
    assert track.get_attribute("aria-valuetext").startswith(f"{number(share)}, pinned; the model's own ")


def test_every_word_is_pulled_masked_and_replaced_by_keys_alone(visit_all, answered):
    page = shown(visit_all(address()))
    page.get_by_role("slider").nth(0).focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    check(page, changed(answered, pinned=[{"position": 3, "share": 1.0}]))
    page.keyboard.press("Delete")
    check(page, changed(answered))
    page.keyboard.press("m")
    check(page, changed(answered, hidden=[3]))
    assert page.get_by_role("slider").nth(3).get_attribute("aria-valuetext") == "masked"
    page.keyboard.press("Delete")
    check(page, changed(answered))
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "text":
            break
    page.keyboard.type("casa")
    page.keyboard.press("Enter")
    check(page, changed(answered, replaced=[{"position": 3, "text": "casa"}]))
    expect(page.locator(".pulls .swapped .name")).to_have_text("en → casa")
    page.reload()
    check(shown(page), changed(answered, replaced=[{"position": 3, "text": "casa"}]))


def test_buttons_and_one_head_of_a_transformer(visit_all, answered):
    page = shown(visit_all(address(model="transformer", layer=1, head=2)))
    page.locator(".pulls li").nth(1).locator(".name").click()
    page.get_by_role("button", name="Zero").click()
    done = {"layer": -1, "head": 1, "pinned": [{"position": 1, "share": 0}]}
    check(page, changed(answered, "transformer", **done))
    page.get_by_label("from here on").check()
    check(page, changed(answered, "transformer", onward=True, **done))
    page.get_by_role("button", name="Reset all").click()
    expect(page.locator(".moved b")).to_have_text("0.0000")


def test_another_distribution_is_searched_from_what_is_shown(visit_all):
    page = shown(visit_all(address(mask=2)))
    with page.expect_response("**/whatif/another") as asked:
        page.get_by_role("button", name="Search").click()
    assert asked.value.request.post_data_json["hidden"] == [1]  # the step as it is disturbed
    assert float(unpacked(asked.value.json()["other"]).flatten()[1]) == 0  # what is masked stays masked


def test_labels_follow_the_weights(visit_all, answered):
    review = "A good book, though too long."
    page = shown(visit_all(f"whatif?{urlencode({'model': 'transformer-reader', 'text': review})}"))
    page.get_by_role("slider").nth(2).focus()
    page.keyboard.press("End")
    pinned = [{"position": 2, "share": 1.0}]
    answer = answered("whatif/label", model="transformer-reader", text=review, pinned=pinned)
    expect(page.locator(".moved b")).to_have_text(number(answer["change"]))
    expect(page.locator(".outcome .twin .number")).to_have_text(
        [f"{number(one['before'])} → {number(one['after'])}" for one in answer["candidates"]]
    )


@pytest.mark.parametrize("model", ["letters", "gpt2"])
def test_a_language_model_is_changed_too(visit_all, model):
    page = shown(visit_all(f"whatif?{urlencode({'model': model, 'text': 'the cat sat'})}"))
    assert page.locator(".moved b").inner_text() == "0.0000"
    page.get_by_role("slider").nth(1).focus()
    page.keyboard.press("End")
    expect(page.locator(".pulls .number").nth(1)).to_have_text("1.0000")
    expect(page.locator(".moved b")).not_to_have_text("0.0000")


def test_what_cannot_be_done_is_said(visit_all):
    page = visit_all(address(model="fixed"))
    page.get_by_text("so there is no weight to change.").wait_for()
    page = shown(visit_all(address(), expect_errors=True))
    page.locator(".swap input").fill("libro libro")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="one token of the model").wait_for()
    assert violations(page) == []
