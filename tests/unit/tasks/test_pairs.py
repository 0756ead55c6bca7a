"""The pairs of a run: read, cleaned, divided."""

import pytest

from regard.config.read import read_settings
from regard.data.corpora.pair import Link, Pair
from regard.data.corpora.streamed import StreamedPairs
from regard.errors import ArgumentError, DataError
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import Data


def write_files(folder, count=400):
    (folder / "a.es").write_text("".join(f"frase número {n} aquí\n" for n in range(count)), encoding="utf-8")
    (folder / "a.en").write_text("".join(f"sentence number {n} here\n" for n in range(count)), encoding="utf-8")
    return {"source": str(folder / "a.es"), "target": str(folder / "a.en")}


def test_two_files_are_divided_without_leaks(tmp_path):
    corpus = gather_pairs(write_files(tmp_path))
    assert len(corpus.train) + len(corpus.valid) + len(corpus.test) == 400
    assert 10 < len(corpus.valid) < 80
    assert corpus.data.hold_out.valid == 0.1
    assert not {pair.source for pair in corpus.train} & {pair.source for pair in corpus.valid}
    size = corpus.size
    assert (size.pairs, size.words, size.builtin, size.linked) == (
        len(corpus.train),
        4 * len(corpus.train),
        False,
        False,
    )
    again = gather_pairs(write_files(tmp_path))
    assert again.fingerprint() == corpus.fingerprint()
    changed = gather_pairs(write_files(tmp_path, 401))
    assert changed.fingerprint() != corpus.fingerprint()


def test_a_share_that_is_asked_for_is_held_out(tmp_path):
    corpus = gather_pairs(write_files(tmp_path) | {"hold_out": {"valid": 0.3}})
    assert (corpus.data.hold_out.valid, corpus.data.hold_out.test) == (0.3, 0.1)
    assert 80 < len(corpus.valid) < 160


def test_given_validation_pairs_are_kept_out_of_training(tmp_path):
    (tmp_path / "valid.tsv").write_text("frase número 7 aquí\tother\nuna más\tone more\n", encoding="utf-8")
    corpus = gather_pairs(write_files(tmp_path) | {"valid": str(tmp_path / "valid.tsv")})
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (399, 2, 0)
    assert corpus.reports[-1].dropped == {"held out": 1}


def test_a_built_in_corpus_has_links_and_a_license():
    corpus = gather_pairs({"corpus": "builtin:hi-en", "size": 60})
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (60, 20, 20)
    assert corpus.size.linked
    assert corpus.size.builtin
    assert corpus.data.license == "MIT, as regard itself"


@pytest.mark.parametrize(
    ("table", "languages"),
    [
        ({}, ("es", "en")),
        ({"languages": ["gl", "en"]}, ("gl", "en")),
        (
            {"source": "", "target": "", "corpus": "a.tmx", "source_column": "de", "target_column": "pt-BR"},
            ("de", "pt-BR"),
        ),
        ({"source": "", "target": "", "corpus": "pairs.tsv"}, ()),
    ],
)
def test_languages_are_those_that_are_set_or_named(tmp_path, table, languages):
    data = read_settings(Data, write_files(tmp_path, 1) | table, at="data")
    assert data.named_languages == languages


def test_languages_are_codes():
    message = r"^data: `languages` must be codes .* such as \[\"es\", \"pt-BR\"\]; received 'Spanish'\.$"
    with pytest.raises(ArgumentError, match=message):
        read_settings(Data, {"languages": ["Spanish"]}, at="data")


def test_links_are_read_beside_the_pairs(tmp_path):
    table = write_files(tmp_path, 40) | {"links": str(tmp_path / "links")}
    (tmp_path / "links").write_text("0-0 1?1\n" * 40)
    pair = gather_pairs(table).train[0]
    assert pair.links == (Link(0, 0, True), Link(1, 1, False))
    (tmp_path / "links").write_text("0-0\n" * 39)
    with pytest.raises(DataError, match=r"links must have one line for each pair; received fewer lines of links, 39."):
        gather_pairs(table)
    (tmp_path / "links").write_text("0-0\n" * 41)
    with pytest.raises(DataError, match=r"received fewer pairs, 40."):
        gather_pairs(table)
    with pytest.raises(DataError, match=r"data.links: absent must be a file; received a path where there is none"):
        gather_pairs(table | {"links": "absent"})
    (tmp_path / "links").write_text("0-0\n" * 39 + "0-0 0-99\n")
    with pytest.raises(
        DataError, match=r"links, line 40: a link must be within the \d words and marks of the source and"
    ):
        gather_pairs(table)
    with pytest.raises(
        ArgumentError, match=r"data.links: must be left out for a built-in corpus, which has gold links"
    ):
        gather_pairs({"corpus": "builtin:es-en", "links": "absent"})
    (tmp_path / "links").write_text("0-0\n0:1\n")
    with pytest.raises(DataError, match=r"links, line 2: a link must be such as 0-2 or 0\?2; received '0:1'."):
        gather_pairs(table)


def test_what_does_not_fit_is_streamed_and_divided_alike(tmp_path):
    table = write_files(tmp_path, 400) | {"clean": {"min_words": 1}}
    for name in ("a.es", "a.en"):
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write("frase número 7 aquí\n" if name == "a.es" else "sentence number 7 here\n")  # a duplicate
    held, streamed = gather_pairs(table), gather_pairs(table, in_memory=100)
    assert isinstance(held.train, list)
    assert isinstance(streamed.train, StreamedPairs)
    assert (list(streamed.train), streamed.valid, streamed.test) == (held.train, held.valid, held.test)
    assert list(streamed.train) == held.train  # and again
    assert len(streamed.train) == len(held.train)
    assert [report.dropped for report in streamed.reports] == [{}, {"duplicate": 1}]
    assert streamed.size.words == 4 * 400
    assert streamed.fingerprint() == gather_pairs(table, in_memory=100).fingerprint()
    (tmp_path / "a.en").write_text((tmp_path / "a.en").read_text().replace("number 9 ", "number nine "))
    assert gather_pairs(table, in_memory=100).fingerprint() != streamed.fingerprint()


def test_given_validation_pairs_are_kept_out_of_a_stream(tmp_path):
    (tmp_path / "valid.tsv").write_text("frase número 7 aquí\tother\nuna más\tone more\n", encoding="utf-8")
    corpus = gather_pairs(write_files(tmp_path) | {"valid": str(tmp_path / "valid.tsv")}, in_memory=10)
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (399, 2, 0)
    assert len(list(corpus.train)) == 399
    (tmp_path / "valid.tsv").write_text("")
    (tmp_path / "valid.en").write_text("")
    files = {"valid_source": str(tmp_path / "valid.tsv"), "valid_target": str(tmp_path / "valid.en")}
    with pytest.raises(DataError, match=r"valid.tsv must hold at least one pair to validate on; received none. Name"):
        gather_pairs(write_files(tmp_path) | files)


def test_no_list_of_all_pairs_is_ever_held(tmp_path, monkeypatch):
    """Of a streamed corpus, a few portions of pairs live at once, however many there are."""
    alive = most = 0

    class Counted(Pair):
        def __init__(self, **sides):
            nonlocal alive, most
            super().__init__(**sides)
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    monkeypatch.setattr("regard.data.formats.records.Pair", Counted)
    for module in ("data.corpora.cleaning", "data.corpora.streamed", "tasks.translation.first_pass"):
        monkeypatch.setattr(f"regard.{module}._AT_ONCE", 512)
    table, counted = write_files(tmp_path, 3000) | {"hold_out": {"valid": 0.005, "test": 0.005}}, []
    corpus = gather_pairs(table, in_memory=100, count=counted.append)
    assert sum(1 for _ in corpus.train) == len(corpus.train) > 2500
    assert most < 3 * 512  # portions of 512
    assert counted[-1] == 3000


def test_data_must_be_named():
    with pytest.raises(ArgumentError, match=r"The data must be named; received nothing. Give two plain files"):
        gather_pairs({})


def test_nothing_left_after_cleaning_is_refused(tmp_path):
    with pytest.raises(
        DataError,
        match=r"a.es \+ .*a.en must have at least one pair to train on; received none: 40 short \(pair 1: 'frase",
    ):
        gather_pairs(write_files(tmp_path, 40) | {"clean": {"min_words": 50}})
