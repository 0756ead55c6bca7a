"""The view Translate, as a person uses it: typing, pointing, keys. Every number shown equals the tensor."""

import math
import re
from itertools import product
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from browser.browsing import check_accessible, number, read_table, save, violations
from regard.data.corpora.pair import words
from regard.inspection.readings.alignment import Reading, choose_weights, word_weights
from regard.inspection.readings.rank import kendall_tau
from regard.studio.tensors import pack, pack_weights
from regard.studio.views.translate import search_sentence
from regard.tasks.attribution import attribute_translation
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import attention_of, read_source
from unit.studio.visiting import unpacked

TEXT = "El libro está en la mesa."


def address(**state):
    return f"translate?{urlencode({'text': TEXT, **state})}"


def seen(models, name="recurrent", text=TEXT, beam=5, pick=0):
    """Look at what the page shows, past the server."""
    with models.borrow(name, Translator) as thing:
        source, _ = read_source(thing, text)
        tokens = search_sentence(thing, text, beam=beam)["outputs"][pick]["tokens"]
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


def test_pointing_at_a_cell_gives_its_exact_number(visit, models):
    page = shown(visit(address(unit="tokens")))
    weights = seen(models).maps[0].weights[0, 0]
    target, source = seen(models).target.tokens, seen(models).source.tokens
    cells = page.locator(".matrix rect.cell")
    for row, column in [(0, 0), (1, 3), (0, weights.size(1) - 1)]:
        cells.nth(row * weights.size(1) + column).hover()
        said = page.locator(".matrix .readout").inner_text()
        assert said.startswith(
            f"{target[row]} → {source[column]}: {number(float(weights[row, column]))} · row sums to 1.0000"
        )
    assert said.endswith("the end of the source, no word")


def test_the_arrow_keys_read_cells_and_enter_moves_the_step(visit, models):
    page = shown(visit(address(unit="tokens")))
    weights = seen(models).maps[0].weights[0, 0]
    page.locator(".matrix .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert number(float(weights[1, 1])) in page.locator(".matrix .readout").inner_text()
    page.keyboard.press("End")
    assert number(float(weights[1, -1])) in page.locator(".matrix .readout").inner_text()
    page.keyboard.press("Enter")
    assert "step=1" in page.url
    assert page.locator(".slider output").inner_text().startswith("2 of")
    assert page.evaluate("document.activeElement.className") == "stage"


@pytest.mark.parametrize("unit", ["words", "tokens"])
def test_every_number_of_the_map_equals_the_tensor(visit, models, studio, unit):
    """All ways to read the map, on one page."""
    page, found = visit(), seen(models, "transformer")
    for when, measure_by, head in product(("produced", "read"), ("weights", "norms"), (None, 1)):
        state = {"model": "transformer", "unit": unit, "when": when, "measure": measure_by}
        page.goto("about:blank")
        page.goto(f"{studio}#{address(**state, **({} if head is None else {'head': head}))}")
        check_numbers(shown(page), found, unit, when, measure_by, head)


def check_numbers(page, found, unit, when, measure_by, head):
    reading = Reading(step=when, head=head, norms=measure_by == "norms")
    norms = found.norms if reading.norms else None
    weights = found.maps[0].weights
    if unit == "words":
        source, target = found.source, found.target
        rows = weights if found.finished else torch.cat([weights, torch.zeros_like(weights[..., :1, :])], dim=-2)
        count = len([token for token in target.tokens if token != "</s>"])
        counts = len(source.words) - 1, len([word for word in target.words if word != "</s>"])
        rows, own = rows[..., : count + 1, :], target.word_of[:count]
        merged = word_weights(rows, source.word_of[:-1], own, num_words=counts, step=when, norms=norms)
    else:
        scaled = weights if norms is None else weights * norms.unsqueeze(-2)
        merged = scaled[..., 1:, :] if when == "read" else scaled
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
    page = shown(visit(address(model="transformer", unit="tokens", measure="rollout")))
    told = [[float(cell) for cell in row] for row in read_table(page)]
    for row, expected in zip(told, found.rollout.tolist(), strict=False):
        assert row == pytest.approx(expected, abs=5.1e-5)
    page = shown(visit(address(model="transformer", unit="tokens", map="target")))
    told = read_table(page)
    own = next(one for one in found.maps if one.id == "target")
    expected = choose_weights(own.weights, Reading())
    for row, cells in enumerate(told):
        for column, cell in enumerate(cells):
            assert (
                cell == "masked"
                if column > row
                else float(cell) == pytest.approx(float(expected[row, column]), abs=5.1e-5)
            )
    assert page.locator(".cell.masked").count() == sum(range(len(told)))


def test_leaving_out_the_end_is_a_labelled_choice(visit, models):
    page = shown(visit(address(unit="tokens")))
    page.get_by_label("leave out </s>, rows renormalized").check()
    assert "is left out and rows are made to sum to one again" in page.locator(".meaning").inner_text()
    weights = seen(models).maps[0].weights[0, 0, :, :-1]
    expected = weights / weights.sum(-1, keepdim=True)
    told = [[float(cell) for cell in row] for row in read_table(page)]
    assert torch.allclose(torch.tensor(told), expected, atol=6e-5)
    assert "end=hidden" in page.url


def test_lines_tell_their_numbers(visit, models):
    page = shown(visit(address(unit="tokens")))
    page.get_by_role("radio", name="Lines").check()
    weights = seen(models).maps[0].weights[0, 0]
    page.locator(".word.row").first.hover()
    said = page.locator(".lines .readout").inner_text()
    assert number(float(weights[0].max())) in said
    page.locator(".word.column").first.focus()
    page.keyboard.press("ArrowDown")
    said = page.locator(".lines .readout").inner_text()
    assert said.startswith("libro ←" if "libro" in seen(models).source.tokens else "⟨libro⟩ ←")
    assert said.endswith(f"in all {number(float(weights[:, 1].double().sum()))}")
    assert "picture=lines" in page.url


def test_the_slider_goes_through_the_steps(visit, models):
    page = shown(visit(address()))
    found = seen(models)
    slider = page.get_by_label("Decoding step")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".prefix").inner_text() == f"<s> {found.target.tokens[0]} {found.target.tokens[1]}"
    best = found.log_probabilities[1].topk(8)
    numbers = page.locator("[aria-label='Probabilities of the next token'] .number").all_inner_texts()
    assert numbers == [number(math.exp(value)) for value in best.values.tolist()]
    looks = page.locator("[aria-label='Weights on source tokens at this step'] .number").all_inner_texts()
    assert looks == [number(value) for value in found.maps[0].weights[0, 0, 1].tolist()]
    assert page.evaluate("document.activeElement.type") == "range"


def test_another_output_is_picked_from_the_list(visit, models):
    page = shown(visit(address()))
    choices = page.locator(".nbest button")
    assert choices.count() == 5
    choices.nth(1).click()
    page.wait_for_function("() => document.querySelectorAll('.nbest button')[1].ariaPressed === 'true'")
    assert "pick=1" in page.url
    other = seen(models, pick=1)
    page.get_by_role("radio", name="Tokens").check()
    told = [[float(cell) for cell in row] for row in read_table(page)]
    assert torch.allclose(torch.tensor(told), other.maps[0].weights[0, 0, : len(told)], atol=6e-5)


def test_a_hypothesis_of_the_tree_is_looked_at(visit):
    page = shown(visit(address()))
    first = page.locator(".node").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    said = page.locator(".tree .readout").inner_text()
    assert re.match(r"step 1, “.+”: probability \d\.\d+", said)
    page.keyboard.press("Enter")
    page.wait_for_function("() => /path=\\d+/.test(location.hash)")
    page.wait_for_function("() => document.querySelectorAll('.matrix .label.end').length === 1")
    page.wait_for_function("() => document.activeElement.matches('.node[aria-pressed=true]')")  # and not the body
    page.reload()
    page.locator(".matrix").wait_for()
    assert page.locator(".matrix .label.end").count() == 1


def test_the_honesty_panel_tells_what_was_measured(visit, models):
    page = shown(visit(address(step=1)))
    page.get_by_text("Rank correlation with leave-one-out").wait_for()
    found = seen(models)
    with models.borrow("recurrent", Translator) as thing:
        checks = attribute_translation(thing, found.source.ids, found.target.ids)
    row = found.maps[0].weights[0, 0, 1]
    told = dict(
        zip(page.locator(".facts dt").all_inner_texts(), page.locator(".facts dd").all_inner_texts(), strict=True)
    )
    assert told["Uniform baseline"].startswith(number(1 / len(row)))
    assert told["Largest weight"].startswith(number(float(row.max())))
    assert told["Weight on </s>"].startswith(number(float(row[-1])))
    for name, check in (("leave-one-out", checks.occlusion), ("gradient × input", checks.gradient)):
        expected = kendall_tau(row[:-1], check[1][:-1])
        assert told[f"Rank correlation with {name}"].startswith(f"τ {number(expected, 2)}")
    assert told["If all weights were uniform"].startswith(number(math.exp(checks.uniform[1])))
    assert " in 2 models" in told["Seed-to-seed band"]
    assert "Weights tell what a layer attended to, not why" in page.locator(".caution").inner_text()


def test_a_model_without_attention_says_so(visit):
    page = shown(visit(address(model="fixed")))
    assert "has no attention" in page.locator(".map").inner_text()
    assert page.locator(".bars").count() == 1


HOSTILE = [
    "<img src=x onerror=window.stolen=1>",
    "<script>window.stolen=1</script>",
    "a\u202eb\u0007c\u0000d",
    "שלום עולם مرحبا بالعالم",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_sentence_is_shown_and_never_run(visit, text):
    page = shown(visit(f"translate?{urlencode({'text': text, 'model': 'transformer', 'unit': 'words'})}"))
    labels = "".join(page.locator(".matrix .label").all_text_contents())
    assert all(word[:8] in labels for word in words(text)[:4] if word.isascii() and word.isprintable())
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script").count() == 0
    assert not re.search("[\u0000-\u0008\u202a-\u202e]", labels)


def test_five_thousand_words_are_shortened_with_a_message(visit):
    page = visit()
    page.get_by_label("Sentence", exact=True).fill("la casa " * 2500)
    page.get_by_role("button", name="Translate", exact=True).click()
    page.get_by_text("The sentence is too long: the first 511 tokens were read, 4489 were left out.").wait_for()
    assert page.locator("canvas.large").count() == 1


def test_too_much_is_refused_in_an_alert(visit):
    page = visit(expect_errors=True)  # the browser notes the refusal as an error of the network
    shown(page)
    page.get_by_label("Sentence", exact=True).fill("a" * 60_000)
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="at most 50000 characters").wait_for()
    page.get_by_label("Sentence", exact=True).fill("  ")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="received nothing to translate").wait_for()


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
            one["weights"] = pack_weights(weights, exact=0)
            one["mask"] = one["mask"] if masked is None else pack(masked(weights).float())
        route.fulfill(json=told)

    page.route("**/api/translate/attention", answer)
    page.on("request", lambda request: request.url.endswith("/row") and asked.append(request.post_data_json["row"]))
    page.reload()
    shown(page)
    return asked


def test_a_large_map_is_dragged_zoomed_and_told_exactly(visit, models):
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens'})}"))
    found = seen(models, text=LONG)
    weights = found.maps[0].weights[0, 0, : len(found.target.tokens)]
    canvas = page.locator("canvas.large")
    box = canvas.bounding_box()
    side = min((box["width"] - 96) / weights.size(1), (box["height"] - 24) / weights.size(0))
    canvas.hover(position={"x": 96 + 40.5 * side, "y": 24 + 0.5 * side})
    readout = page.locator(".matrix .readout")
    assert readout.inner_text() == cell(found, weights, 0, 40)
    before = page.evaluate("document.querySelector('canvas.large').toDataURL().length")
    page.mouse.wheel(0, -600)
    page.wait_for_function("size => document.querySelector('canvas.large').toDataURL().length !== size", arg=before)
    page.get_by_role("button", name="Zoom out").click()
    page.locator(".matrix .stage").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == cell(found, weights, 0, 1)


def test_a_large_map_is_zoomed_by_keys(visit):
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens'})}"))
    drawn = "() => document.querySelector('canvas.large').toDataURL()"
    page.locator(".matrix .stage").focus()
    for name, key in (("Zoom in", "Enter"), ("Zoom in", " "), ("Zoom out", "Enter")):
        before = page.evaluate(drawn)
        page.keyboard.press("Tab" if name == "Zoom out" or key == "Enter" else "Shift")
        assert page.evaluate("document.activeElement.ariaLabel") == name
        page.keyboard.press(key)
        page.wait_for_function(f"before => ({drawn})() !== before", arg=before)
    assert "step=" not in page.url


def test_a_large_map_shows_what_is_masked_and_gives_a_row_in_numbers(visit, models):
    page = shown(visit(f"translate?{urlencode({'text': LONG, 'unit': 'tokens'})}"))
    rounding(page, masked=lambda weights: torch.ones(weights.shape[-2:]).tril(60))
    weights = seen(models, text=LONG).maps[0].weights[0, 0]
    page.get_by_text("The row pointed at as a table").click()
    cells = page.locator(".matrix tbody td")
    cells.first.wait_for()
    told = cells.all_inner_texts()
    assert told[61:] == ["masked"] * (weights.size(1) - 61)
    assert [float(one) for one in told[:61]] == pytest.approx(weights[0, :61].tolist(), abs=1 / 500)
    caption = page.locator(".matrix caption")
    assert caption.inner_text().endswith("rounded to steps of 1/255")
    page.locator(".matrix .stage").focus()
    expect(caption).not_to_contain_text("rounded")
    assert cells.all_inner_texts()[:61] == [number(one) for one in weights[0, :61].tolist()]
    # Hatched: in the upper right corner there are lines and ground, as in the legend.
    colors = page.evaluate(
        """() => {
        const canvas = document.querySelector('canvas.large'), ratio = devicePixelRatio;
        const zoom = (canvas.clientWidth - 96) / 121; // few rows: as wide as fits
        const data = canvas.getContext('2d').getImageData((96 + 110 * zoom) * ratio, 26 * ratio, 24, 4).data;
        return new Set(Array.from({length: 96}, (_, i) => data.slice(4 * i, 4 * i + 3).join())).size;
    }"""
    )
    assert colors > 1
    assert violations(page) == []


def test_rounded_weights_are_told_exactly_after_a_rest_and_asked_for_once(visit, models):
    page = shown(visit(address(unit="tokens")))
    asked = rounding(page)
    found = seen(models)
    weights = found.maps[0].weights[0, 0]
    page.locator(".matrix .stage").focus()
    readout = page.locator(".matrix .readout")
    assert ": about " in readout.inner_text()
    expect(readout).to_have_text(cell(found, weights, 0, 0))
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == cell(found, weights, 0, 1)
    page.keyboard.press("ArrowDown")
    expect(readout).to_have_text(cell(found, weights, 1, 1))
    page.keyboard.press("ArrowUp")
    assert readout.inner_text() == cell(found, weights, 0, 1)
    assert asked == [0, 1]


def test_a_file_tells_rounded_weights_exactly_too(visit, models, open_page, tmp_path):
    page = shown(visit(address(unit="tokens")))
    rounding(page)
    file = shown(open_page(save(page, tmp_path)))
    found = seen(models)
    weights = found.maps[0].weights[0, 0]
    file.locator(".matrix .stage").focus()
    for _ in range(2):
        file.keyboard.press("ArrowDown")
    file.keyboard.press("ArrowRight")
    expect(file.locator(".matrix .readout")).to_have_text(cell(found, weights, 2, 1))


def test_rounded_weights_of_words_are_told_exactly(visit, models):
    with models.borrow("transformer", Translator) as thing:
        tokens = thing.tokenizers.target.encode("la casa es").ids
        found = attention_of(thing, read_source(thing, TEXT)[0], tokens)
    path = ".".join(map(str, tokens))
    page = shown(visit(address(model="transformer", unit="words", map="target", path=path)))
    asked = rounding(page)
    weights = next(one for one in found.maps if one.id == "target").weights[0].mean(0)
    word_of = [0, *(one + 1 for one in found.target.word_of)][: weights.size(0)]
    word = max(word_of)
    rows = [place for place, own in enumerate(word_of) if own == word]
    columns = [place for place, own in enumerate(word_of) if own == 1]
    assert len(columns) > 1  # so that places of words and of tokens differ
    page.locator(".matrix .stage").focus()
    for _ in range(word):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expected = float(weights[rows][:, columns].double().sum(-1).mean())
    expect(page.locator(".matrix .readout")).to_contain_text(f": {number(expected)} · row sums to 1.0000")
    assert asked == rows


def test_a_rollout_is_never_rounded(visit, models):
    page = shown(visit(address(model="transformer", unit="tokens", measure="rollout")))
    asked = rounding(page)
    page.locator(".matrix .stage").focus()
    found = seen(models, "transformer")
    assert page.locator(".matrix .readout").inner_text() == cell(found, found.rollout, 0, 0)
    assert "about" not in page.locator(".facts").inner_text()
    assert asked == []


@pytest.mark.parametrize("step", [0, 2])
def test_the_uniform_baseline_counts_what_is_not_masked(visit, step):
    page = shown(visit(address(model="transformer", unit="tokens", map="target", step=step)))
    told = dict(
        zip(page.locator(".facts dt").all_inner_texts(), page.locator(".facts dd").all_inner_texts(), strict=True)
    )
    assert told["Uniform baseline"].startswith(number(1 / (step + 1)))
    assert told["Entropy"].endswith(f"uniform has {number(math.log(step + 1), 2)}")
    if step == 0:
        assert told["Largest weight"] == "1.0000 1.0 × uniform"


def test_it_is_said_where_the_score_and_p_differ_in_order(visit, models):
    page = shown(visit(address()))
    with models.borrow("recurrent", Translator) as thing:
        likely = [one["log_probability"] for one in search_sentence(thing, TEXT, beam=5)["outputs"]]
    differs = likely != sorted(likely, reverse=True)
    assert page.get_by_text("The order of p alone differs.").count() == int(differs)


def test_two_visitors_see_their_own(visit, models):
    one, other = visit(address()), visit(f"translate?{urlencode({'text': 'La casa'})}")
    for page, text in ((one, TEXT), (other, "La casa")):
        expected = translated(models, text)
        page.wait_for_function("text => document.querySelector('.result')?.textContent.startsWith(text)", arg=expected)
        assert page.get_by_label("Sentence", exact=True).input_value() == text


@pytest.mark.parametrize("model", ["recurrent", "transformer"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, model, width):
    page = shown(visit(address(model=model), width=width))
    page.get_by_text("Rank correlation with leave-one-out").wait_for()
    page.locator(".matrix details summary").click()
    check_accessible(page)
    page.get_by_role("radio", name="Lines").check()
    check_accessible(page)


def test_the_theme_is_switched_and_kept(visit):
    page = shown(visit(address()))
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.get_by_role("button", name="Use dark colors").click()
    after = page.evaluate(paper)
    assert after != before
    page.reload()
    assert page.evaluate(paper) == after
