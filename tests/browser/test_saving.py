"""Every view saved as one file by its button: opened without a server, it shows and lets choose what the studio did."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser.browsing import held, number, open_all, save, violations
from regard.tasks.classification.model import Classifier
from unit.studio.seers import REVIEW
from unit.studio.visiting import serving

TEXT = "El libro está en la mesa."
EVIL = "El <img src=x onerror=window.stolen=1> </script> libro"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return open_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def studio(models):
    with serving(models) as address:
        yield address


@pytest.fixture
def saved(visit, open_page, tmp_path):
    """Open a view, do something there, save it, and open the file where nothing else can be reached."""

    def visit_and_save(view, waited, *, do=lambda page: None, **state):
        live = visit(f"{view}?{urlencode(state)}" if state else view)
        live.locator(waited).first.wait_for()
        do(live)
        address = save(live, tmp_path)
        assert address.endswith(f"/regard-{view}.html")
        file = open_page(address)
        file.locator(waited).first.wait_for()
        return live, file

    return visit_and_save


def told(page, selector):
    return page.locator(selector).all_text_contents()


def check(live, file, *selectors):
    """The file shows the same texts, nobody is alarmed, and axe finds nothing, in the dark on a phone neither."""
    for selector in selectors:
        expected = told(file, selector)
        assert expected != []
        expect(live.locator(selector)).to_have_text(expected)  # the studio may still compute
    assert file.get_by_role("alert").filter(visible=True).count() == 0
    assert file.get_by_role("button", name="Save as one file").count() == 0
    assert violations(file) == []
    file.emulate_media(color_scheme="dark")
    file.set_viewport_size({"width": 390, "height": 844})
    assert violations(file) == []
    assert file.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_translate(saved):
    live, file = saved("translate", ".facts dt:has-text('leave-one-out')", text=EVIL, unit="tokens", beam=3)
    check(live, file, ".result", ".facts dd", ".nbest button", ".node", ".matrix svg text")
    assert file.evaluate("window.stolen") is None
    file.locator(".nbest button").nth(1).click()
    expect(file.locator(".nbest button").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(file.get_by_text("Rank correlation with leave-one-out")).to_be_visible()
    assert file.locator(".node.kept[aria-disabled]").count() == 0


def test_what_if(saved):
    live, file = saved("whatif", ".moved b", text=TEXT, step=1)
    check(live, file, ".pulls .number", ".moved", ".outputs dd", ".checks dd")
    for page in (live, file):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.locator(".pulls li").nth(2).locator(".name").click()
        page.get_by_role("button", name="Mask the word").click()
        expect(page.locator(".pulls .number").nth(2)).to_have_text("masked")
        expect(page.locator(".moved b")).not_to_have_text("0.0000")
    check(live, file, ".pulls .number", ".moved", ".outputs dd", ".outcome .twin .number")
    file.set_viewport_size({"width": 1280, "height": 900})
    for page in (live, file):  # in the file the mask is let go, since it has one change at a time
        page.get_by_role("button", name="Reset all").click()
        page.get_by_role("slider").nth(4).focus()
        page.keyboard.press("0")
        expect(page.locator(".pulls .number").nth(4)).to_have_text("0.0000")
        page.wait_for_function("() => ![undefined, '0.0000'].includes(document.querySelector('.moved b')?.textContent)")
    check(live, file, ".pulls .number", ".moved", ".outputs dd")
    for page in (live, file):
        page.get_by_role("button", name="Search for other weights").click()
        page.locator(".verdict").wait_for()
    check(live, file, ".verdict", ".another-result .facts dd")
    file.get_by_role("group", name="Word about to be generated").get_by_role("button").first.click()
    expect(file.locator(".moved b")).to_have_text("0.0000")
    expect(file.get_by_label("Read another token instead")).to_be_disabled()


def test_what_if_of_a_classifier(saved):
    live, file = saved("whatif", ".moved b", model="attending-reader", text=REVIEW)
    check(live, file, ".pulls .name", ".pulls .number", ".moved", ".outcome .twin .number", ".checks dd")
    for page in (live, file):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_role("slider").nth(1).focus()
        page.keyboard.press("1")
        expect(page.locator(".pulls .number").nth(1)).to_have_text("1.0000")
    check(live, file, ".pulls .number", ".moved", ".outcome .twin .number", ".checks dd")
    file.set_viewport_size({"width": 1280, "height": 900})
    file.get_by_role("button", name="Mask the token").click()
    expect(file.locator(".pulls .number").nth(1)).to_have_text("masked")
    file.get_by_role("button", name="Reset all").click()
    expect(file.locator(".moved b")).to_have_text("0.0000")


def test_a_change_that_the_file_does_not_hold_is_told(saved):
    pins = "0:0.2,1:0.3"
    live, file = saved("whatif", ".moved b", text=TEXT, pin=pins)
    check(live, file, ".pulls .number", ".moved")
    file.get_by_role("button", name="Search for other weights").click()
    file.get_by_role("button", name="Pin these weights above").click()
    expect(file.get_by_role("alert").first).to_have_text(
        "This file does not hold what comes of this change; `regard studio` computes it."
    )
    assert told(file, ".pulls .number") == told(live, ".pulls .number")


def test_steps(saved):
    live, file = saved("steps", ".check-line", model="recurrent", text=TEXT)
    check(live, file, ".queries .chip", "td", ".check-line")
    for page in (live, file):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.locator(".queries .chip").first.click()
        expect(page.locator(".queries .chip").first).to_have_attribute("aria-pressed", "true")
    check(live, file, "td", ".check-line")


def test_mechanisms(saved):
    def choose(page, label, value):
        page.get_by_label(label, exact=True).select_option(value)

    live, file = saved("mechanisms", ".flow td", q="1,0.5;0,1", k="1,0;0,1;1,1", v="1;2;3", score="Dot")
    check(live, file, ".flow td", "pre")
    for label, value in (("Score", "Cosine"), ("Normalizer", "Sparsemax"), ("Score", "Dot"), ("Normalizer", "Softmax")):
        for page in (live, file):
            choose(page, label, value)
        expect(live.locator(".flow td")).to_have_text(told(file, ".flow td"))
    for page in (live, file):
        choose(page, "Mask", "Causal")
    check(live, file, ".flow td", "pre")
    expect(file.get_by_label("Number of keys")).to_be_disabled()
    expect(file.get_by_label("Score", exact=True).locator("option[value=Cosine]")).to_be_disabled()
    for page in (live, file):
        page.get_by_role("button", name="Rotary").click()
        page.get_by_role("heading", name="The score of q1 and k1").wait_for()
    check(live, file, ".flow td", "pre")
    for page in (live, file):
        page.get_by_role("radio", name="Soft dictionary").check(force=True)
        page.get_by_label("From hard to soft").focus()
        page.keyboard.press("ArrowRight")
    check(live, file, ".bars .number", ".soft-value")
    for page in (live, file):
        page.get_by_role("radio", name="Sinusoids").check(force=True)
        page.locator(".clocks svg").first.wait_for()
        page.get_by_label("Features", exact=True).select_option("8")
        page.get_by_text("All 4 pairs").wait_for()
    check(live, file, ".check-line", ".clocks")


def test_compare(saved):
    live, file = saved("compare", ".mean-divergence", text=TEXT, model="recurrent", other="again", unit="tokens")
    check(live, file, ".said-table td", ".facts dd", ".bars .number")
    for page in (live, file):
        page.get_by_role("radio", name="the output of again").check(force=True)
        expect(page.get_by_role("radio", name="the output of again")).to_be_checked()
    check(live, file, ".said-table td", ".shown", ".facts dd")
    for part, waited in (
        ("Heads", ".thumb-button"),
        ("Quality by length", ".row .primary"),
        ("Training", ".panel code"),
    ):
        file.get_by_role("radio", name=part).check(force=True)
        file.locator(waited).first.wait_for()
        assert violations(file) == []
        assert file.get_by_role("alert").filter(visible=True).count() == 0


def test_ask(saved):
    question = "is there a circle?"
    live, file = saved("ask", ".check-maps figure", seed=3, question=question, model="answerer")
    check(live, file, ".result", ".bars .number", ".checks dd", ".word-map")
    assert file.locator("canvas.picture-input").evaluate("one => one.width") == 64
    chips = file.locator("[data-question]")
    other = next(text for text in chips.all_inner_texts() if text != question)
    for page in (live, file):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_role("button", name=other, exact=True).click()
        expect(page.get_by_label("Question", exact=True)).to_have_value(other)
    check(live, file, ".result", ".bars .number", ".word-map")
    assert "This file does not hold what weights were checked against here" in file.locator(".checks").inner_text()


@pytest.mark.parametrize("model", ["captioner", "gates"])
def test_a_picture_of_ones_own_is_in_the_file(saved, tmp_path, model):
    from PIL import Image

    Image.new("RGB", (40, 30), (200, 30, 30)).save(tmp_path / "mine.png")

    def take(page):
        page.get_by_label("Or a picture of your own").set_input_files(tmp_path / "mine.png")
        page.get_by_text("mine.png, 40 × 30 pixels").wait_for()
        page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")

    live, file = saved("ask", ".check-maps figure", do=take, model=model)
    check(live, file, ".result", ".checks dd")
    assert "mine.png, 40 × 30 pixels" in file.locator(".picture-controls .note").last.inner_text()
    pixel = "one => [...one.getContext('2d').getImageData(3, 3, 1, 1).data].slice(0, 3)"
    assert (
        file.locator("canvas.picture-input").evaluate(pixel)
        == live.locator("canvas.picture-input").evaluate(pixel)
        == [200, 30, 30]
    )


def test_classify(saved, models):
    live, file = saved("classify", ".matrix", model="transformer-reader", text=REVIEW)
    check(live, file, ".result", ".bars .number", ".checks dd", ".shaded-word")
    with models.borrow("transformer-reader", Classifier) as thing:
        weights = thing.classify([REVIEW], by="removal")[0].weights
    names = [one.get_attribute("aria-label") for one in file.locator(".shaded").nth(1).get_by_role("button").all()]
    assert [one.rpartition(": ")[2] for one in names] == [number(one) for one in weights]
    file.get_by_role("group", name="Also in this file").get_by_role("button").nth(1).click()
    file.locator(".passage").wait_for()
    check(file, file, ".pronouns li")


def test_saving_is_bounded_and_what_was_left_out_is_told(visit, open_page, tmp_path):
    page = visit(f"whatif?{urlencode({'text': TEXT})}")
    page.locator(".moved b").wait_for()
    page.route("**/api/whatif/change", lambda route: (page.wait_for_timeout(150), route.continue_()))
    button = page.get_by_role("button", name="Save as one file")
    with page.expect_download() as begun:
        button.click()
        page.get_by_role("progressbar", name="Asking for the file").wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Save what there is").click()
    begun.value.save_as(tmp_path / "some.html")
    expect(page.locator(".saving [role=status]")).to_contain_text("further choices are not in it.")
    expect(button).to_be_enabled()
    file = open_page((tmp_path / "some.html").as_uri())
    file.locator(".moved b").wait_for()
    assert file.locator(".tool-row button:disabled").count() > 0


def test_what_there_is_no_room_for_is_told_and_what_is_shown_is_there(visit, open_page, tmp_path):
    page = visit("mechanisms")
    page.locator(".flow td").first.wait_for()

    def answer(route):
        route.fulfill(json={**route.fetch().json(), "padding": "x" * 6_000_000})

    page.route("**/api/mechanisms/attend", answer)
    for score in ("Cosine", "Gaussian", "Additive", "ScaledDot"):
        with page.expect_response("**/api/mechanisms/attend"):
            page.get_by_label("Score", exact=True).select_option(score)
    page.get_by_role("heading", name="The score of q1 and k1").wait_for()
    address = save(page, tmp_path)
    assert [one["verb"] for one in held(address)["answers"]] == ["mechanisms/attend"] * 2  # of 6 MB each; 10 are given
    expect(page.locator(".saving [role=status]")).to_contain_text("further choices are not in it.")
    file = open_page(address)
    expect(file.locator(".flow td")).to_have_text(told(page, ".flow td"))
    expect(file.get_by_label("Score", exact=True).locator("option[value=Cosine]")).to_be_disabled()


def test_a_refusal_is_in_the_file_too(visit, open_page, tmp_path):
    state = urlencode({"text": TEXT, "model": "transformer", "other": "transformer", "target": "a" * 40})
    page = visit(f"compare?{state}", expect_errors=True)
    refusal = page.get_by_role("alert").filter(visible=True)
    refusal.wait_for()
    file = open_page(save(page, tmp_path))
    expect(file.get_by_role("alert").filter(visible=True)).to_have_text(refusal.inner_text())
    assert violations(file) == []
