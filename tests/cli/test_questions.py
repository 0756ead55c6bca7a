"""`regard scene`, `ask`, `caption` and the training behind them, run as a user runs them."""

import errno
import io
import json
import sys
from types import SimpleNamespace

import pytest
from PIL import Image

from regard.cli.train import run_training
from regard.cli.training_run import TaskProgress, report_run
from regard.config.read import parse_assignments
from regard.errors import ArgumentError
from regard.tasks.task import TASKS
from regard.training.run import Trained
from regard.training.run_folder import RunFolder
from unit.tasks.picture_run import TINY, make_answerer, make_captioner


@pytest.fixture(scope="module")
def answerer(tmp_path_factory):
    return make_answerer(tmp_path_factory.mktemp("q") / "run")[0].folder.path


@pytest.fixture(scope="module")
def captioner(tmp_path_factory):
    return make_captioner(tmp_path_factory.mktemp("c") / "run", data={"max_length": 6})[0].folder.path


@pytest.fixture
def picture(run, tmp_path):
    path = tmp_path / "scene.png"
    assert run("scene", path, "--shapes", "2").returncode == 0
    return path


def test_a_scene_is_drawn_and_told(run, tmp_path):
    done = run("scene", tmp_path / "a.png", "--seed", "3", "--shapes", "2")
    assert done.returncode == 0, done.stderr
    caption, *questions = done.stdout.splitlines()
    assert caption.startswith("a")
    assert "how many" in done.stdout or "number" in done.stdout
    with Image.open(tmp_path / "a.png") as drawn:
        assert drawn.size == (64, 64)
    truth = json.loads(run("scene", tmp_path / "b.png", "--seed", "3", "--shapes", "2", "--json").stdout)
    assert truth["caption"] == caption
    assert len(truth["shapes"]) == 2
    assert len(truth["questions"]) == len(questions)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_question_is_answered_and_shown(run, answerer, picture):
    done = run("ask", answerer, picture, "what colour is the zebra?")
    assert done.returncode == 0, done.stderr
    first, _, words, *rest = done.stdout.splitlines()
    assert "(" in first
    assert words.split()[:2] == ["what", "colour"]
    assert set("".join(rest[:8])) <= set("·░▒▓█ ")
    assert done.stderr == "regard: words that the model was never trained on: zebra\n"


def test_questions_for_machines_and_from_standard_input(run, answerer, picture, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("is there a circle?\n\nhow many shapes are there?\n"))
    done = run("ask", answerer, picture, "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["question"] == "is there a circle?"
    assert sum(first["probabilities"].values()) == pytest.approx(1)
    assert [one["word"] for one in second["words"]] == ["how", "many", "shapes", "are", "there", "?"]
    assert len(second["words"][0]["map"]) == 8


def test_maps_are_drawn(run, answerer, captioner, picture, tmp_path):
    assert run("ask", answerer, picture, "<b>?", "--figure", tmp_path / "a.png").returncode == 0
    with Image.open(tmp_path / "a.png") as drawn:
        assert drawn.width > 300
    assert run("ask", answerer, picture, "<b>?", "is it?", "--figure", tmp_path / "a.html").returncode == 0
    page = (tmp_path / "a.html").read_text()
    assert "&lt;b&gt;?" in page
    assert "<b>" not in page
    assert run("caption", captioner, picture, "--figure", tmp_path / "c.html").returncode == 0
    assert '<div class="maps">' in (tmp_path / "c.html").read_text()


def test_the_view_of_the_studio_is_written(run, answerer, captioner, picture, tmp_path):
    done = run("ask", answerer, picture, "is there a circle?", "is it <b>?", "--out", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    assert f"regard: wrote {tmp_path}/a.html\n" in done.stderr
    page = (tmp_path / "a.html").read_text()
    assert page.count('"verb":"ask/checks"') == 2
    assert "<b>" not in page
    assert "data:image/png;base64," in page
    assert len(done.stdout.split("(")) > 2  # answers are printed all the same
    assert run("caption", captioner, picture, "--out", tmp_path / "c.html").returncode == 0
    assert '"verb":"ask/answer"' in (tmp_path / "c.html").read_text()
    done = run("caption", captioner, picture, "--beam", "2", "--out", tmp_path / "c.html")
    assert "`--out` must go without --beam, since the view describes greedily; received 2." in done.stderr


def test_a_name_that_is_no_text_and_folders_that_are_missing(run, answerer, picture, tmp_path):
    odd = picture.rename(tmp_path / "p\udcff.png")
    page, figure = tmp_path / "new" / "a.HTML", tmp_path / "newer" / "a.PNG"
    done = run("ask", answerer, odd, "is there a circle?", "--out", page, "--figure", figure)
    assert done.returncode == 0, done.stderr
    assert '"file":"picture p?.png"' in page.read_text()
    with Image.open(figure) as drawn:
        assert drawn.width > 300


def test_a_full_disk_leaves_the_page_of_before(run, captioner, picture, tmp_path, monkeypatch):
    def full(path):
        assert path.stat().st_size
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("regard.files.flush", full)
    for option in ("--out", "--figure"):
        path = tmp_path / "a.html"
        path.write_text("before")
        done = run("caption", captioner, picture, option, path)
        message = f"`{option}` must be a file to write; {path} cannot be written (No space left on device)."
        assert (done.returncode, message in done.stderr) == (2, True)
        assert path.read_text() == "before"
    assert {one.name for one in tmp_path.iterdir()} == {"a.html", picture.name}


def test_what_cannot_be_written_is_told_before_a_model_is_opened(run, picture, tmp_path):
    for option in ("--out", "--figure"):
        done = run("ask", tmp_path / "no model", picture, "x?", option, picture / "a.html")
        assert f"`{option}` must be a file to write; {picture}/a.html cannot be written (Not a dir" in done.stderr


def test_lines_that_are_no_text_are_told(run, answerer, picture, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("is it?\nis \udcff\n"))
    done = run("ask", answerer, picture)
    assert done.returncode == 2
    assert "`QUESTION` must be text in UTF-8; received a byte that is none at index 3. Convert it." in done.stderr


def test_a_picture_is_described(run, captioner, picture):
    done = run("caption", captioner, picture, "--beam", "2", "--n-best", "2")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split("\n\n")[0].splitlines()) == 2
    found = json.loads(run("caption", captioner, picture, "--json").stdout)
    assert found["text"].split() == " ".join(one["word"] for one in found["words"]).replace(" ,", ",").split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x?", "--figure", "a.gif"], "`--figure` must end in .png, .svg, .pdf or .html; received a.gif."),
        (["x?", "y?", "--figure", "a.png"], "`--figure` must end in .html for several questions; received a.png for 2"),
        (
            ["x?", "--figure", "scene.png/a.png"],
            "`--figure` must be a file to write; scene.png/a.png cannot be written",
        ),
        (
            ["x?", "--out", "a.png"],
            "`--out` must end in .html; received a.png. Use --figure for a picture of the maps.",
        ),
        (
            ["x?", "--out", "scene.png/a.html"],
            "`--out` must be a file to write; scene.png/a.html cannot be written (Not a directory).",
        ),
        (["is it \udcff"], "`QUESTION` must be text in UTF-8; received a byte that is none at index 6. Convert it."),
        ([""], '`question` must have at least one word; received "".'),
    ],
)
def test_mistakes_are_one_paragraph(run, answerer, picture, monkeypatch, arguments, message):
    monkeypatch.chdir(picture.parent)
    done = run("ask", answerer, picture, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_other_mistakes(run, answerer, picture, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    done = run("ask", answerer, picture, "--figure", tmp_path / "a.png")
    assert "`--figure` must have a question to draw; received none." in done.stderr
    done = run("ask", answerer, tmp_path / "none.png", "x?")
    assert (done.returncode, "none.png must be a file" in done.stderr) == (2, True)
    done = run("caption", answerer, picture)
    assert "must be the folder of a captioner" in done.stderr
    done = run("scene", tmp_path / "none" / "a.png")
    assert "`OUT` must be a picture to write, such as scene.png" in done.stderr
    done = run("scene", tmp_path / "a.png", "--shapes", "7")
    assert "`--shapes` must be from 1 to 5, or 0 for any; received 7." in done.stderr


def choose(*more):
    return {**TINY, **parse_assignments(more)}


def test_training_goes_from_shapes_to_a_model(unchecked, capsys, tmp_path):
    run_training("questions", choose(), "cnn-mean", tmp_path / "q")
    shown = capsys.readouterr()
    assert "right, percent  model  majority  question alone" in shown.out
    assert f"model   {tmp_path}/q/model" in shown.out
    assert "task:questions|data:builtin:shapes|model:residual-mean|seed:1|" in shown.out
    assert "pictures to train on" in shown.err
    assert "step 2: valid loss" in shown.err
    run_training("questions", choose(), "cnn-mean", tmp_path / "q", as_json=True)  # which is finished
    assert json.loads(capsys.readouterr().out)["steps"] == 2
    with pytest.raises(ArgumentError, match=r"train.seed was 1, now 2"):
        run_training("questions", {**TINY, "train": {**TINY["train"], "seed": 2}}, "cnn-mean", tmp_path / "q")


def test_drawing_tells_how_many_of_all_pictures_there_are(unchecked, monkeypatch, capsys, tmp_path):
    told = []
    monkeypatch.setattr(TaskProgress, "count", lambda _, doing, done, **more: told.append((doing, done, more)))
    monkeypatch.setattr("regard.tasks.captions.train.train_captions", lambda *_, **__: SimpleNamespace(figures={}))
    data = {**TINY["data"], "scenes": 60, "held_out_scenes": 20}
    run_training("captions", {**TINY, "data": data}, "", tmp_path / "c")
    assert told == [("drawing pictures", 100, {"unit": "pictures", "total": 100})]


def test_a_table_and_a_sentence_are_printed(unchecked, capsys, tmp_path):
    figures = {
        f"valid_{name}{kind}": 0.5 for name in ("accuracy", "majority", "question_only") for kind in ("", "_count")
    }
    figures |= {"steps": 2, "seconds": 1}
    trained = Trained(RunFolder(tmp_path), figures, "s")
    sentence = "accuracy 50.00 % (validation); 2 steps in 1 s"
    assert TASKS["questions"].conclude(trained, "valid") == sentence
    report_run(TASKS["questions"], trained, as_json=False)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[:3]] == ["right,", "all", "count"]
    assert sentence in shown
    report_run(TASKS["questions"], trained._replace(tokenization="bytes"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {**figures, "tokenization": "bytes", "signature": "s"}


def test_training_on_captions(unchecked, capsys, tmp_path):
    run_training("captions", {**TINY, "data": {**TINY["data"], "max_length": 6}}, "", tmp_path / "c")
    shown = capsys.readouterr()
    assert shown.out.startswith("right word for word ")
    assert "BLEU" in shown.err


def test_settings_are_shown_with_their_help(run):
    shown = run("train", "--task", "questions", "--preset", "vit", "--print-config").stdout
    assert "[model.image]" in shown
    assert 'kind = "vision-transformer"' in shown
    data = [word for key, value in TINY["data"].items() for word in ("--set", f"data.{key}={value}")]
    assert "# Blocks of the decoder." in run("train", "--task", "captions", *data, "--print-config").stdout
