from regard.data.builtin.synchrony import NOTHING, Phrase, Unit, both, idiom, make_pair


def links(phrase: Phrase) -> str:
    return " ".join(map(str, make_pair(*phrase).links))


def test_words_of_one_unit_are_linked_wherever_they_stand() -> None:
    house, white = both("casa", "house"), both("blanca", "white")
    moved = Phrase(house.source + white.source, white.target + house.target)
    assert links(moved) == "0-1 1-0"


def test_a_word_of_two_units_is_linked_with_both() -> None:
    to, the = Unit(), Unit()
    (a,), (el,) = to.loosely("a"), the("el")
    merged = a.merge(el, "al")
    assert links(Phrase((merged,), to("boy") + the("the"))) == "0?0 0-1"


def test_two_possible_words_are_not_linked() -> None:
    unit = Unit()
    phrase = Phrase(unit.loosely("le") + unit("da"), unit.loosely("does") + unit("give"))
    assert links(phrase) == "0?1 1?0 1-1"


def test_idioms_are_linked_by_number() -> None:
    assert links(idiom("hace/1 dos/2 días/3", "two/2 days/3 ago/1")) == "0-2 1-0 2-1"
    assert links(idiom("a?1 casa/1", "home/1")) == "0?0 1-0"


def test_the_first_letter_is_a_capital_even_after_a_mark() -> None:
    pair = make_pair(*both("¿ él ?", "he ?"))
    assert (pair.source, pair.target) == ("¿Él?", "He?")


def test_nothing_says_nothing() -> None:
    yes = both("sí", "yes")
    assert yes.then(NOTHING) == NOTHING.then(yes) == yes
    assert make_pair(*NOTHING).source == ""
