"""Several files are one corpus, in the order of their names, for every task that reads text."""

import re

import pytest

from regard.cli.train import train
from regard.data.corpora.corpus import Several, find_corpus
from regard.data.formats.several import find_in_folder
from regard.errors import ArgumentError, DataError
from regard.tasks.classification.data import gather_texts
from regard.tasks.classification.settings import LabeledData
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import TextData
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import Data


def write_parts(folder, line, *, ending, header=""):
    """Write 120 lines as three parts, and as one file."""
    lines = [line.format(n=n, label=n % 2) + "\n" for n in range(120)]
    folder.mkdir()
    for number, name in enumerate("abc"):
        part = lines[40 * number : 40 * number + 40]
        (folder / f"{name}.{ending}").write_text(header + "".join(part), encoding="utf-8")
    whole = folder.parent / f"whole.{ending}"
    whole.write_text(header + "".join(lines), encoding="utf-8")
    return whole


def several(folder, ending):
    """Name the parts in every way there is."""
    names = [str(folder / f"{name}.{ending}") for name in "abc"]
    yield str(folder), ()
    yield str(folder / f"*.{ending}"), ()
    yield str(folder / f"[abc].{ending}"), ()
    yield names[0], (names[1], names[2])
    yield names[2], (names[0], names[1])
    yield names[1], (str(folder), names[1])


def test_pairs_of_several_files_are_those_of_one(tmp_path):
    folder = tmp_path / "parts"
    whole = write_parts(folder, "frase número {n} aquí\tsentence number {n} here", ending="tsv", header="es\ten\n")
    expected = gather_pairs({"corpus": str(whole)}).fingerprint()
    for corpus, more in several(folder, "tsv"):
        assert gather_pairs({"corpus": corpus, "more": more}).fingerprint() == expected
    (folder / "b.tsv").write_text("otra cosa\tother thing\n", encoding="utf-8")
    assert gather_pairs({"corpus": str(folder)}).fingerprint() != expected, "every file counts"


def test_texts_of_several_files_are_those_of_one(tmp_path):
    folder = tmp_path / "parts"
    whole = write_parts(folder, "text number {n},{label}", ending="csv", header="text,label\n")
    expected = gather_texts(LabeledData(corpus=str(whole))).fingerprint()
    for corpus, more in several(folder, "csv"):
        assert gather_texts(LabeledData(corpus=corpus, more=more)).fingerprint() == expected


def test_running_text_of_several_files_is_that_of_one(tmp_path):
    folder = tmp_path / "parts"
    whole = write_parts(folder, "A line of text, number {n}.", ending="txt")
    expected = gather_text(TextData(text=str(whole))).fingerprint
    for text, more in several(folder, "txt"):
        assert gather_text(TextData(text=text, more=more)).fingerprint == expected


def test_a_pattern_that_matches_nothing_is_refused(tmp_path):
    message = re.escape(f"{tmp_path}/*.tsv must match at least one file; received a pattern that matches none. Check")
    for gather in (
        lambda name: gather_pairs({"corpus": name}),
        lambda name: gather_texts(LabeledData(corpus=name)),
        lambda name: gather_text(TextData(text=name)),
    ):
        with pytest.raises(DataError, match=message):
            gather(f"{tmp_path}/*.tsv")


def test_a_file_whose_name_has_brackets_is_that_file(tmp_path):
    (tmp_path / "a[1].tsv").write_text("x\ty\n", encoding="utf-8")
    assert find_corpus(tmp_path / "a[1].tsv").path == tmp_path / "a[1].tsv"


@pytest.mark.parametrize(
    ("names", "split", "expected"),
    [
        (["a.tsv", "b.csv", ".c.tsv", "d.py"], "train", ["a.tsv", "b.csv"]),
        (["train.tsv", "test.tsv", "extra.tsv"], "train", ["train.tsv"]),
        (["train-1.tsv", "train-0.tsv", "test-0.tsv"], "train", ["train-0.tsv", "train-1.tsv"]),
        (["train.tsv", "train_0.tsv"], "train", ["train.tsv"]),
        (["test.tsv", "a.tsv"], "train", []),
        (["dev-0.tsv"], "test", []),
        (["trainer.tsv"], "train", ["trainer.tsv"]),
    ],
)
def test_files_of_a_folder_that_hold_a_split(tmp_path, names, split, expected):
    for name in names:
        (tmp_path / name).touch()
    assert [one.name for one in find_in_folder(tmp_path, kinds=(".tsv", ".csv"), split=split)] == expected


def test_hub_and_file_together(tmp_path):
    (tmp_path / "a.tsv").write_text("x\ty\n", encoding="utf-8")
    corpus = find_corpus("hf:owner/name", more=[str(tmp_path / "a.tsv")])
    assert isinstance(corpus, Several)
    assert [part.kind for part in corpus.parts] == ["hugging-face", "tsv"]


@pytest.mark.parametrize("make", [lambda a, b: Data(corpus=a, more=b), lambda a, b: TextData(text=a, more=b)])
@pytest.mark.parametrize(("first", "more"), [("builtin:es-en", ("a.tsv",)), ("a.tsv", ("builtin:stories",))])
def test_a_built_in_corpus_comes_alone(make, first, more):
    message = f"must be named once for a built-in corpus, which comes alone; received {first} and {more[0]}. Leave one"
    with pytest.raises(ArgumentError, match=message):
        make(first, more)


def test_data_may_be_named_again_and_no_name_is_lost(tmp_path, capsys):
    folder = tmp_path / "parts"
    write_parts(folder, "A line of text, number {n}.", ending="txt")
    names = [str(folder / "c.txt"), str(folder / "a.txt"), str(folder / "c.txt")]
    train(data=names, task="language", print_config=True)
    shown = capsys.readouterr().out
    assert f'text = "{folder}/a.txt"' in shown
    assert f'more = ["{folder}/c.txt"]' in shown
    with pytest.raises(ArgumentError, match=r"`data` must be named once for an image classifier; received a and b\."):
        train(data=["b", "a"], task="images", print_config=True)


def test_test_pairs_of_a_file_are_tested_with_and_nothing_else(tmp_path):
    whole = write_parts(tmp_path / "parts", "frase número {n} aquí\tsentence number {n} here", ending="tsv")
    test, valid = tmp_path / "test.csv", tmp_path / "valid.tsv"
    test.write_text("es,en\nfrase número 7 aquí,seven\nuna más,one more\n", encoding="utf-8")
    valid.write_text("frase número 8 aquí\teight\nuna más\tone more\n", encoding="utf-8")
    corpus = gather_pairs({"corpus": str(whole), "test": str(test)})
    assert [pair.target for pair in corpus.test] == ["seven", "one more"]
    assert corpus.valid
    assert corpus.data.hold_out.test == 0.0
    assert len(corpus.train) + len(corpus.valid) == 119
    both = gather_pairs({"corpus": str(whole), "test": str(test), "valid": str(valid)})
    assert [pair.target for pair in both.valid] == ["eight"]
    assert (len(both.train), len(both.test)) == (118, 2)
    drawn = gather_pairs({"corpus": "builtin:es-en", "size": 50, "test": str(test)})
    assert (len(drawn.valid), len(drawn.test)) == (20, 2)
    with pytest.raises(
        DataError, match=r"data\.valid: must have pairs besides those of data\.test; received none of 2"
    ):
        gather_pairs({"corpus": str(whole), "test": str(test), "valid": str(test)})
    with pytest.raises(ArgumentError, match="`source` and `target` must be given together"):
        Data(corpus=str(whole), test_source="a")


def test_two_files_that_slipped_do_not_train(tmp_path):
    (tmp_path / "a.es").write_text("uno\ndos\ntres\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("one\nthree\n", encoding="utf-8")
    message = r"a\.en must have a line for each of the 3 lines of .*a\.es; received 2\. Has a line been lost\?"
    with pytest.raises(DataError, match=message):
        gather_pairs({"source": str(tmp_path / "a.es"), "target": str(tmp_path / "a.en")})
