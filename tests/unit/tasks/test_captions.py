"""From pictures to a model folder that describes, and back."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.errors import ArgumentError, DataError
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.model import Captioner, load_captioner
from regard.tasks.captions.settings import compose_captions
from regard.tasks.captions.train import captions_page
from regard.tasks.questions.settings import PictureData, PictureSize
from unit.tasks.picture_run import make_captioner


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_captioner(tmp_path_factory.mktemp("captions") / "run", data={"max_length": 6})


@pytest.fixture(scope="module")
def captioner(run):
    return load_captioner(run[0].folder.path)


def test_a_run_leaves_figures_a_report_and_a_card(run):
    trained, corpus = run
    assert trained.figures["steps"] == 2
    captioner = load_captioner(trained.folder.path)
    said = [captioner.caption_pixels(torch.from_numpy(picture))[0].text for picture in corpus.test.pictures]
    right = sum(one == gold for one, gold in zip(said, corpus.test.captions, strict=True))
    assert trained.figures["test_exact"] == right / len(said)
    assert trained.figures["test_majority"] <= 1 / 3
    page = trained.folder.report.read_text()
    assert page.count('<div class="maps">') == 2
    assert corpus.test.captions[0] in page
    assert "pipeline_tag: image-to-text" in (trained.folder.model / "README.md").read_text()
    again, _ = make_captioner(trained.folder.path, data={"max_length": 6})
    assert again.figures == trained.figures


def test_a_picture_is_described_with_a_map_for_each_word(run, captioner):
    picture = torch.from_numpy(run[1].test.pictures[0]).float() / 255
    [caption] = captioner.caption(picture)
    assert len(caption.attention.words) == caption.attention.maps.size(0)
    assert caption.attention.weights.shape[3:] == (8, 8)
    if caption.attention.words:
        torch.testing.assert_close(caption.attention.maps.sum((1, 2)), torch.ones(len(caption.attention.words)))
    assert len(caption.probabilities) == len(caption.attention.words) + caption.finished
    assert 0 < caption.probability <= 1
    assert caption.text.replace(",", " ,").split() == list(caption.attention.words)


def test_a_beam_gives_several(run, captioner):
    found = captioner.caption_pixels(torch.from_numpy(run[1].test.pictures[0]), beam=3, n_best=3)
    assert len({one.text for one in found}) == 3
    page = captions_page([(found[0], "<gold>"), (found[1], None)], title="<t>")
    assert "&lt;gold&gt;" in page
    assert "<t>" not in page


def test_regard_loads_it(run):
    loaded = regard.load(run[0].folder.path)
    assert isinstance(loaded, Captioner)
    assert repr(loaded).startswith("Captioner(residual, ")


def test_questions_are_answered_in_sentences(run, captioner, tmp_path):
    trained, corpus = make_captioner(tmp_path / "run", data={"answers": 2, "corpus": "builtin:simple-shapes"})
    assert set(trained.figures) >= {"test_answers", "valid_answers", "test_exact"}
    answering = load_captioner(trained.folder.path)
    assert answering.answers
    assert answering.image_size == 32
    index = next(number for number, prompt in enumerate(corpus.test.prompts) if prompt)
    question, picture = corpus.test.prompts[index], torch.from_numpy(corpus.test.pictures[corpus.test.owners[index]])
    [answer] = answering.caption_pixels(picture, question=question)
    [marked] = answering.caption_pixels(picture, question=question.rstrip("?"))
    assert marked.text == answer.text
    assert len(answer.probabilities) == len(answer.attention.words) + answer.finished
    assert answer.attention.weights.size(2) == len(answer.attention.words)
    assert answering.unknown("is there a zebra?") == ("zebra",)
    with pytest.raises(ArgumentError, match=r"`question` must have fewer than 40 words, .*; received 51\."):
        answering.caption_pixels(picture, question="is " * 50)
    with pytest.raises(ArgumentError, match=r"`question` must be empty for a model that only describes; received a"):
        captioner.caption_pixels(torch.from_numpy(run[1].test.pictures[0]), question="where is it?")


def test_mistakes(run, tmp_path):
    with pytest.raises(ArgumentError, match=r"`data` must be builtin:shapes, a table of pictures with captions \(CSV"):
        gather_captions(PictureData())
    with pytest.raises(DataError, match=r"^x must be builtin:shapes, a folder, or a table of pictures with captions; "):
        gather_captions(PictureData(corpus="x"))
    with pytest.raises(ArgumentError, match=r"`preset` must be the name of a model for captions; received \"v\"\."):
        compose_captions({}, PictureSize(pictures=9, words=9), name="v")
    for path in run[0].folder.model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"must be a whole folder of a captioner; received: "):
        load_captioner(tmp_path)
    table = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**table, "max_length": 0}))
    with pytest.raises(DataError, match=r"config.json: `max_length` must be at least 1; received 0\."):
        load_captioner(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**table, "task": "questions"}))
    with pytest.raises(DataError, match=r"must be the folder of a captioner; .* holds .*Use "):
        load_captioner(tmp_path)


def test_a_table_of_captions_trains_a_captioner(tmp_path):
    for number in range(24):
        Image.fromarray(np.full((10, 12, 3), 10 * number, dtype=np.uint8)).save(tmp_path / f"{number}.png")
    rows = [f"{number}.png,{'dark' if number < 12 else 'bright'} square" for number in range(24)]
    (tmp_path / "a.csv").write_text("\n".join(["image,caption", *rows]))
    settings = {"data.image_size": 16, "data.hold_out.valid": 0.3, "data.hold_out.test": 0.0, "data.license": "mine"}
    settings |= {"model.size": 8, "model.num_heads": 2, "model.image.widths": [4, 4], "model.image.num_blocks": 1}
    settings |= {"train.threads": 1, "train.valid_sentences": 2}
    captioner = regard.train("captions", data=tmp_path / "a.csv", out=tmp_path / "run", steps=2, settings=settings)
    assert captioner.caption(tmp_path / "3.png")[0].probability > 0
    assert 'license: "mine"' in (tmp_path / "run/model/README.md").read_text()
    measured = regard.evaluate(tmp_path / "run")
    assert (measured.side, measured.figures.keys()) == ("valid", {"valid_exact", "valid_bleu", "valid_majority"})
    with pytest.raises(
        ArgumentError, match=r"`data.answers` must be left out with \S+a\.csv, which has captions alone"
    ):
        gather_captions(PictureData(corpus=str(tmp_path / "a.csv"), answers=2))
