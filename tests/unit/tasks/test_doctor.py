"""Every illness is made, and found with its number and what to do; a healthy run has none."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import regard
from regard.config.read import parse_assignments
from regard.data.corpora.pair import Pair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError
from regard.evaluation.attention_tally import AttentionTally
from regard.tasks.doctor.output_checks import Output, check_attention, check_outputs
from regard.tasks.doctor.pair_checks import check_pairs
from regard.tasks.doctor.training_checks import Course, check_training, describe_course
from regard.tasks.doctor.vocabulary_checks import check_vocabulary
from regard.tasks.training import read_keys
from unit.tasks.small_run import make_run, write_files
from unit.tasks.word_pairs import make_pairs, write_pairs

COURSE = Course(steps=100, epochs=2, falling=0.1)


def report(step, loss, **others):
    return {
        "event": "train",
        "step": step,
        "loss": loss,
        "cross_entropy": loss,
        "rate": 0.06,
        "epoch": step // 50,
    } | others


def ill(checks):
    return {item.name: item for item in checks if not item.healthy}


def test_a_learning_rate_that_diverged_is_named_with_a_lower_one():
    losses = [6.0, 4.0, 3.0, 2.5, 5.0, 5.5, 6.1, 5.9]
    found = ill(check_training([report(10 * n, loss) for n, loss in enumerate(losses, 1)]))
    assert set(found) == {"rise of the training loss"}
    one = found["rise of the training loss"]
    assert one.value == pytest.approx((17.5 / 3 - 2.5) / 3.5)
    assert "fell to 2.5 at step 40 and rose to 5.83, 95.2 % of what it had fallen: the learning rate" in one.problem
    assert "train.schedule.rate = 0.02 (it was 0.06 at most)" in one.advice
    falling = [6.0, 4.0, 3.0, 2.5, 2.4, 2.3, 2.35, 2.2]
    assert ill(check_training([report(10 * n, loss) for n, loss in enumerate(falling, 1)])) == {}


def test_a_loss_that_is_not_finite_and_one_that_never_falls():
    lines = [report(n, 6.0 - n / 100) for n in range(1, 9)]
    found = ill(check_training([*lines, report(9, None), {"event": "note", "text": "the gradient is not finite"}]))
    assert set(found) == {"updates left out", "fall of the training loss"}
    assert found["updates left out"].value == 2
    assert "fell by 1.17 %, from 5.99 to 5.92" in found["fall of the training loss"].problem


def test_a_gap_between_training_and_validation():
    lines = [report(n, 6.0 - n / 2) for n in range(1, 11)]
    valid = [{"event": "valid", "step": 5, "loss": 3.2}, {"event": "valid", "step": 10, "loss": 4.5}]
    found = ill(check_training([*lines, *valid]))
    assert set(found) == {"validation loss above training loss"}
    assert "4.5, is 3 nats above that of training, 1.5; it was lowest at step 5" in (
        found["validation loss above training loss"].problem
    )
    assert check_training([]) == []


def test_what_a_course_advises():
    falling = describe_course([report(10 * n, 8.0 / n) for n in range(1, 11)])
    assert (falling.steps, falling.epochs) == (100, 2)
    assert "After 100 steps (2 whole epochs) the loss was still falling" in falling.advice
    assert "no longer falls" in describe_course([report(n, 2.0) for n in range(10)]).advice
    assert describe_course([]) == Course(0, 0, 0.0)


def outputs_of(texts, pairs=None, **others):
    pairs = pairs or make_pairs(len(texts))
    return [Output(pair, text, **others) for pair, text in zip(pairs, texts, strict=True)]


@pytest.mark.parametrize(
    ("name", "make", "value", "part"),
    [
        ("empty output", lambda pair: "", 1.0, "100 % of the outputs are empty."),
        ("repeating output", lambda pair: f"{pair.target} cat cat cat cat", 1.0, "100 % of the outputs repeat"),
        ("copied output", lambda pair: pair.source, 1.0, "mostly words of the source"),
        ("unknown words in the output", lambda pair: f"<unk> {pair.target}", None, "of the words output are <unk>"),
        ("length of the output", lambda pair: pair.target.split()[0], None, "times as many words as the references"),
        ("different outputs", lambda pair: "one cat", 0.025, "it hardly depends on its input"),
    ],
)
def test_illnesses_of_output_are_told_apart(name, make, value, part):
    pairs = [pair for pair in make_pairs(60) if len(set(pair.source.split())) > 2][:40]
    found = ill(check_outputs(outputs_of([make(pair) for pair in pairs], pairs), COURSE))
    assert name in found
    assert part in found[name].problem
    assert found[name].advice
    if value is not None:
        assert found[name].value == pytest.approx(value)
    assert ill(check_outputs(outputs_of([pair.target for pair in pairs], pairs), COURSE)) == {}


def test_output_that_never_ends():
    pairs = list(make_pairs(20))
    found = ill(check_outputs(outputs_of([pair.target for pair in pairs], pairs, finished=False), COURSE))
    assert set(found) == {"output without an end"}
    assert "After 100 steps" in found["output without an end"].advice


def test_attention_that_reads_nothing():
    ending, uniform, sharp = AttentionTally(), AttentionTally(), AttentionTally()
    weights = torch.full((1, 2, 3, 4), 0.1)
    weights[..., -1] = 0.7
    ending.add(weights)
    uniform.add(torch.full((1, 2, 3, 4), 0.25))
    sharp.add(torch.stack([weights[0], torch.eye(3, 4).expand(2, 3, 4)]))
    assert ill(check_attention(ending))["attention on </s>"].value == pytest.approx(0.7)
    assert "puts 70 % of its weight on the end" in ill(check_attention(ending))["attention on </s>"].problem
    assert set(ill(check_attention(uniform))) == {"attention spread out"}
    assert ill(check_attention(sharp)) == {}
    assert check_attention(AttentionTally()) == []


def test_a_vocabulary_that_does_not_cover_the_text():
    pairs = list(make_pairs(60))
    few = train_tokenizers(pairs, TokenizerConfig(kind="word", joint=False, vocabulary_size=8))
    found = ill(check_vocabulary(few, pairs))
    assert set(found) == {"unknown tokens, source", "unknown tokens, target"}
    assert found["unknown tokens, source"].value > 0.3
    assert 'tokenizer.kind = "bpe"' in found["unknown tokens, source"].advice
    pieces = train_tokenizers(pairs, TokenizerConfig(vocabulary_size=300))
    assert ill(check_vocabulary(pieces, pairs)) == {}
    greek = [Pair(source="η γάτα κοιμάται", target="the cat sleeps")] * 5
    assert {"characters spelled in bytes, source", "pieces a word, source"} <= set(ill(check_vocabulary(pieces, greek)))


def test_data_that_is_swapped_equal_or_shifted():
    pairs = list(make_pairs(300))
    assert ill(check_pairs(pairs, pairs[:50])) == {}
    turned = [Pair(source=pair.target, target=pair.source) for pair in pairs[:30]]
    found = ill(check_pairs([*pairs[30:], *turned], pairs[30:60]))
    assert set(found) == {"swapped training pairs"}
    assert found["swapped training pairs"].value == pytest.approx(0.1)
    found = ill(check_pairs(pairs, turned))
    assert set(found) == {"swapped held-out pairs"}
    assert "data.valid_source" in found["swapped held-out pairs"].advice
    same = [Pair(source=pair.source, target=pair.source) for pair in pairs]
    assert "same text on both sides" in ill(check_pairs(same, []))
    shifted = [Pair(source=one.source, target=two.target) for one, two in pairwise(pairs)]
    found = ill(check_pairs(shifted, []))
    assert set(found) == {"lengths of both sides go together"}
    assert abs(found["lengths of both sides go together"].value) < 0.3


def test_a_run_that_learned_is_healthy_and_one_with_swapped_validation_is_not(tmp_path):
    files = write_pairs(tmp_path / "data", make_pairs(400))
    settings = parse_assignments(
        [
            "tokenizer.kind=word",
            "tokenizer.joint=false",
            "model.embedding_size=32",
            "model.hidden_size=32",
            "model.dropout=0.0",
            "train.batch_tokens=512",
            "train.schedule.rate=0.01",
            "train.validate_every=75",
            "train.log_every=10",
            "train.threads=1",
        ]
    )
    regard.train("translate", **files, out=tmp_path / "good", preset="bahdanau", steps=150, settings=settings)
    healthy = regard.doctor(tmp_path / "good")
    assert healthy.findings == ()
    assert healthy.healthy
    assert len(healthy.checks) > 15
    assert json.loads(json.dumps(healthy.table()))["healthy"] is True
    held = write_pairs(tmp_path / "held", make_pairs(60, seed=1))
    turned = {"data.valid_source": held["target"], "data.valid_target": held["source"]}
    both = read_keys(turned) | settings
    regard.train("translate", **files, out=tmp_path / "bad", preset="bahdanau", steps=5, settings=both)
    found = {item.name for item in regard.doctor(tmp_path / "bad").findings}
    assert {"swapped held-out pairs", "unknown tokens, source", "unknown tokens, target"} <= found


def test_a_run_without_its_data_is_checked_by_its_samples(tmp_path):
    run = make_run(tmp_path / "run", files := write_files(tmp_path / "data", 80))
    sample = {"source": "una frase aquí", "hypothesis": "", "reference": "a sentence here", "looks": None}
    line = {"event": "valid", "step": 5, "loss": 3.0, "bleu": 0.0, "best": True, "samples": [sample]}
    run.metrics.write_text(json.dumps(line) + "\n")
    for path in files.values():
        Path(path).unlink()
    found = regard.doctor(run.path)
    assert "empty output" in {item.name for item in found.findings}
    assert any(note.startswith("the data: ") for note in found.notes)
    assert "not checked: the data" in str(found)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"`run` must be a run folder, with config.toml .*; received .*nothing\."):
        regard.doctor(tmp_path / "nothing")
    run = make_run(tmp_path / "run", write_files(tmp_path / "data", 80))
    with pytest.raises(ArgumentError, match="`sentences` must be at least 1; received 0"):
        regard.doctor(run.path, sentences=0)
