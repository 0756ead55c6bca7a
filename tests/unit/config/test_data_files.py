"""A run is the same run from whatever folder its data is named, and finds it again from any."""

import json
from dataclasses import fields, replace

import pytest

from regard.errors import ArgumentError
from regard.tasks.classification.settings import ClassifyConfig, LabeledData
from regard.tasks.images.settings import ImageData, ImagesConfig
from regard.tasks.language.settings import LanguageConfig, TextData
from regard.tasks.questions.settings import PictureData, QuestionConfig
from regard.tasks.translation.settings import Config, Data
from regard.training.run_folder import RunFolder

TASKS = [
    (Config, Data, "corpus"),
    (LanguageConfig, TextData, "text"),
    (ClassifyConfig, LabeledData, "corpus"),
    (ImagesConfig, ImageData, "corpus"),
    (QuestionConfig, PictureData, "corpus"),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a folder with data, and work in it."""
    for name in ("work", "elsewhere"):
        (tmp_path / name).mkdir()
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / "work" / name).touch()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(("config", "data", "key"), TASKS)
def test_a_path_in_other_words_is_the_same_run(project, monkeypatch, config, data, key):
    folder = RunFolder(project / "run")
    folder.begin(config(data=data(**{key: "a.tsv"})), "abc")
    written = folder.config.read_text()
    assert f'{key} = "a.tsv"' in written, "as it was typed"
    for name in ("./a.tsv", "../work/a.tsv", str(project / "work" / "a.tsv")):
        folder.begin(config(data=data(**{key: name})), "abc")
    monkeypatch.chdir(project / "elsewhere")
    folder.begin(config(data=data(**{key: "../work/a.tsv"})), "abc")
    assert getattr(folder.read_settings(config).data, key) == str(project / "work" / "a.tsv")
    assert folder.config.read_text() == written


def test_other_data_is_another_run_and_says_which(project):
    folder = RunFolder(project / "run")
    folder.begin(Config(data=Data(corpus="a.tsv")), "abc")
    with pytest.raises(ArgumentError, match=r'is of another: data\.corpus was "a\.tsv", now "b\.tsv"\. Name a new'):
        folder.begin(Config(data=Data(corpus="b.tsv")), "other")
    with pytest.raises(ArgumentError, match=r"The data of a run must stay as it was"):
        folder.begin(Config(data=Data(corpus="./a.tsv")), "other")
    with pytest.raises(ArgumentError, match=r'data\.corpus was "a\.tsv", now "builtin:es-en"'):
        folder.begin(Config(data=Data(corpus="builtin:es-en")), "abc")


def test_the_same_content_elsewhere_is_the_same_run(project):
    folder = RunFolder(project / "run")
    folder.begin(Config(data=Data(corpus="a.tsv", more=("b.tsv",), valid="v.tsv")), "abc")
    folder.begin(Config(data=Data(corpus="parts/*.tsv", valid="moved/v.tsv")), "abc")
    with pytest.raises(ArgumentError, match=r'data\.tokenizer was "", now "t\.json"'):
        folder.begin(Config(data=Data(corpus="a.tsv", more=("b.tsv",), valid="v.tsv", tokenizer="t.json")), "abc")


def test_a_tokenizer_is_known_by_its_path_alone(project):
    folder = RunFolder(project / "run")
    folder.begin(Config(data=Data(corpus="a.tsv", tokenizer="a.json")), "abc")
    folder.begin(Config(data=Data(corpus="a.tsv", tokenizer=str(project / "work" / "a.json"))), "abc")
    with pytest.raises(ArgumentError, match=r'data\.tokenizer was "a\.json", now "b\.json"'):
        folder.begin(Config(data=Data(corpus="a.tsv", tokenizer="b.json")), "abc")


def test_a_project_that_moved_is_read_where_it_is_now(project, monkeypatch):
    folder = RunFolder(project / "run")
    folder.begin(Config(data=Data(corpus="*.tsv", more=("b.tsv",))), "abc")
    (project / "work").rename(project / "moved")
    monkeypatch.chdir(project / "moved")
    assert folder.read_settings(Config).data == Data(corpus="*.tsv", more=("b.tsv",))
    monkeypatch.chdir(project)
    record = {"fingerprint": "abc", "folder": str(project / "moved")}
    (folder.path / ".data.json").write_text(json.dumps(record))
    found = folder.read_settings(Config).data
    assert (found.corpus, found.more) == (f"{project}/moved/*.tsv", (f"{project}/moved/b.tsv",))


def test_a_run_of_an_older_version_goes_on(project):
    folder = RunFolder(project / "run")
    folder.begin(Config(data=Data(corpus="a.tsv")), "abc")
    (folder.path / ".data.json").write_text('{"fingerprint": "abc"}')
    folder.begin(Config(data=Data(corpus=str(project / "work" / "a.tsv"))), "abc")
    assert folder.read_settings(Config).data.corpus == "a.tsv"


def test_settings_that_name_no_file_are_left_alone(project, monkeypatch):
    (project / "work" / "text").touch()
    folder = RunFolder(project / "run")
    config = ClassifyConfig(data=LabeledData(corpus="a.tsv", text="text"))
    folder.begin(config, "abc")
    monkeypatch.chdir(project)
    found = folder.read_settings(ClassifyConfig)
    assert found == replace(config, data=replace(config.data, corpus=str(project / "work" / "a.tsv")))
    assert {one.name for one in fields(found.data)} > {"corpus", "more", "text"}
