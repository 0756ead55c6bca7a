"""A studio that is running, and a browser that visits it: nothing else can be reached."""

import json
import shutil
from pathlib import Path
from urllib.request import url2pathname

import regard
from regard.studio.models import Models
from unit.studio.seers import make_english, make_seers
from unit.studio.strangers import make_strangers
from unit.studio.visiting import make_folders

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


def find_chromium() -> str:
    """Give the path of the system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError("Browser tests need Chromium: apt-get install chromium.")


def open_all(folder: Path) -> Models:
    """Open models of every kind at once."""
    made = {name: regard.load(path) for name, path in make_folders(folder).items()}
    seers, english = make_seers(), make_english()
    made |= {name: seers[name] for name in ("answerer", "answerer-2", "captioner", "gates")}
    made |= {f"{name}-reader": english[name] for name in ("transformer", "attending")}
    made |= {"letters": english["letters"]}
    strangers = make_strangers(folder / "strangers")
    return Models([*made, *strangers.values()], load=lambda path: made[path.name])


def violations(page) -> list[str]:
    """Run axe on what is shown, and list what it finds wrong."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [f"{one['id']}: {one['help']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


def check_accessible(page) -> None:
    """Check what is shown with axe, in light and in dark, and that it fits the window: one page for all of it."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(150)  # pictures are drawn anew in other colors
        assert violations(page) == [], scheme
        wide = page.evaluate(
            """() => [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right >
            document.documentElement.clientWidth + 1).map((one) => one.outerHTML.slice(0, 80)).slice(0, 8)"""
        )
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert page.evaluate(fits), wide


def number(value: float, digits: int = 4) -> str:
    """Write a number as the page does."""
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "−")
    return f"{value:.{digits}f}".replace("-", "−")


def read_table(page) -> list[list[str]]:
    """Give the numbers of the table that is open: under a matrix, or of the address `open=table`."""
    details = page.locator(".matrix details summary")
    if details.count():
        details.first.click()
    table = ".matrix .numbers table tbody tr" if details.count() else ".drawer .numbers table tbody tr"
    page.locator(table).first.wait_for()
    rows = page.locator(table).all()
    return [row.locator("td").all_inner_texts() for row in rows]


def save(page, folder, *, timeout=60_000) -> str:
    """Press "Save as one file", and give the address of the file that the browser gets."""
    with page.expect_download(timeout=timeout) as begun:
        share(page, "Save as one file")
    file = folder / begun.value.suggested_filename
    begun.value.save_as(file)
    return file.as_uri()


def share(page, name: str) -> None:
    """Press a button of the menu Share, which stays open."""
    button = page.get_by_role("button", name=name, exact=True)
    if not button.is_visible():
        page.get_by_role("button", name="Share", exact=True).click()
    button.click()


def choose_option(page, act) -> None:
    """Open the options of the picture, do something there, and close them."""
    page.get_by_role("button", name="Options", exact=True).click()
    act(page.locator(".popover:popover-open"))
    page.keyboard.press("Escape")


def held(address: str) -> dict:
    """Read what a saved file holds."""
    text = Path(url2pathname(address.removeprefix("file://"))).read_text(encoding="utf-8")
    begun = '<script type="application/json" id="recorded">'
    return json.JSONDecoder().raw_decode(text, text.index(begun) + len(begun))[0]
