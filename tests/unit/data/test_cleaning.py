import pytest

from regard.data.corpora.cleaning import Cleaning, clean, count_words
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.errors import ArgumentError


def outcome(*pairs, **choices):
    report = Report(title="cleaning")
    kept = [
        (pair.source, pair.target)
        for pair in clean([Pair(source=a, target=b) for a, b in pairs], Cleaning(**choices), report=report)
    ]
    assert report.kept == len(kept)
    assert report.total == len(pairs)
    return kept, report.dropped


def test_exact_duplicates_go_and_the_first_stays():
    pairs = [("a", "1"), ("a", "2"), ("a", "1"), ("b", "1"), ("a", "1")]
    assert outcome(*pairs) == ([("a", "1"), ("a", "2"), ("b", "1")], {"duplicate": 2})
    assert outcome(*pairs, drop_duplicates=False) == (pairs, {})


def test_the_border_between_the_sides_counts():
    assert outcome(("ab", "c"), ("a", "bc"))[1] == {}


def test_length_limits_count_words_and_include_their_ends():
    pairs = [("a", "b"), ("a a", "b b"), ("a a a", "b b b"), ("a a a", "b b b b")]
    assert outcome(*pairs, min_words=2, max_words=3) == (pairs[1:3], {"short": 1, "long": 1})


def test_the_ratio_limit_includes_its_end_and_holds_both_ways():
    pairs = [("a", "b " * 3), ("a", "b " * 4), ("a " * 4, "b"), ("a " * 2, "b " * 6)]
    assert outcome(*pairs, max_ratio=3.0) == ([pairs[0], pairs[3]], {"ratio": 2})


def test_untranslated_pairs_go_only_when_asked():
    pairs = [("Paris", "Paris"), ("Rom", "Rome")]
    assert outcome(*pairs) == (pairs, {})
    assert outcome(*pairs, drop_identical=True) == (pairs[1:], {"identical": 1})


def test_the_report_shows_examples_by_number():
    report = Report(title="cleaning")
    pairs = [Pair(source="a", target="1")] * 3
    assert len(list(clean(pairs, Cleaning(), report=report))) == 1
    assert str(report).split("\n") == [
        "cleaning: 1 of 3 kept",
        "  duplicate        2   66.67 %  pair 2: 'a ⇥ 1'",
        "                                pair 3: 'a ⇥ 1'",
    ]


def test_cleaning_streams():
    def endless():
        number = 0
        while True:
            number += 1
            yield Pair(source=str(number), target=str(number))

    assert next(clean(endless(), Cleaning())).source == "1"


def test_scripts_without_spaces_are_counted_in_characters():
    assert count_words("一只狗在公园里奔跑") == 9
    assert count_words("a dog runs") == 3
    assert count_words("café au lait") == 3
    assert outcome(("一只狗在公园里奔跑", "A dog runs in the park"))[1] == {}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"min_words": 0}, r"`min_words` must be from 1 to `max_words` = 200; received 0\."),
        ({"min_words": 9, "max_words": 8}, r"from 1 to `max_words` = 8; received 9\."),
        ({"max_ratio": 0.5}, r"`max_ratio` must be at least 1; received 0\.5\."),
    ],
)
def test_limits_that_let_nothing_through_are_refused(choices, message):
    with pytest.raises(ArgumentError, match=message):
        Cleaning(**choices)
