"""Pictures as files and pages: whole, offline, true and harmless."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from matplotlib.figure import Figure

from regard import Causal
from regard.errors import ArgumentError
from regard.inspection import alignment_lines, bars, head_grid, heatmap, image_overlay
from regard.inspection.drawing.page import MOST_CELLS, MOST_SPOTS
from regard.inspection.drawing.panels import panels

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</title><script>alert(1)</script>",
    "a\x00\n\u202eb",
    "$x^",
    "&amp;",
    '"]]>',
]


def some(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).softmax(-1)


def told(source: str) -> list[str]:
    return [title.text or "" for title in ElementTree.fromstring(source).iter(f"{SVG}title")]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE")]
)
def test_is_saved_as_its_name_says_and_the_same_each_time(suffix: str, start: bytes, tmp_path: Path) -> None:
    weights = some(3, 4)
    for name in ("a", "b"):
        picture = heatmap(weights, title="x")
        picture.save(tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert isinstance(picture, Figure)


def test_other_names_are_refused(tmp_path: Path) -> None:
    picture = heatmap(some(2, 2))
    with pytest.raises(
        ArgumentError, match=r"`path` must end in \.png, \.svg, \.pdf, \.html; received a\.pngg. Did you"
    ):
        picture.save(tmp_path / "a.pngg")
    with pytest.raises(ArgumentError, match=r"received a\. Choose one of \.png"):
        picture.save(tmp_path / "a")


def test_every_cell_tells_its_number() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.123456, 0.876544]])
    picture = heatmap(weights, query_labels=["a", "b"], key_labels=["c", "d"], mask=Causal())
    assert sorted(told(picture.to_svg())) == ["a → c: 1", "a → d: masked", "b → c: 0.123456", "b → d: 0.876544"]


def test_cells_lie_where_they_are_drawn() -> None:
    """The places one can point at are the cells that matplotlib painted: their corners agree within half a point."""
    picture = heatmap(torch.eye(2), title="x")
    tree = ElementTree.fromstring(picture.to_svg())
    spots = {
        polygon.find(f"{SVG}title").text: [float(number) for number in re.findall(r"[\d.]+", polygon.get("points", ""))]
        for polygon in tree.iter(f"{SVG}polygon")
    }
    axes, height = picture.axes[0], picture.get_figheight() * 72
    left, top = axes.transData.transform((0, 0)) * 72 / picture.dpi
    right, bottom = axes.transData.transform((1, 1)) * 72 / picture.dpi
    expected = [left, height - top, right, height - top, right, height - bottom, left, height - bottom]
    assert spots["0 → 0: 1"] == pytest.approx(expected, abs=0.5)
    mesh = next(group for group in tree.iter(f"{SVG}g") if (group.get("id") or "").startswith("QuadMesh"))
    drawn = [float(n) for n in re.findall(r"-?[\d.]+", next(mesh.iter(f"{SVG}path")).get("d", ""))]
    assert (min(drawn[0::2]), min(drawn[1::2])) == pytest.approx((left, height - top), abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["heatmap", "lines", "bars", "grid"])
def test_hostile_words_stay_words(kind: str) -> None:
    words = {"query_labels": HOSTILE, "key_labels": HOSTILE}
    size = len(HOSTILE)
    picture = {
        "heatmap": lambda: heatmap(some(size, size), title=HOSTILE[1], **words),
        "lines": lambda: alignment_lines(some(size, size), title=HOSTILE[0], **words),
        "bars": lambda: bars(torch.rand(size), labels=HOSTILE, title=HOSTILE[2]),
        "grid": lambda: head_grid(some(2, size, size), title=HOSTILE[1], **words),
    }[kind]()
    for page in (picture.to_html(), picture._repr_html_()):
        tags = Tags()
        tags.feed(page)
        assert not {"script", "img", "iframe", "link", "object"} & set(tags.seen)
        assert not [name for name, _ in tags.attributes if name.startswith("on")]
        assert not [
            value
            for name, value in tags.attributes
            if name in ("src", "href", "xlink:href") and not value.startswith(("#", "data:image/png"))
        ]
        assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", page)
    assert any("<img src=x onerror=alert(1)>" in text for text in told(picture.to_svg()))


def test_a_page_says_what_it_does_not_mean_and_holds_its_numbers() -> None:
    page = heatmap(torch.tensor([[1.0, 0.0], [0.25, 0.75]]), mask=Causal(), title="layer 0").to_html()
    assert "<title>layer 0</title>" in page
    assert "Weights say what a layer attended to, not what mattered." in page
    assert re.findall(r"<td>([^<]+)</td>", page) == ["1", "masked", "0.25", "0.75"]


def test_a_page_says_what_it_is_of_and_fits_a_phone_and_the_dark() -> None:
    picture = heatmap(torch.eye(2), title="model.decoder.layers.0.encoder_attn")
    assert "<dl>" not in picture.to_html()
    picture.about = (("Text", "<b>a text</b>"), ("Model", "Bart"))
    page = picture.to_html()
    assert "<dl><dt>Text</dt><dd>&lt;b&gt;a text&lt;/b&gt;</dd><dt>Model</dt><dd>Bart</dd></dl>" in page
    assert "h1 { overflow-wrap: anywhere" in page
    assert "@media (prefers-color-scheme: dark)" in page


def test_large_maps_tell_the_largest_numbers_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_SPOTS > MOST_CELLS  # what has no table can still be pointed at
    monkeypatch.setattr("regard.inspection.drawing.page.MOST_SPOTS", 1_500)
    monkeypatch.setattr("regard.inspection.drawing.page.MOST_CELLS", 1_000)
    weights = some(40, 40)
    page = heatmap(weights).to_html()
    assert page.count("<polygon") == 1_500
    assert "The 1,500 largest numbers are shown when pointed at" in page
    assert f"{float(weights.max()):.6g}</title>" in page
    assert "<table" not in page


def test_notebooks_get_pictures_that_do_not_clash() -> None:
    """Two outputs in one page: no name is used twice, and every name that is used is there."""
    parts = [heatmap(some(2, 2))._repr_html_(), heatmap(some(2, 3), mask=Causal())._repr_html_()]
    names = [re.findall(r'\bid="([^"]+)"', part) for part in parts]
    assert not set(names[0]) & set(names[1])
    for part, own in zip(parts, names, strict=True):
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', part)
        assert used
        assert set(used) <= set(own)
        assert "<?xml" not in part
        assert "<!DOCTYPE" not in part
    assert heatmap(some(2, 2))._repr_png_().startswith(b"\x89PNG")
    saved = json.loads(json.dumps({"text/html": parts[0]}))  # as a notebook keeps it
    assert saved["text/html"] == parts[0]


def test_gives_its_numbers_back() -> None:
    weights = some(2, 3)
    picture = heatmap(weights, query_labels=["a", "b"], key_labels=["c", "d", "e"])
    assert torch.equal(torch.from_numpy(picture.to_numpy()[0]).float(), weights)
    assert picture.to_csv().splitlines()[0] == "query,c,d,e"
    values = json.loads(json.dumps(picture.to_json()))["maps"][0]["values"]
    assert torch.equal(torch.tensor(values), weights)
    grid = head_grid(torch.full((2, 1, 2), 0.5), mask=torch.tensor([[True, False]]))
    assert grid.to_csv() == "panel,query,key,value\n0,0,0,0.5\n0,0,1,\n1,0,0,0.5\n1,0,1,\n"
    assert [map.name for map in grid.maps] == ["head 0", "head 1"]
    overlay = image_overlay(torch.rand(8, 8), some(4).view(2, 2))
    assert overlay.maps[0].values.shape == (2, 2)
    assert len(told(overlay.to_svg())) == 4


def test_figures_made_of_panels_can_do_the_same(tmp_path: Path) -> None:
    figure, axes = panels(1, 2, titles=["one", "two"])
    axes[0].plot([0, 1], [0, 1])
    figure.save(tmp_path / "a.html")
    assert figure.to_numpy() == []
    assert figure.to_csv() == "panel,query,key,value\n"


# Lines and bars


def test_lines_tell_their_numbers_and_masked_ones_are_not_drawn() -> None:
    picture = alignment_lines(torch.tensor([[0.6, 0.4], [0.5, 0.5]]), query_labels=["a", "b"], mask=Causal())
    assert told(picture.to_svg()) == ["a → 0: 0.6", "b → 0: 0.5", "b → 1: 0.5"]


@pytest.mark.parametrize("count", [1, 12, 150])
def test_words_beside_lines_and_bars_never_overlap(count: int) -> None:
    words = [f"incomprehensibilities{place}" for place in range(count)]
    figure = alignment_lines(torch.eye(count), query_labels=words, key_labels=words, title="x")
    figure.draw_without_rendering()
    for side in ("left", "right"):
        texts = [text for text in figure.axes[0].texts if text.get_ha() == side]
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
        assert len(boxes) > 1
        assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))
    figure = bars(torch.rand(count), labels=words)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels() if label.get_text()]
    assert boxes
    assert all(below.y1 <= above.y0 + 1 for above, below in pairwise(boxes))


def test_long_words_are_shortened_but_told_whole() -> None:
    word = "x" * 500
    picture = heatmap(torch.eye(1), query_labels=[word], key_labels=["a"])
    picture.draw_without_rendering()
    assert len(picture.axes[0].get_yticklabels()[0].get_text()) == 32
    assert told(picture.to_svg()) == [f"{word} → a: 1"]


def test_bars_have_a_fixed_scale_and_say_what_is_missing() -> None:
    mask = torch.tensor([True, True, False])
    picture = bars(torch.tensor([0.5, float("nan"), 0.25]), labels=["a", "b", "c"], mask=mask)
    axes = picture.axes[0]
    assert axes.get_xlim() == (0.0, 1.0)
    assert [text.get_text() for text in axes.texts] == ["0.50", "–", "masked"]
    assert told(picture.to_svg()) == ["a: 0.5", "b: –", "c: masked"]
    with pytest.raises(
        ArgumentError, match=r"`values` must lie within the scale, 0 to 1; received numbers from -1 to 2"
    ):
        bars(torch.tensor([-1.0, 2.0]))
    with pytest.raises(ArgumentError, match=r"`key_labels` must name 2 positions; received 1"):
        bars(torch.ones(2), labels=["a"])


@pytest.mark.usefixtures("unchecked")
def test_bars_need_a_row_of_numbers() -> None:
    with pytest.raises(
        ArgumentError, match=r"`values` must be one number for each of some tokens; received shape \(2, 2\)"
    ):
        bars(torch.ones(2, 2))
