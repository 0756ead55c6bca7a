"""The view Translate, as a person uses it: typing, pointing, keys. Every number shown equals the tensor."""

import json
import math
import re
import shutil
from itertools import product
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from browser.browsing import check_accessible, choose_option, number, read_table, save, violations
from regard.data.corpora.pair import words
from regard.inspection.readings.alignment import Reading, choose_weights, word_weights
from regard.inspection.readings.rank import kendall_tau
from regard.studio.models import Models
from regard.studio.tensors import pack, pack_map
from regard.studio.views.translate import search_sentence
from regard.tasks.attribution import attribute_translation
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import attention_of, read_source
from unit.studio.visiting import serving, unpacked

TEXT = "El libro está en la mesa."
READOUT = ".map-stage .readout"


def address(**state):
    return f"translate?{urlencode({'text': TEXT, **state})}"


def seen(models, name="recurrent", text=TEXT, beam=5, pick=0):
    """Look at what the page shows, past the server."""
    with models.borrow(name, Translator) as thing:
        source, _ = read_source(thing, text)
        tokens = search_sentence(thing, text, beam=beam).outputs[pick].tokens
        return attention_of(thing, source, tokens)


def translated(models, text):
    with models.borrow("recurrent", Translator) as thing:
        return thing.translate([text])[0]


def shown(page):
    page.locator(".result").wait_for()
    return page


def test_a_sentence_is_typed_and_translated(visit, models):
    page = shown(visit())
    page.get_by_label("Sentence", exact=True).fill("La casa")
    page.keyboard.press("Enter")
    expected = translated(models, "La casa")
    page.wait_for_function("text => document.querySelector('.result').textContent.startsWith(text)", arg=expected)
    assert "text=La+casa" in page.url
    page.get_by_label("Sentence", exact=True).fill("El libro")
    page.get_by_role("button", name="Translate", exact=True).click()
    page.wait_for_function("() => location.hash.includes('El+libro')")
    page.go_back()
    page.wait_for_function("() => document.querySelector('textarea').value === 'La casa'")
    page.get_by_label("Sentence", exact=True).fill("  ")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="Type a sentence first.").wait_for()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_picture_is_on_the_first_screen(visit, width, height):
    """Sentence, translation, map and step panel on a laptop; on a phone the whole map. Few controls, few words."""
    text = "El libro está en la mesa y la casa es"
    page = shown(visit(f"translate?{urlencode({'model': 'transformer', 'text': text})}", width=width, height=height))
    boxes = {
        name: page.locator(name).first.bounding_box() for name in ("textarea", ".result", ".picture-box svg", ".prefix")
    }
    bottoms = {name: box["y"] + box["height"] for name, box in boxes.items()}
    wide = width > 1000
    assert all(bottom <= height for name, bottom in bottoms.items() if wide or name != ".prefix"), bottoms
    assert boxes[".picture-box svg"]["x"] + boxes[".picture-box svg"]["width"] <= width
    controls = page.evaluate(
        """() => [...document.querySelectorAll('main button, main select, main input, main textarea, main summary')]
        .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()).length"""
    )
    assert controls <= 12
    told = page.evaluate("document.querySelector('main').innerText")
    assert len([word for word in told.split() if re.search(r"[a-zA-Z]", word)]) <= 100


def test_pointing_at_a_cell_gives_its_exact_number(visit, models):
    page = shown(visit(address(unit="tokens")))
    weights = seen(models).maps[0].weights[0, 0]
    target, source = seen(models).target.tokens, seen(models).source.tokens
    cells = page.locator(".picture-box rect.cell")
    for row, column in [(0, 0), (1, 3), (0, weights.size(1) - 1)]:
        cells.nth(row * weights.size(1) + column).hover()
        said = page.locator(READOUT).inner_text()
        assert said.startswith(
            f"{target[row]} → {source[column]}: {number(float(weights[row, column]))} · row sums to 1.0000"
        )
    assert said.endswith("the end of the source, no word")


def test_a_clicked_cell_stays_and_leads_to_the_other_views(visit, models):
    page = shown(visit(address(unit="tokens")))
    found = seen(models)
    weights = found.maps[0].weights[0].mean(0)
    count = weights.size(1)
    page.locator(".picture-box rect.cell").nth(1 * count + 3).click()
    expected = f"{found.target.tokens[1]} → {found.source.tokens[3]}: {number(float(weights[1, 3]))}"
    page.mouse.move(5, 5)
    assert page.locator(READOUT).inner_text().startswith(expected)
    assert "query=2&key=4" in page.url
    page.reload()
    shown(page)
    assert page.locator(READOUT).inner_text().startswith(expected)
    assert page.locator(".cell-actions a").all_inner_texts() == ["Take apart", "Change", "Compare"]
    page.get_by_role("link", name="Take apart").click()
    page.locator(".flow-row.chosen").wait_for()
    assert page.locator(".queries [aria-pressed=true]").inner_text() == found.target.tokens[1]
    assert page.locator(".flow-row.chosen .flow-key").inner_text() == found.source.tokens[3]
    page.get_by_role("navigation").get_by_role("link", name="What if", exact=True).click()
    page.locator(".pulls .selected .name").wait_for()
    assert page.locator(".step-word[aria-pressed=true]").inner_text() == found.target.tokens[1]
    assert page.locator(".pulls .selected .name").inner_text() == found.source.tokens[3]


def test_the_arrow_keys_read_cells_and_enter_selects(visit, models):
    page = shown(visit(address(unit="tokens")))
    weights = seen(models).maps[0].weights[0, 0]
    page.locator(".picture-box .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert number(float(weights[1, 1])) in page.locator(READOUT).inner_text()
    page.keyboard.press("End")
    assert number(float(weights[1, -1])) in page.locator(READOUT).inner_text()
    page.keyboard.press("Enter")
    assert f"query=2&key={weights.size(1)}" in page.url
    assert page.locator(".slider output").inner_text().startswith("2 of")
    assert page.evaluate("document.activeElement.className") == "stage"
    assert number(float(weights[1, -1])) in page.locator(READOUT).inner_text()


@pytest.mark.parametrize("unit", ["words", "tokens"])
def test_every_number_of_the_map_equals_the_tensor(visit, models, studio, unit):
    """All ways to read the map, on one page."""
    page, found = visit(), seen(models, "transformer")
    for when, measure_by, head in product(("output", "input"), ("weights", "norms"), (None, 2)):
        state = {"model": "transformer", "unit": unit, "when": when, "measure": measure_by, "open": "table"}
        page.goto("about:blank")
        page.goto(f"{studio}#{address(**state, **({} if head is None else {'head': head}))}")
        check_numbers(shown(page), found, unit, when, measure_by, None if head is None else head - 1)


def check_numbers(page, found, unit, when, measure_by, head):
    step = {"output": "produced", "input": "read"}[when]
    reading = Reading(step=step, head=head, norms=measure_by == "norms")
    norms = found.norms if reading.norms else None
    weights = found.maps[0].weights
    if unit == "words":
        source, target = found.source, found.target
        rows = weights if found.finished else torch.cat([weights, torch.zeros_like(weights[..., :1, :])], dim=-2)
        count = len([token for token in target.tokens if token != "</s>"])
        counts = len(source.words) - 1, len([word for word in target.words if word != "</s>"])
        rows, own = rows[..., : count + 1, :], target.word_of[:count]
        merged = word_weights(rows, source.word_of[:-1], own, num_words=counts, step=step, norms=norms)
    else:
        scaled = weights if norms is None else weights * norms.unsqueeze(-2)
        merged = scaled[..., 1:, :] if when == "input" else scaled
    expected = choose_weights(merged, reading)
    told = read_table(page)
    compared = min(len(told), expected.size(0)) - (
        unit == "words"
    )  # where a hypothesis is unfinished its last word differs
    for row in range(compared):
        numbers = [float(cell.replace("−", "-")) for cell in told[row]]
        assert numbers == pytest.approx(expected[row].tolist(), abs=5.1e-5)


def test_rollout_and_self_attention_are_shown_as_they_are(visit, models):
    found = seen(models, "transformer")
    page = shown(visit(address(model="transformer", unit="tokens", measure="rollout", open="table")))
    told = [[float(cell) for cell in row] for row in read_table(page)]
    for row, expected in zip(told, found.rollout.tolist(), strict=False):
        assert row == pytest.approx(expected, abs=5.1e-5)
    page = shown(visit(address(model="transformer", unit="tokens", map="target", open="table")))
    told = read_table(page)
    own = next(one for one in found.maps if one.id == "target")
    expected = own.weights[-1].mean(0)
    for row, cells in enumerate(told):
        for column, cell in enumerate(cells):
            assert (
                cell == "masked"
                if column > row
                else float(cell) == pytest.approx(float(expected[row, column]), abs=5.1e-5)
            )
    assert page.locator(".cell.masked").count() == sum(range(len(told)))


def test_leaving_out_the_end_is_a_labelled_choice(visit, models):
    page = shown(visit(address(unit="tokens", open="table")))
    choose_option(page, lambda options: options.get_by_label("leave out </s>, rows renormalized").check())
    weights = seen(models).maps[0].weights[0, 0, :, :-1]
    expected = weights / weights.sum(-1, keepdim=True)
    told = [[float(cell) for cell in row] for row in read_table(page)]
    assert torch.allclose(torch.tensor(told), expected, atol=6e-5)
    assert "end=hidden" in page.url
    page.locator(".checks > summary").click()
    assert "is left out and rows are made to sum to one again" in page.locator(".checks-body").inner_text()


def test_lines_give_their_numbers(visit, models):
    page = shown(visit(address(unit="tokens")))
    page.get_by_role("button", name="Lines").click()
    weights = seen(models).maps[0].weights[0, 0]
    page.locator(".word.row").first.hover()
    said = page.locator(READOUT).inner_text()
    assert number(float(weights[0].max())) in said
    page.locator(".word.column").first.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator(READOUT).inner_text()
    assert said.startswith("libro ←" if "libro" in seen(models).source.tokens else "⟨libro⟩ ←")
    assert said.endswith(f"in all {number(float(weights[:, 1].double().sum()))}")
    assert "picture=lines" in page.url


def test_the_slider_goes_through_the_steps(visit, models):
    page = shown(visit(address()))
    found = seen(models)
    page.get_by_label("Decoding step").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".prefix").inner_text() == f"<s> {found.target.tokens[0]} {found.target.tokens[1]}"
    best = found.log_probabilities[1].topk(5)
    numbers = page.locator("[aria-label='Probabilities of the next token'] .number").all_inner_texts()
    assert numbers == [number(math.exp(value)) for value in best.values.tolist()]
    weights = found.maps[0].weights[0, 0, 1]
    told = page.locator("[aria-label='Weights on source tokens at this step'] .number").all_inner_texts()
    heavy = sorted(weights.topk(5).indices.tolist())
    assert told == [number(float(weights[index])) for index in heavy]
    assert page.evaluate("document.activeElement.type") == "range"


def test_without_motion_play_goes_a_step_at_a_press(visit):
    page = shown(visit(address()))
    page.get_by_role("button", name="Next step").click()
    assert page.locator(".slider output").inner_text().startswith("2 of")


def test_played_steps_fill_row_after_row(browser, studio):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{studio}#{address(model='transformer')}")
    shown(page)
    page.get_by_role("button", name="▶ Play").click()
    page.locator(".cells.filling").wait_for()
    assert page.locator(".cells.waiting").count() > 0
    before = page.locator(".cells.waiting").count()
    page.wait_for_function("count => document.querySelectorAll('.cells.waiting').length < count", arg=before)
    page.get_by_role("button", name="❚❚ Pause").click()
    assert page.locator(".cells.waiting").count() == 0
    context.close()


def test_a_head_is_previewed_and_taken_from_the_strip(visit, models):
    page = shown(visit(address(model="transformer", unit="tokens")))
    found = seen(models, "transformer").maps[0].weights
    cells = page.locator(".head-cell")
    layers, heads = found.shape[:2]
    assert cells.count() == layers * (heads + 1)
    fills = "() => [...document.querySelectorAll('.picture-box .cell')].map((one) => one.getAttribute('fill')).join()"
    before = page.evaluate(fills)
    cells.nth(1).hover()
    page.wait_for_function(f"before => ({fills})() !== before", arg=before)
    page.mouse.move(5, 5)
    page.wait_for_function(f"before => ({fills})() === before", arg=before)
    cells.nth(2).click()
    assert "head=2" in page.url
    page.locator(".picture-box rect.cell").first.hover()
    assert number(float(found[0, 1, 0, 0])) in page.locator(READOUT).inner_text()
    cells.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert "head=1" in page.url


def test_the_head_that_was_trained_on_links_comes_first(open_page, folders, tmp_path):
    """And the mean over heads is one choice away."""
    guided = tmp_path / "guided"
    shutil.copytree(folders["transformer"], guided)
    config = json.loads((guided / "config.json").read_text())
    (guided / "config.json").write_text(json.dumps({**config, "guided_head": 1}))
    models = Models([guided])
    with serving(models) as studio:
        page = shown(open_page(f"{studio}#{address(model='guided', unit='tokens')}"))
        place = page.locator(".map-stage .place")
        expect(place).to_have_text("head 2 of 2, trained on word links")
        found = seen(models, "guided").maps[0].weights
        page.locator(".picture-box rect.cell").first.hover()
        assert number(float(found[0, 1, 0, 0])) in page.locator(READOUT).inner_text()
        page.locator(".picture-box rect.cell").first.click()
        for name in ("Take apart", "Change", "Compare"):
            assert "head=2" in page.locator(".cell-actions a", has_text=name).get_attribute("href")
        page.locator(".head-cell").first.click()
        expect(place).to_have_text("mean of 2 heads")
        assert "head=mean" in page.url
        page.reload()
        expect(place).to_have_text("mean of 2 heads")


def test_another_output_is_picked_from_the_list(visit, models):
    page = shown(visit(address(open="beam", unit="tokens")))
    choices = page.locator(".nbest button")
    assert choices.count() == 5
    choices.nth(1).click()
    page.wait_for_function("() => document.querySelectorAll('.nbest button')[1].ariaPressed === 'true'")
    assert "pick=2" in page.url
    other = seen(models, pick=1)
    page.locator(".picture-box rect.cell").first.hover()
    assert number(float(other.maps[0].weights[0, 0, 0, 0])) in page.locator(READOUT).inner_text()


def test_a_hypothesis_of_the_tree_is_shown(visit):
    page = shown(visit(address()))
    page.get_by_role("button", name="Settings: recurrent · beam 5").click()
    page.get_by_role("button", name="What search considered").click()
    page.keyboard.press("Escape")
    first = page.locator(".node").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    said = page.locator(".tree .readout").inner_text()
    assert re.match(r"step 1, “.+”: probability \d\.\d+", said)
    page.keyboard.press("Enter")
    page.wait_for_function("() => /path=\\d+/.test(location.hash)")
    page.wait_for_function("() => document.querySelectorAll('.picture-box .label.end').length === 1")
    page.wait_for_function("() => document.activeElement.matches('.node[aria-pressed=true]')")  # and not the body
    page.reload()
    page.locator(".picture-box svg").wait_for()
    assert page.locator(".picture-box .label.end").count() == 1


def facts(page) -> dict[str, str]:
    """Unfold the checks, and give them by name."""
    if not page.locator(".checks").get_attribute("open"):
        page.locator(".checks > summary").click()
    names = [text.removesuffix("?").strip() for text in page.locator(".facts dt").all_inner_texts()]
    return dict(zip(names, page.locator(".facts dd").all_inner_texts(), strict=True))


@pytest.mark.parametrize("when", ["output", "input"])
def test_the_checks_give_what_was_measured(visit, models, when):
    shift = int(when == "input")
    page = shown(visit(address(query=2 + shift, when=when)))
    expect(page.locator(".badge").nth(1)).to_contain_text("τ")
    found = seen(models)
    with models.borrow("recurrent", Translator) as thing:
        checks = attribute_translation(thing, found.source.ids, found.target.ids)
    row = found.maps[0].weights[0, 0, 1 + shift]
    told = facts(page)
    assert told["Uniform baseline"].startswith(number(1 / len(row)))
    assert told["Largest weight"].startswith(number(float(row.max())))
    assert told["Weight on </s>"].startswith(number(float(row[-1])))
    for name, check in (("leave-one-out", checks.occlusion), ("gradient × input", checks.gradient)):
        expected = kendall_tau(row[:-1], check[1][:-1])
        assert told[f"Rank correlation with {name}"].startswith(
            f"τ {number(expected, 2)} for “{found.target.tokens[1]}”"
        )
    assert told["If all weights were uniform"].startswith(number(math.exp(checks.uniform[1])))
    assert " in 2 models" in told["Seed-to-seed band"]
    badges = page.locator(".badge").all_inner_texts()
    assert badges[0] == f"uniform p {number(math.exp(checks.uniform[1]), 2)}"
    assert badges[1] == f"leave-one-out τ {number(kendall_tau(row[:-1], checks.occlusion[1][:-1]), 2)}"
    assert "Weights tell what a layer attended to, not why" in page.locator(".caution").inner_text()


def test_a_model_without_attention_says_so(visit):
    page = shown(visit(address(model="fixed")))
    assert "has no attention" in page.locator(".workbench").inner_text()
    assert page.locator(".bars").count() == 1


def test_unknown_words_are_marked_in_the_default_map(visit):
    """`recurrent` has a vocabulary of words."""
    page = shown(visit(f"translate?{urlencode({'text': 'El astronauta libro'})}"))
    labels = page.locator(".picture-box .label:not(.end)").all_text_contents()
    assert "⟨astronauta⟩" in labels
    assert page.locator(".unknown").inner_text() == (
        "The model does not know “astronauta”: it reads one and the same token instead."
    )
    page.get_by_label("Sentence", exact=True).fill("zzz yyy")
    page.keyboard.press("Enter")
    page.get_by_text("The model knows no word of this: whatever it outputs is a guess.").wait_for()


HOSTILE = [
    "<img src=x onerror=window.stolen=1>",
    "a\u202eb\u0007c\u0000d <script>window.stolen=1</script>",
    "שלום עולם مرحبا بالعالم",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_sentence_is_shown_and_never_run(visit, text):
    page = shown(visit(f"translate?{urlencode({'text': text, 'model': 'transformer', 'unit': 'words'})}"))
    labels = "".join(page.locator(".picture-box .label").all_text_contents())
    assert all(word[:8] in labels for word in words(text)[:4] if word.isascii() and word.isprintable())
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script").count() == 0
    assert not re.search("[\u0000-\u0008\u202a-\u202e]", labels)


def test_five_thousand_words_are_shortened_and_too_much_is_refused(visit):
    page = visit(expect_errors=True)  # the browser notes the refusal as an error of the network
    page.get_by_label("Sentence", exact=True).fill("la casa " * 2500)
    page.get_by_role("button", name="Translate", exact=True).click()
    page.get_by_text("The sentence is too long: the first 511 tokens were read, 4489 were left out.").wait_for(
        timeout=60_000
    )
    assert page.locator("canvas.large").count() == 1
    page.get_by_label("Sentence", exact=True).fill("a" * 60_000)
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="text: at most 50,000").wait_for()


LONG = "el libro " * 60


def cell(found, weights, row, column):
    """Write a cell of tokens as the page does."""
    names = f"{found.target.tokens[row]} → {found.source.tokens[column]}"
    return f"{names}: {number(float(weights[row, column]))} · row sums to {number(float(weights[row].double().sum()))}"


def rounding(page, *, masked=None):
    """Make the server send every map as it sends very large ones, and list the exact rows that are asked for."""
    asked = []

    def answer(route):
        told = route.fetch().json()
        for one in told["maps"]:
            weights = unpacked(one["weights"])
            one["weights"] = pack_map(weights, exact=0)
            one["mask"] = one["mask"] if masked is None else pack(masked(weights).float())
        route.fulfill(json=told)

    page.route("**/api/translate/attention", answer)
    page.on("request", lambda request: request.url.endswith("/row") and asked.append(request.post_data_json["row"]))
    page.reload()
    shown(page)
    return asked


def test_a_large_map_is_dragged_zoomed_and_read_exactly(visit, models):
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens'})}"))
    found = seen(models, text=LONG)
    weights = found.maps[0].weights[0, 0, : len(found.target.tokens)]
    canvas = page.locator("canvas.large")
    box = canvas.bounding_box()
    wide, tall = (box["width"] - 96) / weights.size(1), (box["height"] - 26) / weights.size(0)
    assert tall > wide  # few rows are no thin strip
    canvas.hover(position={"x": 96 + 40.5 * wide, "y": 26 + 0.5 * tall})
    readout = page.locator(READOUT)
    assert readout.inner_text() == cell(found, weights, 0, 40)
    drawn = "() => document.querySelector('canvas.large').toDataURL()"
    before = page.evaluate(drawn)
    page.mouse.wheel(0, -600)
    page.wait_for_function(f"before => ({drawn})() !== before", arg=before)
    page.get_by_role("button", name="Zoom out").click()
    page.locator(".picture-box .stage").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == cell(found, weights, 0, 1)
    for name, key in (("Zoom in", "Enter"), ("Zoom in", " "), ("Zoom out", "Enter")):
        before = page.evaluate(drawn)
        page.keyboard.press("Tab" if name == "Zoom out" or key == "Enter" else "Shift")
        assert page.evaluate("document.activeElement.ariaLabel") == name
        page.keyboard.press(key)
        page.wait_for_function(f"before => ({drawn})() !== before", arg=before)
    assert "key=" not in page.url


def test_a_map_of_many_columns_is_not_blank(visit):
    """Beyond 24 columns eight equal shares are drawn in full: uniform weights then are an eighth of the scale."""
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens'})}"))
    assert "0.0661 or more" in page.locator(".map-foot .scale").inner_text()  # 8 of 121
    colors = page.evaluate(
        """() => {
        const canvas = document.querySelector('canvas.large');
        const data = canvas.getContext('2d').getImageData(110, 40, canvas.width - 140, canvas.height - 60).data;
        return new Set(Array.from({length: data.length / 4}, (_, i) => data.slice(4 * i, 4 * i + 3).join())).size;
    }"""
    )
    assert colors > 8
    choose_option(page, lambda options: options.get_by_label("Colors end at").select_option("largest"))
    assert "scale=largest" in page.url


def test_a_large_map_shows_what_is_masked_and_gives_a_row_in_numbers(visit, models):
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens', 'open': 'table'})}"))
    rounding(page, masked=lambda weights: torch.ones(weights.shape[-2:]).tril(60))
    weights = seen(models, text=LONG).maps[0].weights[0, 0]
    cells = page.locator(".drawer .numbers tbody td")
    cells.first.wait_for()
    told = cells.all_inner_texts()
    assert told[61:] == ["masked"] * (weights.size(1) - 61)
    assert [float(one) for one in told[:61]] == pytest.approx(weights[0, :61].tolist(), abs=1 / 100)
    caption = page.locator(".drawer .numbers caption")
    assert caption.inner_text().endswith("rounded")
    page.locator(".picture-box .stage").focus()
    expect(caption).not_to_contain_text("rounded")
    assert cells.all_inner_texts()[:61] == [number(one) for one in weights[0, :61].tolist()]
    # Hatched: in the upper right corner there are lines and ground, as in the legend.
    colors = page.evaluate(
        """() => {
        const canvas = document.querySelector('canvas.large'), ratio = devicePixelRatio;
        const data = canvas.getContext('2d').getImageData(canvas.width - 60 * ratio, 28 * ratio, 24, 4).data;
        return new Set(Array.from({length: 96}, (_, i) => data.slice(4 * i, 4 * i + 3).join())).size;
    }"""
    )
    assert colors > 1
    assert violations(page) == []


def test_rounded_weights_are_exact_after_a_rest_and_asked_for_once(visit, models, open_page, tmp_path):
    page = shown(visit(address(unit="tokens")))
    asked = rounding(page)
    found = seen(models)
    weights = found.maps[0].weights[0, 0]
    page.locator(".picture-box .stage").focus()
    readout = page.locator(READOUT)
    assert ": about " in readout.inner_text()
    assert "sums" not in readout.inner_text()  # of rounded numbers no sum is given
    expect(readout).to_have_text(cell(found, weights, 0, 0))
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == cell(found, weights, 0, 1)
    page.keyboard.press("ArrowDown")
    expect(readout).to_have_text(cell(found, weights, 1, 1))
    page.keyboard.press("ArrowUp")
    assert readout.inner_text() == cell(found, weights, 0, 1)
    assert asked == [0, 1]


def test_rounded_weights_of_words_are_exact(visit, models):
    with models.borrow("transformer", Translator) as thing:
        tokens = thing.tokenizers.target.encode("la casa es").ids
        found = attention_of(thing, read_source(thing, TEXT)[0], tokens)
    path = ".".join(map(str, tokens))
    page = shown(visit(address(model="transformer", unit="words", map="target", path=path)))
    asked = rounding(page)
    weights = next(one for one in found.maps if one.id == "target").weights[-1].mean(0)
    word_of = [0, *(one + 1 for one in found.target.word_of)][: weights.size(0)]
    word = max(word_of)
    rows = [place for place, own in enumerate(word_of) if own == word]
    columns = [place for place, own in enumerate(word_of) if own == 1]
    assert len(columns) > 1  # so that places of words and of tokens differ
    page.locator(".picture-box .stage").focus()
    for _ in range(word):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expected = float(weights[rows][:, columns].double().sum(-1).mean())
    expect(page.locator(READOUT)).to_contain_text(f": {number(expected)} · row sums to 1.0000")
    assert asked[-len(rows) :] == rows


def test_a_rollout_is_never_rounded(visit, models):
    page = shown(visit(address(model="transformer", unit="tokens", measure="rollout")))
    asked = rounding(page)
    page.locator(".picture-box .stage").focus()
    found = seen(models, "transformer")
    assert page.locator(READOUT).inner_text() == cell(found, found.rollout, 0, 0)
    assert "about" not in " ".join(facts(page).values())
    assert asked == []


@pytest.mark.parametrize("step", [0, 2])
def test_the_uniform_baseline_counts_what_is_not_masked(visit, step):
    page = shown(visit(address(model="transformer", unit="tokens", map="target", query=step + 1)))
    told = facts(page)
    assert told["Uniform baseline"].startswith(number(1 / (step + 1)))
    assert told["Entropy"].endswith(f"uniform has {number(math.log(step + 1), 2)}")
    if step == 0:
        assert told["Largest weight"] == "1.0000 1.0 × uniform"


def test_two_visitors_see_their_own(visit, models):
    one, other = visit(address()), visit(f"translate?{urlencode({'text': 'La casa'})}")
    for page, text in ((one, TEXT), (other, "La casa")):
        expected = translated(models, text)
        page.wait_for_function("text => document.querySelector('.result')?.textContent.startsWith(text)", arg=expected)
        assert page.get_by_label("Sentence", exact=True).input_value() == text


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, width):
    page = shown(visit(address(model="transformer", open="checks", query=2, key=2), width=width))
    expect(page.locator(".badge").nth(1)).to_contain_text("τ")
    check_accessible(page)
    page.get_by_role("button", name="Lines").click()
    page.get_by_role("button", name="Options", exact=True).click()
    check_accessible(page)


def test_a_question_mark_explains_a_word(visit):
    page = shown(visit(address()))
    page.get_by_role("button", name="What is: Cross-attention").first.click()
    explained = page.locator(".popover:popover-open")
    expect(explained).to_contain_text("its query is compared with the key")
    expect(explained).to_contain_text("arXiv:1409.0473")
    expect(explained.locator("math")).to_have_count(1)
    assert violations(page) == []


def test_the_theme_is_switched_and_kept(visit):
    page = shown(visit(address()))
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.get_by_role("button", name="Use dark colors").click()
    after = page.evaluate(paper)
    assert after != before
    page.reload()
    assert page.evaluate(paper) == after


def test_a_file_has_rounded_weights_exactly_too(visit, models, open_page, tmp_path):
    page = shown(visit(address(unit="tokens"), expect_errors=True))
    rounding(page)
    page.route("**/api/keep/likely", lambda route: route.fulfill(json=with_rows(route)))
    file = shown(open_page(save(page, tmp_path)))
    found = seen(models)
    weights = found.maps[0].weights[0, 0]
    file.locator(".picture-box .stage").focus()
    for _ in range(2):
        file.keyboard.press("ArrowDown")
    file.keyboard.press("ArrowRight")
    expect(file.locator(READOUT)).to_have_text(cell(found, weights, 2, 1))


def with_rows(route):
    """Ask for rows as the server does of maps that it sends rounded."""
    told, shown = route.fetch().json(), route.request.post_data_json["shown"]
    attention = next(one["body"] for one in shown if one["verb"] == "translate/attention")
    rows = [{"verb": "translate/row", "body": {**attention, "map": "cross", "row": row}} for row in range(4)]
    return {**told, "likely": rows + told["likely"]}
