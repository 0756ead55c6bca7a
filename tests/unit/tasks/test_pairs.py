"""The pairs of a run: read, cleaned, divided."""

import pytest

from regard.data.pair import Link
from regard.errors import ArgumentError, DataError
from regard.tasks.pairs import gather_pairs


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
    (tmp_path / "links").write_text("0-0\n0:1\n")
    with pytest.raises(DataError, match=r"links, line 2: a link must be such as 0-2 or 0\?2; received '0:1'."):
        gather_pairs(table)


def test_data_must_be_named():
    with pytest.raises(ArgumentError, match=r"The data must be named; received nothing. Give two plain files"):
        gather_pairs({})


def test_nothing_left_after_cleaning_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"at least one pair after cleaning; received none. cleaning: 0 of 40 kept"):
        gather_pairs(write_files(tmp_path, 40) | {"clean": {"min_words": 50}})
