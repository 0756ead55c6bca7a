"""Pictures of the page as PDF: shapes and texts stay what they are, fonts are embedded, bad input is refused."""

import base64
import io
import re
import zlib

import pytest
from PIL import Image

from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.paper import narrowing, paper, read_path
from regard.studio.schema.share import Mark, PictureFile
from unit.studio.visiting import ask, visitor

HERE = [1, 0, 0, 1, 20, 30]


def picture(*marks, width=400, height=100):
    return PictureFile(title="Translate: hola → hello", width=width, height=height, marks=list(marks))


def streams(pdf: bytes) -> bytes:
    """Give what is drawn, uncompressed."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, flags=re.DOTALL)
    parts = []
    for item in found:
        try:
            parts.append(zlib.decompress(item))
        except zlib.error:
            parts.append(item)
    return b"\n".join(parts)


def page_size(pdf: bytes) -> list[float]:
    return [float(item) for item in re.search(rb"/MediaBox \[ ([\d. ]+) \]", pdf).group(1).split()]


def test_fonts_are_embedded_and_texts_stay_texts():
    pdf = paper(picture(Mark(matrix=HERE, text="Canadá $5$ → 日", size=14, bold=True, width=200, fill="#102030")))
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"BT" in streams(pdf)
    assert b"/Title" in pdf


def test_a_picture_has_its_own_size_up_to_the_width_of_a_text():
    assert page_size(paper(picture(width=192, height=96)))[2:] == [144, 72]  # 96 pixels are 72 points
    wide = page_size(paper(picture(width=2400, height=600)))
    assert wide[2:] == [468, 117]  # six and a half inches


def test_shapes_are_vectors_in_their_colors():
    drawn = streams(paper(picture(Mark(matrix=HERE, path="M0 0h40v20h-40z", fill="#ff0000"))))
    assert b"1 0 0 rg" in drawn
    line = streams(paper(picture(Mark(matrix=HERE, path="M0 0L9 9", stroke="#0000ff", stroke_width=2, dashes=[3, 2]))))
    assert b"0 0 1 RG" in line
    assert paper(picture(Mark(matrix=HERE, path="M0 0h9v9z", hatched=True))) != paper(picture())


def test_images_are_drawn():
    written = io.BytesIO()
    Image.new("RGB", (3, 2), (9, 99, 199)).save(written, format="png")
    image = base64.b64encode(written.getvalue()).decode()
    assert b"/Image" in paper(picture(Mark(matrix=HERE, image=image, width=30, height=20)))


def test_letters_are_as_small_as_the_tightest_text_needs():
    fits = Mark(matrix=HERE, text="word", size=10, width=500)
    tight = Mark(matrix=HERE, text="wide words", size=10, width=45)
    assert narrowing([fits]) == 1
    assert 0.5 < narrowing([fits, tight]) < 1


@pytest.mark.parametrize(
    ("commands", "vertices"),
    [
        ("M1 2L3 4", [[1, 2], [3, 4]]),
        ("m1 2l3 4", [[1, 2], [4, 6]]),
        ("M0 0 5 5", [[0, 0], [5, 5]]),
        ("M1 1H4V5z", [[1, 1], [4, 1], [4, 5], [1, 1]]),
        ("M0 0q1 0 1 1", [[0, 0], [1, 0], [1, 1]]),
        ("M0 0C1 2 3 4 5 6", [[0, 0], [1, 2], [3, 4], [5, 6]]),
        ("M-1.5-2e1L.5.5", [[-1.5, -20], [0.5, 0.5]]),
    ],
)
def test_paths_are_read(commands, vertices):
    assert read_path(commands).vertices.tolist() == vertices


def test_half_circles_go_through_their_top():
    arc = read_path("M-4 0a4 4 0 1 0 8 0").vertices
    assert [-4, 0] in arc.tolist()
    assert [4, 0] in arc.tolist()
    assert [0, 4] in arc.round(9).tolist()  # the sweep is counter-clockwise, below on a page


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ("", "`path` must have at least one command, such as M0 0; received none."),
        ("M1", "`path` must be commands M, L, H, V, C, Q, A, Z with their numbers; received 'M1'."),
        ("M0 0X1", "`path` must be commands M, L, H, V, C, Q, A, Z with their numbers; received 'M0 0X1'."),
        ("M0 0z5", "`path` must have a command before each number; received 'M0 0z5'."),
    ],
)
def test_other_paths_are_refused(commands, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        read_path(commands)


@pytest.mark.parametrize("image", ["", "%%", base64.b64encode(b"GIF89a").decode()])
def test_what_is_no_png_is_refused(image):
    if image:
        with pytest.raises(ArgumentError, match=re.escape("`image` must be a PNG file in base64; received something")):
            paper(picture(Mark(matrix=HERE, image=image, width=3, height=3)))
    else:
        assert paper(picture(Mark(matrix=HERE)))  # nothing is drawn


def test_the_verb_answers_with_the_file():
    client = visitor(Models())
    body = {
        "title": "t",
        "width": 50,
        "height": 20,
        "marks": [{"matrix": HERE, "path": "M0 0h9v9z", "fill": "#112233"}],
    }
    assert base64.b64decode(ask(client, "share/pdf", **body)["pdf"]).startswith(b"%PDF")
    refused = client.post("/api/share/pdf", json={**body, "marks": [{"matrix": [1, 2], "path": "M0 0"}]})
    assert refused.status_code == 422
