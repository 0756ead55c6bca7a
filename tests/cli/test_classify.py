"""`regard train --task classify` and `regard classify`, run as a user runs them."""

import io
import json
import sys

import pytest

from regard.cli.classify import paint
from regard.cli.train import run_training
from regard.config.read import parse_assignments
from regard.errors import ArgumentError
from regard.tasks.classification.model import Decision
from regard.tasks.classification.settings import CLASSIFIERS
from unit.tasks.labeled_run import make_classifier, write_texts

QUICK = ["train.steps=8", "train.validate_every=4", "train.threads=1", "train.device=cpu", "train.log_every=4"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_texts(folder / "a.csv")
    return make_classifier(folder / "run", folder / "a.csv", "token-weights")[0].folder.path


def test_texts_get_labels_and_their_words(run, model):
    done = run("classify", model, "w1 cat w2", "apple")
    assert done.returncode == 0, done.stderr
    first, second = (line.split("\t") for line in done.stdout.splitlines())
    assert (first[0], first[3]) == ("pet", "w1 cat w2")
    assert first[2].startswith("cat 0.")
    assert (second[0], second[2]) == ("fruit", "apple 1.000")
    assert done.stderr == ""


def test_figures_for_machines(run, model):
    done = run("classify", model, "w1 cat w2", "--json", "--by", "removal")
    found = json.loads(done.stdout)
    assert (found["text"], found["label"], found["true_label"]) == ("w1 cat w2", "pet", None)
    assert found["words"] == ["w1", "cat", "w2"]
    assert sum(found["weights"]) == pytest.approx(1)
    assert found["weights"][1] == max(found["weights"])


def test_lines_come_from_standard_input(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a dog\nan apple\n"))
    done = run("classify", model)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["pet", "fruit"]


def test_a_file_is_measured_and_drawn(run, model, tmp_path):
    path, page = tmp_path / "new.csv", tmp_path / "new.html"
    path.write_text("body,kind\nthe cat <b>,pet\nw1 bolt,metal\nw2 pear,metal\n")
    done = run("classify", model, "--input", path, "--text", "body", "--label", "kind", "--html", page)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("accuracy 66.67 %, macro-F1 ")
    assert "true \\ chosen" in done.stdout
    assert "confidence" in done.stdout
    html = page.read_text()
    assert "(is metal)" in html
    assert "Accuracy 66.67 %" in html
    assert "What was taken for what (measured)" in html
    assert "<svg" in html
    assert "<b>" not in html


def test_rows_for_machines_have_one_schema_and_the_totals_are_elsewhere(run, model, tmp_path):
    path, summary = tmp_path / "new.csv", tmp_path / "made" / "figures.json"
    path.write_text("body,kind\nthe cat <b>,pet\nw1 bolt,metal\nw2 pear,metal\n")
    flags = ["--input", path, "--text", "body", "--json"]
    done = run("classify", model, *flags, "--label", "kind", "--summary", summary)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["text"], one["true_label"]) for one in rows] == [
        ("the cat <b>", "pet"),
        ("w1 bolt", "metal"),
        ("w2 pear", "metal"),
    ]
    without = [json.loads(line) for line in run("classify", model, *flags).stdout.splitlines()]
    assert {tuple(one) for one in rows + without} == {tuple(rows[0])}
    assert json.loads(summary.read_text())["accuracy"] == pytest.approx(2 / 3)
    assert "regard: accuracy 66.67 %, macro-F1 " in done.stderr
    alone = run("classify", model, *flags, "--summary", summary)
    assert alone.returncode == 2
    assert "`--summary` must go with --label, against which is measured; received it alone." in alone.stderr


def test_words_are_painted_by_their_shares():
    decision = Decision(label="pet", probabilities={"pet": 1.0}, words=("a", "cat"), weights=(0.0, 1.0))
    line = paint(decision)
    assert line.plain == "pet 1.000 a cat "
    styles = {line.plain[span.start : span.end]: str(span.style) for span in line.spans}
    assert styles["cat"] == "black on rgb(255,140,10)"
    assert "a" not in styles


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--input", "b.csv"], "must come from one place; received both texts and --input"),
        (["x", "--label", "kind"], "`--label` must go with --input, whose column it is; received it alone."),
        (
            ["--input", "a.csv"],
            "Did you mean txt? If that is a header, name its columns of text and label: by data.text and",
        ),
        (["--input", "missing.csv"], "must be a file; received a path where there is none"),
        (["x", "--by", "magic"], '`--by` must be model, gradient or removal; received "magic"'),
        (["x", "--html", "a.csv/a.html"], "`--html` must be a file to write; a.csv/a.html cannot be written"),
        (["x", "--html", "a.txt"], "`--html` must end in .html; received a.txt. Rename it."),
        (["--input", "empty.txt"], "empty.txt must have at least one text; received none."),
    ],
)
def test_mistakes_are_one_paragraph(run, model, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("txt\nx\n")
    (tmp_path / "empty.txt").write_text("\n")
    done = run("classify", model, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_mistakes_in_measured_files_are_one_paragraph(run, model, tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nx,pett\n")
    done = run("classify", model, "--input", tmp_path / "a.csv", "--label", "label")
    assert done.returncode == 2
    assert 'The measured texts must have labels that the training texts have; received "pett". Did you' in done.stderr
    (tmp_path / "b.csv").write_text("text,label\nx,\n")
    done = run("classify", model, "--input", tmp_path / "b.csv", "--label", "label")
    assert "must have at least one text with a label; received none." in done.stderr
    done = run("classify", tmp_path, "x")
    assert done.returncode == 2
    assert "must be a model folder or a run folder" in done.stderr


def choose(path, *more):
    return {**parse_assignments([*QUICK, *more, "model.size=16"]), "data": {"corpus": str(path)}}


def test_training_goes_from_texts_to_a_classifier(unchecked, capsys, tmp_path, run):
    path, out = write_texts(tmp_path / "a.csv"), tmp_path / "run"
    run_training("classify", choose(path), "lstm", out)
    shown = capsys.readouterr()
    assert shown.out.startswith("accuracy ")
    assert f"model   {out}/model\nreport  {out}/report.html\ntask:classify|" in shown.out
    assert "texts to train on" in shown.err
    assert "3 labels; a last-state model" in shown.err
    assert "step 8: valid loss" in shown.err
    assert "texts/s" in shown.err
    run_training("classify", choose(path), "lstm", out, as_json=True)  # which is finished
    figures = json.loads(capsys.readouterr().out)
    assert figures["steps"] == 8
    assert figures["model"] == f"{out}/model"
    assert run("classify", out, "w1 cat").returncode == 0


def test_other_settings_need_another_folder(unchecked, capsys, tmp_path):
    path, out = write_texts(tmp_path / "a.csv"), tmp_path / "run"
    run_training("classify", choose(path), "average", out)
    with pytest.raises(ArgumentError, match=r"train.seed was 1, now 2"):
        run_training("classify", choose(path, "train.seed=2"), "average", out)


def test_settings_are_shown_with_their_help(run):
    shown = run("train", "--task", "classify", "--preset", "structured", "--print-config").stdout
    assert 'kind = "structured"' in shown
    assert 'metric = "loss"' in shown
    assert "# Attention poolings of the text" in shown
    assert "[data.hold_out]" in shown


def test_without_a_preset_an_lstm_with_attention_is_trained(run):
    shown = run("train", "--task", "classify", "--print-config").stdout
    assert 'kind = "recurrent-attention"' in shown
    assert 'cell = "lstm"' in shown


def test_nothing_is_not_classified(run, model):
    done = run("classify", model, " ")
    assert done.returncode == 2
    assert "`TEXT` must be something to read; received nothing. Type a text." in done.stderr


def test_empty_texts_are_left_out_alike(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a dog\n\nan apple\n"))
    for done in (run("classify", model), run("classify", model, "a dog", "", "an apple")):
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["pet", "fruit"]
        assert done.stderr == "regard: 1 empty text left out: number 2\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = run("classify", model)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "regard: Standard input must have at least one text; received none.\n"


def test_texts_of_unknown_words_are_named(run, model):
    done = run("classify", model, "zzz qqq", "a dog")
    note = "regard: 1 text without a word that the model knows, so that the label says little: zzz qqq\n"
    assert (done.returncode, done.stderr) == (0, note)


def test_an_unseen_label_is_counted_as_wrong(run, model, tmp_path):
    path, page = tmp_path / "a.csv", tmp_path / "a.html"
    path.write_text("text,label\nthe cat,pet\nw1 bolt,stone\n")
    done = run("classify", model, "--input", path, "--label", "label", "--html", page)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("accuracy 50.00 %, ")
    assert "on 2 texts" in done.stdout
    note = f'regard: 1 text with a label that the model does not have ({path}, line 3: "stone"), counted as wrong, and'
    assert note in done.stderr
    assert done.stderr.endswith(f"regard: wrote {page}\n")
    assert "<th>stone</th>" in page.read_text()


def test_lines_left_out_are_told_with_the_labels(run, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "x", "label": "a"}\n{"text": \n')
    done = run("train", "--task", "classify", "--data", path, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert 'at least two labels to choose from; received only "a". Is data.label' in done.stderr
    assert f"Left out: 1 json ({path}, line 2: '{{\"text\": ')." in done.stderr


def test_a_table_of_texts_is_for_another_task(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\nx,1\n")
    done = run("train", "--data", path, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.endswith("Is it for the task classify?\n")


def test_presets_and_tasks_are_listed(run):
    lines = run("train", "--task", "classify", "--preset", "list").stdout.splitlines()
    assert lines[0].startswith("tf-idf             words weighted by how rare they are, ")
    assert [line.split()[0] for line in lines] == list(CLASSIFIERS)
    for more in ([], ["--preset", "list"]):
        done = run("train", "--task", "x", "--out", "y", *more)
        assert done.stderr.endswith("images, questions, captions or align; received x.\n")
