"""The view Learn, past the page."""

import regard
from regard.data.corpora.pair import Pair
from regard.data.text.special import END
from regard.studio.models import Models
from regard.tasks.translation.samples import make_samples
from unit.studio.runs import make_runs, metrics, write_metrics
from unit.studio.visiting import ask, refused, visitor

TABLE = {"source": ["la", "</s>"], "target": ["the", "</s>"], "weights": [[0.75, 0.25], [0.5, 0.5]]}
SAMPLE = {"source": "la", "reference": "the", "hypothesis": "a", "looks": TABLE}


def test_validations_are_read_on_from_where_they_were_read_last(tmp_path):
    _, going = make_runs(tmp_path)
    client = visitor(Models([going.path]))
    first = ask(client, "learn/frames", run="going")
    assert (first["frames"], first["state"], first["steps"]) == ([], "going", 400)
    forced = {**TABLE, "target": ["the", "house"]}
    valid = {"event": "valid", "step": 60, "loss": 0.5, "bleu": 12.5, "best": True}
    write_metrics(going, [{**valid, "samples": [{**SAMPLE, "alignment": forced}, {**SAMPLE, "looks": None}]}])
    after = ask(client, "learn/frames", run="going", offset=first["offset"], file=first["file"])
    assert not after["anew"]
    [frame] = after["frames"]
    assert (frame["step"], frame["loss"], frame["bleu"]) == (60, 0.5, 12.5)
    [sample] = frame["samples"]  # one that has no attention is left out
    assert (sample["target_tokens"], sample["weights"]) == (["the", "house"], TABLE["weights"])
    assert "must be one that the studio was started with" in refused(client, "learn/frames", run="../x")


def test_runs_of_before_have_the_attention_of_what_they_output(tmp_path):
    _, going = make_runs(tmp_path)
    write_metrics(going, [*metrics([70]), {"event": "valid", "step": 70, "loss": 1.0, "samples": [SAMPLE]}])
    [frame] = ask(visitor(Models([going.path])), "learn/frames", run="going")["frames"]
    assert frame["samples"][0]["target_tokens"] == ["the", "</s>"]
    assert frame["bleu"] is None


def test_samples_are_forced_to_the_reference(folders):
    translator = regard.load(folders["recurrent"])
    pairs = [Pair(source="El libro", target="the book"), Pair(source="La casa", target="the house is red")]
    samples = make_samples(translator.model, translator.tokenizers, pairs)
    for pair, sample in zip(pairs, samples, strict=True):
        expected = [*translator.tokenizers.target.encode(pair.target).ids, END]
        assert list(sample.alignment.target) == translator.tokenizers.target.pieces(expected)
        assert len(sample.alignment.weights) == len(expected)
        assert all(abs(sum(row) - 1) < 0.01 for row in sample.alignment.weights)
