"""Share: any picture copied or saved as PNG, SVG, PDF and GIF, from the studio and from a saved file."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

from browser.browsing import held, open_all, save, share, violations
from unit.studio.visiting import serving

TEXT = "El libro está en la mesa."


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return open_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def studio(models):
    with serving(models) as address:
        yield address


@pytest.fixture
def translated(visit):
    page = visit(f"translate?text={TEXT}")
    page.locator(".picture-box svg .cell").first.wait_for()
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
    return page


def saved(page, kind: str) -> bytes:
    """Press a button of the pictures, and give the file."""
    with page.expect_download() as begun:
        share(page, kind)
    assert begun.value.suggested_filename == f"regard-translate.{kind.lower()}"
    return begun.value.path().read_bytes()


def words(page) -> list[str]:
    return [text for text in page.locator(".picture-box svg text").all_text_contents() if text]


def test_svg_has_the_words_and_the_cells(translated):
    root = ElementTree.fromstring(saved(translated, "SVG"))
    name = "{http://www.w3.org/2000/svg}"
    assert [item.text for item in root.iter(f"{name}text")] == words(translated)
    cells = [item for item in root.iter(f"{name}path") if item.get("fill", "").startswith("#")]
    assert len(cells) > translated.locator(".picture-box .cell").count()
    assert TEXT in root.find(f"{name}title").text
    assert "style" not in {key for item in root.iter() for key in item.attrib}


def test_a_picture_for_a_paper_is_light_though_the_page_is_dark(visit, translated):
    dark = visit(f"translate?text={TEXT}", dark=True)
    dark.locator(".picture-box svg .cell").first.wait_for()
    dark.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
    before = dark.locator(".picture-box .cell").first.get_attribute("fill")
    in_light, in_dark = (re.findall(rb'fill="(#\w+)"', saved(page, "SVG")) for page in (translated, dark))
    assert in_light == in_dark
    assert dark.locator(".picture-box .cell").first.get_attribute("fill") == before
    pixels = Image.open(io.BytesIO(saved(dark, "PNG"))).convert("RGB")
    assert sum(pixels.getpixel((4, 4))) < 150  # as it is on the screen


def test_png_has_three_pixels_for_each_of_the_page(translated):
    box = translated.locator(".picture-box svg").bounding_box()
    width = Image.open(io.BytesIO(saved(translated, "PNG"))).width
    assert abs(width - 3 * (box["width"] + 16)) < 12


def test_pdf_embeds_its_fonts(translated):
    pdf = saved(translated, "PDF")
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf


def test_gif_has_a_frame_for_each_step_and_what_was_shown_stays(translated):
    steps = int(translated.get_by_label("Decoding step").get_attribute("max")) + 1
    before = translated.locator(".result").inner_text(), words(translated)
    gif = Image.open(io.BytesIO(saved(translated, "GIF")))
    assert gif.n_frames == steps
    frames = []
    for index in range(gif.n_frames):
        gif.seek(index)
        frames.append(gif.convert("RGB").tobytes())
    assert len(set(frames)) == steps
    assert gif.info["loop"] == 0
    assert (translated.locator(".result").inner_text(), words(translated)) == before


def test_copying_puts_a_png_on_the_clipboard(translated):
    translated.context.grant_permissions(["clipboard-read", "clipboard-write"])
    translated.bring_to_front()  # a page in the background may not write
    share(translated, "Copy")
    expect(translated.locator(".pictures [role=status]")).to_have_text("Copied.", timeout=20_000)
    kinds = translated.evaluate("async () => (await navigator.clipboard.read())[0].types")
    assert "image/png" in kinds


def test_any_picture_can_be_chosen_and_the_menu_is_accessible(translated):
    translated.get_by_role("button", name="Share", exact=True).click()
    choice = translated.get_by_label("Picture", exact=True)
    names = choice.locator("option").all_inner_texts()
    assert names[0] == "Cross-attention"
    assert names[-1] == "The whole view"
    assert len(names) == len(set(names)) >= 3
    first = translated.locator(".share-preview img").get_attribute("src")
    choice.select_option("The whole view")
    expect(translated.locator(".share-preview img")).not_to_have_attribute("src", first)
    root = ElementTree.fromstring(saved(translated, "SVG"))
    texts = "".join(root.itertext())
    assert "Checks" in texts
    assert violations(translated) == []


@pytest.mark.parametrize(
    "address", ["classify?model=attending-reader", "ask?seed=3&model=answerer", "mechanisms", "steps"]
)
def test_every_view_has_pictures(visit, address):
    page = visit(address)
    page.locator("main svg, main canvas, main td").first.wait_for()
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
    with page.expect_download() as begun:
        share(page, "PNG")
    assert Image.open(io.BytesIO(begun.value.path().read_bytes())).width > 100
    with page.expect_download() as begun:
        share(page, "PDF")
    assert begun.value.path().read_bytes().startswith(b"%PDF")


def test_a_saved_file_has_title_description_and_preview_and_shares_what_a_browser_can(translated, open_page, tmp_path):
    address = save(translated, tmp_path)
    assert held(address)["view"] == "translate"
    file = open_page(address)
    file.locator(".picture-box svg .cell").first.wait_for()
    meta = {
        item.get_attribute("property"): item.get_attribute("content")
        for item in file.locator("head meta[property]").all()
    }
    assert TEXT in meta["og:title"]
    assert TEXT in meta["og:description"]
    assert meta["og:image"].startswith("data:image/png;base64,")
    measure = "async (src) => { const one = new Image(); one.src = src; await one.decode(); return one.naturalWidth; }"
    assert file.evaluate(measure, meta["og:image"]) > 300
    file.get_by_role("button", name="Share", exact=True).click()
    expect(file.get_by_text("A PDF is made by `regard studio`, not by a saved file.")).to_be_visible()
    assert file.locator(".pictures").get_by_role("button", name="PDF", exact=True).count() == 0
    assert violations(file) == []
    assert saved(file, "GIF").startswith(b"GIF89a")
    assert b"<svg" in saved(file, "SVG")


def test_hidden_states_are_behind_a_button_and_list_what_is_near(visit):
    page = visit("classify?model=attending-reader")
    page.locator(".map-stage").wait_for()
    assert page.locator(".scatter").count() == 0
    page.get_by_role("button", name="Options", exact=True).click()
    page.get_by_role("button", name="Hidden states and what is near").click()
    page.locator(".scatter .state.own").first.wait_for()
    assert "open=states" in page.url
    first = page.locator(".neighbors").inner_text()
    chips = page.get_by_role("group", name="Token whose nearest states are listed").get_by_role("button")
    chips.nth(2).click()
    expect(chips.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".neighbors")).not_to_have_text(first)
    page.keyboard.press("Escape")
    assert violations(page) == []


def test_signed_saliency_has_both_signs(translated):
    translated.locator(".checks summary").first.click()
    signed = translated.get_by_role("application", name=re.compile("^Signed saliency"))
    signed.wait_for()
    assert signed.locator(".cell").count() == translated.locator(".picture-box").first.locator(".cell").count()
    fills = set(signed.locator(".cell").evaluate_all("cells => cells.map((one) => one.getAttribute('fill'))"))
    assert len(fills) > 3
