import random

import numpy as np

from regard.data.corpora.hash_set import HashSet


def test_it_answers_as_a_set_would():
    draw, seen, known = random.Random(1), HashSet(), set()
    for size in (1, 50, 0, 300, 7, 1000, 3):
        portion = [draw.randrange(900) for _ in range(size)]
        expected = []
        for one in portion:
            expected.append(one not in known)
            known.add(one)
        assert seen.add(np.array(portion, dtype=np.uint64)).tolist() == expected
    assert len(seen) == len(known)


def test_hashes_at_the_ends_of_the_range_are_kept_apart():
    seen = HashSet()
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert seen.add(ends).all()
    assert not seen.add(ends[::-1].copy()).any()


def test_there_are_few_arrays_however_many_portions():
    seen = HashSet()
    for start in range(0, 4096, 4):
        seen.add(np.arange(start, start + 4, dtype=np.uint64))
    assert len(seen._runs) <= 12
