"""`regard.train`: from data to a loaded model, for every task, in one call."""

import ast
import io
import json
import math
import os
import random
import signal
import threading

import pytest
import torch

import regard
from regard.errors import ArgumentError, ArgumentTypeError, Interrupted
from regard.tasks.progress import Progress, ProgressLine
from regard.tasks.task import TASKS
from regard.tasks.training import read_keys
from regard.training.run_folder import RunFolder
from regard.training.watch import Measured, Validated
from unit.tasks.labeled_run import write_texts
from unit.tasks.picture_run import TINY

SHORT = {"train.validate_every": 2, "train.checkpoint_every": 1, "train.log_every": 1, "train.threads": 1}
TINY_PICTURES = {"data": {"scenes": 16, "held_out_scenes": 6}, "model": TINY["model"], "train.batch_size": 8}
#: A quick run of each task: data, preset, settings, and the class of its model.
QUICK = {
    "translate": (
        "builtin:hi-en",
        "bahdanau",
        {"data.size": 40, "model.embedding_size": 8, "model.hidden_size": 8},
        "Translator",
    ),
    "language": ("builtin:stories", "ngram", {"data.size": 40, "tokenizer.kind": "character"}, "LanguageModel"),
    "classify": ("builtin:topics", "average", {"data.size": 60, "model.size": 8}, "Classifier"),
    "images": ("builtin:simple-shapes", "resnet-small", {"data.size": 24, "model.widths": [4, 4]}, "ImageClassifier"),
    "questions": ("builtin:shapes", "", TINY_PICTURES, "QuestionAnswerer"),
    "captions": ("builtin:shapes", "", {**TINY_PICTURES, "data.max_length": 4}, "Captioner"),
    "align": ("builtin:hi-en", "", {"data.size": 40, "model.size": 8, "model.feed_forward_size": 8}, "WordAligner"),
}


@pytest.fixture(autouse=True)
def few_figures(monkeypatch):
    """Draw one picture in a report: figures take longer than the training."""
    for folder in ("images", "questions", "captions"):
        monkeypatch.setattr(f"regard.tasks.{folder}.train.SHOWN", 1)


def train(task, out, *, settings=None, **others):
    data, preset, small, _ = QUICK[task]
    given = {"data": data, "preset": preset, "steps": 2} | others
    return regard.train(task, out=out, settings={**small, **SHORT, **(settings or {})}, **given)


def test_a_run_goes_on_by_its_folder_alone_and_another_starts_from_its_model(tmp_path):
    train("classify", tmp_path / "a")
    assert "Classifier(average" in str(regard.train(out=tmp_path / "a", steps=4))
    figures = json.loads((tmp_path / "a" / "model" / "figures.json").read_text())
    assert figures["steps"] == 4
    small = {"data.size": 60, **SHORT}
    tuned = regard.train(
        "classify", start=tmp_path / "a", data="builtin:topics", out=tmp_path / "b", steps=2, settings=small
    )
    assert tuned.tokenizer.to_json() == regard.load(tmp_path / "a").tokenizer.to_json()
    assert f"start='{tmp_path / 'a'}'" in (tmp_path / "b" / "model" / "README.md").read_text()


@pytest.fixture
def two_folders(tmp_path, monkeypatch):
    """Make two folders beside each other, the first with labeled texts, and work in it."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    write_texts(tmp_path / "a" / "t.csv", count=60)
    monkeypatch.chdir(tmp_path / "a")
    return tmp_path


def train_in_folder(folder, monkeypatch, **arguments):
    """Train a small classifier from `folder`, without settings that the steps decide."""
    monkeypatch.chdir(folder)
    named = {"settings": {"model.size": 8, "train.threads": 1}, "preset": "average"} | arguments
    return regard.train("classify", **{name: value for name, value in named.items() if value})


def steps_of(out):
    return json.loads((out / "model" / "figures.json").read_text())["steps"]


def test_a_run_of_an_older_version_goes_on_by_its_folder_from_anywhere(two_folders, monkeypatch):
    out = two_folders / "run"
    train_in_folder(two_folders / "a", monkeypatch, data="t.csv", out=out, steps=2)
    once = "r_drop = 0.0\nbpe_dropout = 0.0\nguided_alignment = 0.0\nvalid_sentences = 500\nsamples = 0\n"
    config = out / "config.toml"
    config.write_text(config.read_text().replace("[train]\n", f"[train]\n{once}"))
    monkeypatch.chdir(two_folders / "b")
    regard.train(out="../run", steps=4)
    assert steps_of(out) == 4
    assert 'corpus = "t.csv"' in config.read_text(), "as it was typed, from the folder in which the run began"
    regard.train(out="../run", steps=5)
    assert steps_of(out) == 5


def test_more_steps_are_given_from_another_folder(two_folders, monkeypatch):
    out, here, there = two_folders / "run", two_folders / "a", two_folders / "b"
    train_in_folder(here, monkeypatch, data="t.csv", out=out, steps=4)
    train_in_folder(there, monkeypatch, data="../a/t.csv", out=out, steps=24)
    (there / "copy.csv").write_bytes((here / "t.csv").read_bytes())
    train_in_folder(there, monkeypatch, data="copy.csv", out=out, steps=25)
    assert steps_of(out) == 25
    assert "accuracy" in str(regard.evaluate(out)), "the data is named from the folder in which the run began"
    write_texts(there / "other.csv", count=60, seed=2)
    message = r'is of another: data\.corpus was ".*a/t\.csv", now "other\.csv"; train\.steps was 25, now 30\. Name'
    with pytest.raises(ArgumentError, match=message):
        train_in_folder(there, monkeypatch, data="other.csv", out=out, steps=30)


def test_a_run_that_starts_from_a_model_is_the_same_run_from_another_folder(two_folders, monkeypatch):
    here, there = two_folders / "a", two_folders / "b"
    train_in_folder(here, monkeypatch, data="t.csv", out="first", steps=2)
    started = {"preset": "", "settings": {"train.threads": 1}, "out": two_folders / "run"}
    train_in_folder(here, monkeypatch, data="t.csv", start="first", steps=2, **started)
    train_in_folder(there, monkeypatch, data="../a/t.csv", start="../a/first", steps=4, **started)
    assert steps_of(two_folders / "run") == 4


@pytest.mark.parametrize(
    ("argument", "name"), [({"data": "t.csv"}, "data"), ({"preset": "average"}, "preset"), ({"start": "r"}, "start")]
)
def test_a_run_is_known_to_be_there_whatever_else_is_named(tmp_path, argument, name):
    RunFolder(tmp_path).begin(TASKS["classify"].compose({}, TASKS["classify"].typical, ""), "abc")
    message = (
        rf"^`task` must be named together with `{name}`; received nothing\. The run in {tmp_path}, of the "
        r"task classify, goes on by `out` alone\.$"
    )
    with pytest.raises(ArgumentError, match=message):
        regard.train(out=tmp_path, **argument)


@pytest.mark.parametrize("task", TASKS)
def test_a_value_in_place_of_a_table_is_refused(task, tmp_path):
    for part in ("data", "train", "model"):
        for value in ("x", 3, ["x"], None):
            with pytest.raises(ArgumentError, match=rf"^{part}: must be a table of settings; received "):
                regard.train(task, out=tmp_path / "new", settings={part: value})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_in_one_call_and_silently(task, tmp_path, capfd):
    model = train(task, tmp_path / "run")
    assert type(model).__name__ == QUICK[task][3]
    assert str(regard.load(tmp_path / "run")) == str(model)
    assert capfd.readouterr() == ("", "")
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "License of the data: MIT, as regard itself." in card
    languages = {"translate": "hi, en", "align": "hi, en", "images": "not named"}.get(task, "en")
    assert f"Languages: {languages}." in card
    assert f"divided: {RunFolder(tmp_path / 'run').fingerprint()}." in card
    assert f"regard.train({task!r}, data={QUICK[task][0]!r}, out={str(tmp_path / 'run')!r}" in card


def test_the_call_on_the_card_is_python_that_can_be_typed(two_folders):
    write_texts(two_folders / "a" / "u.csv", count=30, seed=2)
    data = (two_folders / "a" / "t.csv", two_folders / "a" / "u.csv")
    regard.train("classify", data=data, out=two_folders / "r", preset="average", steps=1, settings={"model.size": 8})
    card = (two_folders / "r" / "model" / "README.md").read_text()
    line = next(line for line in card.splitlines() if line.startswith("regard.train("))
    call = ast.parse(line, mode="eval").body
    assert ast.literal_eval(next(item.value for item in call.keywords if item.arg == "data")) == [*map(str, data)]


def test_a_text_is_named_once(tmp_path):
    message = r"^data\.text: must be left out with data\.corpus, which is the text too; received a\.txt and b\.txt\.$"
    with pytest.raises(ArgumentError, match=message):
        regard.train("language", data="b.txt", out=tmp_path / "new", settings={"data.text": "a.txt"})
    assert not (tmp_path / "new").exists()


def test_two_files_train_a_translator(tmp_path):
    lines = [f"la {noun} {number}" for noun in ("casa", "mesa", "silla", "luna") for number in range(20)]
    (tmp_path / "a.es").write_text("\n".join(lines) + "\n")
    (tmp_path / "a.en").write_text("\n".join(line.replace("la ", "the ") for line in lines) + "\n")
    model = regard.train(
        "translate",
        source=tmp_path / "a.es",
        target=tmp_path / "a.en",
        out=tmp_path / "run",
        preset="statistical",
    )
    assert model.translate(["la luna 3"]) == ["the luna 3"]


def test_the_same_call_gives_a_finished_run_again_and_goes_on_with_one_that_was_stopped(tmp_path):
    whole = train("classify", tmp_path / "whole", steps=6)

    def stop(progress):
        if progress.step == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train("classify", tmp_path / "stopped", steps=6, on_progress=stop)
    seen = []
    resumed = train("classify", tmp_path / "stopped", steps=6, on_progress=seen.append)
    assert seen[0].step > 1
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, resumed.model.state_dict()[name])
    seen.clear()
    train("classify", tmp_path / "stopped", steps=6, on_progress=seen.append)
    assert seen == []
    train("classify", tmp_path / "stopped", steps=7, on_progress=seen.append)
    assert seen[-1].step == 7
    with pytest.raises(ArgumentError, match=r"train.steps was 7, now 6"):
        train("classify", tmp_path / "stopped", steps=6)


def test_progress_has_step_loss_and_the_figures_of_validations(tmp_path):
    seen = []
    train("classify", tmp_path / "run", steps=4, on_progress=seen.append)
    assert [(one.step, one.steps, bool(one.valid)) for one in seen] == [
        (1, 4, False),
        (2, 4, False),
        (2, 4, True),
        (3, 4, False),
        (4, 4, False),
        (4, 4, True),
    ]
    assert all(isinstance(one, Progress) and math.isfinite(one.loss) and one.seconds > 0 for one in seen)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [one.loss for one in seen if not one.valid] == [one["loss"] for one in lines if one["event"] == "train"]
    assert {"loss", "accuracy", "macro_f1"} <= seen[2].valid.keys()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"settings": {"train.stpes": 3}}, ArgumentError, "train.stpes: unknown key. Did you mean steps?"),
        ({"settings": {"train": {"stpes": 3}}}, ArgumentError, "train.stpes: unknown key. Did you mean steps?"),
        ({"settings": {"train.steps": 3}}, ArgumentError, "train.steps: must be set once; received 2 and 3."),
        ({"settings": {"data.corpus": "a.csv"}}, ArgumentError, "data.corpus: must be set once; received 'builtin:"),
        ({"settings": {"train.seed": "x"}}, ArgumentError, 'train.seed: must be a whole number; received "x".'),
        (
            {"settings": {3: 4}},
            ArgumentTypeError,
            '`settings` must have keys of text, such as "train.seed"; received 3.',
        ),
        ({"steps": 0}, ArgumentError, "train: `steps` must be at least 1; received 0."),
        (
            {"preset": "averag"},
            ArgumentError,
            '`preset` must be the name of a classifier; received "averag". Did you mean',
        ),
        (
            {"source": "a.es", "data": ""},
            ArgumentError,
            "`source` must be left out for a text classifier, which takes one corpus, `data`; received a.es.",
        ),
        ({"data": "absent.csv"}, ArgumentError, "absent.csv"),
    ],
)
def test_mistakes_are_errors_before_anything_is_written(tmp_path, changes, error, message):
    with pytest.raises(error) as caught:
        train("classify", tmp_path / "new" / "run", **changes)
    assert message in str(caught.value)
    assert not (tmp_path / "new").exists()
    with pytest.raises(ArgumentError, match=r"`task` must be translate, .* received clasify\. Did you mean classify\?"):
        regard.train("clasify", out=tmp_path)


def test_dotted_keys_and_tables_are_the_same_settings():
    table = {"train": {"seed": 2, "schedule": {"rate": 1e-3}}}
    assert read_keys(table) == table
    assert read_keys({"train.seed": 2, "train.schedule.rate": 1e-3}) == table
    assert read_keys({"train": {"seed": 2}, "train.schedule": {"rate": 1e-3}}) == table
    with pytest.raises(ArgumentError, match=r"^train\.seed: must be set once; received 1 and 2\.$"):
        read_keys({"train.seed": 1, "train": {"seed": 2}})


def test_random_numbers_and_threads_are_left_as_they_were(tmp_path):
    threads = torch.get_num_threads()
    torch.manual_seed(1)
    random.seed(1)
    first = torch.rand(2).tolist(), random.random()
    torch.manual_seed(1)
    random.seed(1)
    train("classify", tmp_path / "run", settings={"train.threads": threads + 1})
    assert (torch.rand(2).tolist(), random.random()) == first
    assert torch.get_num_threads() == threads


def test_ctrl_c_stops_after_the_step_and_the_same_call_goes_on(tmp_path):
    before = signal.getsignal(signal.SIGINT)

    def press(progress):
        if progress.step == 3 and not progress.valid:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"after step 3") as stopped:
        train("classify", tmp_path / "run", steps=6, on_progress=press)
    assert stopped.value.signal == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
    seen = []
    train("classify", tmp_path / "run", steps=6, on_progress=seen.append)
    assert seen[0].step == 4


def test_a_thread_may_train(tmp_path):
    """Signals reach the first thread alone, so another one trains without listening to them."""
    models = []
    thread = threading.Thread(target=lambda: models.append(train("classify", tmp_path / "run")))
    thread.start()
    thread.join()
    assert type(models[0]).__name__ == "Classifier"


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or not."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_one_line_on_a_terminal_and_nothing_elsewhere(terminal):
    stream = Terminal(terminal)
    line = ProgressLine(stream)
    line.count("reading the data", 1200, unit="texts")
    line.started(0, 500)
    report = {"cross_entropy": 1.0, "rate": 0.1, "gradient_norm": 1.0, "tokens": 9, "tokens_per_second": 9.0}
    line.measured(Measured(step=20, loss=3.21, epoch=0, seconds=1.0, memory=1, **report))
    line.validated(Validated(step=20, loss=3.0, figures={"bleu": 1.5}), best=True)
    line.noted("a note")
    line.close()
    written = stream.getvalue()
    assert "\n" not in written
    shown = [text.strip() for text in written.split("\r") if text.strip()]
    assert shown == (
        [
            "reading the data: 1,200 texts",
            "step 20/500  loss 3.210",
            "step 20/500  loss 3.210  valid loss 3.000  valid bleu 1.500",
        ]
        if terminal
        else []
    )
    assert not terminal or (written.endswith(" \r") and "\x1b" not in written)
