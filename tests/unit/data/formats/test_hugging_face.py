import builtins
import re

import pytest

from regard.data.corpora.corpus import read_pairs
from regard.data.formats import HuggingFace
from regard.errors import DataError, MissingExtraError

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets.disable_progress_bars()


def make(*pairs):
    return datasets.Dataset.from_list([{"translation": {"de": source, "en": target}} for source, target in pairs])


def sides(corpus, **choices):
    return [(pair.source, pair.target) for pair in read_pairs(corpus, **choices)]


def test_a_name_goes_to_the_loader_as_a_stream(monkeypatch):
    asked = {}

    def load(name, configuration, **choices):
        asked.update(choices, name=name, configuration=configuration)
        return make(("Hund", "dog")).to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert sides(HuggingFace(name="wmt/wmt14", configuration="de-en", split="test")) == [("Hund", "dog")]
    assert asked == {"name": "wmt/wmt14", "configuration": "de-en", "split": "test", "streaming": True} | {
        "trust_remote_code": False
    }


@pytest.mark.parametrize(
    "error",
    [ConnectionError("no\nnetwork"), RuntimeError("scripts are not supported"), KeyError("x" * 999)],
)
def test_what_the_loader_cannot_read_is_one_paragraph(monkeypatch, error):
    def load(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(
        DataError,
        match=r"^hf:wmt/wmt14 must be a data set that `datasets` can load .*, for split train: .*\. Check the name",
    ) as it:
        sides(HuggingFace(name="wmt/wmt14"))
    assert "\n" not in str(it.value)
    assert len(str(it.value)) < 400


def test_without_datasets_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "regard[datasets]"')):
        sides(HuggingFace(name="wmt14"))
