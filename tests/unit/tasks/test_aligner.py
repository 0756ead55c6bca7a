"""Aligners as a task: the loss, the data, the model folder, links between words, and what is measured."""

import math

import pytest
import torch

from regard.config.align import MaskAlignSpec
from regard.data.batches.pairs import Batches, make_batch
from regard.data.builtin import corpus as draw
from regard.data.corpora.pair import Link, Pair, words
from regard.data.text.special import END, PAD
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError, DataError
from regard.inspection.readings.symmetrize import mutual_weights
from regard.models.alignment.build import build_aligner
from regard.models.word_loss import WordLoss
from regard.tasks.alignment.align import join_directions
from regard.tasks.alignment.aligner import Aligner, load_attending
from regard.tasks.alignment.data import gather_aligned, plain_tokens, spread, spread_pair
from regard.tasks.alignment.job import AlignmentJob
from regard.tasks.alignment.model import WordAligner, load_aligner
from regard.tasks.alignment.reading_choice import choose_threshold
from regard.tasks.alignment.result import Alignment
from regard.tasks.alignment.settings import AlignConfig, AlignTrain, compose_aligner
from regard.tasks.calls import align, evaluate
from regard.tasks.load import load
from regard.tasks.translation.encoding import encode_pairs
from regard.tasks.translation.settings import DataSize
from regard.training.group import Group
from regard.training.loss import agreement_loss, even_entropy

CPU = Group(device=torch.device("cpu"))
PAIRS = [spread_pair(pair) for pair in draw("builtin:es-en", split="train", size=60, seed=2)]
SMALL = MaskAlignSpec(size=16, num_heads=2, feed_forward_size=16, num_encoder_layers=1, num_decoder_layers=2, dropout=0)
PIECES = train_tokenizers(PAIRS, TokenizerConfig(kind="bpe", vocabulary_size=420, lowercase=True))


def make_model(seed=0, tokenizers=PIECES):
    torch.manual_seed(seed)
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}
    return build_aligner(SMALL, **sizes)


def make_job(settings=None, valid=PAIRS[:20]):
    return AlignmentJob(PAIRS, valid, PIECES, settings or AlignTrain(batch_tokens=200), group=CPU)


def train_on(job, model, *, epochs):
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(epochs):
        for batch in job.batches:
            optimizer.zero_grad()
            (job.loss(model, batch).total / batch.num_tokens).backward()
            optimizer.step()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("aligner")
    WordAligner(make_model(), PIECES, SMALL).save(path)
    return path


def test_text_is_read_alike_with_and_without_spaces_around_marks():
    assert spread("¿Dónde está, Ana's  book?") == "¿ Dónde está , Ana 's book ?"
    for pair in draw("builtin:es-en", split="valid", size=40, seed=0):
        assert words(spread(pair.target)) == words(pair.target)
        assert spread(spread(pair.target)) == spread(pair.target)
    assert gather_aligned({"corpus": "builtin:es-en", "size": 20}).train[0].source == spread(
        draw("builtin:es-en", split="train", size=20, seed=0)[0].source
    )


def test_the_end_of_a_sentence_is_no_word():
    batch = make_batch(encode_pairs(PAIRS[:3], PIECES), torch.arange(3).numpy())
    tokens = plain_tokens(batch)
    assert END in batch.source
    for side, lengths, text in (
        (tokens.source, tokens.source_lengths, "source"),
        (tokens.target, tokens.target_lengths, "target"),
    ):
        assert END not in side
        assert ((side != PAD).sum(1) == lengths).all()
        encoded = getattr(PIECES, text).encode_batch(getattr(pair, text) for pair in PAIRS[:3])
        assert lengths.tolist() == encoded.lengths.tolist()


def by_loops(model, job, batch):
    """Compute the loss sentence by sentence and word by word, from the paper."""
    settings, tokens = job.settings, plain_tokens(batch)
    parts = {"target": [], "source": []}
    squares, entropies, cells = 0.0, [0.0, 0.0], 0
    for row in range(len(batch.indices)):
        here, there = int(tokens.source_lengths[row]), int(tokens.target_lengths[row])
        source, target = tokens.source[row : row + 1, :here], tokens.target[row : row + 1, :there]
        read = model(source, torch.tensor([here]), target, torch.tensor([there]))
        for side, part, sought in (("target", model.to_target, target), ("source", model.to_source, source)):
            features = getattr(read, f"to_{side}").features[0]
            logs = part.output(features).log_softmax(-1)
            for position, token in enumerate(sought[0].tolist()):
                smooth = settings.label_smoothing
                parts[side].append(-(1 - smooth) * logs[position, token] - smooth * logs[position].mean())
        forward, backward = (item.weights[0].mean(0)[:, 1:] for item in read)
        for one in range(there):
            for other in range(here):
                squares = squares + (forward[one, other] - backward[other, one]) ** 2
                cells += 1
        for number, weights in enumerate((forward, backward)):
            for line in weights:
                shares = (line + settings.even) / (line + settings.even).sum()
                entropies[number] = entropies[number] - (shares * shares.log()).sum()
    means = [sum(part) / len(part) for part in parts.values()]
    return sum(means) / 2 + (settings.agreement * squares + settings.entropy * sum(entropies)) / cells


def test_the_loss_is_that_of_loops_over_words():
    job, model = make_job(), make_model().eval()
    batch = next(iter(job.batches))
    loss = job.loss(model, batch)
    torch.testing.assert_close(loss.total / batch.num_tokens, by_loops(model, job, batch), rtol=1e-4, atol=1e-5)
    assert math.isfinite(float(loss.cross_entropy))


def test_rows_that_fill_a_shape_up_change_nothing():
    job, model = make_job(AlignTrain(batch_tokens=200, label_smoothing=0.0)), make_model().eval()
    batch = next(iter(job.batches))
    wide = batch.padded(len(batch.indices) + 3, batch.source.size(1) + 4, batch.target_output.size(1) + 5)
    plain, filled = job.loss(model, batch), job.loss(model, wide)
    torch.testing.assert_close(filled.total, plain.total, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(filled.cross_entropy, plain.cross_entropy, rtol=1e-5, atol=1e-4)
    gradients = []
    for item in (plain, filled):
        model.zero_grad()
        item.total.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        assert gradients[-1].isfinite().all()
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-4)


def test_what_makes_directions_agree_can_be_left_out():
    batch, model = next(iter(make_job().batches)), make_model().eval()
    alone = make_job(AlignTrain(batch_tokens=200, agreement=0, entropy=0)).loss(model, batch).total
    agreeing = make_job(AlignTrain(batch_tokens=200, agreement=5, entropy=0)).loss(model, batch).total
    deciding = make_job(AlignTrain(batch_tokens=200, agreement=0, entropy=1)).loss(model, batch).total
    assert agreeing > alone
    assert deciding > alone


def test_agreement_and_entropy_are_least_where_they_should_be():
    link = torch.eye(3)[None]
    real = torch.ones(1, 3, 3, dtype=torch.bool)
    assert float(agreement_loss(link, link.mT, real)) == 0
    assert float(agreement_loss(link, link.roll(1, -1).mT, real)) == 6
    sharp, flat = (float(even_entropy(item, real, even=0.05)) for item in (link, torch.full((1, 3, 3), 1 / 3)))
    assert sharp < flat == pytest.approx(3 * math.log(3))
    nothing = torch.zeros(1, 2, 3, requires_grad=True)
    even_entropy(nothing, torch.zeros(1, 2, 3, dtype=torch.bool), even=0.0).backward()
    assert nothing.grad.isfinite().all()


def test_links_guide_both_directions():
    plain, guided = (
        make_job(AlignTrain(batch_tokens=200, guided_alignment=weight, label_smoothing=0.0)) for weight in (0.0, 2.0)
    )
    model, batch = make_model().eval(), next(iter(guided.batches))
    read = model(*plain_tokens(batch))
    expected = 0.0
    for side, links in ((read.to_target, batch.links), (read.to_source, batch.links.mT)):
        losses = []
        for row, matrix in zip(side.weights.mean(1)[..., 1:], links, strict=True):
            for weights, linked in zip(row, matrix[: row.size(0), : row.size(1)], strict=True):
                if linked.any():
                    losses.append(-weights[linked].log().mean())
        expected += torch.stack(losses).mean()
    added = (guided.loss(model, batch).total - plain.loss(model, batch).total) / batch.num_tokens
    torch.testing.assert_close(added, expected, rtol=1e-4, atol=1e-4)


def test_a_guided_aligner_learns_the_links():
    errors = {}
    for weight in (0.0, 3.0):
        torch.manual_seed(2)
        job, model = make_job(AlignTrain(batch_tokens=400, guided_alignment=weight)), make_model()
        train_on(job, model, epochs=24)
        errors[weight] = job.validate(model).figures["error"]
    assert errors[3.0] < errors[0.0] - 0.3


def test_training_makes_the_loss_fall():
    settings = AlignTrain(batch_tokens=400, label_smoothing=0.0)
    job, model = make_job(settings), make_model()
    before = job.validate(model)
    train_on(job, model, epochs=25)
    after = job.validate(model)
    assert after.loss < before.loss - 1
    assert set(after.figures) == {"agreement", "error"}


def test_words_are_linked_where_tokens_attend_to_each_other(folder):
    aligner = load_aligner(folder)
    pair = Pair(source="¿Dónde está el libro?", target="Where is the book?")
    found = aligner.align([pair], threshold=0.05)[0]
    assert found.source == ("¿", "Dónde", "está", "el", "libro", "?")
    assert found.weights.shape == (5, 7)
    assert found.reverse_weights.shape == (6, 6)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(5))
    torch.testing.assert_close(found.reverse_weights.sum(-1), torch.ones(6))
    source, target = (
        aligner.tokenizers.source.encode(spread(pair.source)),
        aligner.tokenizers.target.encode(spread(pair.target)),
    )
    read = aligner.model(
        torch.tensor([source.ids]),
        torch.tensor([len(source.ids)]),
        torch.tensor([target.ids]),
        torch.tensor([len(target.ids)]),
    )
    forward, backward = (item.weights[0].mean(0)[:, 1:].detach() for item in read)
    mutual = mutual_weights(forward, backward)
    expected = {
        (source.words[here], target.words[there])
        for there in range(len(target.ids))
        for here in range(len(source.ids))
        if mutual[there, here] >= 0.05
    }
    assert {(link.source, link.target) for link in found.links} == expected
    assert len(expected) > 1
    by_spaces = aligner.align([pair], threshold=0.05, words="whitespace")[0]
    place = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 3}, {0: 0, 1: 1, 2: 2, 3: 3, 4: 3}
    assert {(link.source, link.target) for link in by_spaces.links} == {(place[0][s], place[1][t]) for s, t in expected}
    assert by_spaces.weights.shape == (4, 5)


def test_pairs_come_in_order_whatever_is_aligned_with_them(folder):
    aligner = load_aligner(folder)
    pairs = [
        *PAIRS[:12],
        Pair(source="", target="a book"),
        Pair(source="un libro", target=""),
        Pair(source="", target=""),
    ]
    together, seen = aligner.align(pairs, threshold=0.1, batch_tokens=60, watch=(counts := []).append), counts
    alone = [aligner.align([pair], threshold=0.1)[0] for pair in pairs]
    assert [item.links for item in together] == [item.links for item in alone]
    assert seen == list(range(1, len(pairs) + 1))
    for item in together[-3:]:
        assert item.links == ()
    assert together[12].weights.tolist() == [[1.0], [1.0]]
    assert aligner.align([]) == []


def test_long_sides_are_cut_with_a_warning(folder, monkeypatch):
    monkeypatch.setattr("regard.tasks.alignment.model.MAX_LENGTH", 6)
    with pytest.warns(UserWarning, match=r"1 of 2 pairs, the first at index 1, had more than 6 tokens on a side"):
        found = load_aligner(folder).align([Pair(source="un", target="a"), PAIRS[0]])
    assert len(found[1].source) == len(words(PAIRS[0].source))


def test_a_folder_gives_the_same_model_again(folder, tmp_path):
    aligner = load(folder)
    assert isinstance(aligner, WordAligner)
    assert isinstance(load_attending(folder), WordAligner)
    assert repr(aligner).startswith("WordAligner(mask-align, ")
    kept = make_model().eval()
    for name, tensor in aligner.model.state_dict().items():
        assert torch.equal(tensor, kept.state_dict()[name]), name
    other = train_tokenizers(PAIRS, TokenizerConfig(kind="word"))
    other.save(folder_with_other := _copied(folder, tmp_path))
    with pytest.raises(DataError, match=r"source tokens of the model beside it; received"):
        load_aligner(folder_with_other)


def _copied(folder, target):
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_an_aligner_serves_where_a_translator_does(folder):
    pairs = [("el gato negro", "the black cat"), ("un gato", "a cat")]
    found = align(folder, pairs, words="whitespace")
    assert [item.links for item in found] == [item.links for item in load(folder).align(pairs, words="whitespace")]
    wide = align(load(folder), pairs, settings={"threshold": 0.01})
    assert len(wide[0].links) >= len(found[0].links)
    with pytest.raises(ArgumentError, match=r"`reverse` must be left out with an aligner, which attends in both"):
        align(folder, pairs, reverse="hmm")
    with pytest.raises(ArgumentError, match=r"`settings` of an aligner must be threshold alone; received step=read"):
        align(folder, pairs, settings={"step": "read"})
    with pytest.raises(ArgumentError, match=r"`threshold` must be above 0, at most 1; received 0."):
        load(folder).align(pairs, threshold=0)


def test_the_threshold_is_chosen_by_gold_links(folder):
    gold = [Pair(source=pair.source, target=pair.target, links=pair.links) for pair in PAIRS[:10]]
    choice = choose_threshold(load(folder), gold)
    assert choice.scores.error == min(scores.error for scores in choice.tried.values())
    notes = []
    aligner = Aligner([folder], words="marks", note=notes.append)
    aligner.choose_by_gold(gold)
    assert aligner.readings[0] == choice.reading
    assert "by gold links: AER" in notes[0]
    with pytest.raises(ArgumentError, match=r"`pairs` must have gold links to choose a reading by; received none"):
        choose_threshold(load(folder), [Pair(source="a", target="b")])


def test_it_is_measured_on_pairs_with_links_and_without(folder, tmp_path):
    result = evaluate(folder, data="builtin:es-en", settings={"device": "cpu"})
    assert result.task == "align"
    assert {"test_error", "test_precision", "test_recall", "test_agreement", "test_perplexity"} == set(result.figures)
    (tmp_path / "a.es").write_text("un gato\nel gato negro\n")
    (tmp_path / "a.en").write_text("a cat\nthe black cat\n")
    (tmp_path / "gold").write_text("1-1 2-2\n1-1 2-3 3-2\n")
    files = {"source": tmp_path / "a.es", "target": tmp_path / "a.en"}
    assert "test_error" not in evaluate(folder, **files).figures
    scored = evaluate(folder, **files, settings={"links": str(tmp_path / "gold"), "base": 1})
    assert "alignment error" in scored.summary()
    assert scored.items == 2
    with pytest.raises(ArgumentError, match=r"`threshold` must be above 0, at most 1; received 2."):
        evaluate(folder, **files, settings={"threshold": 2.0})


def test_links_where_both_weights_are_large_are_those_of_agreement():
    def made(weights):
        rows = torch.tensor(weights)
        names = tuple("abc"[: rows.size(1) - 1])
        return Alignment(source=names, target=tuple("xyz"[: len(rows)]), links=(), weights=rows)

    forward = made([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]])
    backward = made([[0.9, 0.0, 0.1], [0.2, 0.2, 0.6]])
    joined = join_directions([forward], [backward], "agreement", threshold=0.25)[0]
    assert joined.links == (Link(0, 0, True), Link(1, 1, True))
    low = join_directions([forward], [backward], "agreement", threshold=0.2)[0]
    assert low.links == (Link(0, 0, True), Link(1, 0, True), Link(1, 1, True))


def test_settings_suit_the_data_and_are_checked():
    small = compose_aligner({}, DataSize(pairs=5_000, words=40_000))
    assert (small.model.size, small.tokenizer.lowercase) == (128, True)
    assert compose_aligner({}, DataSize(pairs=200_000, words=5_000_000)).model.num_decoder_layers == 6
    assert compose_aligner({}, DataSize(pairs=10, words=90), name="mask-align").model.size == 512
    with pytest.raises(ArgumentError, match=r'`preset` must be the name of an aligner; received "mask"'):
        compose_aligner({}, DataSize(pairs=10, words=90), name="mask")
    with pytest.raises(ArgumentError, match=r"data.links: .* learns without links; received gold\. To learn from"):
        AlignConfig(data=type(AlignConfig().data)(corpus="a.tsv", links="gold"))
    with pytest.raises(ArgumentError, match=r'train.bpe_dropout: must be 0 for tokenizer.kind = "word"'):
        compose_aligner({"train": {"bpe_dropout": 0.1}, "tokenizer": {"kind": "word"}}, DataSize(pairs=10, words=90))


def test_merges_may_be_dropped():
    job = make_job(AlignTrain(batch_tokens=200, bpe_dropout=0.3))
    assert isinstance(job.batches, Batches)
    assert job.batches.examples(0).target.values.tolist() != job.batches.examples(1).target.values.tolist()


def test_a_step_waits_for_no_device(monkeypatch):
    """Tensors without numbers raise where a number is asked for, as a capture would."""
    job, model = make_job(), make_model().to("meta")

    def sums(model, read, tokens, *, smoothing=0.0):
        return [WordLoss(side.features.sum(), side.features.detach().sum()) for side in read]

    monkeypatch.setattr("regard.tasks.alignment.job._word_losses", sums)  # which is captured by translators
    loss = job.loss(model, next(iter(job.batches)).to("meta"))
    loss.total.backward()
    assert loss.total.device.type == "meta"
    assert model.to_target.null_key.grad is not None
