"""Parts of sentences that translate each other: consistent with the links, frequent, and without articles too."""

from translator_parts.chunks import chunk_pairs, label_forms

from regard.data.corpora.pair import Pair


def sides(pairs: list[Pair]) -> set[tuple[str, str]]:
    return {(pair.source, pair.target) for pair in pairs}


def test_what_is_linked_to_something_outside_is_no_part():
    pairs = [Pair(source="Hoy bebe vino tinto frío.", target="Today he drinks cold red wine.")]
    found = sides(chunk_pairs(pairs, ["0-0 1-2 2-5 3-4 4-3 5-6"], fewest=1, common=0))
    assert ("vino tinto", "red wine") in found
    assert ("vino tinto frío", "cold red wine") in found
    split = sides(chunk_pairs(pairs, ["0-0 1-2 2-5 3-4 4-3 5-6 1-4"], fewest=1, common=0))
    assert not any(source.endswith("tinto") for source, _ in split if "bebe" not in source)


def test_parts_that_are_rare_or_translated_otherwise_are_left_out():
    pairs = [Pair(source="Vi una gran casa.", target="I saw a big house.")] * 3
    links = ["0-1 1-2 2-3 3-4 4-5"] * 3
    assert ("gran casa", "big house") in sides(chunk_pairs(pairs, links, fewest=3, common=0))
    assert not chunk_pairs(pairs, links, fewest=4, common=0)
    others = [Pair(source="Vi una gran casa.", target="I saw a large home.")] * 9
    both = sides(chunk_pairs([*pairs, *others], [*links, *["0-1 1-2 2-3 3-4 4-5"] * 9], common=0))
    assert ("gran casa", "large home") in both
    assert ("gran casa", "big house") not in both


def test_no_part_ends_in_a_frequent_word_nor_holds_a_mark():
    pairs = [Pair(source="Hoy voy a casa, Tom.", target="Today I go home, Tom.")] * 3
    found = sides(chunk_pairs(pairs, ["0-0 1-2 2-2 3-3 4-4 5-5"] * 3, common=3))
    assert ("voy a casa", "go home") in found
    assert not any("," in source for source, _ in found)
    assert not any(source.split()[-1] in ("hoy", "voy", "a") for source, _ in found)


def test_labels_have_a_capital_and_no_mark():
    forms = list(label_forms([Pair(source="sala de espera", target="waiting room")]))
    assert forms[1] == Pair(source="Sala de espera", target="Waiting room")
