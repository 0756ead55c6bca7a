"""A saved file holds what its reader can reach and nothing else, whatever is done before and meanwhile."""

from urllib.parse import urlencode

import pytest
from PIL import Image
from playwright.sync_api import expect

from browser.browsing import held, open_all, save
from unit.studio.seers import REVIEW
from unit.studio.visiting import serving

TEXT = "El libro está en la mesa."
DRAFT = "SECRET not sent"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return open_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def studio(models):
    with serving(models) as address:
        yield address


@pytest.fixture
def mine(tmp_path):
    Image.new("RGB", (40, 30), (200, 30, 30)).save(tmp_path / "mine.png")
    return tmp_path / "mine.png"


def said(address):
    """List the verbs of a file, and all else that it holds as text."""
    return [one["verb"] for one in held(address)["answers"]], str(held(address))


def slow(page, verb, milliseconds):
    """Let answers to a verb come late."""
    page.evaluate(
        """([verb, wait]) => {
          const before = window.fetch;
          window.fetch = async (...asked) => {
            const answer = await before(...asked);
            if (String(asked[0]).includes(verb)) await new Promise((done) => setTimeout(done, wait));
            return answer;
          };
        }""",
        [verb, milliseconds],
    )


def saving(page):
    return page.get_by_role("button", name="Save as one file")


def status(page):
    return page.locator(".saving [role=status]")


VIEWS = {
    "translate": ({"text": TEXT, "beam": 2}, ".facts dt:has-text('leave-one-out')", ".nbest button:enabled"),
    "whatif": ({"text": TEXT}, ".moved b", ".tool-row button:enabled"),
    "label": ({"text": REVIEW, "model": "attending-reader"}, ".moved b", ".tool-row button:enabled"),
    "steps": ({"text": TEXT, "model": "recurrent"}, ".check-line", ".queries .chip:enabled"),
    "classify": ({"text": REVIEW, "model": "transformer-reader"}, ".matrix", ".chip:enabled"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_typed_and_not_sent_is_not_in_the_file(visit, open_page, tmp_path, name):
    values, waited, choices = VIEWS[name]
    page = visit(f"{'whatif' if name == 'label' else name}?{urlencode(values)}")
    page.locator(waited).first.wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    page.locator("textarea").fill(DRAFT)
    address = save(page, tmp_path)
    assert asked != []
    assert DRAFT not in "".join(asked)
    assert DRAFT not in said(address)[1]
    assert {one["name"] for one in held(address)["overview"]["models"]} == {values.get("model", "recurrent")}
    file = open_page(address)
    file.locator(waited).first.wait_for()
    assert file.locator("textarea").input_value() == values["text"]
    assert file.locator(choices).count() > 1


def test_a_change_of_the_model_keeps_what_was_read(visit, open_page, tmp_path):
    page = visit(f"classify?{urlencode({'model': 'transformer-reader'})}")
    page.locator(".matrix").wait_for()
    first = page.locator("textarea").input_value()
    page.locator("textarea").fill(DRAFT)
    page.get_by_label("Model", exact=True).select_option("attending-reader")
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
    file = open_page(save(page, tmp_path))
    file.locator(".result").wait_for()
    assert file.locator("textarea").input_value() == first
    assert file.get_by_role("alert").filter(visible=True).count() == 0


def test_a_picture_of_before_is_not_in_the_file(visit, tmp_path, mine):
    page = visit("ask?model=answerer")
    page.locator(".check-maps figure").first.wait_for()
    page.get_by_label("Or a picture of your own").set_input_files(mine)
    page.get_by_text("mine.png, 40 × 30 pixels").wait_for()
    page.get_by_role("button", name="Draw another").click()
    page.locator("canvas.picture-input[aria-label^='A drawn scene']").wait_for()
    verbs, text = said(save(page, tmp_path))
    assert verbs.count("ask/picture") == 1
    assert "mine.png" not in text


def test_ones_own_picture_can_be_asked_all_that_is_offered(visit, open_page, tmp_path, mine):
    page = visit("ask?model=answerer")
    page.locator(".check-maps figure").first.wait_for()
    page.get_by_label("Or a picture of your own").set_input_files(mine)
    page.get_by_text("mine.png, 40 × 30 pixels").wait_for()
    offered = page.locator("[data-question]").all_inner_texts()
    address = save(page, tmp_path)
    assert said(address)[0].count("ask/picture") == 1
    file = open_page(address)
    file.locator(".result").wait_for()
    assert file.locator("[data-question]").all_inner_texts() == offered != []
    file.get_by_role("button", name=offered[-1], exact=True).click()
    expect(file.locator("[aria-pressed=true][data-question]")).to_have_text(offered[-1])
    file.locator(".result").wait_for()
    assert file.get_by_role("alert").filter(visible=True).count() == 0


def test_what_was_asked_or_refused_before_is_not_in_the_file(visit, tmp_path):
    page = visit("mechanisms?part=dictionary", expect_errors=True)
    page.locator(".soft-value").wait_for()
    page.get_by_label("Look up").fill("password")
    page.get_by_text("no key equals “password”").wait_for()
    page.get_by_label("Look up").fill("Anna")
    page.locator(".lookup dd").first.get_by_text("lecturer").wait_for()
    address = save(page, tmp_path)
    assert "password" not in said(address)[1]
    assert held(address)["overview"]["models"] == []
    page = visit(f"steps?{urlencode({'model': 'recurrent', 'text': 'private ' * 300})}", expect_errors=True)
    page.get_by_role("alert").filter(visible=True).wait_for()
    page.locator("textarea").fill(TEXT)
    page.get_by_role("button", name="Read").click()
    page.locator(".check-line").wait_for()
    assert "private" not in said(save(page, tmp_path))[1]


def test_a_file_is_of_what_was_shown_when_it_was_begun(visit, tmp_path):
    page = visit(f"translate?{urlencode({'text': TEXT})}")
    page.get_by_text("Rank correlation with leave-one-out").wait_for()
    slow(page, "translate/attention", 100)
    with page.expect_download() as begun:
        saving(page).click()
        page.get_by_role("progressbar", name="Asking for the file").wait_for()
        page.locator("textarea").fill("La casa")
        page.get_by_role("button", name="Translate", exact=True).click()
    begun.value.save_as(tmp_path / "a.html")
    kept = held((tmp_path / "a.html").as_uri())
    assert {one["body"]["text"] for one in kept["answers"]} == {TEXT}
    assert kept["address"] == f"translate?{urlencode({'text': TEXT})}"


def test_another_theme_and_a_second_press_leave_the_saving_alone(visit):
    page = visit(f"whatif?{urlencode({'text': TEXT})}")
    page.locator(".moved b").wait_for()
    slow(page, "whatif/change", 60)
    page.locator("textarea").fill(DRAFT)
    files = []
    page.on("download", lambda file: files.append(file))
    saving(page).focus()
    page.evaluate(
        """() => {
          window.told = [];
          const watched = document.querySelector('.saving [role=status]');
          new MutationObserver(() => window.told.push(watched.textContent)).observe(watched, { childList: true });
        }"""
    )
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_role("progressbar", name="Asking for the file").wait_for()
    expect(saving(page)).to_be_focused()
    expect(saving(page)).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Use dark colors").click()
    assert page.locator("textarea").input_value() == DRAFT
    expect(status(page)).to_contain_text("Saved regard-whatif.html")
    expect(saving(page)).not_to_have_attribute("aria-disabled", "true")
    page.wait_for_timeout(300)
    assert len(files) == 1
    told = [text for text in page.evaluate("() => window.told") if text]
    assert len(told) == 2
    assert told[0].startswith("Asking for what is shown")


def test_the_focus_returns_from_the_button_that_ends_it(visit):
    page = visit(f"whatif?{urlencode({'text': TEXT})}")
    page.locator(".moved b").wait_for()
    slow(page, "whatif/change", 100)
    with page.expect_download():
        saving(page).click()
        page.get_by_role("button", name="Save what there is").focus()
        page.keyboard.press("Enter")
    expect(saving(page)).to_be_focused()


def test_an_answer_under_way_is_waited_for(visit, tmp_path):
    page = visit(f"translate?{urlencode({'text': TEXT})}")
    page.get_by_text("Rank correlation with leave-one-out").wait_for()
    slow(page, "translate/search", 700)
    page.locator("textarea").fill("La casa")
    page.get_by_role("button", name="Translate", exact=True).click()
    with page.expect_download() as begun:
        saving(page).click()
        expect(status(page)).to_have_text("Waiting for an answer that is under way.")
    begun.value.save_as(tmp_path / "a.html")
    assert {one["body"]["text"] for one in held((tmp_path / "a.html").as_uri())["answers"]} == {"La casa"}


def test_a_view_that_was_left_asks_no_more_and_is_not_saved(visit, tmp_path):
    page = visit(f"whatif?{urlencode({'model': 'attending-reader', 'text': REVIEW})}", expect_errors=True)
    page.locator(".moved b").wait_for()
    slow(page, "whatif/label", 300)
    files, asked = [], []
    page.on("download", lambda file: files.append(file))
    page.get_by_role("slider").nth(1).focus()
    page.keyboard.press("1")
    page.keyboard.press("0")
    saving(page).click()
    page.get_by_role("link", name="Mechanisms").click()
    expect(status(page)).to_have_text("Not saved: the view was left before its file was complete.")
    page.locator(".flow td").first.wait_for()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(800)
    assert asked == files == []
    assert {one.split("/")[0] for one in said(save(page, tmp_path))[0]} == {"mechanisms"}


def test_curves_are_not_read_on_for_a_view_that_was_left(visit):
    page = visit(f"compare?{urlencode({'text': TEXT})}")
    page.locator(".facts").first.wait_for()
    asked = []
    page.route("**/api/compare/runs", lambda route: route.fulfill(json={"runs": [{"run": "a", "state": "finished"}]}))

    def answer(route):
        asked.append(route.request.post_data)
        page.wait_for_timeout(100)
        more = {"run": "a", "state": "finished", "steps": 1, "lines": [], "offset": len(asked), "file": "f"}
        route.fulfill(json={**more, "anew": False, "more": True})

    page.route("**/api/compare/curve", answer)
    saving(page).click()
    with page.expect_request("**/api/compare/curve"):
        pass
    page.get_by_role("link", name="Mechanisms").click()
    page.locator(".flow td").first.wait_for()
    page.wait_for_timeout(300)
    before = len(asked)
    page.wait_for_timeout(500)
    assert len(asked) == before


def test_a_classifiers_bars_hold_while_another_text_is_read(visit):
    page = visit(f"whatif?{urlencode({'model': 'attending-reader', 'text': REVIEW})}")
    page.locator(".moved b").wait_for()
    slow(page, "whatif/label", 400)
    page.locator("textarea").fill("A bad book")
    page.get_by_role("button", name="Classify", exact=True).click()
    page.evaluate("() => document.querySelector('.tool-row button').click()")
    expect(page.locator(".pulls .name")).to_have_count(3)
    page.evaluate(
        """() => {
          const before = window.fetch;
          let late = true;
          window.fetch = async (...asked) => {
            const wait = late ? 1200 : 0;
            late = false;
            const answer = await before(...asked);
            await new Promise((done) => setTimeout(done, wait));
            return answer;
          };
        }"""
    )
    for text in ("A good long book", "long book"):
        page.locator("textarea").fill(text)
        page.keyboard.press("Enter")
    expect(page.locator(".pulls .name")).to_have_count(2)
    page.wait_for_timeout(1500)  # the answer that nobody waits for has come
    expect(page.locator(".pulls .name")).to_have_count(2)


def test_outputs_that_a_file_does_not_hold_cannot_be_chosen(visit, open_page, tmp_path):
    page = visit(f"translate?{urlencode({'text': TEXT})}")
    page.get_by_text("Rank correlation with leave-one-out").wait_for()
    slow(page, "translate/attention", 200)
    with page.expect_download() as begun:
        saving(page).click()
        page.get_by_role("button", name="Save what there is").click()
    begun.value.save_as(tmp_path / "a.html")
    file = open_page((tmp_path / "a.html").as_uri())
    file.locator(".matrix").wait_for()
    expect(file.locator(".nbest button").last).to_be_disabled()
    again = open_page(f"{(tmp_path / 'a.html').as_uri()}#translate?{urlencode({'text': TEXT, 'pick': 4})}")
    again.locator(".matrix").wait_for()
    expect(again.locator(".nbest button").first).to_have_attribute("aria-pressed", "true")
    assert again.get_by_role("alert").filter(visible=True).count() == 0


@pytest.mark.parametrize("values", [{"text": REVIEW, "model": "attending-reader"}, {"text": TEXT}])
def test_pins_that_a_file_does_not_hold_are_told(visit, open_page, tmp_path, values):
    page = visit(f"whatif?{urlencode(values)}")
    page.locator(".moved b").wait_for()
    address = save(page, tmp_path)
    file = open_page(f"{address}#whatif?{urlencode({**values, 'pin': '0:0.3,1:0.4'})}")
    expect(file.get_by_role("alert").filter(visible=True)).to_have_text(
        "This file does not hold what comes of this change; `regard studio` computes it."
    )
    expect(file.locator(".moved b")).to_have_text("0.0000")
    assert "Pinned weights are forced" not in file.locator(".checks").inner_text()


def test_texts_of_a_file_are_chosen_by_keyboard(visit, open_page, tmp_path):
    page = visit(f"classify?{urlencode({'model': 'transformer-reader', 'text': REVIEW})}")
    page.locator(".matrix").wait_for()
    file = open_page(save(page, tmp_path))
    file.locator(".matrix").wait_for()
    chips = file.get_by_role("group", name="Also in this file").get_by_role("button")
    assert [one.get_attribute("aria-current") for one in chips.all()][:2] == ["true", "false"]
    chips.nth(1).focus()
    file.keyboard.press("Enter")
    expect(chips.nth(1)).to_have_attribute("aria-current", "true")
    expect(chips.nth(1)).to_be_focused()


@pytest.mark.parametrize("data", ["{", "{}", '{"overview":{"models":[]},"answers":[],"view":"none","address":""}'])
def test_a_damaged_file_says_so(open_page, tmp_path, studio, data):
    from regard.studio.single_file import empty_page

    page = empty_page().replace('id="recorded">null<', f'id="recorded">{data}<', 1)
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    file = open_page((tmp_path / "a.html").as_uri())
    expect(file.get_by_role("alert")).to_contain_text("What this file holds cannot be read")


def test_ask_fits_a_narrow_phone(visit):
    page = visit("ask?model=answerer", width=320, height=700)
    page.locator(".check-maps figure").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
