"""The view Ask an image, as a person uses it. Every number shown equals the tensor."""

import io
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from browser.browsing import check_accessible, number, violations
from regard.inspection.readings.rank import kendall_tau
from regard.studio.models import Models
from regard.studio.views.ask import check, read_picture
from regard.studio.views.ask_picture import draw_picture
from regard.tasks.captions.model import Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import QuestionAnswerer
from unit.studio.seers import make_seers, opened
from unit.studio.visiting import serving

QUESTION = "is there a circle?"


@pytest.fixture(scope="module")
def models():
    return opened(make_seers())


@pytest.fixture(scope="module")
def studio(models):
    with serving(models) as address:
        yield address


def address(**state):
    return f"ask?{urlencode({'seed': 3, **state})}"


def shown(page):
    """Wait until the checks are there too."""
    page.locator(".checks .check-maps figure").first.wait_for()
    return page


def cells(page):
    """Open the table of numbers and read it."""
    page.get_by_text("Numbers as a table").click()
    page.locator(".overlay tbody tr").first.wait_for()
    return [row.locator("td").all_inner_texts() for row in page.locator(".overlay tbody tr").all()]


def asked(models, *, seed=3, question=QUESTION, model="answerer"):
    with models.borrow(model, QuestionAnswerer) as thing:
        return thing.ask_pixels(draw_picture(seed, (64, 64), 3).tensor(), [question])[0]


def written(matrix):
    return [[number(one) for one in row] for row in matrix.tolist()]


def test_a_question_is_asked_and_the_answer_is_the_models(visit, models):
    page = shown(visit("ask?seed=3"))
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    found = asked(models)
    expect(page.locator(".result")).to_contain_text(found.answer)
    expect(page.locator(".bars .number")).to_have_text([number(value) for _, value in found.likeliest(6)])
    assert "question=is+there" in page.url
    words = page.get_by_role("group", name="Words").get_by_role("button")
    assert words.all_inner_texts() == ["all words", "is", "there", "a", "circle", "?"]
    expect(words.first).to_have_attribute("aria-pressed", "true")
    assert cells(shown(page)) == written(found.attention.maps.mean(0))


def test_a_word_a_layer_and_a_head_are_chosen(visit, models):
    page = shown(visit(address(question=QUESTION)))
    page.get_by_role("group", name="Words").get_by_role("button", name="circle").click()
    assert "word=3" in page.url
    page.get_by_label("Layer").select_option(label="layer 2")
    page.get_by_label("Head").select_option(label="head 1")
    found = asked(models).attention.weights[1, 0, 3]
    assert cells(page) == written(found)
    fact = page.locator(".checks dd").nth(1)
    assert fact.inner_text().startswith(number(float(found.max())))
    again = shown(visit(page.url.partition("#")[2]))
    assert cells(again) == written(found)


def test_places_and_words_are_reached_by_keyboard_alone(visit, models):
    page = shown(visit(address(question=QUESTION, word=0)))
    page.get_by_role("group", name="Words").get_by_role("button", name="is").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="there", exact=True)).to_be_focused()
    expect(page.get_by_role("button", name="there", exact=True)).to_have_attribute("aria-pressed", "true")
    page.locator(".picture-stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    value = float(asked(models).attention.maps[1][1, 7])
    expect(page.locator(".overlay .readout")).to_have_text(
        f"Row 2, column 8 (top right): {number(value)} · {value * 64:.1f} × uniform"
    )
    label = page.locator(".picture-stage").get_attribute("aria-label")
    assert label.startswith("What “there” attends to, over the picture. Largest: Row ")
    assert "position=1%2C7" in page.url


def test_pointing_tells_the_number_of_the_place(visit, models):
    page = shown(visit(address(question=QUESTION)))
    canvas = page.locator(".overlay canvas").nth(1)
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 5.5 / 8, "y": box["height"] * 2.5 / 8})
    value = float(asked(models).attention.maps.mean(0)[2, 5])
    expect(page.locator(".overlay .readout")).to_contain_text(f"Row 3, column 6 (top right): {number(value)}")


def test_ink_is_as_strong_as_the_weight(visit, models):
    page = shown(visit(address(question=QUESTION)))
    found = asked(models).attention.maps.mean(0)
    row, column = divmod(int(found.argmin()), 8)
    heavy_row, heavy_column = divmod(int(found.argmax()), 8)
    read = """([row, column]) => {
      const canvas = document.querySelectorAll(".overlay canvas")[1];
      const pen = canvas.getContext("2d");
      const [x, y] = [(column + 0.5) * canvas.width / 8, (row + 0.5) * canvas.height / 8];
      return [...pen.getImageData(x, y, 1, 1).data].slice(0, 3);
    }"""
    pixels = draw_picture(3, (64, 64), 3).pixels
    for place in ((row, column), (heavy_row, heavy_column)):
        gray = 102 + 0.6 * float(pixels[:, place[0] * 8 + 4, place[1] * 8 + 4].astype(float).mean())
        share = min(1.0, float(found[place]) / 0.125)
        expected = [gray * (1 - share) + ink * share for ink in (213, 94, 0)]
        assert page.evaluate(read, list(place)) == pytest.approx(expected, abs=1.5)


def test_the_checks_are_those_measured(visit, models):
    page = shown(visit(address(question=QUESTION)))
    with models.borrow("answerer", QuestionAnswerer) as thing:
        found = check(thing, read_picture(seed=3, file=None, size=(64, 64), channels=3), QUESTION)
    own = asked(models).attention.maps.mean(0).flatten().double()
    for name, measured in (("covering", found.occlusion), ("gradient", found.gradient)):
        tau = float(kendall_tau(own, measured[0].flatten().double()))
        fact = page.locator(".checks dt", has_text=f"Rank correlation with {name}").locator("+ dd")
        expect(fact).to_contain_text(f"τ {number(tau, 2)}")
    uniform = page.locator(".checks dt", has_text="If all weights were uniform").locator("+ dd")
    expect(uniform).to_contain_text(number(float(np.exp(found.uniform[0]))))
    band = page.locator(".checks dt", has_text="Seed-to-seed band").locator("+ dd")
    expect(band).to_contain_text("in 2 models")


def test_another_scene_is_drawn_with_other_questions(visit):
    page = shown(visit(address()))
    before = page.get_by_role("group", name="What else could be asked").get_by_role("button").all_inner_texts()
    assert before == [one.text for one in draw_picture(3, (64, 64), 3).questions if one.text in before]
    page.get_by_role("button", name="Draw another").click()
    page.wait_for_function("() => !location.hash.includes('seed=3&') && !location.hash.endsWith('seed=3')")
    shown(page)
    expect(page.get_by_role("button", name="Draw another")).to_be_focused()
    page.get_by_label("Scene number").fill("3")
    page.get_by_label("Scene number").press("Enter")
    expect(page.get_by_role("group", name="What else could be asked").get_by_role("button")).to_have_text(before)
    chip = page.get_by_role("group", name="What else could be asked").get_by_role("button").nth(1)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Question", exact=True)).to_have_value(before[1])
    expect(page.locator(".result .truth")).to_have_text(re.compile("true of this scene|in truth: "))


def test_a_picture_of_ones_own_is_asked_about(visit, models):
    buffer = io.BytesIO()
    picture = Image.fromarray(np.random.default_rng(1).integers(0, 255, (20, 30, 3), dtype=np.uint8))
    picture.save(buffer, format="png")
    page = shown(visit(address()))
    page.get_by_label("Or a picture of your own").set_input_files(
        {"name": "<img src=x onerror=alert(1)>.png", "mimeType": "image/png", "buffer": buffer.getvalue()}
    )
    expect(page.locator(".note")).to_contain_text(
        "<img src=x onerror=alert(1)>.png, 30 × 20 pixels, stretched to the 64 × 64"
    )
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    with models.borrow("answerer", QuestionAnswerer) as thing:
        found = thing.ask(picture, QUESTION)
    expect(page.locator(".bars .number").first).to_have_text(number(found.probability))
    assert cells(shown(page)) == written(found.attention.maps.mean(0))
    assert "seed" not in page.url


def test_what_is_no_picture_is_refused_and_the_page_goes_on(visit):
    page = shown(visit(address(question=QUESTION), expect_errors=True))
    own = page.get_by_label("Or a picture of your own")
    own.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"<svg onload='window.ran = 1'>"})
    expect(page.get_by_role("alert")).to_contain_text("`file` must be a PNG, JPEG or WebP picture that can be read")
    own = page.get_by_label("Or a picture of your own")
    own.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": bytes(4 * 2**20 + 1)})
    expect(page.get_by_role("alert")).to_contain_text("at most 4,194,304 bytes; this one has 4,194,305")
    page.get_by_role("button", name="Draw another").click()
    expect(page.get_by_role("alert")).to_be_hidden()
    shown(page)
    assert page.evaluate("() => window.ran") is None


def test_hostile_questions_are_shown_and_not_run(visit):
    page = shown(visit(address(question="\u202eis\u0007 <img src=x onerror=window.ran=1>")))
    expect(page.locator(".note").first).to_contain_text("does not know")
    assert page.evaluate("() => window.ran") is None
    assert page.locator(".view img").count() == 0
    assert "⟨202E⟩" in page.locator(".word-maps").inner_text() + page.locator(".note").first.inner_text()


def test_a_caption_has_a_map_for_each_word(visit, models):
    page = shown(visit(address(model="captioner", word=1)))
    with models.borrow("captioner", Captioner) as thing:
        found = thing.caption_pixels(draw_picture(3, (64, 64), 3).tensor())[0]
    expect(page.locator(".result")).to_contain_text(found.text)
    words = page.get_by_role("group", name="Words").get_by_role("button")
    expected = zip(found.attention.words, found.probabilities, strict=False)
    assert words.all_inner_texts()[1:] == [f"{word}\n{number(chance, 2)}" for word, chance in expected]
    assert cells(page) == written(found.attention.maps[1])


def test_a_label_has_the_maps_of_its_network(visit, models):
    page = shown(visit(address(model="gates")))
    with models.borrow("gates", ImageClassifier) as thing:
        [found] = thing.inspect_pixels(draw_picture(3, (16, 16), 3).pixels[None])
    expect(page.locator(".result")).to_have_text(found.decision.label)
    assert cells(page) == written(found.evidence)
    page.get_by_label("Map").select_option(found.positions[0].name)
    assert cells(page) == written(found.positions[0].weights)
    assert "map=stage" in page.url
    patches = shown(visit(address(model="patches")))
    expect(patches.locator(".checks")).to_contain_text("Weight on itself")


def test_another_model_is_chosen(visit):
    page = shown(visit(address()))
    page.get_by_label("Model").select_option("captioner")
    expect(page.get_by_role("heading", name="Caption")).to_be_visible()
    expect(page.get_by_label("Question", exact=True)).to_have_count(0)
    page.get_by_label("Model").select_option("mean")
    expect(page.locator(".checks")).to_contain_text("sees the mean of the picture")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("model", ["answerer", "captioner", "gates"])
def test_it_is_accessible_and_fits(visit, model, width):
    check_accessible(shown(visit(address(model=model), width=width)))


def test_without_a_model_it_says_how_to_train_one(open_page):
    with serving(Models()) as empty:
        page = open_page(f"{empty}#ask")
        expect(page.locator("pre")).to_contain_text("regard train --task questions --data builtin:shapes")
        assert violations(page) == []
        page.goto(f"{empty}#classify")
        expect(page.locator("pre")).to_contain_text("regard train --task classify --data reviews.csv")
