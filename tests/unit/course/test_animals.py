"""The corner of Spanish that chapters train on."""

from regard.course.animals import ADJECTIVES, NOUNS, NUMBER, VERBS, animals, write_animals

ENGLISH = {**{word: word for word in VERBS}, **NOUNS, **ADJECTIVES}


def test_there_are_as_many_pairs_as_the_grammar_has():
    every = animals(10**6)
    assert len(every) == NUMBER == (len(NOUNS) * (len(ADJECTIVES) + 1)) ** 2 * len(VERBS)
    assert len({pair.target for pair in every}) == NUMBER


def test_links_join_words_that_translate_each_other():
    for pair in animals(300, seed=3):
        source, target = pair.source.split(), pair.target.split()
        for link in pair.links:
            spanish, english = source[link.source], target[link.target]
            if english == "the":
                assert spanish in ("el", "la", "al")
            else:
                stem = {**NOUNS, **ADJECTIVES, **VERBS}[english]
                assert spanish.startswith(stem)
        unlinked = {source[i] for i in range(len(source)) if i not in {link.source for link in pair.links}}
        assert unlinked <= {"a"}
        assert "a el" not in pair.source


def test_pairs_are_written_as_a_table(tmp_path):
    lines = write_animals(tmp_path / "pairs.tsv", 5).read_text(encoding="utf-8").splitlines()
    assert lines == [f"{pair.source}\t{pair.target}" for pair in animals(5)]
