"""Maps of words: what tokens looked at, merged, for tokenizers of every spelling."""

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers import models as backends

import regard
from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map
from regard.inspection.readings.words_of_tokens import Spelling, Words, merge_words
from unit.inspection.hugging_face_models import make_model

SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
READ = "low lower lowest slow slower new newer newest"
KINDS = {
    "bytes": (
        backends.BPE(),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
        trainers.BpeTrainer(
            vocab_size=275,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=SPECIAL,
            show_progress=False,
        ),
    ),
    "wordpiece": (
        backends.WordPiece(unk_token="[UNK]"),
        pre_tokenizers.BertPreTokenizer(),
        decoders.WordPiece(cleanup=False),
        trainers.WordPieceTrainer(vocab_size=35, special_tokens=SPECIAL, show_progress=False),
    ),
    "spaces": (
        backends.BPE(unk_token="[UNK]"),
        pre_tokenizers.Metaspace(),
        decoders.Metaspace(),
        trainers.BpeTrainer(vocab_size=30, special_tokens=SPECIAL, show_progress=False),
    ),
}


def make_tokenizer(kind):
    """Train a fast tokenizer that spells word parts as "Ġnew", "##er" or "▁new" do, on a line of text."""
    model, before, decoder, trainer = KINDS[kind]
    inner = Tokenizer(model)
    inner.pre_tokenizer, inner.decoder = before, decoder
    inner.train_from_iterator([READ + " , ."], trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    names = dict(zip(("pad_token", "cls_token", "sep_token", "mask_token", "unk_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names)


def spelled_by(tokens, words):
    """Number for each token the word it is part of: tokens spell words one after another."""
    place, numbers, left = 0, [], words[0]
    for token in tokens:
        piece = token.removeprefix("##").lstrip("Ġ▁")
        if not left:
            place += 1
            left = words[place]
        assert left.startswith(piece)
        left = left[len(piece) :]
        numbers.append(place)
    return numbers


def by_hand(weights, query, key):
    """Merge as the definition says, word by word."""
    rows = []
    for looks in range(max(query) + 1):
        own = [weights[place] for place, word in enumerate(query) if word == looks]
        looked = [
            [sum(row[place] for place, word in enumerate(key) if word == other) for other in range(max(key) + 1)]
            for row in own
        ]
        rows.append([sum(column) / len(own) for column in zip(*looked, strict=True)])
    return torch.tensor(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_pieces_are_merged_to_words_for_every_spelling(kind, name):
    tokenizer = make_tokenizer(kind)
    model = make_model(name, vocab_size=len(tokenizer), **({} if name == "t5" else {"max_position_embeddings": 64}))
    target = "newer low" if name == "t5" else None
    found = regard.inspect(model, tokenizer, "slower, newest low.", target=target)
    merged, whole = found.words(head=1), found.map(head=1)
    source = ("[CLS]", "slower", ",", "newest", "low", ".", "[SEP]")
    looking = source if target is None else ("[CLS]", "newer", "low", "[SEP]")
    assert merged.labels == (looking, source)
    assert len(found.tokens) > len(source)
    numbers = map(spelled_by, whole.labels, merged.labels)
    torch.testing.assert_close(merged.values, by_hand(whole.values, *numbers))
    torch.testing.assert_close(merged.values.sum(-1), torch.ones(len(looking)))
    if name == "bert":
        assert (whole.mask, merged.mask) == (None, None)
    else:
        everything = torch.ones(len(looking), len(source), dtype=torch.bool)
        assert torch.equal(merged.mask, everything.tril() if name == "gpt2" else everything)
    merged.figure()


def test_parts_of_characters_belong_to_their_word():
    tokenizer = make_tokenizer("bytes")
    found = regard.inspect(make_model("llama", vocab_size=len(tokenizer)), tokenizer, "el niño 漢字 ok")
    assert found.words().labels[1] == ("[CLS]", "el", "niño", "漢字", "ok", "[SEP]")
    unknown = regard.inspect(make_model("llama", vocab_size=len(tokenizer)), make_tokenizer("wordpiece"), "low Ω new")
    assert unknown.words().labels[1] == ("[CLS]", "low", "[UNK]", "new", "[SEP]")


def bytes_of(text, decode):
    """Give a text as a tokenizer of bytes has it."""
    ids = list(text.encode())
    return Spelling(ids=ids, tokens=[f"<{one:02x}>" for one in ids], special=(), decode=decode)


def replaced_one_by_one(ids):
    """Write each byte as U+FFFD that is part of no character, as some decoders do, not each run of them."""
    text = bytes(ids).decode(errors="surrogateescape")
    return "".join("\ufffd" if "\udc80" <= one <= "\udcff" else one for one in text)


DECODERS = {
    "ignored": lambda ids: bytes(ids).decode(errors="ignore"),  # as ByT5 does
    "replaced": lambda ids: bytes(ids).decode(errors="replace"),
    "replaced one by one": replaced_one_by_one,
}
TEXTS = {
    "a,é b": ("a", ",", "é", "b"),
    "(ñ) x": ("(", "ñ", ")", "x"),
    "a日,b 😀é.": ("a日", ",", "b", "😀", "é", "."),
    "ab \ufffd cd": ("ab", "\ufffd", "cd"),
    "\ufffdé,\ufffd\ufffd😀\ufffd": ("\ufffd", "é", ",", "\ufffd", "\ufffd", "😀", "\ufffd"),
    "cafe\u0301 x": ("cafe\u0301", "x"),
    "«Сколько стоит 漢字?» " * 9: ("«", "Сколько", "стоит", "漢字", "?", "»") * 9,
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_byte_belongs_to_the_word_of_its_character(text, decoder):
    found, names = bytes_of(text, DECODERS[decoder]).words(), TEXTS[text]
    assert found.names == names
    numbers, place, left = [], 0, names[0]
    for character in text:  # words are spelled one after another; a space belongs to the one after it
        if not character.isspace():
            if not left:
                place += 1
                left = names[place]
            assert left[0] == character
            left = left[1:]
        own = place if left or not character.isspace() else min(place + 1, len(names) - 1)
        numbers += [own] * len(character.encode())
    assert found.numbers == tuple(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_long_texts_are_spelled_in_blocks(kind):
    tokenizer = make_tokenizer(kind)
    ids = tokenizer((f"{READ}, {READ}. " * 20).strip(), add_special_tokens=False)["input_ids"]
    tokens, decoded = tokenizer.convert_ids_to_tokens(ids), []

    def decode(ids):
        decoded.append(len(ids))
        return tokenizer.decode(ids, clean_up_tokenization_spaces=False)

    found = Spelling(ids=ids, tokens=tokens, special=(), decode=decode).words()
    assert found.names == (*READ.split(), ",", *READ.split(), ".") * 20
    assert list(found.numbers) == spelled_by(tokens, found.names)
    assert len(ids) >= 400
    assert sum(decoded) < 40 * len(ids)


def test_decoders_may_look_far_back():
    pieces = ('"', *"abcdefghijklmnopqrstuvwxyz" * 2, '"', "x")

    def decode(ids):  # a quotation mark clings to what is within
        text, within = "", False
        for one in ids:
            closes = pieces[one] == '"' and within
            within ^= pieces[one] == '"'
            text += pieces[one] if closes or not text or (text[-1] == '"' and within) else " " + pieces[one]
        return text

    assert decode(range(len(pieces))).endswith('y z" x')
    found = Spelling(ids=range(len(pieces)), tokens=pieces, special=(), decode=decode).words()
    assert found == (pieces, tuple(range(len(pieces))))


@pytest.mark.parametrize(("name", "times"), [("llama", 1), ("t5", 2)])
def test_one_side_is_spelled_once(name, times, monkeypatch):
    tokenizer = make_tokenizer("bytes")
    model = make_model(name, vocab_size=len(tokenizer))
    found = regard.inspect(model, tokenizer, "slower", target="low")
    spelled, words = [], Spelling.words
    monkeypatch.setattr(Spelling, "words", lambda side: spelled.append(side) or words(side))
    found.words()
    assert len(spelled) == times


def spelling(*pieces, special=()):
    return Spelling(
        ids=range(len(pieces)),
        tokens=pieces,
        special=special,
        decode=lambda ids: "".join(pieces[one] for one in ids),
    )


@pytest.mark.parametrize(
    ("pieces", "names", "numbers"),
    [
        ((" ", "a", "b", " ", " c"), ("ab", "c"), (0, 0, 0, 1, 1)),
        (("well", "-known", ".", "  "), ("well-known", "."), (0, 0, 1, 1)),
        (("up,", " down", "."), ("up,", "down", "."), (0, 1, 2)),
        ((" ", "  "), ("   ",), (0, 0)),
        (("", "a"), ("a",), (0, 0)),
        (("a", ",", "", "b", ""), ("a", ",", "b"), (0, 1, 2, 2, 2)),
        (("a", " \ufffd", " b"), ("a", "\ufffd", "b"), (0, 1, 2)),
        ((), (), ()),
    ],
)
def test_a_token_belongs_to_the_word_of_its_last_character(pieces, names, numbers):
    assert spelling(*pieces).words() == (names, numbers)


def test_maps_of_one_axis_and_of_other_scales_are_merged():
    words = Words(("ab", "c"), (0, 0, 1))
    long = Map(
        name="x",
        values=torch.tensor([0.9, 0.6, -0.2]),
        axes=("key",),
        labels=(tuple("abc"),),
        caveat="",
        mask=torch.tensor([False, True, False]),
    )
    merged = merge_words(long, key=words)
    torch.testing.assert_close(merged.values, torch.tensor([1.5, -0.2]))
    assert merged.mask.tolist() == [True, False]
    assert merged.limits == pytest.approx((-0.2, 1.5))
    merged.figure()
    assert merge_words(long, query=words).values is long.values
    with pytest.raises(ArgumentError, match=r"`key` must tell of the map's 3 tokens; received 2\."):
        merge_words(long, key=Words(("a",), (0, 0)))
