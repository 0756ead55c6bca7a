"""The translation task: its losses, its validation, and a whole small run."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import regard
from regard.config.read import parse_assignments
from regard.data.corpora.streamed import StreamedPairs
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError, DataError, Interrupted, TrainingError
from regard.models.folder import load_model
from regard.models.sequence.build import build_model
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.encoding import TrainingFiles, encode_training
from regard.tasks.translation.job import TranslationJob
from regard.tasks.translation.lengths import check_lengths
from regard.tasks.translation.samples import make_samples
from regard.tasks.translation.settings import compose
from regard.tasks.translation.tokenizers import sample
from regard.tasks.translation.train import train_translator
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.loss import gold_weights
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.training.copying import Silent

SMALL = [
    "train.steps=6",
    "train.validate_every=3",
    "train.valid_sentences=4",
    "train.log_every=2",
    "train.samples=2",
    "train.threads=1",
    "train.batch_tokens=300",
    "model.embedding_size=16",
    "model.hidden_size=16",
]


@pytest.fixture(scope="module")
def corpus():
    return gather_pairs({"corpus": "builtin:hi-en", "size": 80})


def make_config(corpus, *more, preset="bahdanau"):
    return compose(parse_assignments([*SMALL, *more]) | {"data": corpus.data}, corpus.size, name=preset)


def make_job(corpus, config):
    tokenizers = train_tokenizers(corpus.train, config.tokenizer)
    job = TranslationJob(corpus.train, corpus.valid, tokenizers, config.train, group=Group())
    torch.manual_seed(0)
    model = build_model(
        config.model, source_vocabulary=tokenizers.source.size, target_vocabulary=tokenizers.target.size
    )
    return job, model


def run(folder, corpus, config, **others):
    run_folder = RunFolder(folder)
    run_folder.begin(config, corpus.fingerprint())
    count = others.pop("count", None)
    how = Run(folder=run_folder, command="regard train …", **{"watcher": Silent(), **others})
    return train_translator(config, corpus, how, count=count)


def test_a_run_leaves_everything_its_folder_should_have(tmp_path, corpus):
    config, watcher = make_config(corpus), Silent()
    trained = run(tmp_path, corpus, config, watcher=watcher)
    assert {path.name for path in tmp_path.iterdir() if path.name[0] != "."} == {
        "config.toml", "metrics.jsonl", "checkpoints", "model", "report.html",
    }  # fmt: skip
    assert {path.name for path in trained.folder.model.iterdir()} == {
        "model.safetensors", "config.json", "tokenizer.json", "untrained.json", "README.md", "figures.json",
    }  # fmt: skip
    assert 0 <= trained.figures["test_bleu"] <= 100
    assert trained.figures["steps"] == 6
    assert json.loads((trained.folder.model / "figures.json").read_text()) == trained.figures
    card = (trained.folder.model / "README.md").read_text()
    assert "regard train …" in card
    assert "80 pairs to train on, 20 to validate on, 20 to test with." in card
    assert (
        trained.signature == "task:translation|data:builtin:hi-en|model:recurrent|score:additive|seed:1|version:0.1.0"
    )
    assert trained.signature in card
    model = load_model(trained.folder.model).model
    assert not model.training
    assert len(watcher.validations[-1][0].samples) == 2
    again = Silent()
    assert run(tmp_path, corpus, config, watcher=again).figures == trained.figures
    assert again.notes == [f"The run in {tmp_path} is finished; these are its figures."]


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(
            ["tokenizer.kind=bpe", "tokenizer.vocabulary_size=400", "train.bpe_dropout=0.2"], marks=pytest.mark.slow
        ),
        ["train.r_drop=1", "train.guided_alignment=0.5", "train.ema=0.9", "train.accumulate=2"],
    ],
)
def test_a_run_that_is_stopped_ends_with_the_same_model(tmp_path, corpus, more):
    config = make_config(corpus, "train.checkpoint_every=2", "model.dropout=0.2", *more)
    run(tmp_path / "whole", corpus, config)
    interruption = Interruption()
    interruption.signal = 15
    for _ in range(3):
        with pytest.raises(Interrupted):
            run(tmp_path / "parts", corpus, config, interruption=interruption)
    run(tmp_path / "parts", corpus, config)
    whole, parts = ((tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize("more", [[], ["train.bpe_dropout=0.2"]])
def test_a_streamed_corpus_gives_the_very_same_model(tmp_path, more):
    """Token files instead of lists, stopped and resumed: the same batches, the same bits."""
    lines = [f"la casa {number} y {number * 7 % 90}" for number in range(300)]
    (tmp_path / "a.es").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "a.en").write_text("\n".join(line.replace("la", "the") for line in lines), encoding="utf-8")
    table = {"source": str(tmp_path / "a.es"), "target": str(tmp_path / "a.en")}
    held, streamed = gather_pairs(table), gather_pairs(table, in_memory=20)
    config = make_config(held, "tokenizer.vocabulary_size=300", "train.checkpoint_every=2", *more)
    run(tmp_path / "held", held, config)
    interruption = Interruption()
    interruption.signal = 15
    counts = []
    with pytest.raises(Interrupted):
        run(tmp_path / "streamed", streamed, config, interruption=interruption, count=lambda *one: counts.append(one))
    assert counts == [("encoding the data", len(held.train))]
    assert {path.name for path in (tmp_path / "streamed" / "data").iterdir()} == {"tokenizers.json", "epoch-0"}
    run(tmp_path / "streamed", streamed, config, count=lambda *one: counts.append(one))
    assert len(counts) == 1  # the tokens of the first time
    assert not (tmp_path / "streamed" / "data").exists()
    first, second = ((tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("held", "streamed"))
    assert first == second


def test_streamed_pairs_need_a_place_for_their_tokens(tmp_path, corpus):
    tokenizers = train_tokenizers(corpus.train, TokenizerConfig(kind="word", min_frequency=1))
    pairs = StreamedPairs(
        read=lambda: iter(corpus.train), sides=np.zeros(len(corpus.train), dtype=np.int8), side=0, digest="x"
    )
    settings = make_config(corpus).train
    with pytest.raises(ArgumentError, match=r"`files` must say where the tokens of streamed pairs go; received None."):
        TranslationJob(pairs, corpus.valid, tokenizers, settings, group=Group())
    with pytest.raises(ArgumentError, match=r"epoch-0 must hold the tokens of epoch 0; received other files."):
        encode_training(pairs, tokenizers, settings, files=TrainingFiles(folder=tmp_path), group=Group(rank=1, ranks=1))
    assert [pair.source for pair in sample(pairs, 30)] == [pair.source for pair in corpus.train[::3]]


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        (
            "luong-location",
            ["model.attention.max_length=6"],
            r"`model.attention.max_length` must be at least \d+, the t",
        ),
        ("transformer-tiny", ["model.position=learned", "model.max_length=6"], r"`model.max_length` must be at least"),
        (
            "transformer-tiny",
            ["model.position=learned", "model.max_length=30"],
            r"twice the tokens of the longest sour",
        ),
    ],
)
def test_sentences_must_fit_the_model(corpus, preset, settings, message):
    sizes = [one for one in SMALL if not one.startswith("model.")] if preset.startswith("trans") else SMALL
    config = compose(parse_assignments([*sizes, *settings]) | {"data": corpus.data}, corpus.size, name=preset)
    job, _ = make_job(corpus, config)
    with pytest.raises(ArgumentError, match=message):
        check_lengths(config.model, job, corpus)
    dropping = replace(config.train, bpe_dropout=0.1)
    job.settings = dropping  # any merge may be dropped: then a sentence is as long as its bytes
    with pytest.raises(ArgumentError, match=r"must be at least"):
        check_lengths(config.model, job, corpus)


def test_samples_come_with_where_the_model_looked(corpus):
    job, model = make_job(corpus, make_config(corpus))
    model.eval()
    samples = job.validate(model).samples
    assert [one.source for one in samples] == [pair.source for pair in corpus.valid[:2]]
    for one in samples:
        assert one.weights is not None
        assert one.weights.source[-1] == "</s>"
        assert len(one.weights.weights) == len(one.weights.target)
        assert all(len(row) == len(one.weights.source) for row in one.weights.weights)
        assert all(abs(sum(row) - 1) < 0.02 for row in one.weights.weights)
    blind, fixed = make_job(corpus, make_config(corpus, preset="fixed"))
    assert blind.validate(fixed.eval()).samples[0].weights is None
    assert make_samples(model, job.tokenizers, []) == ()


def test_a_full_disk_at_the_end_loses_nothing(tmp_path, corpus, monkeypatch):
    config = make_config(corpus)
    with monkeypatch.context() as context:
        full = OSError(28, "No space left on device")
        context.setattr("regard.tasks.translation.train.save_model", lambda *_, **__: (_ for _ in ()).throw(full))
        with pytest.raises(
            TrainingError, match=r"must have space for the model; it is full. Make room, and give the same"
        ):
            run(tmp_path, corpus, config)
    assert not (tmp_path / "model").exists()
    watcher = Silent()
    run(tmp_path, corpus, config, watcher=watcher)
    assert watcher.starts == [(6, 6)]


def test_guided_alignment_needs_links_and_attention(corpus):
    unlinked = corpus._replace(train=[replace(pair, links=()) for pair in corpus.train])
    config = make_config(corpus, "train.guided_alignment=1")
    with pytest.raises(ArgumentError, match=r"`train.guided_alignment` must be 0 for data without word links"):
        make_job(unlinked, config)
    job, model = make_job(corpus, make_config(corpus, "train.guided_alignment=1", preset="fixed"))
    with pytest.raises(ArgumentError, match=r"must be 0 for a model without attention; received 1."):
        job.loss(model, next(iter(job.batches)))


def test_guided_alignment_draws_the_attention_to_the_links(corpus):
    config = make_config(corpus, "train.guided_alignment=1", "train.label_smoothing=0")
    job, model = make_job(corpus, config)
    batch = next(iter(job.batches))
    plain, _ = make_job(corpus, make_config(corpus, "train.label_smoothing=0"))
    model.eval()
    before = job.loss(model, batch)
    assert before.total > before.cross_entropy
    torch.testing.assert_close(plain.loss(model, batch).total, before.cross_entropy)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    gold = gold_weights(batch.links)

    @torch.no_grad()
    def agreement():
        weights = model(batch.source, batch.source_lengths, batch.target_input, weights=True).weights
        return float((weights[:, 0, 0] * (gold > 0)).sum() / (gold.sum(-1) > 0).sum())

    first = agreement()
    for _ in range(30):
        optimizer.zero_grad()
        (job.loss(model, batch).total / batch.num_tokens).backward()
        optimizer.step()
    assert agreement() > 2 * first


def test_gold_weights_are_even_over_the_links(corpus):
    job, _ = make_job(corpus, make_config(corpus, "train.guided_alignment=1"))
    batch = next(iter(job.batches))
    gold = gold_weights(batch.links)
    assert gold.shape == (*batch.target_output.shape, batch.source.size(1))
    sums = gold.sum(-1)
    assert torch.all((sums == 0) | (sums - 1).abs().lt(1e-6))
    assert sums.sum() > 0
    padding = torch.arange(batch.source.size(1)) >= batch.source_lengths[:, None]
    assert not gold.masked_select(padding[:, None].expand_as(gold)).any()


def test_r_drop_without_dropout_is_the_plain_loss(corpus):
    twice, model = make_job(corpus, make_config(corpus, "train.r_drop=5"))
    once, _ = make_job(corpus, make_config(corpus))
    batch = next(iter(once.batches))
    model.eval()
    torch.testing.assert_close(twice.loss(model, batch).total, once.loss(model, batch).total)
    model.train()
    assert twice.loss(model, batch).total > 0


def test_translations_come_in_the_order_of_their_sources(corpus):
    job, model = make_job(corpus, make_config(corpus))
    model.eval()
    texts = [pair.source for pair in corpus.valid[:8]]
    together = job.translate(model, texts)
    assert together == [job.translate(model, [text])[0] for text in texts]
    assert job.translate(model, []) == []


def test_a_tokenizer_that_is_given_is_used(tmp_path, corpus):
    path = tmp_path / "tokenizer.json"
    tokenizers = train_tokenizers(corpus.train, TokenizerConfig(kind="word", min_frequency=2))
    path.write_text(tokenizers.to_json())
    config = make_config(corpus, f"data.tokenizer={path}")
    given = corpus._replace(data=replace(corpus.data, tokenizer=str(path)))
    config = replace(config, data=given.data)
    trained = run(tmp_path / "run", given, config)
    assert (trained.folder.model / "tokenizer.json").read_text() == tokenizers.to_json()
    for text, message in [
        ("[1]", r"absent.json is not: A tokenizer must be JSON of the package"),
        (
            '{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}}',
            r"`data.tokenizer` must begin with the tokens <pad> <unk> <s> </s>; .*absent.json begins with a b\.",
        ),
    ]:
        (tmp_path / "absent.json").write_text(text)
        wrong = replace(config, data=replace(given.data, tokenizer=str(tmp_path / "absent.json")))
        with pytest.raises(DataError, match=message):
            run(tmp_path / "other", given, wrong)
        shutil.rmtree(tmp_path / "other")
    missing = replace(config, data=replace(given.data, tokenizer=str(tmp_path / "absent")))
    with pytest.raises(DataError, match=r"`data.tokenizer` must be a tokenizer.json; .*absent cannot be read"):
        run(tmp_path / "other", given, missing)


@pytest.mark.parametrize("more", [[], ["tokenizer.kind=bpe", "tokenizer.vocabulary_size=400", "train.bpe_dropout=0.4"]])
def test_untrained_tokens_are_those_no_pair_has_whole_or_in_the_pieces_of_an_epoch(corpus, more):
    config = make_config(corpus, *more)
    job, _ = make_job(corpus, config)
    lacking = job.untrained(corpus.train)
    epoch = job.batches.examples()
    for side, name in zip(job.tokenizers, ("source", "target"), strict=True):
        whole = side.encode_batch([getattr(pair, name) for pair in corpus.train]).values.tolist()
        used = {*whole, *getattr(epoch, name).values.tolist()}
        assert getattr(lacking, name) == set(range(4, side.size)) - used


def test_a_statistical_translator_is_counted_saved_and_used_like_any_other(tmp_path, corpus):
    config = compose({"data": corpus.data}, corpus.size, name="statistical")
    watcher = Silent()
    trained = run(tmp_path, corpus, config, watcher=watcher)
    assert {"valid_bleu", "valid_perplexity", "test_bleu", "parameters", "seconds"} <= trained.figures.keys()
    assert trained.signature.startswith("task:translation|data:builtin:hi-en|model:statistical|score:ibm-1+3-gram|")
    assert "A statistical model of" in (trained.folder.model / "README.md").read_text(encoding="utf-8")
    translator = regard.load(tmp_path)
    assert str(translator).startswith("Translator(statistical, ")
    assert "counts, word tokens" in str(translator)
    assert translator.translate([corpus.train[0].source])[0]
    pair = corpus.test[0]
    for use in (lambda: translator.align([pair]), lambda: translator.inspect(pair.source)):
        with pytest.raises(ArgumentError) as caught:
            use()
        assert str(caught.value) == (
            "`model` must be a network that attends; received a statistical translator, which counts words and has no "
            "attention. Train one that has: `regard train --preset bahdanau`. Words are aligned by counts alone with "
            "`regard align ibm-1`."
        )
    assert run(tmp_path, corpus, config).figures == trained.figures
