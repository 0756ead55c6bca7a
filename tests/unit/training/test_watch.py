"""What is told of a run, and to whom."""

import json
import sys

import pytest

from regard.errors import MissingExtraError
from regard.training.metrics import MetricsFile
from regard.training.watch import Sample, SampleWeights, TensorBoard, Validated


def test_tensorboard_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    message = r"`train.tensorboard` needs the package tensorboard, .* Install it: pip install 'regard\[tensorboard\]'."
    with pytest.raises(MissingExtraError, match=message):
        TensorBoard(tmp_path)


def test_samples_are_written_with_where_the_model_looked(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    looks = SampleWeights(("a", "</s>"), ("b",), ((0.25, 0.75),))
    samples = (Sample("a", "b", "c", looks), Sample("a", "b", "c"))
    file.validated(Validated(loss=1.0, samples=samples, step=3), best=True)
    line = json.loads((tmp_path / "metrics.jsonl").read_text())
    assert line["samples"][0]["looks"] == {"source": ["a", "</s>"], "target": ["b"], "weights": [[0.25, 0.75]]}
    assert line["samples"][1] == {"source": "a", "hypothesis": "b", "reference": "c", "looks": None}
