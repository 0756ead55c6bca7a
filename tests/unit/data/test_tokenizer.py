import json
import pickle
import re

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.data.corpora.pair import Pair, words
from regard.data.text.special import END, PAD, SPECIAL_TOKENS, START, UNKNOWN
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer, train_tokenizers
from regard.errors import DataError

TEXTS = [
    "Ein Hund läuft über die Straße.",
    "Zwei Hunde laufen, bellen und spielen!",
    "¿Qué hace el perro? ¡Corre mucho!",
    "A dog isn't running; Ana's dogs are.",
    "The black-and-white dog runs over the street, the white one doesn't.",
] * 4
KINDS = ["word", "character", "byte", "bpe", "unigram"]
EXACT = KINDS[1:]


@pytest.fixture(scope="module")
def trained():
    return {kind: train_tokenizer(TEXTS, TokenizerConfig(kind=kind, vocabulary_size=400)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_special_tokens_have_the_first_four_numbers(trained, kind):
    assert trained[kind].pieces([PAD, UNKNOWN, START, END]) == list(SPECIAL_TOKENS) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_known_text_comes_back(trained, kind):
    tokenizer = trained[kind]
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("kind", EXACT)
@given(text=st.text())
@example(text="▁a ▁▁ b")
@example(text="</s> <pad> <unk> <s> <0x41>")
@example(text="\u2028x\x0b\x1c y\x85\xa0z\r\n")
@example(text="e\u0301 ＡＢ ﬁ हिन्दी 😀👍🏽 \ufeff\u200b\0")
@settings(max_examples=200, deadline=None)
def test_any_text_comes_back_up_to_normalization(trained, kind, text):
    tokenizer = trained[kind]
    assert tokenizer.decode(tokenizer.encode(text).ids) == tokenizer.normalize(text)
    assert UNKNOWN not in tokenizer.encode(text).ids


@pytest.mark.parametrize("kind", KINDS)
def test_normalization_is_as_documented(trained, kind):
    assert trained[kind].normalize("  Cafe\u0301\u00a0\t\n▁ＡＢ\u2028ﬁ ") == "Caf\u00e9 ＡＢ ﬁ"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mark", SPECIAL_TOKENS)
def test_text_that_looks_like_a_special_token_is_text(trained, kind, mark):
    for ids in (trained[kind].encode(f"a {mark}b").ids, trained[kind].encode_batch([f"a {mark}b"])[0]):
        assert not {PAD, START, END} & set(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_each_piece_knows_its_word(trained, kind):
    tokenizer = trained[kind]
    text = "¿Ana's dog isn't  well-known, 😀 Straße?"
    encoded = tokenizer.encode(text)
    expected = words(text)
    assert encoded.words[0] == 0
    assert all(after - before in (0, 1) for before, after in zip(encoded.words, encoded.words[1:], strict=False))
    for number, word in enumerate(expected):
        own = [piece for piece, of in zip(encoded.ids, encoded.words, strict=True) if of == number]
        if kind == "word":
            assert tokenizer.pieces(own) in ([word], ["<unk>"])
        else:
            assert tokenizer.decode(own).strip() == word


@pytest.mark.parametrize("kind", EXACT)
@given(text=st.text(st.characters(codec="utf-8"), max_size=30))
@settings(max_examples=200, deadline=None)
def test_pieces_are_counted_in_words_whatever_the_script(trained, kind, text):
    tokenizer = trained[kind]
    encoded = tokenizer.encode(text)
    count = len(words(tokenizer.normalize(text)))
    assert len(encoded.words) == len(encoded.ids)
    assert encoded.words == sorted(encoded.words)
    assert set(encoded.words) <= set(range(max(count, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_many_texts_give_what_each_gives_alone(trained, kind):
    tokenizer = trained[kind]
    texts = [*TEXTS, "", "unseen wörds"]
    many = tokenizer.encode_batch(iter(texts))
    assert [one.tolist() for one in (many[number] for number in range(len(many)))] == [
        tokenizer.encode(text).ids for text in texts
    ]


def test_words_outside_the_vocabulary_are_unknown(trained):
    encoded = trained["word"].encode("Ein Känguru läuft.")
    assert trained["word"].decode(encoded.ids) == "Ein <unk> läuft."
    assert encoded.words == [0, 1, 2, 3]


def test_decoding_leaves_special_tokens_out(trained):
    for kind in KINDS:
        ids = trained[kind].encode("Ein Hund").ids
        assert trained[kind].decode([START, *ids, END, PAD, PAD]) == "Ein Hund"


def test_half_a_character_in_bytes_is_still_decoded(trained):
    ids = trained["byte"].encode("ü").ids
    assert trained["byte"].decode(ids[:1]) == "\ufffd"


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_read_by_tokenizers_and_by_us(trained, kind):
    tokenizer = trained[kind]
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    ours = Tokenizer.from_json(tokenizer.to_json())
    for text in TEXTS:
        assert theirs.encode(text).ids == ours.encode(text).ids == tokenizer.encode(text).ids
    assert ours.kind == tokenizer.kind == kind
    assert ours.to_json() == tokenizer.to_json()


def test_a_tokenizer_survives_pickling(trained):
    copy = pickle.loads(pickle.dumps(trained["bpe"]))
    assert copy.encode("</s> Hund") == trained["bpe"].encode("</s> Hund")


@pytest.mark.parametrize("joint", [True, False])
def test_both_sides_are_saved_in_one_file(tmp_path, joint):
    pairs = [Pair(source="Ein Hund läuft.", target="A dog runs.")] * 3
    sides = train_tokenizers(pairs, TokenizerConfig(kind="word", joint=joint))
    sides.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    back = TokenizerPair.load(tmp_path)
    assert back.joint == sides.joint == joint
    assert back.source.encode("Ein dog") == sides.source.encode("Ein dog")
    assert back.target.encode("Ein dog") == sides.target.encode("Ein dog")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    for one in [content] if joint else [content["source"], content["target"]]:
        assert tokenizers.Tokenizer.from_str(json.dumps(one)).get_vocab_size() > 4


def test_a_number_outside_the_vocabulary_is_named(trained):
    with pytest.raises(DataError, match=r"`ids` must be from 0 to 259; received 260\. Is this the tokenizer"):
        trained["byte"].pieces([4, 260])
    with pytest.raises(DataError, match="received -1"):
        trained["byte"].pieces([-1])


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(DataError, match="must be JSON of the package `tokenizers`; received"):
        Tokenizer.from_json("{}")
    with pytest.raises(DataError, match=r"tokenizer\.json must be JSON; received: Expecting"):
        TokenizerPair.from_json("no")
    with pytest.raises(DataError, match=re.escape("must hold a tokenizer.json; received a folder without")):
        TokenizerPair.load(tmp_path)
    wordpiece = tokenizers.Tokenizer(tokenizers.models.WordPiece()).to_str()
    with pytest.raises(DataError, match="must be WordLevel, BPE or Unigram; received WordPiece"):
        Tokenizer.from_json(wordpiece)


@given(text=st.text(st.characters(exclude_categories=["M", "Cs", "Cn", "Co"]), max_size=40))
@example(text="'s ’s Ana's 'tis dogs' well-known- -x don't’s a_b 10² ½ x-'s")
@settings(max_examples=300, deadline=None)
def test_the_borders_are_those_of_words(trained, text):
    """The pattern stands here for `tokenizers` and in `corpora.pair` for Python: they must not drift apart."""
    tokenizer = trained["word"]
    text = tokenizer.normalize(text)
    found = [word for word, _ in tokenizer.backend.pre_tokenizer.pre_tokenize_str(text)]
    assert found == words(text)


def test_letters_with_marks_of_their_own_stay_in_their_word(trained):
    (_, word), *_ = trained["bpe"].backend.pre_tokenizer.pre_tokenize_str("▁हिन्दी▁में")
    assert word == (0, 7)
    assert set(trained["bpe"].encode("हिन्दी में").words) <= set(range(len(words("हिन्दी में"))))


def changed(tokenizer, change):
    table = json.loads(tokenizer.to_json())
    change(table)
    return json.dumps(table)


@pytest.mark.parametrize("kind", ["word", "bpe", "byte", "character"])
@pytest.mark.parametrize("number", [4_294_967_290, 2**63, 1_000_000])
def test_a_number_far_outside_is_refused_before_memory_is_filled(trained, kind, number):
    """`tokenizers` would list every number in between, and abort the process."""
    message = "must number its [0-9,]+ tokens from 0 to [0-9,]+, each by another number; received numbers up to"
    for place in ("vocab", "added"):

        def change(table, place=place):
            if place == "vocab":
                table["model"]["vocab"]["<pad>"] = number
            else:
                table["added_tokens"][0]["id"] = number

        with pytest.raises(DataError, match=f"{message}|whole number from 0"):
            Tokenizer.from_json(changed(trained[kind], change))


def test_two_tokens_of_one_number_are_refused(trained):
    with pytest.raises(DataError, match="each by another number"):
        Tokenizer.from_json(changed(trained["byte"], lambda table: table["model"]["vocab"].update({"<0x00>": 5})))


def test_padding_of_a_file_is_not_followed(trained):
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None}
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
    truncation = {"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    change = {"padding": padding, "truncation": truncation}
    read = Tokenizer.from_json(changed(trained["byte"], lambda table: table.update(change)))
    assert read.encode("abc").ids == trained["byte"].encode("abc").ids


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.pop("model"),
        lambda table: table.update(model=3),
        lambda table: table["model"].pop("vocab"),
        lambda table: table["model"].update(vocab=[[1, 2]]),
        lambda table: table.update(added_tokens={"id": 1}),
        lambda table: table.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    ],
)
def test_wrong_shapes_are_refused(trained, change):
    with pytest.raises(DataError, match=r"must be JSON of the package `tokenizers`; received: .*tokenizer\.json"):
        Tokenizer.from_json(changed(trained["byte"], change))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b"\xff{}")
    with pytest.raises(DataError, match=r"tokenizer\.json must be text in UTF-8; received: 'utf-8' codec"):
        Tokenizer.load(tmp_path)
