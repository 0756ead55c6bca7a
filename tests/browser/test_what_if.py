"""The view What if, as a person uses it: pulling, keys, masking, replacing. Every number shown equals the tensor."""

import math
import re
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from browser.browsing import check_accessible, number, violations
from regard.inspection.readings.compare import divergence
from regard.inspection.readings.distance import total_variation
from regard.studio.tensors import pack
from regard.studio.views import whatif as what_if
from regard.studio.views.whatif import write
from regard.studio.views.whatif_label import LabelRequest, relabel
from regard.tasks.classification.model import Classifier
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import read_source, source_layers
from regard.tasks.what_if import Intervention, decode_step
from unit.studio.seers import REVIEW, make_english, opened
from unit.studio.visiting import serving, unpacked

TEXT = "El libro está en la mesa."


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 20)


def address(**state):
    return f"whatif?{urlencode({'text': TEXT, **state})}"


def shown(page):
    page.locator(".moved b").wait_for()
    return page


def decoded(models, name="recurrent", step=0, replaced=None, **meddling):
    """Do the same past the server: undisturbed, then with what was done."""
    with models.borrow(name, Translator) as translator:
        source, _ = read_source(translator, TEXT)
        prefix = decode_step(translator, source.ids, []).tokens[:step]
        meddling.setdefault("layers", tuple(source_layers(translator.model)))
        ids = list(source.ids)
        for place, token in (replaced or {}).items():
            ids[place] = translator.tokenizers.source.encode(token).ids[0]
        found = [
            decode_step(translator, source.ids, prefix),
            decode_step(translator, ids, prefix, Intervention(**meddling)),
        ]
        return found, [write(translator, one.tokens) for one in found]


def wait_for(page, selector, text):
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent === text", arg=[selector, text]
    )


def check(page, models, **done):
    """Compare all that is shown with what the model does: distance, weights, probabilities, both translations."""
    (before, after), texts = decoded(models, **done)
    change = float(total_variation(before.log_probabilities, after.log_probabilities))
    wait_for(page, ".moved b", number(change))
    wait_for(
        page, ".outputs dd:last-of-type", (texts[1] or "(nothing)") + (" · the same words" * (texts[0] == texts[1]))
    )
    weights = after.weights.double().mean((0, 1)).tolist()
    told = page.locator(".pulls .number").all_inner_texts()
    hidden = done.get("hidden", ())
    assert told == ["masked" if place in hidden else number(one) for place, one in enumerate(weights)]
    rows = page.locator(".outcome .twin li").all()
    with models.borrow(done.get("name", "recurrent"), Translator) as translator:
        pieces = translator.tokenizers.target.pieces(range(translator.tokenizers.target.size))
    for row in rows:
        token = pieces.index(row.locator(".name").inner_text())
        first, second = (float(one.log_probabilities[token].exp()) for one in (before, after))
        assert row.locator(".number").inner_text() == f"{number(first)} → {number(second)}"
    assert len(rows) >= 6
    return weights


def test_undisturbed_nothing_changes(visit, models):
    page = shown(visit(address(step=1)))
    check(page, models, step=1)
    assert page.locator(".moved b").inner_text() == "0.0000"
    assert page.get_by_role("group", name="Word about to be generated").get_by_role("button", pressed=True).count() == 1


def test_a_weight_is_pulled_with_the_pointer(visit, models):
    page = shown(visit(address()))
    track = page.get_by_role("slider").nth(2)
    box = track.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    share = float(re.search(r"pin=2%3A([\d.]+)", page.url).group(1))
    assert share == pytest.approx(0.5, abs=0.02)
    weights = check(page, models, pinned={2: share})
    assert weights[2] == pytest.approx(share, abs=1e-6)
    assert track.get_attribute("aria-valuetext").startswith(f"{number(share)}, pinned; the model's own ")


def test_a_weight_is_pulled_with_the_keys(visit, models):
    page = shown(visit(address()))
    page.get_by_role("slider").nth(1).focus()
    page.keyboard.press("End")
    check(page, models, pinned={1: 1.0})
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")
    check(page, models, pinned={1: 0.89})
    page.keyboard.press("0")
    check(page, models, pinned={1: 0.0})
    page.keyboard.press("Delete")
    check(page, models)
    page.keyboard.press("m")
    check(page, models, hidden=(1,))
    assert page.get_by_role("slider").nth(1).get_attribute("aria-valuetext") == "masked"
    assert page.evaluate("document.activeElement.getAttribute('role')") == "slider"


def test_buttons_do_the_same(visit, models):
    page = shown(visit(address(step=1)))
    page.locator(".pulls li").nth(3).locator(".name").click()
    page.get_by_role("button", name="Zero").click()
    check(page, models, step=1, pinned={3: 0.0})
    page.get_by_role("button", name="Force to 1").click()
    check(page, models, step=1, pinned={3: 1.0})
    page.get_by_role("button", name="Mask the word").click()
    check(page, models, step=1, hidden=(3,))
    page.get_by_role("button", name="Reset all").click()
    check(page, models, step=1)
    assert "pin=" not in page.url
    assert "mask=" not in page.url


def test_a_token_is_replaced(visit, models):
    page = shown(visit(address(), expect_errors=True))
    page.locator(".pulls li").nth(1).locator(".name").click()
    page.get_by_label("Read another token instead").fill("cas")
    page.wait_for_function("() => [...document.querySelectorAll('datalist option')].some(one => one.value === 'casa')")
    page.get_by_label("Read another token instead").fill("casa")
    page.get_by_role("button", name="Replace").click()
    check(page, models, replaced={1: "casa"})
    assert page.locator(".pulls li").nth(1).locator(".name").inner_text() == "libro → casa"
    page.get_by_label("Read another token instead").fill("dos palabras")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("`replaced` must be one token of the model").wait_for()


def test_a_link_reopens_all_that_was_done(visit, models):
    page = shown(visit(address(step=1, pin="2:0.6,0:0", mask="4", swap="1:casa", when="onward")))
    check(page, models, step=1, pinned={2: 0.6, 0: 0.0}, hidden=(4,), replaced={1: "casa"}, onward=True)
    assert page.get_by_label("from here on").is_checked()
    page.get_by_label("at this step").check(force=True)
    check(page, models, step=1, pinned={2: 0.6, 0: 0.0}, hidden=(4,), replaced={1: "casa"})
    page.get_by_role("group", name="Word about to be generated").get_by_role("button").first.click()
    check(page, models, pinned={2: 0.6, 0: 0.0}, hidden=(4,), replaced={1: "casa"})


def test_one_head_of_a_transformer(visit, models):
    page = shown(visit(address(model="transformer", pin="2:0.5")))
    check(page, models, name="transformer", pinned={2: 0.5})
    page.get_by_label("Head").select_option("1")
    (_, after), _ = decoded(models, "transformer", pinned={2: 0.5}, head=1)
    expected = [number(one) for one in after.weights[0, 1].tolist()]
    page.wait_for_function(
        "texts => [...document.querySelectorAll('.pulls .number')].map(one => one.textContent).join() === texts.join()",
        arg=expected,
    )
    assert "head=1" in page.url


def test_another_distribution_is_looked_for(visit, models):
    page = shown(visit(address(step=1)))
    with page.expect_response("**/api/whatif/another") as answered:
        page.get_by_role("button", name="Search for other weights").click()
    told = answered.value.json()
    page.locator(".verdict").wait_for()
    facts = page.locator(".another-result .facts b").all_inner_texts()
    assert facts == [number(told["divergence"]), number(told["change"]), number(told["uniform"]["change"])]
    own, other = unpacked(told["own"]).double(), torch.eye(8).double()
    most = max(float(divergence(own[0] / own[0].sum(), one)) for one in other)
    assert f"of at most {number(most)} from these weights" in page.locator(".another-result .facts").inner_text()
    verdict = page.locator(".verdict").inner_text()
    if told["within_tolerance"]:
        assert f"{math.floor(100 * told['divergence'] / most + 0.5)} % of the largest divergence" in verdict
    assert verdict.startswith("Found" if told["within_tolerance"] else "None found: in 20 steps of search")
    assert "that none were found does not show they are" in page.locator(".another-result").inner_text()
    (before, _), _ = decoded(models, step=1)
    own = [number(one) for one in before.weights[0, 0].tolist()]
    shown_weights = (
        page.get_by_role("list", name="Own and other weights", exact=True).locator(".number").all_inner_texts()
    )
    assert [one.split(" → ")[0] for one in shown_weights] == own
    page.get_by_role("button", name="Pin these weights above").click()
    page.wait_for_function("() => document.querySelectorAll('.pulls .pinned').length === 8")


def test_it_is_said_when_no_other_distribution_is_found(visit):
    page = shown(visit(address()))
    page.route(
        "**/api/whatif/another",
        lambda route: route.fulfill(
            json={
                **(answer := route.fetch().json()),
                "within_tolerance": False,
                "change": 0.25,
                "uniform": answer["uniform"],
            }
        ),
    )
    page.get_by_role("button", name="Search for other weights").click()
    page.locator(".verdict").wait_for()
    assert page.locator(".verdict").inner_text() == (
        "None found: in 20 steps of search the prediction always moved by more than ε; the least was 0.2500. "
        "That does not show that there is none."
    )


def test_it_is_said_where_one_place_alone_is_open(visit):
    page = shown(visit(address()))

    def answer(route):
        told = route.fetch().json()
        weights = told["attention"]["maps"][0]["weights"]
        told["attention"]["maps"][0]["mask"] = pack(torch.eye(*weights["shape"][-2:]))
        route.fulfill(json=told)

    page.route("**/api/whatif/begin", answer)
    page.reload()
    shown(page)
    assert page.locator(".verdict").inner_text().startswith("No alternative exists: at this step one position alone")
    assert page.get_by_role("button", name="Search for other weights").count() == 0
    assert page.locator(".checks dd").nth(1).inner_text().startswith("1.0000 one position alone is open")


def test_masked_words_are_not_in_the_baseline(visit):
    page = shown(visit(address(mask="1,4")))
    baseline = page.locator(".checks dd").nth(1)
    expect(baseline).to_have_text(
        f"{number(1 / 6)} each of 6 positions that are not masked, if it attended everywhere alike"
    )


def test_a_model_without_attention_says_so(visit):
    page = visit(address(model="fixed"))
    page.get_by_text("This model has no attention").wait_for()


def test_bad_input_is_told_in_the_page(visit):
    page = visit(address(text=" "), expect_errors=True)
    page.get_by_label("Sentence", exact=True).fill("  ")
    page.get_by_role("button", name="Translate", exact=True).click()
    page.get_by_role("alert").get_by_text("`text` must be a sentence").wait_for()


def test_a_hostile_sentence_is_only_text(visit):
    page = shown(visit(address(text="<img src=x onerror=alert(1)>")))
    assert page.locator("main img").count() == 0
    assert page.locator(".pulls .name").all_inner_texts()[:2] == ["⟨<⟩", "⟨img⟩"]


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, width):
    page = shown(visit(address(step=1, pin="2:0.6", mask="4", swap="1:casa"), width=width))
    page.get_by_role("button", name="Search for other weights").click()
    page.locator(".verdict").wait_for()
    check_accessible(page)


@pytest.fixture
def labels(open_page):
    """The view with classifiers alone."""
    made = make_english()
    models = opened({name: made[name] for name in ("attending", "transformer", "last")})

    def relabeled(name, text=REVIEW, **done):
        with models.borrow(name, Classifier) as classifier:
            return relabel(classifier, LabelRequest(text=text, **done))

    with serving(models) as served:
        yield lambda **state: open_page(f"{served}#whatif?{urlencode({'text': REVIEW, **state})}"), relabeled


def check_labels(page, found):
    wait_for(page, ".moved b", number(found["change"]))
    expect(page.locator(".outcome .twin .number")).to_have_text(
        [f"{number(one['before'])} → {number(one['after'])}" for one in found["candidates"]]
    )
    expect(page.locator(".outcome .twin .name")).to_have_text([one["token"] for one in found["candidates"]])


def test_labels_follow_the_weights_that_are_pulled(labels):
    visit, relabeled = labels
    page = visit(model="transformer")
    check_labels(shown(page), relabeled("transformer"))
    page.get_by_role("slider").nth(2).focus()
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    pinned = [{"position": 2, "share": 0.9}]
    check_labels(page, relabeled("transformer", pinned=pinned))
    assert page.locator(".pulls .number").nth(2).inner_text() == "0.9000"
    page.get_by_role("slider").nth(4).focus()
    page.keyboard.press("m")
    found = relabeled("transformer", pinned=pinned, hidden=[4])
    check_labels(page, found)
    assert page.locator(".pulls .number").all_inner_texts() == [
        "masked" if place == 4 else number(one) for place, one in enumerate(found["weights"])
    ]
    page.reload()
    check_labels(shown(page), found)
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.get_by_role("button", name="Reset all").click()
    check_labels(page, relabeled("transformer"))


def test_another_classifier_is_chosen(labels):
    visit, relabeled = labels
    page = visit()
    check_labels(shown(page), relabeled("attending"))
    page.get_by_label("Model").select_option("transformer")
    check_labels(page, relabeled("transformer"))
    assert "model=transformer" in page.url


def test_a_text_is_typed_for_a_classifier(labels):
    visit, relabeled = labels
    page = visit()
    page.get_by_label("Text", exact=True).fill("too <b>long")
    page.keyboard.press("Enter")
    expect(page.locator(".pulls li")).to_have_count(5)
    found = relabeled("attending", "too <b>long")
    expect(page.locator(".pulls .name")).to_have_text(found["tokens"])
    check_labels(page, found)
