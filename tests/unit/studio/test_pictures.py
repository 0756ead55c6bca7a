"""What Ask an image answers: exactly what the models say, and nothing of what is no picture."""

import base64
import io
import re
import struct
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from PIL import Image

from regard.data.text.special import END
from regard.errors import ArgumentError
from regard.inspection.readings.distance import total_variation
from regard.studio.models import Models
from regard.studio.views import ask_picture as pictures_read
from regard.studio.views.ask import ANY_SCENE
from regard.studio.views.ask_picture import MAX_FILE, MAX_PIXELS, draw_picture, read_file, read_picture
from regard.tasks.attribution import attribute_answer, attribute_caption, attribute_image, attribute_label
from unit.studio.seers import make_seers, opened
from unit.studio.visiting import ask, refused, unpacked, visitor

QUESTION = "is there a circle?"


@pytest.fixture(scope="module")
def things():
    return make_seers()


@pytest.fixture(scope="module")
def models(things):
    return opened(things)


@pytest.fixture
def client(models):
    return visitor(models)


def encoded(picture, kind="png", **settings):
    buffer = io.BytesIO()
    picture.save(buffer, format=kind, **settings)
    return base64.b64encode(buffer.getvalue()).decode()


def pixels_of(seed):
    return draw_picture(seed, (64, 64), 3).tensor()


def test_a_scene_is_drawn_with_questions_that_it_answers(client, things):
    seen = ask(client, "ask/picture", model="answerer", seed=3)
    again = ask(client, "ask/picture", model="answerer", seed=3)
    assert seen == again
    assert seen != ask(client, "ask/picture", model="answerer", seed=4)
    assert seen["task"] == "questions"
    assert (seen["height"], seen["width"]) == (64, 64)
    shown = Image.open(io.BytesIO(base64.b64decode(seen["picture"].partition(",")[2])))
    assert (np.asarray(shown).transpose(2, 0, 1) == pixels_of(3).numpy()).all()
    assert seen["questions"]
    assert all(one["answer"] in things["answerer"].answers for one in seen["questions"])
    assert set(seen["suggestions"]) <= set(ANY_SCENE)


def test_an_answer_is_the_models(client, things):
    said = ask(client, "ask/answer", model="answerer", seed=3, question=QUESTION)
    found = things["answerer"].ask_pixels(pixels_of(3), [QUESTION])[0]
    assert said["output"] == found.answer
    assert {one["name"]: one["probability"] for one in said["probabilities"]} == found.probabilities
    assert said["words"] == ["is", "there", "a", "circle", "?"]
    assert torch.equal(unpacked(said["weights"]), found.attention.weights)
    assert not said["unknown"]
    odd = ask(
        client, "ask/answer", model="answerer", seed=3, question="is there a <img src=x onerror=alert(1)> " + "a " * 40
    )
    assert "img" in odd["unknown"]
    assert odd["cut"] > 0
    assert len(odd["words"]) == 12


def test_a_caption_is_the_models(client, things):
    said = ask(client, "ask/answer", model="captioner", seed=3)
    found = things["captioner"].caption_pixels(pixels_of(3))[0]
    assert said["output"] == found.text
    assert said["words"] == list(found.attention.words)
    assert said["word_probabilities"] == list(found.probabilities)
    assert said["finished"] == found.finished
    assert torch.equal(unpacked(said["weights"]), found.attention.weights)


@pytest.mark.parametrize("name", ["gates", "patches"])
def test_a_label_is_the_models_with_its_places(client, things, name):
    said = ask(client, "ask/answer", model=name, seed=3)
    classifier = things[name]
    pixels = draw_picture(3, (16, 16), classifier.channels).pixels
    [found] = classifier.inspect_pixels(pixels[None])
    assert said["output"] == found.decision.label
    assert [one["name"] for one in said["maps"]][: len(found.positions)] == [one.name for one in found.positions]
    for told, one in zip(said["maps"], found.positions, strict=False):
        assert torch.equal(unpacked(told["weights"]), one.weights)
        assert told["limit"] == one.limit
    last = said["maps"][-1]
    if found.evidence is not None:
        assert last["signed"]
        assert torch.equal(unpacked(last["weights"]), found.evidence)
        assert last["limit"] == pytest.approx(float(found.evidence.abs().max()))


@pytest.mark.parametrize(("kind", "mode"), [("png", "RGBA"), ("jpeg", "L"), ("webp", "RGB"), ("png", "P")])
def test_a_picture_of_ones_own_is_read_and_stretched(client, things, kind, mode):
    own = Image.fromarray(np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)).convert(mode)
    file = encoded(own, kind)
    seen = ask(client, "ask/picture", model="answerer", file=file)
    assert seen["original"] == [20, 30]
    assert (seen["height"], seen["width"]) == (64, 64)
    assert seen["questions"] == []
    assert seen["truth"] is None
    said = ask(client, "ask/answer", model="answerer", file=file, question=QUESTION)
    expected = things["answerer"].ask(Image.open(io.BytesIO(base64.b64decode(file))), QUESTION)
    assert said["output"] == expected.answer
    assert torch.equal(unpacked(said["weights"]), expected.attention.weights)


def _many_pixels(width, height):
    """Write a PNG that says it is large, with no more than a header behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        parts += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return base64.b64encode(parts).decode()


def test_what_is_no_picture_is_refused_in_a_paragraph(client):
    whole = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    cut = encoded(whole)[:4000]
    for verb in ("picture", "answer", "checks"):
        message = refused(client, f"ask/{verb}", file=base64.b64encode(b"<svg onload=alert(1)>").decode())
        assert message == "This file is not a picture. Choose a PNG, JPEG or WebP file."
    assert re.match(
        r"This picture cannot be read: .*truncated.*\. Choose another\.", refused(client, "ask/picture", file=cut)
    )
    assert refused(client, "ask/picture", file=encoded(whole, "gif")).startswith("This file is not a picture.")
    assert refused(client, "ask/picture", file="<script>").startswith(
        "`file` must be a file in base64; received something"
    )
    large = base64.b64encode(bytes(MAX_FILE + 1)).decode()
    assert refused(client, "ask/picture", file=large) == (
        "The picture must have at most 4,194,304 bytes; it has 4,194,305. Make it smaller."
    )
    assert refused(client, "ask/picture", file=_many_pixels(6000, 5000)) == (
        f"The picture must have at most {MAX_PIXELS:,} pixels; it has 6,000 × 5,000. Make it smaller."
    )
    assert refused(client, "ask/picture", file=_many_pixels(60_000, 60_000)).startswith("This picture cannot be read: ")


def test_other_requests_are_refused_too(client, models):
    assert (
        refused(client, "ask/picture")
        == "Either `seed` or `file` must name the picture; received neither. Choose a picture."
    )
    both = {"seed": 1, "file": encoded(Image.new("RGB", (4, 4)))}
    assert "received both" in refused(client, "ask/picture", **both)
    assert refused(client, "ask/picture", seed=-1) == "seed: at least 0."
    assert (
        refused(client, "ask/answer", seed=1, question="x" * 2001) == "question: at most 2,000, of letters or entries."
    )
    assert refused(client, "ask/answer", model="answerer", seed=1, question="") == (
        '`question` must have at least one word; received "".'
    )
    assert refused(client, "ask/answer", model="answere", seed=1) == (
        '`model` must be one that reads images; received "answere". Did you mean answerer?'
    )
    assert refused(visitor(Models()), "ask/picture", seed=1).startswith(
        "`model` must be one that reads images; received none: no such model is open."
    )
    with pytest.raises(ArgumentError, match="must name the picture; received neither"):
        read_picture(seed=None, file=None, size=(8, 8), channels=3)
    assert read_file(both["file"], size=(2, 2), channels=1).pixels.shape == (1, 2, 2)


def test_covering_is_what_a_loop_finds(client, things):
    told = ask(client, "ask/checks", model="answerer", seed=3, question=QUESTION)
    thing = things["answerer"]
    image = pixels_of(3).float() / 255
    mean = image.mean((1, 2), keepdim=True)

    def logits(one):
        tokens = torch.tensor([thing.tokenizer.encode(QUESTION).ids])
        with torch.no_grad():
            return thing.model(one[None], tokens, torch.tensor([tokens.size(1)])).logits[0]

    before = logits(image)
    for row, column in ((0, 0), (3, 5), (7, 7)):
        covered = image.clone()
        covered[:, 8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = mean
        expected = total_variation(before, logits(covered))
        assert float(unpacked(told["occlusion"])[0, row, column]) == pytest.approx(float(expected), abs=1e-4)
    assert told["uniform"][0] < 0


def test_the_gradient_of_a_straight_line_is_what_covering_changes():
    torch.manual_seed(0)
    image, matrix = torch.rand(1, 3, 8, 8), torch.randn(2, 3 * 64)

    def predict(images):
        return (images.flatten(1) @ matrix.T).unsqueeze(1)

    result = attribute_image(torch.nn.Identity(), predict, image, [1], grid=(2, 2))
    for place, (top, left) in enumerate(((0, 0), (0, 4), (4, 0), (4, 4))):
        covered = image.clone()
        covered[:, :, top : top + 4, left : left + 4] = image.mean((2, 3), keepdim=True)
        change = (predict(covered) - predict(image))[0, 0, 1].abs()
        torch.testing.assert_close(result.gradient[0].flatten()[place], change, atol=1e-4, rtol=1e-4)
    assert result.occlusion.shape == (1, 2, 2)
    assert result.uniform is None


def test_captions_and_labels_are_checked_too(things):
    captioner = things["captioner"]
    found = attribute_caption(captioner, pixels_of(3))
    words = len(captioner.caption_pixels(pixels_of(3))[0].attention.words)
    assert found.occlusion.shape == found.gradient.shape == (words, 8, 8)
    assert len(found.uniform) == words
    said = attribute_label(things["gates"], torch.from_numpy(draw_picture(3, (16, 16), 3).pixels))
    assert said.occlusion.shape == (1, 8, 8)
    assert said.uniform is None
    assert attribute_answer(things["mean"], pixels_of(3), QUESTION).occlusion.shape == (1, 8, 8)


def test_a_captioner_that_says_nothing_is_no_error(things):
    captioner = things["captioner"]
    bias = captioner.model.output.bias
    before = bias.detach().clone()
    with torch.no_grad():
        bias[END] += 1e4
    try:
        client = visitor(opened({"captioner": captioner}))
        said = ask(client, "ask/answer", seed=1)
        assert (said["output"], said["weights"]) == ("", None)
        assert ask(client, "ask/checks", seed=1)["occlusion"] == {"shape": [0, 8, 8], "float32": ""}
    finally:
        with torch.no_grad():
            bias.copy_(before)


def test_two_pictures_are_unpacked_at_once_and_no_more(monkeypatch):
    inside, most, lock = 0, [], threading.Lock()

    def fit(picture, *, size, channels):
        nonlocal inside
        with lock:
            inside += 1
            most.append(inside)
        time.sleep(0.05)
        with lock:
            inside -= 1
        return np.zeros((channels, *size), np.uint8)

    monkeypatch.setattr(pictures_read, "fit_picture", fit)
    file = encoded(Image.new("RGB", (8, 8)))
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: read_file(file, size=(4, 4), channels=3), range(6)))
    assert len(most) == 6
    assert max(most) <= 2


def test_a_large_jpeg_is_unpacked_small_and_looks_the_same(monkeypatch):
    sizes, fit = [], pictures_read.fit_picture
    monkeypatch.setattr(pictures_read, "fit_picture", lambda one, **kept: sizes.append(one.size) or fit(one, **kept))
    rows = np.linspace(0, 255, 1200)[:, None, None] * np.array([1.0, 0.5, 0.2])
    picture = Image.fromarray(np.broadcast_to(rows, (1200, 1600, 3)).astype(np.uint8))
    small = read_file(encoded(picture, "jpeg", quality=95), size=(32, 32), channels=3)
    whole = read_file(encoded(picture), size=(32, 32), channels=3)
    assert sizes == [(200, 150), (1600, 1200)]
    assert small.original == whole.original == (1200, 1600)
    assert np.abs(small.pixels.astype(int) - whole.pixels.astype(int)).max() <= 3
