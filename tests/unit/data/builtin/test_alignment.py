import pytest

from regard.data.builtin.es_en.verbs import SPANISH
from regard.data.corpora.pair import Pair, words
from unit.data.builtin.lexicon import ADJECTIVE_FORMS, NOUN_FORMS, PROPER

pytestmark = pytest.mark.slow

MARKS = frozenset(".,;?¿")
# Words that may have no sure counterpart, because the other language does without them.
LOOSE = {
    "spanish": ({"a", "al", "el", "la", "los", "las", "le", "les", "se", "nos", "¿"},
                {"i", "you", "he", "she", "it", "we", "they", "do", "does", "did", "to", "a", "an"}),
    "hindi": ({"hai", "hain", "huun", "ho", "ne", "tab", "kyaa", "ke", "ko"},
              {"the", "to", "will", "do", "does", "did", "in"}),
}  # fmt: skip


@pytest.fixture(params=["spanish", "hindi"])
def sample(request: pytest.FixtureRequest) -> tuple[str, list[Pair]]:
    return request.param, request.getfixturevalue(request.param)


def test_every_link_is_within_range_and_given_once(sample: tuple[str, list[Pair]]) -> None:
    for pair in sample[1]:
        places = [(link.source, link.target) for link in pair.links]
        assert places == sorted(set(places))
        assert all(0 <= link.source < len(words(pair.source)) for link in pair.links)
        assert all(0 <= link.target < len(words(pair.target)) for link in pair.links)


def test_every_word_is_linked_and_surely_unless_the_other_language_lacks_it(sample: tuple[str, list[Pair]]) -> None:
    name, pairs = sample
    loose_source, loose_target = LOOSE[name]
    for pair in pairs:
        source, target = words(pair.source), words(pair.target)
        assert {link.source for link in pair.links} == set(range(len(source)))
        assert {link.target for link in pair.links} == set(range(len(target)))
        sure = [link for link in pair.links if link.sure]
        unsure_source = set(range(len(source))) - {link.source for link in sure}
        unsure_target = set(range(len(target))) - {link.target for link in sure}
        assert {source[place].lower() for place in unsure_source} <= loose_source
        assert {target[place].lower() for place in unsure_target} <= loose_target


def test_marks_are_linked_with_marks(sample: tuple[str, list[Pair]]) -> None:
    for pair in sample[1]:
        source, target = words(pair.source), words(pair.target)
        for link in pair.links:
            if source[link.source] != "Kyaa":
                assert (source[link.source] in MARKS) == (target[link.target] in MARKS)


def test_a_name_is_linked_with_its_own_mention_alone(spanish: list[Pair]) -> None:
    for pair in spanish:
        source, target = words(pair.source), words(pair.target)
        for place, word in enumerate(source):
            if word in PROPER:
                (linked,) = (link.target for link in pair.links if link.source == place and link.sure)
                assert target[linked][0].isupper()


def test_words_linked_with_one_word_stand_together(spanish: list[Pair]) -> None:
    """All but those of va: is not going, are you going."""
    for pair in spanish:
        for place, word in enumerate(words(pair.source)):
            sure = [link.target for link in pair.links if link.source == place and link.sure]
            together = sure == list(range(sure[0], sure[-1] + 1)) if sure else True
            assert together or word.lower() in SPANISH["ir"].present, pair


def test_nouns_and_adjectives_are_surely_linked(spanish: list[Pair]) -> None:
    for pair in spanish:
        sure = {link.source for link in pair.links if link.sure}
        for place, word in enumerate(words(pair.source)):
            assert place in sure or word.lower() not in NOUN_FORMS | ADJECTIVE_FORMS


def test_the_words_of_the_text_are_those_the_grammar_linked(sample: tuple[str, list[Pair]]) -> None:
    """Links count the words of the plain text: were they others, the last word would not be the last linked."""
    for pair in sample[1]:
        assert max(link.source for link in pair.links) == len(words(pair.source)) - 1
        assert max(link.target for link in pair.links) == len(words(pair.target)) - 1


def test_both_orders_and_many_to_one_occur(spanish: list[Pair]) -> None:
    crossed = sum(
        any(one.target > other.target for one, other in zip(pair.links, pair.links[1:], strict=False))
        for pair in spanish
    )
    assert crossed > len(spanish) * 0.4
