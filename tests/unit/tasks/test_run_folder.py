"""A run folder is new, or that of the very same run."""

import os
import re
from pathlib import Path

import pytest

from regard.config.show import differences
from regard.errors import ArgumentError, DataError
from regard.tasks.images.settings import ImagesConfig
from regard.tasks.language.settings import LanguageConfig
from regard.tasks.questions.settings import QuestionConfig
from regard.tasks.task import TASKS, all_settings
from regard.tasks.translation.settings import Config, TranslationTrain
from regard.training.run_folder import RunFolder


def test_the_same_run_goes_on(tmp_path):
    folder = RunFolder(tmp_path / "new" / "run")
    folder.begin(Config(), "abc")
    before = folder.config.read_text()
    folder.begin(Config(), "abc")
    assert folder.config.read_text() == before
    assert "steps = 10000" in before


def test_another_run_is_told_what_differs(tmp_path):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    message = r"is of another: train.steps was 10000, now 5. Name a new folder, or give the settings it began with, "
    with pytest.raises(ArgumentError, match=message):
        folder.begin(Config(train=TranslationTrain(steps=5)), "abc")
    many = TranslationTrain(steps=5, batch_tokens=1, accumulate=2, seed=3, clip=0.0, ema=0.5, average=9)
    with pytest.raises(ArgumentError, match=r"; and 2 more. Name"):
        folder.begin(Config(train=many), "abc")
    with pytest.raises(ArgumentError, match=r"The data of a run must stay as it was; that of .* has changed since"):
        folder.begin(Config(), "other")
    folder.config.write_text("a")
    with pytest.raises(ArgumentError, match=r"config.toml must be what `regard train` wrote; received: Expected '='"):
        folder.begin(Config(), "abc")


def test_that_nobody_knows_the_data_any_more_is_given(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.begin(Config(), "abc") == ""
    assert folder.begin(Config(), "abc") == ""
    (tmp_path / ".data.json").unlink()
    assert folder.begin(Config(), "other") == (
        f"{tmp_path}/.data.json is gone, so nobody can tell whether the data is what the run began with: that check is "
        "left out this once."
    )
    with pytest.raises(ArgumentError, match=r"The data of a run must stay as it was"):
        folder.begin(Config(), "abc")  # from here on it is known again


@pytest.mark.parametrize(
    ("content", "received"),
    [
        (b'{"fingerpr', "must be JSON; received: Unterminated"),
        (b"", "must be JSON; received: Expecting value"),
        (b"[]", "must hold a table of settings; received a list of 0"),
        (b"\xff", "must be JSON; received: 'utf-8' codec"),
        (b"[" * 100_000, "must be JSON of at most 100 tables and lists in one another"),
    ],
)
def test_a_torn_record_of_the_data_is_a_paragraph(tmp_path, content, received):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    (tmp_path / ".data.json").write_bytes(content)
    message = r"\.data\.json must hold the table that `regard train` wrote; received: .*"
    with pytest.raises(DataError, match=rf"{message}{received}.*\. Remove it to go on without it\.$"):
        folder.begin(Config(), "abc")


@pytest.mark.parametrize(
    ("content", "received"),
    [(b"\xff\xfe", "'utf-8' codec can't decode"), (b"a=" + b"[" * 5000, "must be TOML of at most 100 tables")],
)
def test_settings_that_are_no_text_are_a_paragraph(tmp_path, content, received):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    folder.config.write_bytes(content)
    with pytest.raises(ArgumentError, match=rf"config.toml must be what `regard train` wrote; received: .*{received}"):
        folder.begin(Config(), "abc")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.toml", r"must be a file that can be read; received: Permission denied\.$"),
        (".data.json", r"must be the run's to read and to write; it is not \(Permission denied\)\. Mend that and give"),
    ],
)
def test_files_that_may_not_be_read_are_named(tmp_path, monkeypatch, name, message):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    really_open = os.open

    def refused(path, *how):
        if Path(path).name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, *how)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(DataError, match=rf"{name} {message}"):
        folder.begin(Config(), "abc")


@pytest.mark.parametrize(
    ("task", "config"), [("language", LanguageConfig()), ("questions", QuestionConfig()), ("images", ImagesConfig())]
)
def test_a_run_of_another_task_is_named(tmp_path, task, config):
    folder = RunFolder(tmp_path)
    folder.begin(config, "abc")
    tasks = {name: one.settings for name, one in TASKS.items()}
    with pytest.raises(ArgumentError, match=rf"of the same task; .* holds one of {task}\. Name a new folder\."):
        folder.begin(Config(), "abc", tasks=tasks)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("stpes = 10000", r"train\.stpes: unknown key\. Did you mean steps\?$"),
        ("steps = -1", r"train: `steps` must be at least 1; received -1\.$"),
        ('steps = "x"', r"train\.steps: "),
    ],
)
def test_a_setting_that_does_not_fit_is_told_whole(tmp_path, line, message):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    folder.config.write_text(folder.config.read_text().replace("steps = 10000", line))
    with pytest.raises(ArgumentError, match=rf"config\.toml must be what `regard train` wrote; received: {message}"):
        folder.begin(Config(), "abc")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ArgumentError, match=r"holds thesis.tex and no config.toml. Name another."):
        RunFolder(tmp_path).begin(Config(), "abc")
    with pytest.raises(ArgumentError, match=r"`out` must be a folder; received the file"):
        RunFolder(tmp_path / "thesis.tex").begin(Config(), "abc")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_mistake_before_the_first_checkpoint_takes_everything_back(tmp_path):
    folder = RunFolder(tmp_path / "a" / "b")
    refused = pytest.raises(ArgumentError, match="no good")
    with refused, folder.locked():
        folder.begin(Config(), "abc")
        folder.data.mkdir()
        raise ArgumentError("no good")
    assert list(tmp_path.iterdir()) == []
    with folder.locked():
        folder.begin(Config(), "abc")
    with refused, folder.locked():
        raise ArgumentError("no good")
    assert folder.config.is_file()  # of a run that began before


def test_a_mistake_leaves_what_belongs_to_others(tmp_path):
    (tmp_path / "data").mkdir()
    folder = RunFolder(tmp_path)
    with pytest.raises(ArgumentError, match=r"holds data and no config.toml"), folder.locked():
        folder.begin(Config(), "abc")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    message = r"`out` must be a folder that can be written to; .*file/run cannot be \(Not a directory\). Name another."
    with pytest.raises(ArgumentError, match=message), RunFolder(tmp_path / "file" / "run").locked():
        pass


def test_what_a_killed_start_left_does_not_stand_in_the_way(tmp_path):
    (tmp_path / ".config.toml.writing").write_text("half")
    RunFolder(tmp_path).begin(Config(), "abc")


def test_two_processes_do_not_train_into_one_folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    refused = pytest.raises(ArgumentError, match=r"is in use. Wait for it, or name another folder.")
    with folder.locked(), refused, folder.locked():
        pass
    with folder.locked():
        pass


def test_settings_that_follow_from_others_are_told_last(tmp_path):
    folder = RunFolder(tmp_path)
    folder.begin(Config(train=TranslationTrain(steps=100, log_every=5)), "abc")
    message = (
        r"is of another: train\.steps was 100, now 200 \(train\.steps also decides train\.log_every\)\. Name a new"
    )
    with pytest.raises(ArgumentError, match=message):
        folder.begin(Config(train=TranslationTrain(steps=200, log_every=7)), "abc")


def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    message = r"whose \.lock is a plain file; .*\.lock cannot be opened \(.*\)\. Remove it, or name another folder"
    with pytest.raises(ArgumentError, match=message), RunFolder(tmp_path / "run").locked():
        pass
    assert (tmp_path / "precious").read_text() == "kept"


#: What older versions wrote into [train] of every task.
ONCE = "r_drop = 0.0\nbpe_dropout = 0.0\nguided_alignment = 0.0\nvalid_sentences = 500\nsamples = 0\n"


@pytest.mark.parametrize("name", ["language", "classify", "images", "questions", "captions"])
def test_a_run_that_an_older_version_began_goes_on(tmp_path, name):
    settings = TASKS[name].compose({}, TASKS[name].typical, "")
    folder = RunFolder(tmp_path)
    folder.begin(settings, "abc")
    text = folder.config.read_text()
    for new, old in (("batch_size", "batch_tokens"), ("samples", "samples_"), ("valid_sentences", "valid_sentences_")):
        text = re.sub(rf"^{new} = ", f"{old} = ", text, flags=re.MULTILINE)
    if name == "questions":
        text = text.replace('attention = "positions"', 'look = "places"').replace("num_layers = ", "num_looks = ")
    text = re.sub(r"^\w+_ = .*\n", "", text, flags=re.MULTILINE).replace("[train]\n", f"[train]\n{ONCE}")
    folder.config.write_text(text)
    assert folder.task(all_settings()) == name
    before = folder.read_settings(type(settings))
    assert folder.begin(before, "abc") == ""
    assert [change for change in differences(before, settings) if "samples" not in change] == []


def test_a_run_that_learned_nothing_begins_with_other_limits(tmp_path):
    folder = RunFolder(tmp_path)
    folder.begin(Config(), "abc")
    assert folder.begin(Config(train=TranslationTrain(steps=20_000)), "abc") == ""
    assert folder.read_settings(Config).train.steps == 20_000


def test_more_steps_for_a_run_that_its_minutes_ended_need_more_minutes(tmp_path):
    folder = RunFolder(tmp_path)
    folder.begin(Config(train=TranslationTrain(steps=100, minutes=0.1)), "abc")
    (folder.checkpoints.folder / "step-00000071").mkdir(parents=True)
    folder.model.mkdir()
    folder.figures.write_text("{}")
    message = r"`train.minutes` must be raised too, or set to 0 .* ended by its 0.1 minutes, at step 71 of 100"
    with pytest.raises(ArgumentError, match=message):
        folder.begin(Config(train=TranslationTrain(steps=200, minutes=0.1)), "abc")
    assert folder.figures.is_file()
    assert "goes on after step 71" in folder.begin(Config(train=TranslationTrain(steps=200, minutes=0.0)), "abc")
