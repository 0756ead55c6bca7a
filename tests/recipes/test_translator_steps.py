"""The steps of the translators' recipe on a small corpus: what is held out stays so, and what fails loses nothing."""

import random
from collections import Counter
from pathlib import Path

import pytest
from translator_parts import prepare as preparing
from translator_parts import train as training
from translator_parts.assemble import TIMES, assemble, turned_links
from translator_parts.files import DIRECTIONS, KINDS, bare_key, held_out, lines, read_side, write, write_lines
from translator_parts.prepare import in_order, prepare
from translator_parts.train import refine, together, train, translate

import regard
from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair, words
from regard.data.text.tokenizer import TokenizerPair
from regard.errors import DataError


def draw_pairs(size: int) -> list[Pair]:
    """Draw pairs of the built-in grammar, some with names, numbers and marks that may be left out."""
    drawn = corpus("builtin:es-en", split="train", size=size, seed=1)
    named = [Pair(source=f"Tom tiene {n} gatos.", target=f"Tom has {n} cats.") for n in range(2, 40)]
    shouted = [Pair(source=f"¡{pair.source.upper()}!", target=pair.target) for pair in drawn[::7]]
    return [*drawn, *named, *shouted]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Prepare a work folder; words are linked one by one, which costs no time."""
    pairs = draw_pairs(400)
    rows = "".join(f"{pair.target}\t{pair.source}\tcredit\n" for pair in pairs)
    (tmp_path / "pairs.tsv").write_text(rows, encoding="utf-8")
    other = [
        *(f"Nobody sees number {n} here, not even my old friends." for n in range(30)),
        pairs[0].target,
        "Yes, it is.",
    ]
    (tmp_path / "other.tsv").write_text("".join(f"{text}\tx\n" for text in other), encoding="utf-8")

    def link(work):
        sides = [(words(pair.source), words(pair.target)) for pair in read_side(work / "train")]
        links = [" ".join(f"{n}-{n}" for n in range(min(map(len, both)))) for both in sides]
        write_lines(work / "links.es-en", links)

    monkeypatch.setattr(preparing, "link", link)
    monkeypatch.setattr(preparing, "HOLD_OUT", preparing.Fractions(valid=0.05, test=0.1))
    monkeypatch.setattr(preparing, "EACH", 2)
    prepare(tmp_path / "pairs.tsv", tmp_path / "work", [tmp_path / "other.tsv"])
    return tmp_path / "work"


def assert_free(work: Path, pairs: list[Pair]) -> None:
    """Check that no sentence is held out, as it is or without case, accents and marks."""
    for side in ("source", "target"):
        apart = [getattr(pair, side) for part in ("valid", "test") for pair in read_side(work / part)]
        mine = {getattr(pair, side) for pair in pairs}
        assert not mine & set(apart)
        assert not {bare_key(text) for text in mine} & {bare_key(text) for text in apart}


def test_nothing_that_is_held_out_is_in_a_file_to_train_on(work):
    assert all(len(read_side(work / part)) > 5 for part in ("valid", "test", "train", "teacher", *KINDS))
    for part in ("train", "teacher", *KINDS):
        assert_free(work, read_side(work / part))
    signs = [Pair(source="sala de espera", target="a hall"), Pair(source="una llave", target="Room key!")]
    assert not held_out(work).free(signs)
    assert set(lines(work / "more.es")) == {pair.source for pair in read_side(work / "train")}
    targets = {bare_key(pair.target) for part in ("train", "valid", "test") for pair in read_side(work / part)}
    assert not {bare_key(text) for text in lines(work / "alone.en")} & targets
    assert len(lines(work / "alone.en")) == 31


def test_every_digit_is_a_piece_by_itself(work):
    pieces = TokenizerPair.from_json((work / "tokenizer.json").read_text(encoding="utf-8"))
    assert pieces.source.pieces(pieces.source.encode("Tom 1987").ids)[-4:] == ["▁1", "9", "8", "7"]
    assert pieces.source.decode(pieces.source.encode("1.250,50").ids) == "1.250,50"


def test_links_stay_where_the_pairs_do(work, monkeypatch):
    monkeypatch.setattr(preparing, "link", lambda work: None)
    prepare(work.parent / "pairs.tsv", work, [])
    assert len(lines(work / "links.es-en")) == len(read_side(work / "train"))
    (work / "runs").mkdir()
    with pytest.raises(SystemExit, match=r"runs must be removed first"):
        prepare(work.parent / "pairs.tsv", work, [])


def test_long_sentences_are_translated_first():
    texts = ["one", "two words", "a sentence of seven words is long", "word " * 30]
    assert in_order(texts, random.Random(1))[:2] in (texts[1:3], texts[2:0:-1])
    assert sorted(in_order(texts, random.Random(1))) == sorted(texts)


def test_english_of_other_pairs_is_a_source_alone(work):
    alone = lines(work / "alone.en")
    write_lines(work / "alone.es", [f"Nadie ve {n}." for n in range(4)])  # not all of it
    write_lines(work / "alone.es.translated", [alone[0], f"{alone[1].upper()}!", "Nobody sees it at all.", ""])
    for direction in DIRECTIONS:
        assemble(work, direction)
    to_english, to_spanish = (read_side(work / f"student-{direction}") for direction in DIRECTIONS)
    assert not {bare_key(text) for text in alone} & {bare_key(pair.target) for pair in to_english}
    assert Pair(source="Nadie ve 2.", target="Nobody sees it at all.") in to_english
    assert not any(pair.source in ("Nadie ve 0.", "Nadie ve 1.", "Nadie ve 3.") for pair in to_english)
    assert {Pair(source=f"Nadie ve {n}.", target=alone[n]) for n in range(4)} <= set(to_spanish)


def test_students_read_originals_with_links_and_the_rest_without(work):
    originals, apart = read_side(work / "train"), read_side(work / "test")
    sources, targets = lines(work / "more.es"), lines(work / "more.en")
    made = ["Another thing.", apart[0].target, apart[1].target.upper(), " "]
    write_lines(work / "more.es.translated", made)
    write_lines(work / "more.en.translated", ["Otra cosa."])
    for direction in DIRECTIONS:
        assemble(work, direction)
        pairs, links = read_side(work / f"student-{direction}"), lines(work / f"student-{direction}.links")
        assert pairs[: len(originals)] == originals
        assert len(links) == len(pairs)
        assert not any(links[len(originals) :])
        assert_free(work, pairs)
        assert Pair(source=sources[0], target="Another thing.") in pairs
        assert Pair(source="Otra cosa.", target=targets[0]) in pairs
        counts, repeated = Counter(pairs), {name: set(read_side(work / name)) for name in TIMES}
        assert all(repeated.values())
        for pair, count in counts.items():
            times = [TIMES[name] - 1 for name, kind in repeated.items() if pair in kind]
            assert count == 1 + sum(times), pair
        assert any(pair.source.islower() if direction == "es-en" else pair.target.islower() for pair in pairs)
    assert turned_links("0-0 2-1") == "0-0 1-2"
    write_lines(work / "links.es-en", ["0-0"])
    with pytest.raises(SystemExit, match=r"must have a line for each of the \d+ pairs"):
        assemble(work, "es-en")


class Echo:
    """A translator that says which sentence it was given."""

    def translate(self, texts, search):
        return [f"{text}\nmade" for text in texts]


def test_teachers_translate_what_is_left_until_the_time_is_over(work, monkeypatch):
    asked = []
    monkeypatch.setattr(regard, "load", lambda runs, **settings: asked.append(runs) or Echo())
    for seed in (1, 2):
        (work / f"runs/teacher-en-es-{seed}/model").mkdir(parents=True)
    (work / "runs/teacher-en-es-3").mkdir()  # has failed
    (work / "alone.es").write_text("one\ntwo\nhal", encoding="utf-8")
    translate(work, "en-es", 0, by="teacher")
    assert [run.name for run in asked[0]] == ["teacher-en-es-1", "teacher-en-es-2"]
    made, alone = lines(work / "alone.es"), lines(work / "alone.en")
    assert made == ["one", "two", *(f"{text} made" for text in alone[2:])]
    assert lines(work / "more.en.translated") == [f"{text} made" for text in lines(work / "more.en")]
    translate(work, "es-en", 1e-9, by="teacher")
    assert lines(work / "more.es.translated") == []
    monkeypatch.setattr(training, "PATIENCE", 0.1)
    write_lines(work / "alone.es", made[:5])  # whoever makes the rest has stopped
    translate(work, "es-en", 30, by="teacher")
    assert lines(work / "alone.es.translated") == [f"{text} made" for text in made[:5]]


def test_what_fails_is_named_and_what_is_finished_is_left_out(tmp_path, capsys):
    (tmp_path / "runs/done/model").mkdir(parents=True)
    (tmp_path / "runs/done/model/figures.json").write_text("{}")
    jobs = {
        "done": ["-c", "raise SystemExit(1)"],
        "good": ["-c", "print('well')"],
        "bad": ["-c", "raise SystemExit('a reason')"],
    }
    assert together(jobs, tmp_path) == ["bad"]
    shown = capsys.readouterr().out
    assert "bad failed: a reason" in shown
    assert "good: well" in shown
    assert together({"long": ["-c", "import time; time.sleep(60)"]}, tmp_path, seconds=0.1) == ["long"]


def test_students_are_trained_though_teachers_fail(work, monkeypatch):
    stages = []

    def pretend(jobs, work, *, seconds=None):
        stages.append(jobs)
        for name in jobs:
            if name.startswith("teacher") and name != "teacher-es-en-2":
                (work / "runs" / name / "model").mkdir(parents=True)
        return [name for name in jobs if name == "teacher-es-en-2"]

    monkeypatch.setattr(training, "together", pretend)
    with pytest.raises(SystemExit, match=r"Without teacher-es-en-2, which failed; the rest is done"):
        train(work, (600, 60), teachers=2, settings=["model.size=8"])
    assert [list(jobs) for jobs in stages] == [
        ["teacher-es-en-1", "teacher-es-en-2", "teacher-en-es-1", "teacher-en-es-2"],
        ["translate-es-en", "translate-en-es"],
        ["assemble-es-en", "assemble-en-es"],
        ["student-es-en", "student-en-es"],
    ]
    teacher, student = stages[0]["teacher-en-es-2"], stages[3]["student-es-en"]
    assert {f"data.source={work}/teacher.en", "train.seed=2", "train.minutes=4.5", "model.size=8"} <= set(teacher)
    assert {f"data.links={work}/student-es-en.links", "train.minutes=5.5"} <= set(student)
    assert f"data.tokenizer={work}/tokenizer.json" in teacher
    assert f"data.tokenizer={work}/tokenizer.json" in student

    stages.clear()
    (work / "runs/student-es-en").mkdir()  # has begun: its data stays
    train(work, (600, 60), teachers=2, settings=[])
    assert [list(jobs) for jobs in stages] == [["student-es-en", "student-en-es"]]


def test_without_teachers_students_have_all_the_time(work, monkeypatch):
    stages = []
    monkeypatch.setattr(training, "together", lambda jobs, work, seconds=None: stages.append(jobs) or [])
    train(work, (600, 60), teachers=0, settings=[])
    assert [list(jobs) for jobs in stages if jobs] == [
        ["assemble-es-en", "assemble-en-es"],
        ["student-es-en", "student-en-es"],
    ]
    assert "train.minutes=10" in stages[-1]["student-es-en"]


def test_students_go_on_with_what_they_translate(work, monkeypatch):
    stages = []
    monkeypatch.setattr(training, "together", lambda jobs, work, seconds=None: stages.append(jobs) or [])
    with pytest.raises(DataError, match=r"`work` must hold students to go on with; es-en, en-es has none. Run train"):
        refine(work, (600, 60), settings=[])
    for direction in DIRECTIONS:
        (work / f"runs/student-{direction}/model").mkdir(parents=True)
    write_lines(work / "more.es.translated", ["of teachers"])
    refine(work, (600, 60), settings=["train.seed=4"])
    assert lines(work / "more.es.translated") == []
    assert stages[0]["translate-es-en"][-4:] == ["--by", "student", "--minutes", "1"]
    assert list(stages[1]) == ["assemble-es-en", "assemble-en-es"]
    command = stages[2]["refined-en-es"]
    assert command[:7] == [
        *("-m", "regard", "train", "--from", f"{work}/runs/student-en-es"),
        *("--out", f"{work}/runs/refined-en-es"),
    ]
    chosen = {"train.minutes=10", "train.guided_alignment=0.2", "train.seed=4", f"data.source={work}/student-en-es.en"}
    assert chosen <= set(command)
    assert "data.clean.drop_duplicates=false" in command
    assert not any("tokenizer" in item or item.endswith(".toml") for item in command)
    (work / "runs/refined-es-en").mkdir()  # has begun: its data stays
    write_lines(work / "more.es.translated", ["of students"])
    refine(work, (600, 60), settings=[])
    assert lines(work / "more.es.translated") == ["of students"]
    assert list(stages[3]) == ["refined-es-en", "refined-en-es"]
    assert [path.name for path in training.teachers_of(work, "es-en", by="student")] == ["student-es-en"]


def test_held_out_pairs_are_read_from_their_files(work):
    assert {bare_key(pair.source) for pair in read_side(work / "test")} <= held_out(work).sources
    write(work / "x", [Pair(source="a", target="b")])
    assert read_side(work / "x") == [Pair(source="a", target="b")]
    assert lines(work / "nothing") == []
