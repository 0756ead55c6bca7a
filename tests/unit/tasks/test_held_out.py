"""Which pairs a system is evaluated on."""

import pytest

from regard.errors import ArgumentError, DataError
from regard.tasks.evaluation.held_out import Choice, find_held_out, read_hypotheses, run_of
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import Config, Data
from regard.training.run_folder import RunFolder
from unit.tasks.small_run import make_run, write_files

BUILTIN = {"corpus": "builtin:hi-en", "size": 20}


@pytest.fixture
def builtin_run(tmp_path):
    run = RunFolder(tmp_path / "builtin")
    run.begin(Config(data=Data(**BUILTIN)), "")
    return run


@pytest.fixture
def own_run(tmp_path):
    return make_run(tmp_path / "run", write_files(tmp_path))


def test_the_test_of_a_built_in_corpus_is_what_training_would_hold_out(builtin_run):
    found = find_held_out(Choice(), builtin_run.path)
    assert found.pairs == gather_pairs(BUILTIN).test
    assert found.name == f"builtin:hi-en, split test, as in {builtin_run.path}"
    assert found.sources[0] == found.pairs[0].source
    assert found.references[0] == found.pairs[0].target


def test_other_splits_of_a_built_in_corpus_may_be_joined(builtin_run):
    found = find_held_out(Choice(split="test, long", size=4), builtin_run.path)
    assert len(found.pairs) == 8
    assert max(len(source.split()) for source in found.sources) > 20
    assert found.name == "builtin:hi-en, split test and long, seed 0"
    lectures = find_held_out(Choice(corpus="builtin:hi-en", split="lectures"))
    assert lectures.references[0] == "We had gone to the market"


def test_an_unknown_split_is_refused(unchecked):
    with pytest.raises(ArgumentError, match=r"`split` must be one of train.*received 'lnog'. Did you mean long\?"):
        find_held_out(Choice(corpus="builtin:hi-en", split="lnog"))


def test_pairs_held_out_of_files_are_found_again(own_run):
    data = gather_pairs({"source": f"{own_run.path.parent}/a.es", "target": f"{own_run.path.parent}/a.en"})
    assert find_held_out(Choice(), own_run.path).pairs == data.test
    assert find_held_out(Choice(split="valid"), own_run.path).pairs == data.valid
    with pytest.raises(ArgumentError, match=r"`split` must be one of test, valid, train for the data.*received long"):
        find_held_out(Choice(split="long"), own_run.path)


def test_files_that_have_changed_or_gone_are_no_test(own_run, tmp_path):
    write_files(tmp_path, 301)
    with pytest.raises(DataError, match=r"must be what it was trained on; it has changed since"):
        find_held_out(Choice(), own_run.path)
    (tmp_path / "a.en").unlink()
    with pytest.raises(DataError, match=r"must be there again to test on what was held out; received: .*a.en"):
        find_held_out(Choice(), own_run.path)


def test_a_run_that_held_nothing_out_has_no_test(tmp_path):
    files = write_files(tmp_path)
    run = make_run(tmp_path / "run", files | {"hold_out": {"test": 0.0}})
    with pytest.raises(DataError, match=r"must have held out test pairs; received none.*`split=\"valid\"`"):
        find_held_out(Choice(), run.path)


def test_a_model_without_its_run_needs_a_test_set(builtin_run, tmp_path):
    assert run_of(builtin_run.model) == run_of(builtin_run.path) == builtin_run
    assert run_of(tmp_path) is None
    with pytest.raises(ArgumentError, match=r"must be named for a model without its run; .* has no config.toml"):
        find_held_out(Choice(), tmp_path)
    with pytest.raises(ArgumentError, match=r"The test set must be named; received nothing"):
        find_held_out(Choice())
    (tmp_path / "config.toml").write_text("data = 3")
    with pytest.raises(DataError, match=r"config.toml must be what `regard train` wrote; received: data"):
        find_held_out(Choice(), tmp_path)


def test_any_corpus_can_be_named(tmp_path):
    files = write_files(tmp_path, 5)
    assert len(find_held_out(Choice(**files)).pairs) == 5
    (tmp_path / "a.tsv").write_text("eins\tone\nzwei\ttwo\n")
    found = find_held_out(Choice(corpus=str(tmp_path / "a.tsv"), source_column="2", target_column="1"))
    assert [pair.source for pair in found.pairs] == ["one", "two"]
    with pytest.raises(ArgumentError, match=r"`split` must be left out with a file.*received valid with .*a.tsv"):
        find_held_out(Choice(corpus=str(tmp_path / "a.tsv"), split="valid"))
    with pytest.raises(ArgumentError, match=r"`split` must be left out with two plain files; received test"):
        Choice(**files, split="test")
    with pytest.raises(ArgumentError, match=r"`source` and `target` must be given together"):
        Choice(source="a")


def test_bad_lines_are_left_out_of_the_hypotheses_too(tmp_path):
    (tmp_path / "a.es").write_text("uno\n\ntres\n")
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
    found = find_held_out(Choice(source=str(tmp_path / "a.es"), target=str(tmp_path / "a.en")))
    assert (found.references, found.lines) == (["one", "three"], (0, 2))
    assert found.report is not None
    (tmp_path / "all").write_text("ONE\nTWO\nTHREE\n")
    (tmp_path / "good").write_text("ONE\nTHREE")
    assert read_hypotheses(tmp_path / "all", found) == read_hypotheses(tmp_path / "good", found) == ["ONE", "THREE"]
    (tmp_path / "short").write_text("ONE\n")
    with pytest.raises(DataError, match=r"short must have one line for each of the 3 sources; received 1. Is it the"):
        read_hypotheses(tmp_path / "short", found)
    (tmp_path / "binary").write_bytes(b"ONE\n\xff\n")
    with pytest.raises(DataError, match=r"line 2 must be UTF-8; .* Hypotheses must be plain text"):
        read_hypotheses(tmp_path / "binary", found)


def test_a_test_set_has_a_pair(tmp_path):
    (tmp_path / "a.es").write_text("\n")
    (tmp_path / "a.en").write_text("one\n")
    with pytest.raises(DataError, match=r"must have at least one usable pair; received none. .*an empty source"):
        find_held_out(Choice(source=str(tmp_path / "a.es"), target=str(tmp_path / "a.en")))


def test_files_of_unequal_length_are_refused(tmp_path):
    source, target = tmp_path / "a.es", tmp_path / "a.en"
    source.write_text("uno\ndos\n", encoding="utf-8")
    target.write_text("one\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.en must have a line for each of the 2 lines of .*a\.es; received 1\. Has"):
        find_held_out(Choice(source=str(source), target=str(target)))
