"""What holds for every view: axe, widths, print, contrast colors, large letters, the tour, and files."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser.browsing import check_accessible, save

TEXT = "El libro está en la mesa."
STATES = {
    "translate": {"model": "transformer", "text": TEXT, "query": 2, "key": 1, "open": "checks"},
    "read": {"model": "gpt2", "text": "the cat sat", "open": "checks"},
    "classify": {"model": "transformer-reader", "text": "A good book."},
    "ask": {"model": "answerer"},
    "steps": {"model": "transformer", "text": TEXT},
    "whatif": {"model": "transformer", "text": TEXT, "pin": "2:1"},
    "compare": {"text": TEXT, "model": "recurrent", "other": "again"},
    "mechanisms": {},
}
READY = {
    "translate": ".checks .badge",
    "read": ".picture-box svg",
    "classify": ".side .result",
    "ask": ".side .result",
    "steps": ".check-line",
    "whatif": ".moved b",
    "compare": ".matrix svg",
    "mechanisms": ".equation",
}


def address(view):
    return f"{view}?{urlencode(STATES[view])}"


@pytest.mark.parametrize("view", STATES)
def test_it_is_accessible_and_fits(visit_all, view):
    page = visit_all(address(view))
    page.locator(READY[view]).first.wait_for()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        check_accessible(page)


@pytest.mark.parametrize("view", STATES)
def test_a_file_shows_the_same_without_a_server(visit_all, open_page, tmp_path, view):
    page = visit_all(address(view), expect_errors=True)  # a refusal is in the file, too, and in the console
    page.locator(READY[view]).first.wait_for()
    page.wait_for_load_state("networkidle")
    shown = heard(page)
    file = open_page(save(page, tmp_path))
    file.locator(READY[view]).first.wait_for()
    assert heard(file) == shown


def heard(page):
    """Give the numbers of a view."""
    page.wait_for_timeout(300)
    return re.findall(r"\d\.\d{2,}", page.locator("main .card, main .view > .stack").first.inner_text())


def test_print_keeps_the_picture_and_leaves_out_the_controls(visit_all):
    page = visit_all(address("translate"))
    page.locator(READY["translate"]).first.wait_for()
    page.emulate_media(media="print")
    assert page.locator(".picture-box svg").is_visible()
    assert not page.locator(".top nav").is_visible()
    assert not page.locator(".ask-buttons").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.bar')).printColorAdjust") == "exact"


def test_contrast_colors_keep_what_is_chosen(visit_all):
    page = visit_all(address("compare"))
    page.locator(READY["compare"]).first.wait_for()
    page.emulate_media(forced_colors="active")
    chosen, other = (
        page.evaluate(f"getComputedStyle(document.querySelector('.segments input{state} + span')).backgroundColor")
        for state in (":checked", ":not(:checked)")
    )
    assert chosen != other


def test_large_letters_do_not_clip_the_navigation(visit_all):
    page = visit_all(address("translate"))
    page.locator(READY["translate"]).first.wait_for()
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.wait_for_timeout(200)
    assert page.evaluate(
        """() => { const nav = document.querySelector(".top nav");
        return nav.scrollWidth <= nav.clientWidth + 1 || !nav.checkVisibility(); }"""
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_tour_is_five_addresses(visit_all):
    page = visit_all()
    page.get_by_role("link", name="Tour", exact=True).click()
    views = []
    for step in range(1, 6):
        expect(page.locator(".guide")).to_contain_text(f"{step} of 5")
        views.append(re.search(r"#(\w+)", page.url).group(1))
        assert f"tour={step}" in page.url
        if step == 4:
            page.locator(".moved b").wait_for()
            assert page.locator(".pulls .pinned").count() >= 1
            page.reload()
            expect(page.locator(".guide")).to_contain_text("4 of 5")
        page.locator(".guide a").last.click()
    assert views == ["translate", "translate", "steps", "whatif", "learn"]
    expect(page.locator(".guide")).to_have_count(0)


def test_a_text_goes_along_within_its_task_alone(visit_all):
    page = visit_all(address("translate"))
    page.locator(READY["translate"]).first.wait_for()
    links = page.get_by_role("navigation").get_by_role("link")
    for link in links.all():
        link.focus()
    taken = {link.inner_text(): link.get_attribute("href") for link in links.all()}
    assert "query=2&key=1" in taken["What if"]
    assert "model=transformer" in taken["Step by step"]
    assert taken["Classify"] == "#classify"
    assert taken["Read"] == "#read"
