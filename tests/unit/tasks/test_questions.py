"""From pictures to a model folder that answers, and back."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.errors import ArgumentError, ArgumentTypeError, DataError, Interrupted
from regard.tasks.picture_input import read_any_picture
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.model import QuestionAnswerer, load_question_answerer
from regard.tasks.questions.settings import PictureData, PictureSize, QuestionConfig, compose_questions
from regard.tasks.questions.train import train_questions
from regard.training.interruption import Interruption
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.run_folder import RunFolder
from unit.tasks.picture_run import SIZE, TINY, make_answerer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_answerer(tmp_path_factory.mktemp("questions") / "run")


@pytest.fixture(scope="module")
def answerer(run):
    return load_question_answerer(run[0].folder.path)


def test_a_run_leaves_figures_a_report_and_a_card(run):
    trained, corpus = run
    figures = trained.figures
    assert figures["steps"] == 2
    answerer, side = load_question_answerer(trained.folder.path), corpus.test
    pictures = [torch.from_numpy(one) for one in side.pictures]
    right = 0
    for number, picture in enumerate(pictures):
        own = [one for one in side.questions if one.picture == number]
        said = answerer.ask_pixels(picture, [one.text for one in own])
        right += sum(found.answer == one.answer for found, one in zip(said, own, strict=True))
    assert figures["test_accuracy"] == pytest.approx(right / len(side.questions))
    assert {f"test_accuracy_{kind}" for kind in ("color", "shape", "position", "count", "yes/no")} <= figures.keys()
    assert figures["test_majority"] <= figures["test_question_only"] + 0.1
    assert figures["answers"] == len(corpus.answers)
    page = trained.folder.report.read_text()
    assert page.count('<div class="maps">') == 2
    assert page.count("<figcaption>the picture</figcaption>") == 2
    assert "question alone" in page
    card = (trained.folder.model / "README.md").read_text()
    assert "pipeline_tag: visual-question-answering" in card
    assert "License of the data: MIT, as regard itself." in card
    lines = read_metrics(trained.folder.metrics)
    assert [line["step"] for line in lines if line["event"] == "valid"] == [2]


def test_a_finished_run_gives_its_figures_again(run):
    again, _ = make_answerer(run[0].folder.path)
    assert isinstance(again, Trained)
    assert again.figures == run[0].figures


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(run, tmp_path):
    before = load_question_answerer(run[0].folder.path).model.state_dict()
    config = compose_questions(TINY, SIZE)
    corpus, folder = gather_questions(config.data), RunFolder(tmp_path)
    stop = Interruption()
    stop.signal = 15
    with pytest.raises(Interrupted):
        train_questions(config, corpus, Run(folder=folder, interruption=stop))
    resumed = train_questions(config, corpus, Run(folder=folder))
    found = load_question_answerer(resumed.folder.path).model.state_dict()
    assert all(torch.equal(before[name], found[name]) for name in before)


def test_a_question_is_answered_with_a_map_for_each_word(run, answerer):
    picture = torch.from_numpy(run[1].test.pictures[0])
    answer = answerer.ask(picture.float() / 255, "What colour is the ZEBRA?")
    assert answer.answer in run[1].answers
    assert sum(answer.probabilities.values()) == pytest.approx(1)
    assert answer.probability == max(answer.probabilities.values())
    assert answer.likeliest(2)[0] == (answer.answer, answer.probability)
    assert answer.attention.words == ("what", "colour", "is", "the", "zebra", "?")
    assert answer.unknown == ("zebra",)
    assert answer.attention.weights.shape == (2, 2, 6, 8, 8)
    torch.testing.assert_close(answer.attention.maps.sum((1, 2)), torch.ones(6))
    assert answer.cut == 0


def test_a_question_alone_and_among_others_has_one_answer(run, answerer):
    picture = torch.from_numpy(run[1].test.pictures[1])
    questions = ["how many shapes are there?", "is there a circle?", "where is it?"]
    together = answerer.ask_pixels(picture, questions)
    for question, one in zip(questions, together, strict=True):
        alone = answerer.ask_pixels(picture, [question])[0]
        assert one.probabilities == pytest.approx(alone.probabilities, abs=1e-6)
        torch.testing.assert_close(one.attention.weights, alone.attention.weights)


def test_maps_are_drawn_in_text_and_figures(run, answerer):
    looks = answerer.ask_pixels(torch.from_numpy(run[1].test.pictures[0]), ["is <b> there?"])[0].attention
    lines = looks.text(width=60)
    assert max(map(len, lines)) <= 60
    assert lines[0].split() == ["is", "<", "b"]
    assert len(lines) == 2 * 9 + 1
    assert set("".join(lines[1:9])) <= set("·░▒▓█ ")
    narrow = looks.text(width=10)
    assert len(narrow) == 6 * 10 - 1
    page = looks.html(alt="<x>")
    assert 'alt="&lt;x&gt;"' in page
    assert "<figcaption>&lt;</figcaption>" in page
    assert page.count("<img") == 7
    figure = looks.figure(title="a")
    assert [axes.get_title() for axes in figure.axes[:7]] == ["the picture", *looks.words]
    assert [one["word"] for one in looks.to_json()] == list(looks.words)


def test_long_questions_are_cut(run):
    trained, _ = run
    answerer = load_question_answerer(trained.folder.model)
    answerer.max_length = 3
    answer = answerer.ask(np.zeros((9, 9, 3), dtype=np.uint8), "is there a circle there?")
    assert answer.attention.words == ("is", "there", "a")
    assert answer.cut == 3


def test_regard_loads_it(run):
    loaded = regard.load(run[0].folder.path)
    assert isinstance(loaded, QuestionAnswerer)
    assert repr(loaded).startswith("QuestionAnswerer(residual, ")


def test_pictures_come_in_many_forms(tmp_path):
    array = np.full((8, 8, 3), 200, dtype=np.uint8)
    Image.fromarray(array).save(tmp_path / "a.png")
    tensor = torch.full((3, 8, 8), 200 / 255)
    forms = [tmp_path / "a.png", str(tmp_path / "a.png"), Image.fromarray(array), array, array[..., 0], tensor]
    for form in forms:
        found = read_any_picture(form, size=4)
        assert found.shape == (3, 4, 4)
        assert (found == 200).all()
    with pytest.raises(ArgumentError, match=r"`image` as a tensor must be colors from 0 to 1 of shape \(3, height"):
        read_any_picture(torch.zeros(1, 8, 8), size=4)
    with pytest.raises(
        ArgumentError, match=r"`image` as an array must be bytes of shape .*; received float64 of \(8, 8\)"
    ):
        read_any_picture(np.zeros((8, 8)), size=4)
    with pytest.raises(
        ArgumentTypeError, match=r"`image` must be a path, a Pillow image, an array or a tensor; received i"
    ):
        read_any_picture(7, size=4)


def test_mistakes_in_questions(unchecked, answerer):
    picture = np.zeros((9, 9, 3), dtype=np.uint8)
    with pytest.raises(ArgumentError, match=r'`question` must have at least one word; received " "\.'):
        answerer.ask(picture, " ")
    with pytest.raises(ArgumentTypeError, match=r"`question` must be a string; received int\."):
        answerer.ask(picture, 3)


def test_mistakes_in_folders(run, tmp_path):
    model = run[0].folder.model
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in model.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    (broken / "answers.json").write_text("{")
    with pytest.raises(DataError, match=r"must be a whole folder of a question answerer; received: "):
        load_question_answerer(broken)
    table = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**table, "image_size": 0}))
    with pytest.raises(DataError, match=r"config.json: `image_size` must be at least 1; received 0\."):
        load_question_answerer(broken)
    (broken / "config.json").write_text(json.dumps({**table, "task": "classify"}))
    with pytest.raises(DataError, match=r"must be the folder of a question answerer; .* holds .*Use "):
        load_question_answerer(broken)


def test_mistakes_in_settings():
    with pytest.raises(ArgumentError, match=r"`data` must be builtin:shapes, a folder, or a table of questions"):
        gather_questions(PictureData())
    with pytest.raises(
        ArgumentError, match=r"`data` must be a built-in corpus for task questions, .*; received builtin:shape\."
    ):
        gather_questions(PictureData(corpus="builtin:shape"))
    with pytest.raises(ArgumentError, match=r"`image_size` must be 64 for builtin:shapes, .*; received 32\."):
        gather_questions(PictureData(corpus="builtin:shapes", image_size=32))
    with pytest.raises(ArgumentError, match=r"model.image.kind: must be one of residual, vision-transformer"):
        compose_questions({"model": {"image": {"kind": "cnn"}}}, SIZE)
    with pytest.raises(ArgumentError, match=r"`preset` must be the name of a model for questions; received \"vitt\"\."):
        compose_questions({}, PictureSize(pictures=9, words=9), name="vitt")


def test_a_folder_without_enough_is_refused(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    line = json.dumps({"image": "a.png", "question": "q?", "answer": "a"})
    for side in ("train", "valid"):
        (tmp_path / f"{side}.jsonl").write_text(line)
    data = PictureData(corpus=str(tmp_path), image_size=8)
    message = re.escape("The data must leave questions to train and to validate on; received 0 and 1.")
    with pytest.raises(DataError, match=message):
        gather_questions(replace(data, hold_out=replace(data.hold_out, test=0.0)))


def test_no_picture_of_a_file_is_on_another_side(tmp_path):
    for name, gray in (("a", 10), ("b", 90), ("c", 170), ("d", 250)):
        Image.new("RGB", (8, 8), (gray, gray, gray)).save(tmp_path / f"{name}.png")
    for side, names in (("train", "abcd"), ("valid", "bc"), ("test", "cd")):
        lines = [json.dumps({"image": f"{name}.png", "question": "q?", "answer": name}) for name in names]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(lines))
    told = []
    corpus = gather_questions(PictureData(corpus=str(tmp_path), image_size=8), count=told.append)
    sides = [[one.answer for one in side.questions] for side in (corpus.train, corpus.valid, corpus.test)]
    assert sides == [["a"], ["b"], ["c", "d"]]
    assert told == list(range(1, 9))


def test_presets_set_the_model():
    config = compose_questions({"model": {"size": 32}}, SIZE, name="vit-mean")
    assert isinstance(config, QuestionConfig)
    assert (config.model.size, config.model.attention, config.model.image.kind) == (32, "mean", "vision-transformer")
