"""Models learn: a preset on a small built-in corpus reaches a stated BLEU on pairs it has not seen."""

import pytest
import torch

from regard.config.read import parse_assignments
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import compose
from regard.tasks.translation.train import train_translator
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.training.copying import Silent

SETTINGS = [
    "train.batch_tokens=1024",
    "train.patience=0",
    "train.valid_sentences=50",
    "train.threads=1",
]


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize(("preset", "steps", "bleu"), [("bahdanau", 100, 12.0), ("transformer-tiny", 140, 9.0)])
def test_a_preset_learns_to_translate(tmp_path, preset, steps, bleu):
    torch.manual_seed(0)
    corpus = gather_pairs({"corpus": "builtin:hi-en", "size": 3000})
    settings = [*SETTINGS, f"train.steps={steps}", f"train.validate_every={steps}"]
    config = compose(parse_assignments(settings) | {"data": corpus.data}, corpus.size, name=preset)
    folder = RunFolder(tmp_path)
    folder.begin(config, corpus.fingerprint())
    trained = train_translator(config, corpus, Run(folder=folder, watcher=Silent()))
    assert trained.figures["test_bleu"] > bleu, trained.figures
