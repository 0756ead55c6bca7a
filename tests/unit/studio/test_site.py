"""A site of views: whole, linked, described; and the cards of saved files."""

import io
import json
import re
from html import unescape

import pytest
from PIL import Image
from typer.testing import CliRunner

from regard.cli import app
from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.pages import record_scene, record_steps, record_translation, translation_page
from regard.studio.preview import describe, draw_card
from regard.studio.site import VIEWS, export_site
from regard.tasks.translation.model import Translator
from unit.studio.seers import REVIEW, make_english, make_seers, opened

TEXT = "El <b> libro"


def held(page: str) -> dict:
    begun = '<script type="application/json" id="recorded">'
    return json.JSONDecoder().raw_decode(page, page.index(begun) + len(begun))[0]


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory):
    made = {"attending": make_english()["attending"], "answerer": make_seers()["answerer"]}
    return opened(made)


def test_a_site_has_a_page_for_each_view_and_a_tour(models, tmp_path):
    with models.borrow("recurrent", Translator) as thing:
        only = opened({"mine": thing})
    written = export_site(only, tmp_path / "site", text=TEXT)
    assert {path.name for path in written} == {path.name for path in (tmp_path / "site").iterdir()}
    names = {"translate", "steps", "whatif"}
    assert {f"{name}.html" for name in names} | {f"{name}.png" for name in names} <= {path.name for path in written}
    for name in names:
        page = (tmp_path / "site" / f"{name}.html").read_text(encoding="utf-8")
        record = held(page)
        assert record["pages"].keys() == names
        assert [item["name"] for item in record["overview"]["models"]] == ["mine"]
        assert f'<meta property="og:image" content="{name}.png">' in page
        assert "https:" not in page.replace("http://www.w3.org", "")
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for link in re.findall(r'href="([^"#]+)#', index):
        assert (tmp_path / "site" / unescape(link)).is_file()
    assert sum(path.stat().st_size for path in written) < 2_000_000


def test_views_can_be_chosen(all_kinds, tmp_path):
    written = export_site(all_kinds, tmp_path, views=["ask"])
    assert [path.name for path in written if path.suffix == ".html"] == ["ask.html", "index.html"]


def test_views_that_no_model_has_are_refused(all_kinds, tmp_path):
    with pytest.raises(ArgumentError, match=r"`view` must have a model that is open; received translate\."):
        export_site(all_kinds, tmp_path, views=["translate"])
    with pytest.raises(ArgumentError, match=r"`view` must be one of translate, .*; received 'trnslate'. Did you mean"):
        export_site(all_kinds, tmp_path, views=["trnslate"])
    with pytest.raises(ArgumentError, match="received at least one"):
        export_site(Models(), tmp_path)


def test_the_order_of_the_tour_is_that_of_the_views(all_kinds, tmp_path):
    export_site(all_kinds, tmp_path, text=REVIEW)
    order = re.findall(r'href="(\w+)\.html#', (tmp_path / "index.html").read_text(encoding="utf-8"))
    assert order == [view for view in VIEWS if view in order]
    assert set(order) == {"classify", "ask", "steps", "whatif"}


def test_pages_have_a_title_a_description_and_a_picture(models):
    with models.borrow("recurrent", Translator) as thing:
        page = translation_page(thing, TEXT, beam=1)
    title = re.search("<title>(.*?)</title>", page).group(1)
    assert unescape(title).startswith("Translate: El <b> libro")
    assert "<b>" not in title
    assert '<meta name="description" content="A translation, and which source words' in page
    assert '<meta property="og:image" content="data:image/png;base64,' in page


@pytest.mark.parametrize("record", [record_translation, record_steps])
def test_cards_are_small_pictures_of_the_first_map(models, record):
    with models.borrow("recurrent", Translator) as thing:
        recording = record(thing, "El libro")
    card = draw_card(recording)
    assert Image.open(io.BytesIO(card)).size == (1200, 630)
    assert len(card) < 60_000
    plain = draw_card(recording.model_copy(update={"answers": []}))
    assert card != plain


@pytest.mark.parametrize("text", [r"cuesta $\frac$ .", "de $5 a $9"])
def test_dollar_signs_on_a_card_are_no_formula(models, text, monkeypatch):
    with models.borrow("recurrent", Translator) as thing:
        recording = record_translation(thing, text, beam=1)
    monkeypatch.setattr("matplotlib.mathtext.MathTextParser.parse", None)
    assert Image.open(io.BytesIO(draw_card(recording))).size == (1200, 630)


def test_a_scene_is_described_by_its_question(all_kinds):
    recording = record_scene(all_kinds.all("vision")[0].thing, 3, name="shapes")
    title, description = describe(recording)
    question = next(item.body["question"] for item in recording.answers if item.verb == "ask/answer")
    assert title.startswith(f"Ask an image: {question} → ")
    assert "Model: shapes." in description
    assert len(draw_card(recording)) > 2_000


def test_the_command_writes_a_site_and_ends(models, tmp_path):
    result = CliRunner().invoke(app, ["studio", "shapes", "--export", str(tmp_path / "site")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "site" / "ask.html").is_file()


def test_text_and_view_go_with_export():
    result = CliRunner().invoke(app, ["studio", "--text", "hola"])
    assert isinstance(result.exception, ArgumentError)
    assert "`--text` and `--view` must go with --export FOLDER" in str(result.exception)
