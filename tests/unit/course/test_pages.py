"""Pages of chapters: one file, no script, every choice in it."""

import re

import pytest
import torch

from regard.course import Page, choices
from regard.errors import ArgumentError
from regard.inspection import bars, heatmap


def pictures():
    return {"even": bars(torch.ones(2) / 2, title="Even"), "<odd> & new": heatmap(torch.eye(2), title="A map")}


def test_every_picture_is_a_choice_and_the_first_is_shown():
    page = choices("Two <pictures>", pictures(), about="What they are.").html
    assert page.count('type="radio"') == page.count("<section") == page.count("<svg") == 2
    assert page.count(" checked>") == 1
    assert "&lt;odd&gt; &amp; new" in page
    assert "<h1>Two &lt;pictures&gt;</h1>" in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="http', page)


def test_the_pictures_share_no_name():
    parts = choices("Two", pictures()).html.split("<section ")[1:]
    one, other = (set(re.findall(r' id="([^"]+)"', part)) for part in parts)
    assert len(one) > 4
    assert not one & other


def test_a_page_is_saved_and_shown_in_a_frame(tmp_path):
    page = Page('<p title="a">text</p>', height=100)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.to_html()
    assert page._repr_html_() == (
        '<iframe srcdoc="&lt;p title=&quot;a&quot;&gt;text&lt;/p&gt;" '
        'style="width: 100%; height: 100px; border: 1px solid #ccc"></iframe>'
    )


def test_no_pictures_are_an_error():
    with pytest.raises(ArgumentError, match=r"`pictures` must hold one or more; received none\."):
        choices("None", {})
