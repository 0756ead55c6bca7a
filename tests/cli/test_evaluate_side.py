"""`regard evaluate` of classifiers, question answerers and captioners, and `regard compare` of language models."""

import io
import json
import re
import shutil
import subprocess
import sys

import pytest

from regard.cli import main
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import compose_language
from regard.tasks.language.train import train_language_model
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.data.images.pictures import write_folder
from unit.tasks.image_run import make_images
from unit.tasks.labeled_run import make_classifier, write_texts
from unit.tasks.picture_run import make_answerer, make_captioner
from unit.tasks.texts import SIZES, write_text

SHORT = {"steps": 4, "validate_every": 4}


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    """Run the command line in this process, which has torch already."""

    def run(*arguments):
        words = ["regard", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of each task."""
    folder = tmp_path_factory.mktemp("runs")
    write_texts(folder / "a.csv")
    write_folder(folder / "pictures", count=30)
    made = {
        "classify": make_classifier(folder / "classify", folder / "a.csv", "token-weights", train=SHORT)[0],
        "images": make_images(folder / "images", folder / "pictures", "resnet-both", train=SHORT)[0],
        "questions": make_answerer(folder / "questions")[0],
        "captions": make_captioner(folder / "captions", data={"max_length": 6})[0],
    }
    return made


@pytest.mark.parametrize("task", ["classify", "images", "questions", "captions"])
def test_the_figures_are_those_that_training_gave(run, runs, task):
    folder, wanted = runs[task].folder, runs[task].figures
    for split in ("test", "valid"):
        done = run("evaluate", folder.path, "--split", split, "--json")
        assert done.returncode == 0, done.stderr
        table = json.loads(done.stdout)
        assert (table["task"], table["side"]) == (task, split)
        kept = {name: value for name, value in wanted.items() if name.startswith(f"{split}_")}
        assert kept
        assert {name: table[name] for name in kept} == pytest.approx(kept)
        assert table["signature"].startswith(f"task:{task}|")
    shown = run("evaluate", folder.model)
    assert shown.returncode == 0, shown.stderr
    words = {"classify": "accuracy ", "images": "accuracy ", "questions": "question alone", "captions": "BLEU "}[task]
    assert words in shown.stdout
    assert shown.stdout.startswith(f"{task} on its test data: ")


@pytest.mark.parametrize(
    ("task", "flags", "message"),
    [
        (
            "questions",
            ["--data", "a.csv"],
            "`--data` must be left out for a question answerer, which is measured on what",
        ),
        ("images", ["--bins", "3"], "bins: unknown key. Choose one of device, text, label."),
        ("images", ["--figure", "a.png"], "must be the folder of a translator; "),
        ("questions", ["--split", "train"], "`--split` must be test or valid for this model; received train."),
        ("captions", ["--set", "devise=cpu"], "devise: unknown key. Did you mean device?"),
        ("captions", ["--set", "device=tpu9"], "`device` must be cpu, auto, or cuda where torch sees a GPU"),
    ],
)
def test_what_does_not_fit_is_one_paragraph(run, runs, task, flags, message):
    done = run("evaluate", runs[task].folder.path, *flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_data_that_is_changed_or_from_elsewhere_is_refused(run, runs, tmp_path):
    data = runs["classify"].folder.path.parent / "a.csv"
    text = data.read_text()
    shutil.copytree(runs["classify"].folder.path, tmp_path / "copy")
    done = run("evaluate", tmp_path / "copy")
    assert done.returncode == 2
    assert "`--trust` must be given before what " in done.stderr
    assert "A classifier can be measured on other data, `--data`; " in done.stderr
    other = run("evaluate", tmp_path / "copy", "--data", data, "--json")
    assert (other.returncode, json.loads(other.stdout)["data"]) == (0, str(data))
    assert run("evaluate", tmp_path / "copy", "--trust").returncode == 0
    try:
        data.write_text(text + "one more,pet\n")
        changed = run("evaluate", runs["classify"].folder.path)
        data.unlink()
        gone = run("evaluate", runs["classify"].folder.path)
    finally:
        data.write_text(text)
    assert "must be what it was trained on; it has changed since." in changed.stderr
    assert re.search(r"The data of \S+ must be there again; received: ", gone.stderr)
    shutil.copytree(runs["classify"].folder.model, tmp_path / "alone")
    alone = run("evaluate", tmp_path / "alone")
    assert "must be a run folder, whose data is measured on; " in alone.stderr


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """Runs of a counting model and of a Transformer on one text, and one on another text."""
    folder = tmp_path_factory.mktemp("language")
    write_text(folder / "a.txt")
    (folder / "b.txt").write_text("the cat sleeps\na dog barks\n" * 40)
    made = {}
    for name, preset, text in (("counts", "ngram", "a"), ("network", "transformer", "a"), ("other", "ngram", "b")):
        chosen = {
            "data": {"text": str(folder / f"{text}.txt"), "length": 32},
            "tokenizer": {"kind": "character" if preset == "transformer" else "space"},
            "model": SIZES.get(preset, {}),
            "train": {"steps": 4, "batch_tokens": 256, "validate_every": 4, "threads": 1, "device": "cpu"},
        }
        config = compose_language(chosen, name=preset)
        corpus, run_folder = gather_text(config.data), RunFolder(folder / name)
        run_folder.begin(config, corpus.fingerprint)
        train_language_model(config, corpus, Run(folder=run_folder, command="regard train"))
        made[name] = run_folder.path
    return made


def test_language_models_are_compared_on_one_text(run, language):
    done = run("compare", language["counts"], language["network"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"valid text of {language['counts']}: ")
    assert "there is no significance test for one running text." in done.stdout
    assert "note: the models have different tokens: compare bits a character, not perplexity" in done.stdout
    table = json.loads(run("compare", language["counts"], language["network"], "--json").stdout)
    assert [one["name"] for one in table["systems"]] == ["counts", "network"]
    for name, system in zip(("counts", "network"), table["systems"], strict=True):
        alone = json.loads(run("evaluate", language[name], "--json").stdout)
        assert system["bits_per_character"] == pytest.approx(alone["bits_per_character"])
    text = language["other"].parent / "b.txt"
    strided = run("compare", *language.values(), "--data", text, "--set", "stride=8", "--json")
    assert strided.returncode == 0, strided.stderr
    assert len(json.loads(strided.stdout)["systems"]) == 3


@pytest.mark.parametrize(
    ("systems", "flags", "message"),
    [
        (["counts", "other"], [], "Language models must be compared on the same text; valid text of "),
        (
            ["counts", "network"],
            ["--bins", "3"],
            "bins: unknown key. Choose one of stride, device.",
        ),
        (["counts", "network"], ["--data", "a", "--split", "test"], "`--split` must be left out with `--data`, which"),
        (["counts"], [], "`SYSTEMS` must be two or more; received 1. For one, evaluate it."),
    ],
)
def test_a_comparison_that_does_not_fit_is_one_paragraph(run, language, systems, flags, message):
    done = run("compare", *(language[name] for name in systems), *flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
