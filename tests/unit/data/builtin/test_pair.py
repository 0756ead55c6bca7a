import pytest

from regard.data.corpora.pair import Link, Pair, detokenize, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("¿Me puedes traer un tenedor?", ["¿", "Me", "puedes", "traer", "un", "tenedor", "?"]),
        ("Ana's book, and Luis's.", ["Ana", "'s", "book", ",", "and", "Luis", "'s", "."]),
        ("I don't; she can't!", ["I", "don't", ";", "she", "can't", "!"]),
        ("a well-known man of 42", ["a", "well-known", "man", "of", "42"]),
        ("  spread   out \t text ", ["spread", "out", "text"]),
        ("l'homme (ici) [là]", ["l'homme", "(", "ici", ")", "[", "là", "]"]),
        ("", []),
    ],
)
def test_words_are_letters_with_marks_apart(text: str, tokens: list[str]) -> None:
    assert words(text) == tokens
    assert words(detokenize(tokens)) == tokens


def test_detokenize_attaches_marks() -> None:
    assert detokenize(["¿", "Sí", ",", "o", "no", "?"]) == "¿Sí, o no?"
    assert detokenize(["(", "so", ")", ":", "[", "this", "]", "!"]) == "(so): [this]!"
    assert detokenize([]) == ""


def test_a_pair_is_a_plain_value() -> None:
    link = Link(source=2, target=0, sure=False)
    pair = Pair(source="no", target="no", links=(link,))
    assert str(link) == "2?0"
    assert link == (2, 0, False)
    assert hash(pair) == hash(Pair(source="no", target="no", links=(link,)))
    assert Pair(source="a", target="b").links == ()
