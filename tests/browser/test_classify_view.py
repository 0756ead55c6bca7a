"""The view Classify, as a person uses it. Every number shown equals the tensor."""

from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from browser.browsing import check_accessible, number, read_table, violations
from regard.inspection.readings.rank import kendall_tau
from regard.studio.examples import PASSAGE
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from unit.studio.seers import REVIEW, make_english, opened
from unit.studio.visiting import serving

WAYS = ("model", "removal", "gradient")


@pytest.fixture(scope="module")
def models():
    return opened(make_english())


@pytest.fixture(scope="module")
def studio(models):
    with serving(models) as address:
        yield address


def address(**state):
    return f"classify?{urlencode({'text': REVIEW, **state})}"


def shown(page):
    page.locator(".matrix, .view > .stack .dim").first.wait_for()
    page.wait_for_function(
        "() => document.querySelectorAll('.checks').length > 1 || document.body.innerText.includes('no map of it')"
    )
    return page


def decided(models, name, text=REVIEW):
    with models.borrow(name, Classifier) as thing:
        return {by: thing.classify([text], by=by)[0] for by in WAYS}


@pytest.mark.parametrize("name", ["transformer", "structured", "last"])
def test_labels_and_shares_are_the_models(visit, models, name):
    page = shown(visit(address(model=name)))
    found = decided(models, name)
    expect(page.locator(".result")).to_contain_text(found["model"].label)
    ranked = sorted(found["model"].probabilities.values(), reverse=True)
    expect(page.locator(".bars .number")).to_have_text([number(one) for one in ranked])
    for index, by in enumerate(WAYS):
        words = page.locator(".shaded").nth(index).get_by_role("button")
        expected = zip(found[by].words, found[by].weights, strict=True)
        assert [one.get_attribute("aria-label") for one in words.all()] == [
            f"{word}: {number(one)}" for word, one in expected
        ]
    page.get_by_text("Numbers as a table").first.click()
    rows = [
        row.locator("td").all_inner_texts()
        for row in page.get_by_role("region", name="Shares of the words").locator("tbody tr").all()
    ]
    assert rows == [[number(found[by].weights[word]) for by in WAYS] for word in range(8)]


def test_a_text_is_typed_and_its_words_are_reached_by_keyboard(visit, models):
    page = shown(visit(address(model="structured")))
    page.get_by_label("Text", exact=True).fill("too long, though good")
    page.get_by_label("Text", exact=True).press("Enter")
    found = decided(models, "structured", "too long, though good")
    words = page.locator(".shaded").first.get_by_role("button")
    expect(words).to_have_text(["too", "long", ",", "though", "good"])
    words.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    shares = [found[by].weights[4] for by in WAYS]
    names = ("own weight", "removal", "saliency")
    expect(page.locator(".readout").first).to_have_text(
        "“good”: "
        + " · ".join(f"{name} {number(one)} ({one * 5:.1f} × equal)" for name, one in zip(names, shares, strict=True))
    )
    assert "word=4" in page.url
    expect(page.locator(".shaded-word[aria-pressed=true]")).to_have_text(["good"] * 3)
    again = shown(visit(page.url.partition("#")[2]))
    expect(again.locator(".readout").first).to_contain_text("“good”")


def test_pointing_tells_the_shares(visit, models):
    page = shown(visit(address(model="attending")))
    page.locator(".shaded").nth(1).get_by_role("button").nth(2).hover()
    share = decided(models, "attending")["removal"].weights[2]
    expect(page.locator(".readout").first).to_contain_text("“book”: ")
    expect(page.locator(".readout").first).to_contain_text(f"removal {number(share)}")


def test_one_way_of_weighing_is_chosen(visit):
    page = shown(visit(address(model="structured")))
    page.get_by_role("radio", name="Removal").check()
    expect(page.locator(".shaded")).to_have_count(1)
    expect(page.get_by_role("radio", name="Removal")).to_be_focused()
    assert "by=removal" in page.url
    expect(shown(visit(address(model="structured", by="gradient"))).locator(".measure h3")).to_contain_text("Saliency")


def test_the_checks_are_those_measured(visit, models):
    page = shown(visit(address(model="attending")))
    found = decided(models, "attending")
    for name, one, other in (
        ("own weights and removal", "model", "removal"),
        ("removal and saliency", "removal", "gradient"),
    ):
        tau = float(kendall_tau(*(torch.tensor(found[by].weights, dtype=torch.float64) for by in (one, other))))
        fact = page.locator(".checks dt", has_text=f"Rank correlation: {name}").locator("+ dd")
        expect(fact).to_contain_text(f"τ {number(tau, 2)}")
    band = page.locator(".checks dt", has_text="Seed-to-seed band").first.locator("+ dd")
    expect(band).to_contain_text("in 2 models of this kind")
    largest = page.locator(".checks dt", has_text="Largest weight").first.locator("+ dd")
    expect(largest).to_contain_text(number(max(found["model"].weights)))


def test_maps_of_words_and_hops_are_the_models(visit, models):
    page = shown(visit(address(model="transformer")))
    with models.borrow("transformer", Classifier) as thing:
        trace = thing.inspect(REVIEW).trace
    assert read_table(page) == [[number(one) for one in row] for row in trace[0].weights[0].mean(0).tolist()]
    page.get_by_label("Head").select_option(label="head 2")
    page.get_by_label("Layer").select_option("reader.blocks.1.attention")
    page.get_by_label("Head").select_option(label="head 2")
    assert read_table(page) == [[number(one) for one in row] for row in trace[1].weights[0, 1].tolist()]
    hops = shown(visit(address(model="structured")))
    with models.borrow("structured", Classifier) as thing:
        weights = thing.inspect(REVIEW).trace[0].weights[0, 0]
    assert read_table(hops) == [[number(one) for one in row] for row in weights.tolist()]
    assert weights.shape == (3, 8)
    none = visit(address(model="last"))
    expect(none.get_by_text("This model has no attention: there is no map of it.")).to_be_visible()


def test_the_passage_says_what_the_model_does_with_it_and_their(visit, models):
    page = shown(visit(address(model="transformer")))
    page.get_by_role("group", name="Examples").get_by_role("button", name="a restaurant").click()
    with models.borrow("transformer", Classifier) as thing:
        trace = thing.inspect(PASSAGE).trace
    mean = sum(call.weights[0].mean(0) for call in trace if call.layer.startswith("reader")) / 2
    lines = page.locator(".pronouns > li")
    expect(lines).to_have_count(2)
    told = lines.nth(1).inner_text()
    place = next(
        i for i, word in enumerate(thing.tokenizer.pieces(thing.encode([PASSAGE])[0].tolist())) if word == "their"
    )
    top = mean[place].topk(3)
    for weight in top.values.tolist():
        assert number(weight) in told
    assert "A reader may take it for “Restaurant”".lower() in told.lower()
    hops = shown(visit(address(model="structured", text=PASSAGE)))
    expect(hops.locator(".passage")).to_contain_text("In this model no word attends to others")


def test_a_language_model_tells_the_same_step_by_step(visit, models):
    text = " ".join(PASSAGE.replace(".", " .").replace(",", " ,").split())
    page = visit(f"steps?{urlencode({'model': 'spaced', 'text': text})}")
    page.locator(".check-line").wait_for()
    expect(page.locator(".pronouns > li")).to_have_count(2)
    with models.borrow("spaced", LanguageModel) as thing:
        weights = thing.inspect(text).call().weights[0].mean(0)
    place = 1 + text.split().index("it")
    expect(page.locator(".pronouns > li").first).to_contain_text(number(float(weights[place].max())))
    page.get_by_label("Text", exact=True).fill("the soup")
    page.get_by_label("Text", exact=True).press("Enter")
    expect(page.locator(".pronouns li")).to_have_count(0)
    assert violations(page) == []


def test_hostile_and_long_texts_do_no_harm(visit):
    page = shown(visit(address(model="structured", text='<img src=x onerror="window.ran=1"> \u202eabc\u0007 <b>')))
    assert page.evaluate("() => window.ran") is None
    assert page.locator(".view img").count() == 0
    assert "⟨202E⟩" in page.locator(".shaded").first.inner_text()
    assert violations(page) == []
    page.get_by_label("Text", exact=True).fill("good book " * 2500)
    page.get_by_role("button", name="Classify").click()
    expect(page.locator(".note")).to_contain_text("its last 4,600 tokens were not read")
    expect(page.get_by_text("Removal: Not measured for more than 200 words.")).to_be_visible()
    expect(page.locator(".shaded")).to_have_count(2)


def test_a_refusal_is_spoken(visit):
    page = shown(visit(address(model="structured"), expect_errors=True))
    page.get_by_label("Text", exact=True).fill("x" * 50_001)
    page.get_by_role("button", name="Classify").click()
    expect(page.get_by_role("alert")).to_contain_text("`text` is not as it must be")
    expect(page.locator(".shaded")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, width):
    page = shown(visit(address(model="transformer", text=PASSAGE), width=width))
    page.locator(".pronouns").wait_for()
    check_accessible(page)
