import os
import random
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest

from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.corpora.split import Fractions, assign_sides, comparable, drop_leaks, split
from regard.errors import ArgumentError, DataError


def random_pairs(count, sentences, seed):
    draw = random.Random(seed)
    return [
        Pair(source=f"source {draw.randrange(sentences)}", target=f"target {draw.randrange(sentences)}")
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sentences", [50, 200, 1000, 5000])
def test_no_sentence_is_on_two_sides(seed, sentences):
    pairs = random_pairs(1000, sentences, seed)
    sides = assign_sides(pairs, Fractions(valid=0.2, test=0.2, largest=10**9))
    for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        seen = {}
        for text, side in zip(texts, sides, strict=True):
            assert seen.setdefault(text, side) == side


def test_sentences_are_compared_without_case_space_and_composition():
    assert comparable("  Ein\u00a0 HUND ") == comparable("ein hund")
    assert comparable("Caf\u00e9") == comparable("CAFE\u0301")
    assert comparable("Straße") == comparable("STRASSE")
    pairs = [
        Pair(source=text, target=str(number)) for number, text in enumerate(["Ein Hund", "ein  hund", "EIN HUND "])
    ]
    for salt in map(str, range(30)):
        assert len(set(assign_sides(pairs, Fractions(valid=0.3, test=0.3, salt=salt)))) == 1


def test_a_text_as_source_and_as_target_ties_nothing():
    pairs = [Pair(source="a", target="b"), Pair(source="b", target="c")]
    sides = {tuple(assign_sides(pairs, Fractions(valid=0.3, test=0.3, salt=str(salt)))) for salt in range(50)}
    assert any(first != second for first, second in sides)


def test_the_shares_are_those_asked_for():
    pairs = [Pair(source=f"s{number}", target=f"t{number}") for number in range(5000)]
    counts = np.bincount(assign_sides(pairs, Fractions(valid=0.1, test=0.05)))
    assert counts / 5000 == pytest.approx([0.85, 0.1, 0.05], abs=0.02)


def test_large_and_small_groups_are_held_out_alike():
    # The smallest of many hashes is small: were it the draw itself, large groups would all be held out.
    groups = [[Pair(source=f"s{group}", target=f"t{group} {row}") for row in range(20)] for group in range(600)]
    sides = assign_sides([pair for group in groups for pair in group], Fractions(valid=0.1, test=0.0))
    assert sides.mean() == pytest.approx(0.1, abs=0.04)


def test_the_order_of_the_pairs_plays_no_part():
    pairs = random_pairs(500, 400, 1)
    fractions = Fractions(valid=0.2, test=0.2)
    expected = dict(zip(pairs, assign_sides(pairs, fractions), strict=True))
    shuffled = random.Random(2).sample(pairs, len(pairs))
    assert dict(zip(shuffled, assign_sides(shuffled, fractions), strict=True)) == expected


def test_new_sentences_move_nothing():
    pairs = random_pairs(500, 400, 1)
    more = [Pair(source=f"new source {number}", target=f"new target {number}") for number in range(5000)]
    fractions = Fractions(valid=0.2, test=0.2)
    assert (assign_sides(pairs + more, fractions)[:500] == assign_sides(pairs, fractions)).all()


def test_further_translations_move_few():
    pairs = [Pair(source=f"s{number}", target=f"t{number}") for number in range(3000)]
    more = [Pair(source=f"s{number}", target=f"another t{number}") for number in range(3000)]
    fractions = Fractions(valid=0.02, test=0.02)
    moved = assign_sides(pairs + more, fractions)[:3000] != assign_sides(pairs, fractions)
    # One in three groups gets another spokesman, who says the same side 92 times in 100.
    assert 0 < moved.mean() < 0.05


def test_a_tangle_always_trains():
    tangle = [Pair(source="Ja.", target=f"yes {number}") for number in range(60)]
    for salt in map(str, range(30)):
        assert set(assign_sides(tangle, Fractions(valid=0.5, test=0.4, salt=salt))) == {0}
    sides = {int(assign_sides(tangle[:50], Fractions(valid=0.5, test=0.4, salt=str(salt)))[0]) for salt in range(30)}
    assert sides == {0, 1, 2}


def test_the_hash_seed_of_python_plays_no_part():
    program = (
        "from regard.data.corpora.split import *; from regard.data.corpora.pair import Pair\n"
        "pairs = [Pair(source=f's{n % 70}', target=f't{n % 90}') for n in range(100)]\n"
        "print(assign_sides(pairs, Fractions(valid=0.3, test=0.3, largest=9)).tolist())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b"", runs[0].stderr


def test_the_division_is_pinned():
    pairs = [Pair(source=f"s{number}", target=f"t{number}") for number in range(40)]
    sides = assign_sides(pairs, Fractions(valid=0.2, test=0.2))
    assert "".join(map(str, sides)) == "1100102000200220001000022000000200000000", (
        "a change here moves sentences between the splits of every user"
    )


def test_splits_keep_every_pair_in_order():
    pairs = random_pairs(300, 3000, 5)
    splits = split(pairs, Fractions(valid=0.2, test=0.2))
    assert sorted(chain(*splits), key=pairs.index) == sorted(pairs, key=pairs.index)
    assert all(side == sorted(side, key=pairs.index) for side in splits)
    assert assign_sides([], Fractions()).tolist() == []


def test_an_empty_side_that_was_asked_for_is_an_error():
    with pytest.raises(DataError, match=r"`valid` = 0\.02 must hold out at least one pair; received none of 3\. Give"):
        split([Pair(source=str(number), target="x") for number in range(3)], Fractions())


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"valid": -0.1}, r"`valid` must be a share from 0 to below 1; received -0\.1"),
        ({"test": 1.0}, r"`test` must be a share from 0 to below 1; received 1\.0"),
        ({"valid": 0.5, "test": 0.5}, r"must leave something to train on, below 1; received 1\."),
    ],
)
def test_impossible_shares_are_refused(choices, message):
    with pytest.raises(ArgumentError, match=message):
        Fractions(**choices)


def test_a_test_set_from_elsewhere_leaks_neither():
    train = [Pair(source="Hund", target="dog"), Pair(source="Rüde", target="hound"), Pair(source="Kuh", target="cow")]
    test = [Pair(source="hund", target="x"), Pair(source="y", target="HOUND")]
    report = Report(title="held out")
    assert list(drop_leaks(train, test, report=report)) == train[2:]
    assert report.dropped == {"held out": 2}
