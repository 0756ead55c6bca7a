"""Maps of words: what tokens looked at, merged, for tokenizers of every spelling."""

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers import models as backends

import regard
from regard.errors import ArgumentError
from regard.inspection.map import Map
from regard.inspection.merged import Spelling, Words, merge_words
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
    numbers = []
    for tokens, words in zip(whole.labels, merged.labels, strict=True):
        place, own, left = 0, [], words[0]
        for token in tokens:  # tokens spell words one after another
            piece = token.removeprefix("##").lstrip("Ġ▁")
            if not left:
                place += 1
                left = words[place]
            assert left.startswith(piece)
            left = left[len(piece) :]
            own.append(place)
        numbers.append(own)
    torch.testing.assert_close(merged.values, by_hand(whole.values, *numbers))
    torch.testing.assert_close(merged.values.sum(-1), torch.ones(len(looking)))
    if name == "gpt2":
        assert torch.equal(merged.mask, torch.ones(len(source), len(source)).tril().bool())
    else:
        assert merged.mask is None or merged.mask.all()
    merged.figure()


def test_parts_of_characters_belong_to_their_word():
    tokenizer = make_tokenizer("bytes")
    found = regard.inspect(make_model("llama", vocab_size=len(tokenizer)), tokenizer, "el niño 漢字 ok")
    assert found.words().labels[1] == ("[CLS]", "el", "niño", "漢字", "ok", "[SEP]")
    unknown = regard.inspect(make_model("llama", vocab_size=len(tokenizer)), make_tokenizer("wordpiece"), "low Ω new")
    assert unknown.words().labels[1] == ("[CLS]", "low", "[UNK]", "new", "[SEP]")


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
