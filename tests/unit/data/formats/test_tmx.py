import gzip
import tracemalloc

import pytest

from regard.data.corpora.corpus import read_pairs
from regard.data.corpora.report import Report
from regard.data.formats import Tmx
from regard.errors import DataError

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/>
<body>
"""
TAIL = "</body></tmx>\n"


def unit(**texts):
    sides = "".join(
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{text}</seg></tuv>\n' for language, text in texts.items()
    )
    return f"<tu>\n{sides}</tu>\n"


@pytest.fixture
def tmx(tmp_path):
    def read(*units, document=None, bad="refuse", report=None, **choices):
        document = document if document is not None else (HEAD + "".join(units) + TAIL).encode()
        (tmp_path / "memory.tmx").write_bytes(document)
        corpus = Tmx(path=tmp_path / "memory.tmx", **choices)
        return [(pair.source, pair.target) for pair in read_pairs(corpus, bad=bad, report=report)]

    return read


def test_inline_codes_are_left_out_and_highlights_stay(tmx):
    english = (
        'The <bpt i="1">&lt;b&gt;</bpt>black<ept i="1">&lt;/b&gt;</ept> '
        '<hi type="term">dog<ph x="2">{img <sub>alt text</sub>}</ph></hi> &amp; '
        '<it pos="begin">&lt;i&gt;</it>cat<ut>x</ut>.'
    )
    assert tmx(unit(en=english, de="Hund"), source="en", target="de") == [("The black dog & cat.", "Hund")]


def test_line_breaks_inside_a_segment_become_spaces(tmx):
    assert tmx(unit(en="a\n     dog", de="ein\tHund"), source="de", target="en") == [("ein Hund", "a dog")]


@pytest.mark.parametrize(
    ("asked", "found"),
    [("en", "colour"), ("EN", "colour"), ("en-us", "color"), ("en_US", "color"), ("en-GB", "colour")],
)
def test_languages_match_by_prefix_and_without_case(tmx, asked, found):
    units = unit(en_GB="colour", en_US="color", de_DE="Farbe")
    assert tmx(units, source="de", target=asked) == [("Farbe", found)]


def test_the_exact_tag_comes_first(tmx):
    assert tmx(unit(en_GB="colour", en="color", de="Farbe"), source="de", target="en") == [("Farbe", "color")]


def test_the_old_attribute_is_understood(tmx):
    old = HEAD + '<tu><tuv lang="EN"><seg>dog</seg></tuv><tuv lang="DE"><seg>Hund</seg></tuv></tu>' + TAIL
    assert tmx(document=old.encode(), source="de", target="en") == [("Hund", "dog")]


def test_without_languages_the_header_names_the_source(tmx):
    assert tmx(unit(de="Hund", en_US="dog")) == [("dog", "Hund")]
    assert tmx(unit(de="Hund", en_US="dog"), target="en") == [("Hund", "dog")]


def test_three_languages_must_be_chosen_from(tmx):
    with pytest.raises(DataError, match=r"first unit, line 5, in en, de, fr\. Name them with `source` and `target`"):
        tmx(unit(en="dog", de="Hund", fr="chien"))


def test_a_unit_without_a_language_is_counted_or_refused_with_its_line(tmx):
    units = [unit(en="dog", fr="chien"), unit(en="cat", de="Katze"), unit(en="x", de=" ")]
    report = Report()
    assert tmx(*units, source="de", target="en", bad="skip", report=report) == [("Katze", "cat")]
    assert report.dropped == {"language": 1, "empty": 1}
    with pytest.raises(
        DataError, match=r"tmx, line 5 must have a translation in de; received a unit in the languages en, fr\."
    ):
        tmx(*units, source="de", target="en")


def test_an_entity_bomb_is_refused_before_it_goes_off(tmx):
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE tmx [\n<!ENTITY a "aaaaaaaaaa">\n'
    bomb += "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">\n' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    bomb += "]>\n" + unit(en="&i;", de="x")
    with pytest.raises(DataError, match=r"memory\.tmx, line 3 must declare no XML entity; received 'a'"):
        tmx(document=bomb.encode())


def test_an_external_entity_is_refused(tmx):
    document = '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx><body>' + unit(en="&x;", de="y") + TAIL
    with pytest.raises(DataError, match="must declare no XML entity; received 'x'"):
        tmx(document=document.encode())


def test_named_entities_of_html_are_read(tmx):
    assert tmx(unit(en="a&nbsp;b &eacute;", de="x"), source="en", target="de") == [("a\xa0b é", "x")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_xml_declares(tmx, encoding):
    document = HEAD.replace('encoding="UTF-8"', "") + unit(en_US="dog", de="Rüde") + TAIL
    assert tmx(document=document.encode(encoding)) == [("dog", "Rüde")]


def test_broken_xml_is_refused_with_its_line(tmx):
    with pytest.raises(DataError, match=r"line 7 must be well-formed XML; .* \(mismatched tag\)"):
        tmx(document=(HEAD + "<tu>\n<tuv>\n</tu>\n").encode(), bad="skip")
    with pytest.raises(DataError, match=r"must be well-formed XML; .* \(no element found\)"):
        tmx(document=(HEAD + unit(en_US="a", de="b")).encode(), bad="skip")


@pytest.mark.slow
def test_a_large_compressed_file_streams_in_little_memory(tmp_path):
    path = tmp_path / "memory.tmx"
    path.write_bytes(gzip.compress((HEAD + unit(en_US="dog " * 1000, de="Hund " * 1000) * 1000 + TAIL).encode()))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_pairs(Tmx(path=path)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1000
    assert peak < 4_000_000, peak


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("Shift_JIS", "犬が走る。ソ"),
        ("cp932", "①犬"),
        ("EUC-JP", "犬"),
        ("ISO-2022-JP", "犬が走る"),
        ("GB2312", "狗在跑"),
        ("GBK", "狗"),
        ("gb18030", "狗😀"),
        ("Big5", "狗"),
        ("EUC-KR", "개"),
        ("windows-1252", "“naïve”"),
        ("KOI8-R", "собака"),
        ("latin1", "é"),
        ("ISO-8859-15", "€"),
        ("UTF8", "犬"),
        ("utf-16", "犬"),
    ],
)
def test_every_encoding_that_python_knows_is_read(tmx, encoding, text):
    document = HEAD.replace("UTF-8", encoding) + unit(ja=text, en="a dog") * 2 + TAIL
    assert tmx(document=document.encode(encoding), source="ja", target="en") == [(text, "a dog")] * 2


def test_a_character_may_lie_across_two_chunks(tmx, monkeypatch):
    monkeypatch.setattr("regard.data.formats.tmx._CHUNK", 7)
    document = HEAD.replace("UTF-8", "Shift_JIS") + unit(ja="犬が走る" * 9, en="dog") + TAIL
    assert tmx(document=document.encode("shift_jis"), source="ja", target="en") == [("犬が走る" * 9, "dog")]


@pytest.mark.parametrize(
    "name",
    ["klingon", "hex", "zlib", "rot13", "utf-7", "utf-32", "unicode_escape", "idna", "cp037", "undefined", "../x"],
)
def test_an_encoding_that_nothing_can_be_in_is_refused(tmx, name):
    with pytest.raises(
        DataError, match=r"must be in an encoding that Python knows, .*; received one that .* as '.+'\. Ex"
    ):
        tmx(document=HEAD.replace("UTF-8", name).encode() + TAIL.encode(), source="ja", target="en")


@pytest.mark.parametrize(
    "document",
    [
        (HEAD.replace("UTF-8", "Shift_JIS") + unit(ja="é", en="a") + TAIL).encode("latin-1"),
        (HEAD.replace("UTF-8", "GB2312") + unit(ja="犬", en="a")).encode() + b"\x81",
        ("\ufeff" + HEAD.replace("UTF-8", "Shift_JIS") + TAIL).encode("utf-16-le"),
        ("\ufeff" + HEAD.replace("UTF-8", "klingon") + TAIL).encode("utf-16-be"),
    ],
)
def test_a_document_that_is_not_what_it_declares_is_one_paragraph(tmx, document):
    with pytest.raises(
        DataError, match=r"must be in the encoding that it declares; received something else after line \d"
    ):
        tmx(document=document, source="ja", target="en")


def test_a_mark_says_more_than_a_declaration(tmx):
    document = "\ufeff" + HEAD.replace("UTF-8", "Shift_JIS") + unit(ja="犬", en="dog") + TAIL
    assert tmx(document=document.encode(), source="ja", target="en") == [("犬", "dog")]


@pytest.mark.parametrize(
    "endless",
    ["<tu><tuv xml:lang='a'><seg>" + "x" * 9000, "<" + "x" * 9000, "<!--" + "x" * 9000, "<tu>" + "<seg/>" * 2000],
)
def test_a_unit_or_tag_without_an_end_is_refused(tmx, monkeypatch, endless):
    monkeypatch.setattr("regard.data.formats.tmx.LONGEST_LINE", 4000)
    monkeypatch.setattr("regard.data.formats.tmx._CHUNK", 512)
    with pytest.raises(
        DataError, match=r"line \d+ must have at most 4,000 letters in a tag, a comment and a unit; received"
    ):
        tmx(document=(HEAD + endless).encode(), source="a", target="b")
