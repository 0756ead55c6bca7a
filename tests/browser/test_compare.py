"""The view Compare, as a person uses it: two maps, heads, quality by length, a run that goes on."""

import math
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from browser.browsing import check_accessible, number, save, violations
from regard.data.text.special import END
from regard.inspection.readings.compare import divergence
from regard.studio.models import Models
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import attention_of, read_source
from unit.studio.runs import make_runs, metrics, write_metrics
from unit.studio.visiting import serving

TEXT = "El libro está en la mesa."


def address(**state):
    return f"compare?{urlencode({'text': TEXT, **state})}"


def weights(models, name, target, text=TEXT):
    """Look at what the page shows, past the server."""
    with models.borrow(name, Translator) as translator:
        source, _ = read_source(translator, text)
        tokens = [*translator.tokenizers.target.encode(target).ids, END]
        return attention_of(translator, source, tokens).maps[0].weights


def numbers(page, which):
    """Open the table under one of the matrices and give its cells."""
    figure = page.locator(".matrix").nth(which)
    figure.locator("details summary").click()
    figure.locator("tbody tr").first.wait_for()
    return [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]


def written(matrix):
    return [[number(float(one)) for one in row] for row in matrix]


def shown(page):
    page.locator(".mean-divergence").wait_for()
    return page


def test_two_models_side_by_side(visit, models):
    page = shown(visit(address(model="recurrent", other="again", unit="tokens")))
    target = page.locator(".shown b").inner_text()
    first, second = (weights(models, name, target)[0, 0] for name in ("recurrent", "again"))
    assert numbers(page, 0) == written(first)
    assert numbers(page, 1) == written(second)
    assert numbers(page, 2) == written(second.double() - first.double())
    rows = divergence(first.double() / first.double().sum(-1, keepdim=True), second.double())
    told = page.get_by_role("list", name="Divergence of each row").locator(".number").all_inner_texts()
    assert [float(one) for one in told] == pytest.approx(rows.tolist(), abs=1e-4)
    assert float(page.locator(".mean-divergence").inner_text()) == pytest.approx(float(rows.mean()), abs=1e-4)
    with models.borrow("again", Translator) as translator:
        assert translator.translate([TEXT])[0] in page.locator(".said-table").inner_text()


def test_the_difference_is_read_with_the_keys(visit, models):
    page = shown(visit(address(model="recurrent", other="again", unit="tokens")))
    target = page.locator(".shown b").inner_text()
    first, second = (weights(models, name, target)[0, 0] for name in ("recurrent", "again"))
    page.locator(".matrix .stage").nth(2).focus()
    page.keyboard.press("ArrowRight")
    readout = page.locator(".matrix").nth(2).locator(".readout").inner_text()
    one, other = float(first[0, 1]), float(second[0, 1])
    assert f": {number(other - one)} · {number(one)} in the first, {number(other)} in the second" in readout


def test_models_of_other_tokens_are_compared_by_words(visit):
    page = shown(visit(address(model="recurrent", other="transformer", target="The book")))
    assert page.get_by_text("They divide text into different tokens, so words are compared").count() == 1
    assert [len(row) for row in numbers(page, 2)] == [8, 8, 8]


def test_a_model_without_attention_has_no_map(visit):
    page = visit(address(model="recurrent", other="fixed"))
    page.get_by_text("There is no map to compare: fixed has no attention.").wait_for()


def test_who_decides_what_both_say(visit, models):
    page = shown(visit(address(model="recurrent", other="again")))
    with models.borrow("again", Translator) as translator:
        expected = translator.translate([TEXT])[0]
    page.get_by_label("the output of again").check(force=True)
    page.wait_for_function("text => document.querySelector('.shown b').textContent === text", arg=expected)
    assert "forced=second" in page.url


def test_a_model_is_compared_with_its_own_values(visit):
    page = shown(visit(address(model="recurrent", other="recurrent")))
    assert page.get_by_role("heading", name="Second: recurrent, weight × value norm").count() == 1
    page.get_by_label("Measure of the second").select_option("weights")
    page.wait_for_function("() => document.querySelector('.mean-divergence').textContent === '0.0000'")


def test_two_heads_of_one_model(visit, models):
    page = shown(visit(address(model="transformer", other="transformer", unit="tokens", head=0, head2=1)))
    target = page.locator(".shown b").inner_text()
    own = weights(models, "transformer", target)[0]
    assert numbers(page, 0) == written(own[0])
    page.get_by_label("Head of the first").select_option("1")
    page.wait_for_function("() => document.querySelector('.mean-divergence').textContent === '0.0000'")
    assert "head=1" in page.url


def test_all_heads_at_a_glance(visit, models):
    page = visit(address(model="transformer", other="transformer", part="heads", unit="tokens"))
    page.locator(".thumb-button").first.wait_for()
    with models.borrow("transformer", Translator) as translator:
        target = translator.translate([TEXT])[0]
    own = weights(models, "transformer", target)[0].double()
    entropies = (-torch.special.xlogy(own, own).sum(-1)).mean(-1)
    figures = page.locator(".thumb-figures").all_inner_texts()
    assert figures == [
        f"H {number(float(entropies[head]), 2)} · max {number(float(own[head].max(-1).values.mean()), 2)}"
        for head in range(own.size(0))
    ]
    page.get_by_label("lowest entropy").check(force=True)
    sharpest = int(entropies.argmin())
    page.wait_for_function(
        "name => document.querySelector('.thumb-name').textContent === name", arg=f"Layer 1, head {sharpest + 1}"
    )
    page.locator(".thumb-button").nth(1).click()
    chosen = 1 - sharpest
    page.get_by_role("heading", name=f"Layer 1, head {chosen + 1}").wait_for()
    assert numbers(page, 0) == written(own[chosen])
    assert f"cell=0.{chosen}" in page.url
    page.get_by_role("button", name="Compare it as the second").click()
    shown(page)
    assert page.get_by_label("Head of the second").input_value() == str(chosen)


@pytest.fixture
def with_runs(tmp_path, open_page):
    runs = make_runs(tmp_path)
    with serving(Models([run.path for run in runs])) as served:
        yield lambda state, **settings: (open_page(f"{served}#{state}", **settings), runs)


def test_training_is_followed_while_it_goes(with_runs):
    page, (_, going) = with_runs("compare?part=training")
    page.get_by_text("going: going on · step 60 of 400 · cross-entropy 0.100").wait_for()
    assert "done: finished · step 100" in page.locator(".runs").inner_text()
    write_metrics(going, metrics([80], valid=[80]))
    page.get_by_text("going: going on · step 80 of 400 · cross-entropy 0.075").wait_for()
    stage = page.locator(".curve-stage").first
    stage.focus()
    page.keyboard.press("Home")
    readout = page.locator(".curve").first.locator(".readout")
    assert readout.inner_text() == "step 10: done, training 0.600 · going, training 0.600"
    figure = page.locator(".curve").nth(1)
    assert figure.locator(".curve-title").inner_text() == "BLEU"
    figure.locator("summary").click()
    figure.locator("tbody tr").first.wait_for()
    rows = [row.inner_text().split() for row in figure.locator("tbody tr").all()]
    assert [row[:3] for row in rows] == [["done", "50", "25.0"], ["done", "100", "50.0"], ["going", "80", "40.0"]]


def test_losses_are_worded_for_the_task_where_it_is_known(with_runs, open_page):
    page, (done, _) = with_runs("compare?part=training")
    titles = page.locator(".curve-title")
    titles.first.wait_for()
    told = titles.all_inner_texts()
    assert told[0] == "loss"  # of one run nothing is known yet
    with serving(Models([done.path])) as served:
        page = open_page(f"{served}#compare?part=training")
        page.locator(".curve-title").first.wait_for()
        assert page.locator(".curve-title").first.inner_text() == "cross-entropy, nats a target token"


def check_all_looks(page):
    """Axe finds nothing in light and dark, and all of it fits a phone."""
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        page.locator(".panel h2").first.wait_for()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_quality_by_length_is_measured_with_progress(with_runs, open_page, tmp_path):
    page, _ = with_runs("compare?part=lengths")
    page.get_by_text("Not measured yet on the same sentences: done.").wait_for()
    with page.expect_response("**/api/compare/measure"):
        page.get_by_role("button", name="Measure now").click()
    page.get_by_role("progressbar", name="Measuring").wait_for()
    page.locator(".curve svg").first.wait_for(timeout=60_000)
    with page.expect_response("**/api/compare/lengths") as answered:
        page.reload()
    page.locator(".curve details summary").click()
    page.locator(".curve tbody tr").first.wait_for()
    result = answered.value.json()["results"]["done"]
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".curve tbody tr").all()]
    assert [row[1] for row in rows] == [number(one["BLEU"]["value"], 1) for one in result["bins"]]
    page.get_by_role("radio", name="chrF").click(force=True)
    page.wait_for_function("() => document.querySelector('.curve-title').textContent === 'chrF'")
    assert "metric=chrF" in page.url
    assert page.evaluate("document.activeElement.value") == "chrF"
    check_all_looks(page)
    file = open_page(save(page, tmp_path))
    file.locator(".curve details summary").click()
    file.locator(".curve tbody tr").first.wait_for()
    rows = [row.locator("td").all_inner_texts() for row in file.locator(".curve tbody tr").all()]
    assert [row[1] for row in rows] == [number(one["chrF"]["value"], 1) for one in result["bins"]]
    check_all_looks(file)


def test_curves_of_a_run_that_goes_on_are_kept_in_a_file(with_runs, open_page, tmp_path):
    page, (_, going) = with_runs("compare?part=training")
    page.get_by_text("going: going on · step 60 of 400").wait_for()
    write_metrics(going, metrics([80], valid=[80]))  # which the page asks for by itself, as it stands when it is saved
    file = open_page(save(page, tmp_path))
    file.get_by_text("going: going on when this was saved · step 80 of 400 · cross-entropy 0.075").wait_for()
    stage = file.locator(".curve-stage").first
    stage.focus()
    file.keyboard.press("Home")
    readout = file.locator(".curve").first.locator(".readout")
    assert readout.inner_text() == "step 10: done, training 0.600 · going, training 0.600"
    check_all_looks(file)
    file.get_by_role("radio", name="Quality by length").check(force=True)
    expect(file.locator(".panel .row .dim").last).to_have_text(
        "Not measured when the file was saved: done; `regard studio` measures it."
    )
    assert violations(file) == []


def test_bad_input_is_told_in_the_page(visit):
    page = shown(visit(address(model="transformer", other="transformer"), expect_errors=True))
    page.get_by_label("Translation that both are forced to").fill("a" * 40)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("alert").get_by_text("`target` must have at most 29 tokens of transformer").wait_for()


@pytest.mark.parametrize("part", ["maps", "heads", "training"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, part, width):
    page = visit(address(model="recurrent", other="again", part=part), width=width)
    page.locator(
        {"maps": ".mean-divergence", "heads": ".thumb-button", "training": ".panel code"}[part]
    ).first.wait_for()
    check_accessible(page)


def test_curves_are_accessible(with_runs):
    page, _ = with_runs("compare?part=training", width=390)
    page.locator(".curve").first.wait_for()
    page.locator(".curve details summary").first.click()
    check_accessible(page)
    assert math.isclose(page.locator(".curve svg").first.bounding_box()["width"], 306, abs_tol=40)
