"""Tags and placeholders that are carried through a translation: none lost, none unbalanced, each on its word."""

import random
import re
from html.parser import HTMLParser

import pytest
import torch

import regard
from regard.data.corpora.pair import words
from regard.errors import ArgumentError
from regard.tasks.translation.markup.insertion import insert_marks
from regard.tasks.translation.markup.marks import DEEPEST, read_marks
from regard.tasks.translation.markup.search import search_marked
from regard.tasks.translation.markup.stand_ins import stand_in
from regard.tasks.translation.markup.tokens import VOID, divide_marks
from regard.tasks.translation.result import Translation

VOCABULARY = ["el", "gato", "negro", "duerme", "aquí", "¿", "?", ",", "12", "niña", "l'eau", "&", "<", "."]


def translation(output):
    """Give an output of a model, of which the text alone matters."""
    return Translation(source="", read=None, text=output, hypothesis=None, source_ids=None, tokenizers=None)


def links(*targets, source):
    """Give weights by which word i of an output attends to `targets[i]` alone."""
    weights = torch.zeros(len(targets), source)
    for row, target in enumerate(targets):
        weights[row, target] = 1.0
    return weights


def carried(text, output, *targets, form="html"):
    marked = read_marks(text, form)
    return insert_marks(marked, output, links(*targets, source=len(words(marked.plain))))


@pytest.mark.parametrize(
    ("text", "output", "targets", "expected"),
    [
        ("El <b>gato</b> negro", "The black cat", (0, 2, 1), "The black <b>cat</b>"),
        ("<i>El <b>gato</b> negro</i>", "The black cat", (0, 2, 1), "<i>The black <b>cat</b></i>"),
        ("<b>El gato</b> negro.", "The black cat.", (0, 2, 1, 3), "<b>The black cat</b>."),
        ("un<b>believ</b>able cat", "gato increíble", (1, 0), "gato <b>increíble</b>"),
        ("Hola<br/>gato", "Hello cat", (0, 1), "Hello<br/> cat"),
        ("<a href='x>y'>Hola</a> gato", "Cat hello", (1, 0), "Cat <a href='x>y'>hello</a>"),
        ("uno</b> dos <b>tres", "three two one", (2, 1, 0), "three two one</b><b>"),
        ("a &lt; b", "x < y", (0, 1, 2), "x &lt; y"),
        ("a &amp; <code>f(x)</code> b", "x & y", (0, 1, 2), "x &amp; <code>f(x)</code> y"),
        ("<b></b>", "", (), "<b></b>"),
        ("el tío <br/> de María", "Maria's uncle", (3, 2, 1), "Maria<br/>'s uncle"),
        ("uno <br/> dos", "one two", (0, 1), "one <br/> two"),
        ("a<!-- no --> b", "x y", (0, 1), "x<!-- no --> y"),
        ("a <b> </b> b", "x y", (0, 1), "x <b></b>y"),
    ],
)
def test_tags_go_where_their_words_go(text, output, targets, expected):
    assert carried(text, output, *targets) == expected


@pytest.mark.parametrize(
    ("text", "output", "targets", "expected"),
    [
        ("¿Dónde está {name}?", "Where is?", (1, 2, 3), "Where is {name}?"),
        ("Hola {name}, ven", "Hello, come", (0, 1, 2), "Hello {name}, come"),
        ("%s gatos", "cats", (0,), "%s cats"),
        ("Veo %(count)d gatos", "I see cats", (0, 0, 1), "I see %(count)d cats"),
        ("{0}{1}", "", (), "{0}{1}"),
        ("el {{ user.name }} duerme", "sleeps the", (1, 0), "{{ user.name }} sleeps the"),
        ("50% de gatos", "50% of cats", (0, 1, 2, 3), "50% of cats"),
        ("$5 y ${x} y $name", "$5 and and", (0, 1, 2, 3), "$5 and ${x} and $name"),
    ],
)
def test_placeholders_go_where_their_neighbors_go(text, output, targets, expected):
    assert carried(text, output, *targets, form="placeholders") == expected


def test_xml_knows_no_html():
    text = "<BR>a</BR> &euro; <br>b</br>"
    assert [token.kind for token in divide_marks(text, "xml")] == [
        *("open", "text", "close", "text", "single", "text", "open", "text", "close")
    ]
    assert carried(text, "x y", 0, 1, form="xml") == "<BR>x</BR> &euro; <br>y</br>"


def test_tokens_joined_are_the_text():
    generator = random.Random(3)
    for form in ("html", "xml", "placeholders", "markdown", "subtitles"):
        for _ in range(500):
            text = "".join(
                generator.choices(
                    [
                        "<",
                        ">",
                        "a",
                        " ",
                        "&",
                        ";",
                        "b/",
                        "{",
                        "}",
                        "`",
                        "*",
                        "[",
                        "](",
                        ")",
                        '"',
                        "<!--",
                        "-->",
                        "</",
                        "%s",
                        "\\",
                    ],
                    k=30,
                )
            )
            assert "".join(token.raw for token in divide_marks(text, form)) == text


class Balance(HTMLParser):
    """Raises where a tag closes another than the last that is open."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def generate(generator, depth=0):
    """Write a random sentence with tags inside each other, every tag with a number of its own."""
    parts = []
    for _ in range(generator.randint(0, 5 - depth)):
        kind = generator.random()
        if kind < 0.5 or depth == 4:
            word = generator.choice(VOCABULARY)
            parts.append({"&": "&amp;", "<": "&lt;"}.get(word, word))
        elif kind < 0.65:
            parts.append(f"<br id='{generator.random()}'/>")
        elif kind < 0.7:
            parts.append(f"<!-- {generator.random()} -->")
        else:
            name = generator.choice(["b", "i", "a", "span"])
            parts.append(f'<{name} id="{generator.random()}">{generate(generator, depth + 1)}</{name}>')
    return generator.choice(["", " "]).join(parts)


def tags(text):
    return sorted(re.findall(r"<[^<>]*>", text))


@pytest.mark.parametrize("number", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_tag_is_lost_or_unbalanced(number):
    """Whatever the output is and whatever it comes from; without its tags it is the plain translation."""
    generator, numbers = random.Random(7), torch.Generator().manual_seed(7)
    for _ in range(number):
        text = generate(generator)
        marked = read_marks(text, "html")
        target = generator.choices(VOCABULARY, k=generator.randint(0, 8))
        output = " ".join(target)
        weights = torch.rand(len(words(output)), len(words(marked.plain)), generator=numbers)
        result = insert_marks(marked, output, weights * (weights > generator.random()))
        assert tags(result) == tags(text), text
        Balance(result)
        assert " ".join(read_marks(result, "html").plain.split()) == output, text


def test_no_placeholder_is_lost():
    generator, numbers = random.Random(8), torch.Generator().manual_seed(8)
    for _ in range(1_000):
        holders = [f"{{{index}}}" for index in range(generator.randint(0, 4))]
        source = [*generator.choices(VOCABULARY, k=5), *holders]
        generator.shuffle(source)
        marked = read_marks(" ".join(source), "placeholders")
        output = " ".join(generator.choices(VOCABULARY, k=generator.randint(0, 6)))
        weights = torch.rand(len(words(output)), len(words(marked.plain)), generator=numbers)
        result = insert_marks(marked, output, weights)
        assert sorted(re.findall(r"\{\d\}", result)) == sorted(holders)
        assert " ".join(re.sub(r"\{\d\}", " ", result).split()) == output


def test_tags_of_two_halves_of_a_text_stay_balanced():
    """A tag whose other half is in another sentence keeps its order, so that the sentences joined are balanced."""
    generator, numbers = random.Random(9), torch.Generator().manual_seed(9)
    for _ in range(1_000):
        text = generate(generator)
        cut = generator.choice([0, *(match.end() for match in re.finditer(r"</?[^<>]*>", text))])
        halves = []
        for half in (text[:cut], text[cut:]):
            marked = read_marks(half, "html")
            output = " ".join(generator.choices(["a", "b", "."], k=generator.randint(1, 6)))
            weights = torch.rand(len(words(output)), len(words(marked.plain)), generator=numbers)
            halves.append(insert_marks(marked, output, weights))
        Balance("".join(halves))


def test_marks_very_deep_or_very_many_are_carried_in_time():
    deep = "<b>" * 3 * DEEPEST + "gato" + "</b>" * 3 * DEEPEST
    Balance(carried(deep, "cat", 0))
    many = "<b>a</b>" * 2_000 + "<br>" * 2_000
    marked = read_marks(many, "html")
    result = insert_marks(marked, "x " * 300, torch.rand(300, len(words(marked.plain))))
    assert tags(result) == tags(many)
    for hostile in ("<a " * 5000, "<!--" * 5000, '<a "' * 5000, "<code>" * 3000, "{" * 20000, "<?" * 9000, "%(" * 9000):
        for form in ("html", "xml", "placeholders"):
            assert read_marks(hostile, form).form == form


def test_markup_of_another_name_is_refused(unchecked):
    with pytest.raises(ArgumentError, match=r'`markup` must be html, xml, placeholders or None; received "htm"\.'):
        search_marked(None, ["a"], form="htm")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Vivo en {city}.", "Vivo en Tom."),
        ("Tom ve a {name} y a {other}.", "Tom ve a John y a Bill."),
        ("Quedan %d de {total}, {{ x }}.", "Quedan 17 de 23, Tom."),
        ("El 17 de mayo hay %(n)d.", "El 17 de mayo hay 23."),
        ("{name}", None),
        ("pre{name} hola", None),
        ("{a}{b} vienen", None),
        ("Nada.", None),
        (" ".join(["a {x}"] * 11), None),
    ],
)
def test_words_stand_for_placeholders(source, text):
    standing = stand_in(source)
    assert (standing and standing.text) == text


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Tom lives with 17 cats of John.", "{a} lives with %d cats of ${b}."),
        ("John's 17 cats: Tom.", "${b}'s %d cats: {a}."),
        ("Tom lives with 17 cats.", None),
        ("Tom and Tom live with 17 cats of John.", None),
        ("Tommy lives with 17 cats of John.", None),
    ],
)
def test_they_are_put_back_where_each_came_through_once(output, expected):
    standing = stand_in("{a} vive con %d gatos de ${b}.")
    result = standing.put_back(translation(output), "source")
    assert (result and result.with_marks) == expected


@pytest.mark.parametrize(
    ("name", "source", "pattern"),
    [
        ("es-en", "¿Dónde está {name}?", r"^Where(?: is|'s) \{name\}\?$"),
        ("es-en", "Vivo en {city}.", r"^I live in \{city\}\.$"),
        ("es-en", "Quedan {count} días.", r"\{count\} days left"),
        ("en-es", "Who is {name}?", r"^¿Quién es \{name\}\?$"),
        ("grammar-es-en", "El gato ve a {name}.", r"\{name\}"),
    ],
)
def test_models_of_the_package_carry_placeholders(name, source, pattern):
    [output] = regard.load(name).translate([source], markup="placeholders")
    assert re.search(pattern, output), output
