"""`regard inspect`, run as a user runs it."""

import errno
import json
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch

import regard
from regard.config.classify import TfIdfSpec
from regard.data.text.special import END
from regard.inspection import Trace
from regard.models.classification import TfIdfClassifier
from regard.tasks.classification.model import Classifier
from regard.tasks.translation.presets import preset
from unit.inspection.hugging_face_models import make_model, make_tokenizer
from unit.studio.seers import make_english
from unit.tasks.translators import BYTES, make_folder

TRANSFORMER = replace(preset("transformer-tiny"), size=8, num_heads=2, feed_forward_size=8)
FIXED = replace(preset("fixed"), embedding_size=8, hidden_size=8)
SOURCE, TARGET = "El libro es azul.", "the book is blue"
REVIEW = "A good book."


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("model"), TRANSFORMER)


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    """Write classifiers, and give the folder that theirs are in."""
    root, made = tmp_path_factory.mktemp("english"), make_english()
    known = made["attending"].tokenizer
    made["counting"] = Classifier(TfIdfClassifier(known.size, 2), known, ["good", "bad"], TfIdfSpec())
    for name in ("attending", "last", "counting"):
        made[name].save(root / name)
    return root


@pytest.fixture
def run(run):
    """Run one command."""
    return partial(run, "inspect")


def test_weights_are_drawn_in_the_terminal(run, model):
    done = run(model, SOURCE, "--target", TARGET)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [TARGET, "decoder.2.cross_attention, mean of 2 heads"]
    assert lines[-2].split()[0] == "</s>"
    assert lines[-1] == "· < 0.05 ≤ ░ < 0.25 ≤ ▒ < 0.5 ≤ ▓ < 0.75 ≤ █"
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


def test_a_translation_makes_the_page_of_the_studio(run, tmp_path):
    model = make_folder(tmp_path / "model", TRANSFORMER, favor=END)  # which soon comes to an end
    done = run(model, SOURCE, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert all(f'"verb":"translate/{verb}"' in page for verb in ("search", "attention", "checks"))
    assert "libro" in page


@pytest.mark.parametrize("name", ["last", "counting"])
def test_a_classifier_without_attention_makes_its_page(run, english, tmp_path, name):
    done = run(english / name, REVIEW, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert '"verb":"classify/read"' in (tmp_path / "page.html").read_text()
    assert "regard: this model does not attend: there is no map of it.\n" in done.stderr
    said = regard.load(english / name).classify([REVIEW])[0]
    likely, weighed = done.stdout.splitlines()
    assert likely.startswith(f"likely: {said.label} {said.probability:.3f}, ")
    heaviest = said.heaviest()
    assert weighed == "weighed: " + ", ".join(f"{word} {share:.3f}" for word, share in heaviest)


def test_a_translator_without_attention_makes_its_page(run, tmp_path):
    model = make_folder(tmp_path / "model", FIXED, favor=END)
    done = run(model, SOURCE, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert '"verb":"translate/attention"' in (tmp_path / "page.html").read_text()
    assert done.stdout == regard.load(model).search([SOURCE])[0][0].text + "\n"
    for more in (["--out", tmp_path / "a.png"], ["--json"], ["--head", 0], ["--target", TARGET]):
        refused = run(model, SOURCE, "--out", tmp_path / "b.html", *more)
        assert refused.returncode == 2
        assert "must hold a layer that attends" in refused.stderr
    assert not (tmp_path / "b.html").exists()


@pytest.mark.parametrize("view", ["steps", "what-if"])
def test_a_text_too_long_is_one_paragraph_and_writes_nothing(run, english, tmp_path, view):
    files = [tmp_path / name for name in ("figure.png", "page.html")]
    outs = [part for file in files for part in ("--out", file)]
    done = run(english / "attending", "word " * 11_000, *outs, "--view", view)
    assert done.returncode == 2
    assert done.stderr == "regard: `TEXT` must have at most 50,000 letters; received 55,000. Shorten it.\n"
    assert not list(tmp_path.iterdir())


def test_what_has_no_room_is_told(run, english, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 5)
    path = tmp_path / "page.html"
    done = run(english / "attending", REVIEW, "--out", path, "--view", "what-if")
    assert done.stderr.splitlines()[-2:] == [
        f"regard: wrote {path}",
        f"regard: {path} answers 6 questions; 7 more that a visitor may ask had no room. `regard studio` answers all.",
    ]
    assert '"left_out":7' in path.read_text()


def test_a_layer_or_head_makes_a_figure(run, english, tmp_path):
    found = {}
    for more in ((), ("--head", 0), ("--words",)):
        done = run(english / "attending", REVIEW, "--out", tmp_path / "deep" / "er" / "a.HTML", *more)
        assert done.returncode == 0, done.stderr
        found[more] = "classify/read" in (tmp_path / "deep" / "er" / "a.HTML").read_text()
    assert found == {(): True, ("--head", 0): False, ("--words",): False}


def test_words_are_shown_instead_of_their_parts(run, tmp_path):
    model = make_folder(tmp_path / "model", TRANSFORMER, BYTES)
    expected = regard.load(model).inspect("á la", target="to me")
    layer = "decoder.0.cross_attention"
    done = run(model, "á la", "--target", "to me", "--words", "--layer", layer, "--out", tmp_path / "a.PNG")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.PNG").stat().st_size > 1000
    assert [line.split()[0] for line in done.stdout.splitlines()[-4:-1]] == ["to", "me", "</s>"]
    told = json.loads(run(model, "á la", "--target", "to me", "--words", "--layer", layer, "--json").stdout)
    assert (told["query"], told["key"]) == (["to", "me", "</s>"], ["á", "la", "</s>"])
    assert torch.equal(torch.tensor(told["weights"][1]), expected.words(layer, head=1).values)


@pytest.mark.parametrize("name", ["a.html", "a.png", "a.trace"])
def test_a_full_disk_leaves_the_file_of_before(run, model, tmp_path, monkeypatch, name):
    def full(path):
        assert path.read_bytes()
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / name).write_text("before")
    monkeypatch.setattr("regard.files.flush", full)
    done = run(model, SOURCE, "--target", TARGET, "--out", tmp_path / name)
    assert done.returncode == 2
    told = f"regard: `--out` must be a file to write; {tmp_path / name} cannot be written (No space left on device).\n"
    assert done.stderr == told
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


def test_a_trace_that_cannot_be_written_is_told_by_its_own_name(run, model, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("zipfile.ZipFile.writestr", full)
    done = run(model, SOURCE, "--target", TARGET, "--out", tmp_path / "a.trace")
    assert f"{tmp_path / 'a.trace'} cannot be written (No space left on device)." in done.stderr


def test_what_cannot_be_written_is_told_before_a_model_is_opened(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.html").mkdir()
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    for path, why in (("file/a.html", "Not a d"), ("folder.html", "Is a d"), ("none/a.html", "Permission denied")):
        done = run(tmp_path / "no model", SOURCE, "--out", tmp_path / path)
        message = f"regard: `--out` must be a file to write; {tmp_path / path} cannot be written ({why}"
        assert (done.returncode, done.stderr[: len(message)]) == (2, message)


def test_bytes_that_are_no_text_are_told(run, tmp_path):
    message = "must be text in UTF-8; received a byte that is none at index 5. Convert it."
    assert f"`TEXT` {message}" in run(tmp_path, "hola \udcff").stderr
    assert f"`--target` {message}" in run(tmp_path, "hola", "--target", "hell \udcff").stderr


@pytest.mark.parametrize(("view", "verb"), [("steps", "steps/apart"), ("what-if", "whatif/change")])
def test_a_view_can_be_chosen(run, model, tmp_path, monkeypatch, view, verb):
    monkeypatch.setattr(import_module("regard.studio.views.whatif"), "SEARCH_STEPS", 2)
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 2)
    done = run(model, SOURCE, "--out", tmp_path / "page.html", "--view", view)
    assert done.returncode == 0, done.stderr
    assert f'"verb":"{verb}"' in (tmp_path / "page.html").read_text()


def test_a_classifier_makes_the_page_of_its_view(run, english, tmp_path, monkeypatch):
    model = english / "attending"
    done = run(model, REVIEW, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert '"verb":"classify/read"' in (tmp_path / "page.html").read_text()
    done = run(model, REVIEW, "--out", tmp_path / "page.html", "--view", "what-if")
    assert done.returncode == 0, done.stderr
    assert '"verb":"whatif/label"' in (tmp_path / "page.html").read_text()
    monkeypatch.setattr(Classifier, "inspect", None)  # what does not fit is told before anything is computed
    done = run(model, REVIEW, "--out", tmp_path / "page.html", "--view", "translate")
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
    assert lines[-2].endswith("█   (empty: masked)")
    assert lines[-1].startswith(f"likely: {best.text} {best.probability:.3f}, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.gif"], "`--out` must end in .trace, .html, .png, .svg, .pdf; received x.gif. "),
        (
            ["--layer", "decoder.9"],
            'the name must be that of an attention layer; received "decoder.9". Choose one of encoder.0',
        ),
        (["--head", "2"], "`--head` must be from 0 to 1; received 2."),
        (
            ["--view", "wat-if"],
            "`--view` must be translate, steps, what-if, classify; received wat-if. Did you mean what-if?",
        ),
        (["--view", "steps"], "`--view` must go with `--out page.html`; received steps without one."),
        (
            ["--view", "steps", "--out", "a.html", "--head", "1"],
            "`--view` must go without --layer, --head and --words, which draw a figure; received steps.",
        ),
        (
            ["--view", "classify", "--out", "a.html"],
            "`--view` must be steps for a translator whose output is forced; received classify.",
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
    message = "regard: `MODEL` must be the folder of a translator, a language model or a text classifier; "
    assert done.stderr.startswith(f"{message}{tmp_path} holds a captioner. Use `regard caption` with it.")
