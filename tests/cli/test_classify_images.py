"""`regard train --task images` and `regard classify` with pictures, run as a user runs them."""

import io
import json
import sys

import pytest

from unit.data.images.pictures import cifar, write_folder
from unit.tasks.image_run import make_images
from unit.tasks.labeled_run import make_classifier, write_texts


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("pictures") / "a", count=30)


@pytest.fixture(scope="module")
def model(tmp_path_factory, pictures):
    return make_images(tmp_path_factory.mktemp("run"), pictures, "resnet-both")[0].folder.path


def test_pictures_get_labels(run, model, pictures, monkeypatch):
    names = [pictures / "red" / "001.png", pictures / "blue" / "002.png"]
    done = run("classify", model, *names)
    assert done.returncode == 0, done.stderr
    first, second = (line.split("\t") for line in done.stdout.splitlines())
    assert (first[0], first[3], second[0]) == ("red", str(names[0]), "blue")
    assert first[2].startswith(f"red {float(first[1]):.3f}, ")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{names[1]}\n"))
    assert run("classify", model).stdout.split("\t")[0] == "blue"


def test_figures_for_machines(run, model, pictures):
    found = json.loads(run("classify", model, pictures / "red" / "001.png", "--json").stdout)
    assert found["label"] == "red"
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    assert list(found["positions"]) == ["stage 1, block 1", "stage 2, block 1"]
    assert len(found["positions"]["stage 2, block 1"]) == 8
    assert list(found["channels"]["stage 1, block 1"].values()) == sorted(
        found["channels"]["stage 1, block 1"].values(), reverse=True
    )


def test_what_was_weighed_is_drawn(run, model, pictures, tmp_path):
    figure, page = tmp_path / "a.png", tmp_path / "a.html"
    done = run("classify", model, pictures / "red" / "001.png", "--figure", figure, "--html", page)
    assert done.returncode == 0, done.stderr
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert done.stderr == f"regard: wrote {figure}\nregard: wrote {page}\n"
    assert "data:image/png;base64," in page.read_text()


def test_a_folder_is_measured(run, model, pictures, tmp_path):
    done = run("classify", model, "--input", pictures)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("accuracy ")
    assert "on 90 images" in done.stdout
    summary = tmp_path / "figures.json"
    done = run("classify", model, "--input", pictures, "--json", "--summary", summary)
    decisions, figures = [json.loads(line) for line in done.stdout.splitlines()], json.loads(summary.read_text())
    assert {tuple(one) for one in decisions} == {
        ("picture", "label", "probabilities", "positions", "channels", "true_label")
    }
    assert len(decisions) == 90
    assert decisions[0]["true_label"] == "blue"
    right = [one["label"] == one["true_label"] for one in decisions]
    assert figures["accuracy"] == pytest.approx(sum(right) / 90)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A warm film."], "Each PICTURE must be a file, since "),
        (["PICTURE", "--input", "FOLDER"], "The images must come from one place; received both pictures and --input."),
        (["PICTURE", "--by", "gradient"], "`--text`, `--label` and `--by` must go with a classifier of texts; "),
        (["PICTURE", "--figure", "a.doc"], "`--figure` must end in .png, .svg or .pdf; received a.doc."),
        (
            ["PICTURE", "PICTURE", "--figure", "a.png"],
            "`--figure` must go with one picture; received a.png for 2. --html draws several.",
        ),
        (["PICTURE", "--figure", "b.png/a.png"], "`--figure` must be a file to write; b.png/a.png cannot be written"),
        (["PICTURE", "--html", "b.png/a.html"], "`--html` must be a file to write; b.png/a.html cannot be written"),
        (["--input", "CIFAR"], "must be of shape (3, 16, 16), which the model was trained on; received (3, 32, 32)."),
        (["--input", "missing"], "an IDX file or a CIFAR file; received a path where there is none"),
        (["BROKEN"], "must be a picture that can be read, such as PNG or JPEG; received one that cannot"),
    ],
)
def test_mistakes_are_one_paragraph(run, model, pictures, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.png").write_text("x")
    (tmp_path / "c.bin").write_bytes(cifar([0, 1, 2]))
    places = {"PICTURE": pictures / "red" / "001.png", "FOLDER": pictures, "BROKEN": "b.png", "CIFAR": "c.bin"}
    done = run("classify", model, *[places.get(one, one) for one in arguments])
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_classifier_of_texts_reads_no_pictures(run, pictures, tmp_path):
    texts = write_texts(tmp_path / "a.csv", count=60)
    quick = {"train": {"steps": 2, "validate_every": 2}}
    model = make_classifier(tmp_path / "run", texts, "average", **quick)[0].folder.path
    picture = pictures / "red" / "001.png"
    for arguments, received in (([picture], f"the picture {picture}"), (["x", "--figure", "a.png"], "--figure")):
        done = run("classify", model, *arguments)
        assert done.returncode == 2
        assert "must be an image classifier, made by `regard train --task images`, to read pictures;" in done.stderr
        assert f"received {received}." in done.stderr


QUICK = ["train.steps=4", "train.validate_every=2", "train.threads=1", "train.device=cpu", "train.batch_size=16"]
SMALL = ["model.widths=[4,8]", "model.num_blocks=1", "model.reduction=2", "data.image_size=16"]


def test_training_goes_from_pictures_to_a_classifier(run, pictures, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.tasks.images.train.SHOWN", 1)
    out = tmp_path / "run"
    words = [word for one in (*QUICK, *SMALL) for word in ("--set", one)]
    command = ["train", "--task", "images", "--preset", "resnet-channel", "--data", pictures, "--out", out, *words]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("accuracy ")
    assert f"model   {out}/model\nreport  {out}/report.html\ntask:images|" in done.stdout
    assert "images of 16 × 16 pixels to train on" in done.stderr
    assert "images/s" in done.stderr
    again = run(*command, "--json")
    assert json.loads(again.stdout)["steps"] == 4
    settings = out / "config.toml"  # as older versions wrote it
    settings.write_text(settings.read_text().replace("batch_size = 16", "batch_tokens = 16\nr_drop = 0.0"))
    for words in (["--out", out], ["--task", "images", "--config", settings, "--out", out]):
        again = run("train", *words, "--json")
        assert (again.returncode, json.loads(again.stdout)["steps"]) == (0, 4), again.stderr
    assert run("classify", out, pictures / "red" / "001.png").returncode == 0


def test_mistakes_come_before_any_work(run, tmp_path):
    done = run("train", "--task", "images", "--preset", "resnet-bth", "--data", "x", "--out", tmp_path / "a")
    assert done.returncode == 2
    assert 'must be the name of an image network; received "resnet-bth". Did you mean resnet-both?' in done.stderr
    done = run("train", "--task", "images", "--out", tmp_path / "a")
    assert "`--data` must be a folder with a sub-folder of pictures for each class" in done.stderr
    done = run("train", "--task", "image", "--out", tmp_path / "a")
    assert "received image. Did you mean images?" in done.stderr
    done = run("train", "--task", "images", "--out", tmp_path / "a", "--set", "model.widths=7")
    assert "model.widths: must be a list" in done.stderr
    done = run("train", "--task", "images", "--out", tmp_path / "a", "--set", "train.batch_tokens=7")
    assert done.returncode == 2
    assert "train.batch_tokens: unknown key. Set train.batch_size instead: Pictures that one process" in done.stderr


def test_settings_are_shown_with_their_help(run, pictures):
    done = run("train", "--task", "images", "--preset", "vit", "--print-config")
    assert 'kind = "vision-transformer"' in done.stdout
    assert "# Height and width of a patch in pixels" in done.stdout
    done = run("train", "--task", "images", "--data", pictures, "--print-config")
    assert "flip = true" in done.stdout
