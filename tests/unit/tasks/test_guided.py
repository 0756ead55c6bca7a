"""Guided alignment: the batch carries the links of its tokens, whatever the words are divided into."""

import numpy as np
import pytest
import torch

import regard
from regard.config.model import TransformerSpec
from regard.config.read import parse_assignments
from regard.data.batches.pairs import Batches
from regard.data.builtin import corpus as draw
from regard.data.corpora.pair import Link, Pair, words
from regard.data.corpora.streamed import StreamedPairs
from regard.data.text.bpe_dropout import BpeDropout
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import Reading
from regard.models.folder import save_model
from regard.tasks.alignment.align import align
from regard.tasks.alignment.aligner import Aligner
from regard.tasks.alignment.reading_choice import error_table
from regard.tasks.translation.compress import compress
from regard.tasks.translation.encoding import TrainingFiles, encode_training
from regard.tasks.translation.settings import DataSize, TranslationTrain, compose
from regard.training.graphs import tensors_of
from regard.training.group import Group
from regard.training.loss import alignment_loss, gold_weights
from unit.tasks.translators import make_folder

PAIRS = draw("builtin:es-en", split="train", size=120, seed=3)
BPE = train_tokenizers(PAIRS, TokenizerConfig(kind="bpe", vocabulary_size=400, min_frequency=1, byte_fallback=False))
GUIDED = TranslationTrain(guided_alignment=1.0, seed=5)
DROPPED = TranslationTrain(guided_alignment=1.0, bpe_dropout=0.3, seed=5)
CPU = Group(device=torch.device("cpu"))


def by_loops(pair, source_words, target_words, shape):
    """Give gold weights link by link, as the batch had them before it carried a tensor."""
    gold = torch.zeros(shape)
    sure = {link.target for link in pair.links if link.sure}
    for link in pair.links:
        if not link.sure and link.target in sure:
            continue
        for there, word in enumerate(target_words):
            for here, other in enumerate(source_words):
                if word == link.target and other == link.source:
                    gold[there, here] = 1.0
    return gold / gold.sum(-1, keepdim=True).clamp_min(1.0)


def words_by_pieces(tokenizer, text, ids):
    """Find the word of each token by spelling the tokens out, and counting the letters of the words."""
    lengths = [len(piece.lstrip("▁")) for piece in tokenizer.pieces(ids)]
    ends = np.cumsum([len(word) for word in words_of(tokenizer, text)])
    reached, numbers = 0, []
    for length in lengths:
        numbers.append(int(np.searchsorted(ends, reached, side="right")))
        reached += length
    return numbers


def words_of(tokenizer, text):
    return words(tokenizer.normalize(text))


@pytest.mark.parametrize("few_shapes", [False, True])
@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("settings", [GUIDED, DROPPED], ids=["plain", "dropped"])
def test_a_batch_carries_what_loops_over_its_links_give(settings, epoch, few_shapes):
    batches = Batches(encode_training(PAIRS, BPE, settings, files=None, group=CPU), tokens=200, few_shapes=few_shapes)
    examples = batches.examples(epoch)
    batches.restore({"epoch": epoch, "batch": 0} | ({"few_shapes": 1} if few_shapes else {}))
    seen = set()
    for batch in batches:
        gold = gold_weights(batch.links)
        assert "links" in tensors_of(batch)  # so that a captured step is given them
        for row, index in enumerate(batch.indices.tolist()):
            if index < 0:
                assert not gold[row].any()
                continue
            pair, sides = PAIRS[index], (examples.source[index].tolist(), examples.target[index].tolist())
            source, target = map(words_by_pieces, BPE, (pair.source, pair.target), sides)
            torch.testing.assert_close(gold[row], by_loops(pair, source, target, gold[row].shape))
            seen.add(index)
    assert seen == set(range(len(PAIRS)))


def test_dropped_merges_divide_words_otherwise_and_links_follow_them():
    encode = encode_training(PAIRS, BPE, DROPPED, files=None, group=CPU)
    first, second = encode(0), encode(1)
    assert first.target.values.tolist() != second.target.values.tolist()
    for examples in (first, second):
        assert (examples.links.target_words.offsets == examples.target.offsets).all()
        numbers = [examples.links.target_words[index].tolist() for index in range(len(PAIRS))]
        assert all(row == sorted(row) for row in numbers)
        assert [row[-1] + 1 for row in numbers] == [len(words_of(BPE.target, pair.target)) for pair in PAIRS]
    again = encode_training(PAIRS, BPE, DROPPED, files=None, group=CPU)(1)
    np.testing.assert_array_equal(again.links.source_words.values, second.links.source_words.values)


def test_words_of_dropped_tokens_are_those_of_the_tokenizer_where_nothing_is_dropped():
    texts = [*(pair.source for pair in PAIRS[:30]), "", "well-known: Ж 😀 </s>", "a  b"]
    merges = BpeDropout.of(BPE.source)
    tokens, numbers = merges.encode_with_words(merges.spell(texts, words=True), probability=0.0, seed=1, epoch=0)
    plain_tokens, plain_words = BPE.source.encode_with_words(texts)
    assert tokens.values.tolist() == plain_tokens.values.tolist()
    assert numbers.values.tolist() == plain_words.values.tolist()
    assert merges.encode_with_words(merges.spell(texts), probability=0.0, seed=1, epoch=0)[1] is None


@pytest.mark.parametrize("settings", [GUIDED, DROPPED], ids=["plain", "dropped"])
def test_streamed_pairs_have_the_same_links(tmp_path, settings):
    streamed = StreamedPairs(
        read=lambda: iter(PAIRS), sides=np.zeros(len(PAIRS), dtype=np.int8), side=0, linked=True, digest="d"
    )
    files = TrainingFiles(folder=tmp_path)
    made = encode_training(streamed, BPE, settings, files=files, group=CPU)
    held = encode_training(PAIRS, BPE, settings, files=None, group=CPU)
    made, held = (item(1) if callable(item) else item for item in (made, held))
    for name in ("source_words", "target_words", "links"):
        for kind in ("values", "offsets"):
            np.testing.assert_array_equal(
                getattr(getattr(made.links, name), kind), getattr(getattr(held.links, name), kind)
            )


def test_pairs_without_links_have_the_same_tokens_and_no_links():
    mixed = [pair if index % 2 else Pair(source=pair.source, target=pair.target) for index, pair in enumerate(PAIRS)]
    made, whole = (encode_training(pairs, BPE, GUIDED, files=None, group=CPU) for pairs in (mixed, PAIRS))
    for name in ("source", "target"):
        np.testing.assert_array_equal(getattr(made, name).values, getattr(whole, name).values)
    size = {"target": int(made.target.lengths.max()), "source": int(made.source.lengths.max())}
    indices = np.arange(len(PAIRS))
    linked, all_linked = made.links.matrix(indices, **size), whole.links.matrix(indices, **size)
    np.testing.assert_array_equal(linked[1::2], all_linked[1::2])
    assert not linked[::2].any()
    assert all_linked[::2].any(axis=(1, 2)).all()


def test_links_of_words_become_links_of_tokens():
    pair = Pair(source="ab c", target="x yz", links=(Link(0, 1, True), Link(1, 1, False), Link(1, 0, False)))
    characters = train_tokenizers(
        [pair], TokenizerConfig(kind="character", joint=True, min_frequency=1, byte_fallback=False)
    )
    assert characters.source.pieces(characters.source.encode("ab c").ids) == ["▁", "a", "b", "▁", "c"]
    examples = encode_training([pair], characters, GUIDED, files=None, group=CPU)
    linked = next(iter(Batches(examples, tokens=20))).links[0].nonzero().tolist()
    # x has a possible link alone and keeps it; yz has a sure one, so the possible one is left out.
    assert linked == sorted([[t, s] for t in (2, 3, 4) for s in (0, 1, 2)] + [[t, s] for t in (0, 1) for s in (3, 4)])


def test_links_beyond_the_words_are_left_out():
    pair = Pair(source="a b", target="c", links=(Link(7, 0, True), Link(0, 5, True), Link(1, 0, True)))
    tokenizers = train_tokenizers([pair], TokenizerConfig(kind="word", min_frequency=1))
    examples = encode_training([pair], tokenizers, GUIDED, files=None, group=CPU)
    assert next(iter(Batches(examples, tokens=20))).links[0].nonzero().tolist() == [[0, 1]]


def test_the_loss_is_that_of_the_linked_tokens_alone():
    links = torch.zeros(1, 2, 3, dtype=torch.bool)
    links[0, 0, 1] = True
    weights = torch.tensor([[[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]])
    assert float(alignment_loss(weights, gold_weights(links))) == pytest.approx(-np.log(0.5))


def test_guided_alignment_goes_with_dropped_merges():
    chosen = parse_assignments(["train.bpe_dropout=0.1", "train.guided_alignment=1", "tokenizer.kind=bpe"])
    config = compose(chosen, DataSize(pairs=1000, words=9000))
    assert (config.train.bpe_dropout, config.train.guided_alignment) == (0.1, 1)
    with pytest.raises(ArgumentError, match=r"`train.guided_alignment` must be 0 for data without word links"):
        encode_training([Pair(source="a", target="b")], BPE, DROPPED, files=None, group=CPU)


def test_a_guided_run_is_read_from_its_head(tmp_path):
    """Whoever asks: links of a translation, `align`, the table of errors, and a compressed copy."""
    sizes = {"size": 8, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 2, "feed_forward_size": 8}
    settings = {"model": sizes, "train": {"guided_alignment": 1.0, "steps": 2, "validate_every": 2}}
    regard.train("translate", data="builtin:es-en", preset="transformer-tiny", out=tmp_path / "run", settings=settings)
    guided = regard.load(tmp_path / "run")
    other = regard.load(make_folder(tmp_path / "other", TransformerSpec(**sizes)))
    assert guided.reading == Reading(head=0)
    pair = PAIRS[0]
    [forced] = guided.force([pair.source], [pair.target], weights=True)
    torch.testing.assert_close(forced.alignment_weights, forced.weights[0, 0])
    by_head, by_mean = (align(guided, [pair], reading=item)[0].weights for item in (Reading(head=0), Reading()))
    assert not torch.equal(by_head, by_mean)
    torch.testing.assert_close(align(guided, [pair])[0].weights, by_head)
    torch.testing.assert_close(regard.align(guided, [pair, *PAIRS[1:3]], reverse=guided)[0].weights, by_head)
    aligner = Aligner([guided, other], words="marks")
    aligner.choose_by_agreement(PAIRS[:3])
    assert aligner.readings[0] == Reading(head=0), "also beside a model that was trained without links"
    for settings, expected in (
        ({"threshold": 0.2}, 0),
        ({"layer": 0}, None),
        ({"head": 1}, 1),
        ({"step": "read"}, None),
    ):
        aligner.read_by(Reading(**settings))
        assert [item.head for item in aligner.readings] == [expected, settings.get("head")]
    inspected = guided.inspect(pair.source, target=pair.target)
    torch.testing.assert_close(inspected.map().values, inspected.map(head=0).values)
    assert not torch.equal(inspected.map().values, inspected.map(inspected.layer).values), "a layer by name: the mean"
    assert error_table(guided, PAIRS[:4]).usual == Reading(layer=0, head=0)
    compress(tmp_path / "run", tmp_path / "small")
    assert regard.load(tmp_path / "small").reading == Reading(head=0)
    tuned = {"train": {"steps": 1, "validate_every": 1}}
    regard.train("translate", data="builtin:es-en", start=tmp_path / "small", out=tmp_path / "tuned", settings=tuned)
    assert regard.load(tmp_path / "tuned").reading == Reading(head=0), "int8, without links: the head is still there"
    assert regard.load([tmp_path / "run", tmp_path / "small"]).reading == Reading(), "heads of two models differ"


def test_a_model_without_links_is_read_by_the_mean_over_its_heads(tmp_path):
    spec = TransformerSpec(size=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=8)
    assert regard.load(make_folder(tmp_path / "model", spec)).reading == Reading()
    for wrong, message in (
        (-1, "must be at least 0; received -1"),
        (2, "must be below the model's 2 heads; received 2"),
    ):
        sizes = {"source_vocabulary": 9, "target_vocabulary": 9}
        with pytest.raises(ArgumentError, match=f"`guided_head` {message}"):
            save_model(torch.nn.Identity(), spec, tmp_path / "bad", **sizes, guided_head=wrong)
