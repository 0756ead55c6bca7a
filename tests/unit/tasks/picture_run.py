"""Small runs on pictures that several tests make."""

from unittest import mock

from regard.config.read import merge
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.settings import compose_captions
from regard.tasks.captions.train import train_captions
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.settings import PictureSize, compose_questions
from regard.tasks.questions.train import train_questions
from regard.training.run import Run
from regard.training.run_folder import RunFolder

IMAGE = {"kind": "residual", "widths": (4, 4, 6, 8), "num_blocks": 1}
TINY = {
    "data": {"corpus": "builtin:shapes", "scenes": 16, "held_out_scenes": 6},
    "model": {"size": 8, "num_heads": 2, "feed_forward_size": 8, "image": IMAGE},
    "train": {"steps": 2, "batch_size": 8, "threads": 1, "validate_every": 2, "device": "cpu"},
}
SIZE = PictureSize(pictures=16, words=500)


def make_answerer(path, *, preset="", **changes):
    """Train into a folder, and give what came of it and the corpus."""
    config = compose_questions(merge(TINY, changes), SIZE, name=preset)
    corpus, folder = gather_questions(config.data), RunFolder(path)
    folder.begin(config, corpus.fingerprint())
    with mock.patch("regard.tasks.questions.train.SHOWN", 2):  # figures take longer than the training
        return train_questions(config, corpus, Run(folder=folder, command="regard train")), corpus


def make_captioner(path, **changes):
    """Likewise for captions."""
    config = compose_captions(merge(merge(TINY, {"train": {"valid_sentences": 2}}), changes), SIZE)
    corpus, folder = gather_captions(config.data), RunFolder(path)
    folder.begin(config, corpus.fingerprint())
    with mock.patch("regard.tasks.captions.train.SHOWN", 2):
        return train_captions(config, corpus, Run(folder=folder, command="regard train")), corpus
