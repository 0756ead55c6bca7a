"""Two directions joined, against the textbook's loops."""

from itertools import product
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpora.pair import Link
from regard.inspection.readings.symmetrize import LinkJoin, symmetrize

NEIGHBORS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
SIZE = 4
PLACES = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)))


def links(places):
    return [Link(source, target, True) for source, target in places]


def places(found):
    return {(link.source, link.target) for link in found}


def textbook(forward, backward, *, final):
    """Grow-diag(-final) as printed, over every pair of words; the target word in the outer loop."""
    found, union = forward & backward, forward | backward

    def fresh(source, target):
        return all(one != source for one, _ in found) or all(other != target for _, other in found)

    while True:
        before = len(found)
        for target, source in product(range(SIZE), repeat=2):
            if (source, target) in found:
                for down, right in NEIGHBORS:
                    near = source + right, target + down
                    if near in union and fresh(*near):
                        found = found | {near}
        if len(found) == before:
            break
    for side in (forward, backward) if final else ():
        for target, source in product(range(SIZE), repeat=2):
            if (source, target) in side and fresh(source, target):
                found = found | {(source, target)}
    return found


@given(PLACES, PLACES)
def test_it_is_the_textbook(forward, backward):
    one, other = links(forward), links(backward)
    assert places(symmetrize(one, other, "intersection")) == forward & backward
    assert places(symmetrize(one, other, "union")) == forward | backward
    assert places(symmetrize(one, other, "grow-diag")) == textbook(forward, backward, final=False)
    assert places(symmetrize(one, other, "grow-diag-final")) == textbook(forward, backward, final=True)


@given(PLACES, PLACES)
def test_each_join_holds_the_one_before(forward, backward):
    found = [places(symmetrize(links(forward), links(backward), join)) for join in get_args(LinkJoin)]
    by_name = dict(zip(get_args(LinkJoin), found, strict=True))
    assert by_name["intersection"] <= by_name["grow-diag"] <= by_name["grow-diag-final"] <= by_name["union"]


@given(PLACES)
def test_joined_with_itself_nothing_changes(forward):
    for join in get_args(LinkJoin):
        assert symmetrize(links(forward), links(forward), join) == tuple(sorted(links(forward)))


def test_a_link_apart_from_the_others_is_added_in_the_end_alone():
    forward, backward = links({(0, 0), (3, 3)}), links({(0, 0), (1, 1), (1, 0)})
    assert places(symmetrize(forward, backward, "grow-diag")) == {(0, 0), (1, 0), (1, 1)}
    assert places(symmetrize(forward, backward, "grow-diag-final")) == {(0, 0), (1, 0), (1, 1), (3, 3)}
