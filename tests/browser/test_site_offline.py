"""A site of views on any host of plain files: without a network and without a server, and in a notebook's frame."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

import regard
from browser.browsing import violations
from regard.studio.site import export_site
from regard.tasks.translation.model import Translator
from unit.studio.seers import make_english, make_seers, opened

TEXT = "El libro está en la mesa."


@pytest.fixture(scope="module")
def site(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with models.borrow("recurrent", Translator) as thing:
        made = {"mine": thing, "reader": make_english()["attending"], "seer": make_seers()["answerer"]}
        export_site(opened(made), folder, text=TEXT)
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(params=["file", "http"])
def address(request, site):
    """The site on disk, and on a server of plain files that knows nothing of it."""
    if request.param == "file":
        yield site.as_uri()
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visitor(browser, address):
    """A page that can reach the site alone."""
    wrong = []
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce", offline=address.startswith("file")
    )

    def decide(route):
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            wrong.append(route.request.url)
            route.abort()

    context.route("**/*", decide)
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


def test_the_tour_leads_through_every_view(visitor, address):
    served = address.startswith("http")  # on disk axe would ask for the style sheets, which the policy forbids
    visitor.goto(f"{address}/index.html")
    assert not served or violations(visitor) == []
    stops = visitor.locator(".site li").count()
    assert stops == 5
    visitor.locator(".site li a").first.click()
    seen = []
    for number in range(1, stops + 1):
        visitor.locator("main .card").first.wait_for()
        expect(visitor.locator(".tour b")).to_have_text(f"{number} of {stops}")
        assert visitor.get_by_role("alert").filter(visible=True).count() == 0
        seen.append(visitor.locator("nav [aria-current=page]").inner_text())
        assert not served or violations(visitor) == []
        visitor.locator(".tour a").last.click()
    assert seen == ["Translate", "Classify", "Ask an image", "Step by step", "What if"]
    expect(visitor.locator(".tour b")).to_have_text(f"1 of {stops}")


def test_what_is_selected_travels_between_the_pages(visitor, address):
    visitor.goto(f"{address}/translate.html")
    visitor.locator(".picture-box .cell").nth(3).click()
    visitor.get_by_role("link", name="Take apart").click()
    visitor.wait_for_url("**/steps.html#steps?**")
    assert "text=El+libro" in visitor.url
    visitor.locator(".check-line").first.wait_for()
    assert visitor.get_by_role("alert").filter(visible=True).count() == 0
    visitor.locator("nav").get_by_role("link", name="What if").click()
    visitor.locator(".pulls li").first.wait_for()


def test_it_fits_a_phone(visitor, address):
    visitor.set_viewport_size({"width": 390, "height": 844})
    for name in ("index", "translate"):
        visitor.goto(f"{address}/{name}.html")
        visitor.wait_for_timeout(500)
        assert visitor.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_view_in_a_frame_of_a_notebook_is_alive(browser, models, tmp_path):
    with models.borrow("recurrent", Translator) as thing:
        shown = regard.inspect(thing, TEXT)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title><h1>A notebook</h1>{shown}", "utf-8")
    context = browser.new_context(offline=True)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    page.goto((tmp_path / "notebook.html").as_uri())
    view = page.frame_locator("iframe")
    view.locator(".picture-box .cell").nth(2).click()
    expect(view.locator(".cell-actions a").first).to_be_visible()
    view.get_by_role("button", name="Lines", exact=True).click()
    view.locator(".lines-stage path").first.wait_for()
    view.locator("a.mark").click()  # a link within the frame stays in it
    view.locator(".picture-box .cell").first.wait_for()
    assert page.frames[1].url == "about:srcdoc"
    with page.expect_download() as begun:
        view.get_by_role("button", name="Share", exact=True).click()
        view.get_by_role("button", name="PNG", exact=True).click()
    assert begun.value.suggested_filename == "regard-translate.png"
    context.close()
    assert wrong == []
