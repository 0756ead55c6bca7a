"""What browser tests stand on: `visit("translate?text=…")` opens the studio; any request elsewhere fails the test."""

import pytest
from playwright.sync_api import sync_playwright

from browser.browsing import FLAGS, find_chromium, open_all
from regard.studio.models import Models
from unit.studio.visiting import ask, make_folders, serving, visitor

#: Every test here drives a browser, or builds the page with Node.
pytestmark = pytest.mark.browser


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return make_folders(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def models(folders):
    return Models(list(folders.values()))


@pytest.fixture(scope="session")
def studio(models):
    """The address of a running studio."""
    with serving(models) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """Open pages that can reach one address alone; errors and outside requests fail the test."""
    contexts, wrong = [], []

    def open_one(address, *, width=1280, height=900, dark=False, expect_errors=False):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)

        def decide(route):
            if route.request.url.startswith((address.split("#")[0], "data:", "blob:")):
                route.continue_()
            else:
                wrong.append(f"asked for {route.request.url}")
                route.abort()

        context.route("**/*", decide)
        page = context.new_page()
        page.set_default_timeout(30_000)
        if not expect_errors:
            page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def visit(open_page, studio):
    """Open the studio at a state: `visit("translate?text=hola", dark=True)`."""
    return lambda state="", **settings: open_page(f"{studio}#{state}", **settings)


@pytest.fixture(scope="session")
def everything(tmp_path_factory):
    """Models of every kind, ours and those of Hugging Face."""
    return open_all(tmp_path_factory.mktemp("everything"))


@pytest.fixture(scope="session")
def answered(everything):
    """Ask the same models past the page: `answered("read/text", model="gpt2", text="a cat")`."""
    client = visitor(everything)
    return lambda verb, **body: ask(client, verb, **body)


@pytest.fixture(scope="session")
def whole_studio(everything):
    with serving(everything) as address:
        yield address


@pytest.fixture
def visit_all(open_page, whole_studio):
    """Open the studio that has every kind of model."""
    return lambda state="", **settings: open_page(f"{whole_studio}#{state}", **settings)
