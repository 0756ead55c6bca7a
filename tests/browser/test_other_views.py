"""Step by step, Classify, Ask an image, Compare and Mechanisms, as a person uses them."""

import base64
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser.browsing import number
from unit.studio.visiting import unpacked

TEXT = "El libro está en la mesa."
REVIEW = "A good book, though too long."
PASSAGE = "The animal did not cross the street because it was too tired, and they like it."
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def at(view, **state):
    return f"{view}?{urlencode(state)}"


def apart(page):
    page.locator(".check-line").first.wait_for()
    return page


def test_a_step_is_the_models_and_keys_move_in_it(visit_all, answered):
    page = apart(visit_all(at("steps", text=TEXT)))
    reading = answered("steps/read", model="recurrent", text=TEXT, target=None)
    body = {"model": "recurrent", "text": TEXT, "target": reading["target"], "layer": reading["layer"], "head": 0}
    answer = answered("steps/apart", **body, query=1)
    scores, weights = unpacked(answer["scores"]).flatten(), unpacked(answer["weights"]).flatten()
    heavy = int(weights.argmax())
    status = f"{answer['query_label']} and {answer['key_labels'][heavy]}: score {number(float(scores[heavy]))}, "
    expect(page.locator("main [role=status]").first).to_have_text(f"{status}weight {number(float(weights[heavy]))}")
    page.get_by_role("group", name="Keys").get_by_role("button").first.click()
    page.wait_for_function("() => location.hash.includes('key=1')")
    page.locator(".queries .chip").nth(2).click()
    page.wait_for_function("() => location.hash.includes('query=3')")


def test_the_path_is_gone_through_stage_by_stage(visit_all):
    page = apart(visit_all(at("steps", model="transformer", text=TEXT, head=2)))
    assert page.get_by_label("Head", exact=True).input_value() == "2"
    for heading in ("Query, key, value", "Output map", "Residual", "Logits → word"):
        page.get_by_role("heading", name=re.compile(f"^{heading}")).first.wait_for()
    play = page.get_by_role("button", name="Next step")
    for stage in (1, 2, 3):
        play.click()
        page.wait_for_function("stage => location.hash.includes(`stage=${stage}`)", arg=stage)
    page.get_by_role("button", name="Stages").click()
    page.get_by_role("button", name="All of them").click()
    page.wait_for_function("() => !location.hash.includes('stage=')")
    page = apart(visit_all(at("steps", model="gpt2", text="the cat sat")))
    page.get_by_role("heading", name=re.compile("^Logit lens")).wait_for()


def test_stages_move_by_themselves(browser, whole_studio):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{whole_studio}#{at('steps', model='transformer', text=TEXT)}")
    page.locator(".check-line").first.wait_for(timeout=30_000)
    page.get_by_role("button", name="▶ Play").click()
    page.wait_for_function("() => location.hash.includes('stage=2')", timeout=15_000)
    page.get_by_role("button", name="❚❚ Pause").click()
    page.get_by_role("button", name="▶ Play").wait_for()
    page.close()


def test_labels_and_shares_are_the_models(visit_all, answered):
    page = visit_all(at("classify", model="attending-reader", text=REVIEW))
    answer = answered("classify/read", model="attending-reader", text=REVIEW)
    best = max(answer["probabilities"], key=lambda one: one["probability"])
    expect(page.locator(".side .result")).to_have_text(
        re.compile(rf"^{re.escape(best['name'])}\s*{number(best['probability'])}$")
    )
    words = page.get_by_role("group", name=re.compile("^Leave-one-out")).get_by_role("button")
    words.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == words.nth(1).inner_text()
    page.locator("textarea").fill("a zebra")
    page.keyboard.press("Enter")
    page.get_by_text("The model does not know “zebra”").wait_for()
    page.locator("textarea").fill("")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="Type a text first.").wait_for()


def test_the_map_of_a_long_text_is_not_blank(visit_all):
    page = visit_all(at("classify", model="transformer-reader", text=" ".join([PASSAGE] * 3)))
    page.locator(".map-stage .legend").wait_for()
    assert "or more" in page.locator(".map-stage .legend").inner_text()  # eight equal shares, not one
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Colors end at").select_option("largest")
    page.wait_for_function("() => location.hash.includes('scale=largest')")


def test_a_picture_is_asked_about(visit_all, answered, tmp_path):
    page = visit_all("ask?model=answerer", expect_errors=True)
    page.locator(".picture-stage").wait_for()
    page.get_by_role("button", name="Questions").click()
    page.locator(".popover:popover-open button").nth(1).click()
    page.wait_for_function("() => location.hash.includes('question=')")
    for _ in range(40):  # the stage is drawn anew when the answer comes
        page.locator(".picture-stage").focus()
        page.keyboard.press("ArrowRight")
        if re.match("Row 1, column ([2-9]|1[0-9])", page.locator(".readout").inner_text()):
            break
        page.wait_for_timeout(250)
    else:
        pytest.fail("an arrow does not move through the picture")
    page.get_by_role("button", name="Another picture").click()
    expect(page.locator(".ask-buttons")).not_to_contain_text(re.compile(r"picture 1\b"))
    settings = page.get_by_role("button", name=re.compile("^Settings"))
    for name, data, said in (("a.png", PIXEL, None), ("b.png", b"no picture", "This file is not a picture.")):
        (tmp_path / name).write_bytes(data)
        settings.click()
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        if said is None:
            expect(page.locator(".ask-buttons")).to_contain_text(name)
        else:
            page.get_by_role("alert").filter(has_text=said).wait_for()
        page.keyboard.press("Escape")


@pytest.mark.parametrize(("model", "heading"), [("captioner", "Caption"), ("gates", "Label"), ("vit", "Label")])
def test_pictures_are_described_and_labelled(visit_all, model, heading):
    page = visit_all(f"ask?model={model}")
    page.locator(".picture-stage").wait_for()
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    assert page.locator(".side .result").inner_text().strip()


def test_two_models_and_two_heads_are_compared(visit_all):
    page = visit_all(at("compare", text="El libro", model="recurrent", other="again"))
    page.get_by_role("region", name="Difference").locator("svg").wait_for()
    stage = page.get_by_role("region", name="Difference").get_by_role("application")
    stage.focus()
    page.keyboard.press("ArrowRight")
    assert re.search(r"→ libro", page.get_by_role("region", name="Difference").locator(".readout").inner_text())
    page.get_by_role("radio", name="Heads").check()
    page.wait_for_function("() => location.hash.includes('part=heads') || location.hash.includes('heads')")
    page = visit_all(at("compare", text="El libro", model="transformer", other="fixed"))
    page.get_by_text("no attention").first.wait_for()


def test_mechanisms_are_typed_and_chosen(visit_all):
    page = visit_all("mechanisms", expect_errors=True)
    cell = page.get_by_label("Queries, q1, 1", exact=True)
    cell.fill("3")
    cell.press("Enter")
    page.wait_for_function("() => document.querySelector('main [role=status]').textContent.includes('score 3.0000')")
    page.get_by_label("Score", exact=True).select_option(label="Scaled dot product")
    page.wait_for_function("() => document.querySelector('main [role=status]').textContent.includes('score 1.7321')")
    cell.fill("1e9")
    cell.press("Enter")
    page.get_by_text("q1, feature 1: at most 1,000,000.").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_equations_are_not_cut_off(visit_all, width):
    page = visit_all("mechanisms", width=width)
    page.get_by_role("button", name="Examples").first.click()
    page.locator(".popover:popover-open button", has_text="Kernel").click()
    page.wait_for_timeout(300)
    clipped = page.evaluate(
        """() => [...document.querySelectorAll("main .equation, main .scroll")]
        .filter((one) => one.scrollWidth > one.clientWidth + 1)
        .filter((one) => getComputedStyle(one).overflowX === "hidden").length"""
    )
    assert clipped == 0
    for part in ("Sinusoids", "Soft dictionary"):
        page.get_by_label(part, exact=True).check()
        page.locator("main svg, main canvas, main table").first.wait_for()
