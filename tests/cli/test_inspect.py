"""`regard inspect`, run as a user runs it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import regard
from regard.cli import main
from regard.config.presets import preset
from regard.inspection import Trace
from unit.inspection.hugging_face_models import make_model, make_tokenizer
from unit.studio.seers import make_english
from unit.tasks.translators import make_folder

TRANSFORMER = replace(preset("transformer-tiny"), size=8, num_heads=2, feed_forward_size=8)
SOURCE, TARGET = "El libro es azul.", "the book is blue"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("model"), TRANSFORMER)


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    """Run the command line in this process, which has torch already."""

    def run(*arguments):
        words = ["regard", "inspect", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


def test_weights_are_drawn_in_the_terminal(run, model):
    done = run(model, SOURCE, "--target", TARGET)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [TARGET, "decoder.2.cross_attention, mean of 2 heads"]
    assert lines[-1].split()[0] == "</s>"
    assert done.stderr == ""


def test_figures_for_machines(run, model):
    done = run(model, SOURCE, "--target", TARGET, "--layer", "decoder.0.cross*", "--json")
    found = json.loads(done.stdout)
    expected = regard.load(model).inspect(SOURCE, target=TARGET)
    assert found == expected.to_json("decoder.0.cross_attention")
    assert found["query"] == list(expected.target_tokens)


def test_pages_figures_and_traces_are_written(run, model, tmp_path):
    files = [tmp_path / name for name in ("page.html", "figure.png", "figure.svg", "looks.trace")]
    hostile = "<img src=x onerror=alert(1)> azul"
    done = run(model, hostile, "--target", TARGET, "--head", 1, *(part for file in files for part in ("--out", file)))
    assert done.returncode == 0, done.stderr
    assert all(file.stat().st_size > 1000 for file in files)
    page = files[0].read_text()
    assert "<img" not in page
    assert "</html>" in page
    kept, fresh = Trace.load(files[3]), regard.load(model).inspect(hostile, target=TARGET).trace
    assert kept.layers == fresh.layers
    assert all(torch.equal(one.weights, other.weights) for one, other in zip(kept, fresh, strict=True))


def test_a_translation_makes_the_page_of_the_studio(run, model, tmp_path):
    done = run(model, SOURCE, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "translate/search" in page
    assert "libro" in page


@pytest.mark.parametrize(("view", "verb"), [("steps", "steps/apart"), ("what-if", "whatif/change")])
def test_a_view_can_be_chosen(run, model, tmp_path, monkeypatch, view, verb):
    monkeypatch.setattr("regard.studio.what_if.SEARCH_STEPS", 2)
    monkeypatch.setattr("regard.studio.what_if_page.MAX_CHANGES", 2)
    monkeypatch.setattr("regard.studio.steps_page.MAX_LOOKS", 2)
    done = run(model, SOURCE, "--out", tmp_path / "page.html", "--view", view)
    assert done.returncode == 0, done.stderr
    assert f'"verb":"{verb}"' in (tmp_path / "page.html").read_text()


def test_a_classifier_makes_the_page_of_its_view(run, tmp_path):
    classifier = make_english()["attending"]
    classifier.save(tmp_path / "model")
    done = run(tmp_path / "model", "A good book.", "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert '"verb":"classify/read"' in (tmp_path / "page.html").read_text()
    done = run(tmp_path / "model", "A good book.", "--out", tmp_path / "page.html", "--view", "what-if")
    assert done.returncode == 0, done.stderr
    assert '"verb":"whatif/label"' in (tmp_path / "page.html").read_text()
    done = run(tmp_path / "model", "A good book.", "--out", tmp_path / "page.html", "--view", "translate")
    assert "`--view` must be classify or steps or what-if for a classifier; received translate." in done.stderr


def test_hugging_face_folders_are_read(run, tmp_path):
    network, tokenizer = make_model("gpt2"), make_tokenizer()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    done = run(tmp_path, "the cat", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    best = regard.inspect(network, tokenizer, "the cat").likely[0]
    refused = run(tmp_path, "the cat", "--device", "cpu", "--out", tmp_path / "a.html", "--view", "steps")
    assert "`--view` must be left out for a Hugging Face model; received steps." in refused.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "transformer.h.1.attn, mean of 4 heads"
    assert lines[-1].startswith(f"likely: {best.text} {best.probability:.3f}, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.gif"], "`--out` must end in .trace, .html, .png, .svg, .pdf; received x.gif. "),
        (
            ["--out", "nowhere/x.html"],
            "`--out` must be a file to write; nowhere/x.html cannot be written (No such file",
        ),
        (
            ["--layer", "decoder.9"],
            'the name must be that of an attention layer; received "decoder.9". Choose one of encoder.0',
        ),
        (["--head", "2"], "`head` must be from 0 to 1; received 2."),
        (
            ["--view", "wat-if"],
            "`--view` must be translate, steps, what-if, classify; received wat-if. Did you mean what-if?",
        ),
        (["--view", "steps"], "`--view` must go with `--out page.html`; received steps without one."),
        (
            ["--view", "steps", "--out", "a.html", "--head", "1"],
            "`--view` must go without --layer and --head, which draw a figure; received steps.",
        ),
        (
            ["--view", "classify", "--out", "a.html"],
            "`--view` must be steps for a translator that is told what to say; received classify.",
        ),
    ],
)
def test_mistakes_are_one_paragraph_and_exit_code_2(run, model, arguments, message):
    done = run(model, SOURCE, "--target", TARGET, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"regard: {message}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_models_of_pictures_are_told_their_command(run, tmp_path):
    (tmp_path / "config.json").write_text('{"task": "captions"}')
    done = run(tmp_path, SOURCE)
    assert done.returncode == 2
    message = "regard: `path` must be the folder of a translator, a language model or a text classifier; "
    assert done.stderr.startswith(f"{message}{tmp_path} holds a captioner. Use `regard caption` with it.")
