"""A tiny run of every task, on any device: for what must hold whatever is trained."""

import atexit
import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from unittest import mock

from regard.config.read import merge
from regard.tasks.alignment.data import gather_aligned
from regard.tasks.alignment.settings import compose_aligner
from regard.tasks.alignment.train import train_aligner
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.settings import compose_captions
from regard.tasks.captions.train import train_captions
from regard.tasks.classification.data import gather_texts
from regard.tasks.classification.settings import LabeledSize, compose_classifier
from regard.tasks.classification.train import train_classifier
from regard.tasks.images.data import gather_images
from regard.tasks.images.settings import TYPICAL, compose_images
from regard.tasks.images.train import train_image_classifier
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import compose_language
from regard.tasks.language.train import train_language_model
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.settings import compose_questions
from regard.tasks.questions.train import train_questions
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import compose
from regard.tasks.translation.train import train_translator
from regard.training.group import Group, pick_device
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.data.images.pictures import write_folder
from unit.tasks.labeled_run import write_texts
from unit.tasks.picture_run import SIZE, TINY
from unit.tasks.texts import RECURRENT, write_text

#: The module of each task, where its run ends in `_measure`, `_page` and `_card`.
TASKS = {
    "translate": "translation",
    "language": "language",
    "classify": "classification",
    "images": "images",
    "questions": "questions",
    "captions": "captions",
    "align": "alignment",
}
SHORT = {
    "steps": 4,
    "validate_every": 2,
    "checkpoint_every": 1,
    "log_every": 2,
    "threads": 1,
}
#: What else makes a run of a task short.
SHORTER = {
    "translate": {"batch_tokens": 64, "valid_sentences": 2, "samples": 1},
    "language": {"batch_tokens": 64, "samples": 1},
    "classify": {"batch_tokens": 64},
    "images": {"batch_size": 64},
    "questions": {"batch_size": 64},
    "captions": {"batch_size": 64, "valid_sentences": 2},
    "align": {"batch_tokens": 64, "valid_sentences": 2},
}
RESIDUAL = {"widths": [4, 4], "num_blocks": 1, "reduction": 2}


def run_task(task, out, *, device="cpu", settings=None, table=None, **others):
    """Train into `out`, with `settings` of `train`, those of `table`, and `others` of `Run`; or go on."""
    chosen = {"train": {**SHORT, **SHORTER[task], "device": device, **(settings or {})}}
    config, corpus, train = _task(task, merge(chosen, table or {}))
    folder = RunFolder(out)
    marks = corpus.fingerprint if isinstance(corpus.fingerprint, str) else corpus.fingerprint()
    folder.begin(config, marks)
    group = Group(device=pick_device(device))
    with ExitStack() as fewer:
        for module in ("images", "questions", "captions"):  # figures take longer than the training
            fewer.enter_context(mock.patch(f"regard.tasks.{module}.train.SHOWN", 1))
        return train(config, corpus, Run(folder=folder, command="regard train", group=group, **others))


def _task(task, chosen):
    match task:
        case "translate":
            corpus = _pairs()
            small = {"embedding_size": 8, "hidden_size": 8}
            table = merge({"model": small, "data": corpus.data}, chosen)
            return compose(table, corpus.size, name="bahdanau"), corpus, train_translator
        case "language":
            table = merge({"data": {"text": str(_folder() / "text.txt"), "length": 16}, "model": RECURRENT}, chosen)
            config = compose_language(merge(table, {"tokenizer": {"kind": "character"}}), name="lstm")
            return config, gather_text(config.data), train_language_model
        case "classify":
            table = merge({"data": {"corpus": str(_folder() / "texts.csv")}, "model": {"size": 8}}, chosen)
            config = compose_classifier(table, LabeledSize(texts=60, words=360), name="lstm-attention")
            return config, gather_texts(config.data), train_classifier
        case "images":
            data = {"corpus": str(_folder() / "images"), "image_size": 16, "shift": 0}
            config = compose_images(merge({"data": data, "model": RESIDUAL}, chosen), TYPICAL, name="resnet")
            return config, gather_images(config.data), train_image_classifier
        case "questions":
            config = compose_questions(merge(TINY, chosen), SIZE)
            return config, gather_questions(config.data), train_questions
        case "captions":
            config = compose_captions(merge(TINY, merge(chosen, {"data": {"max_length": 4}})), SIZE)
            return config, gather_captions(config.data), train_captions
        case "align":
            corpus = _aligned()
            small = {"size": 8, "num_heads": 2, "feed_forward_size": 8}
            table = merge({"model": small, "data": corpus.data}, chosen)
            return compose_aligner(table, corpus.size), corpus, train_aligner
    raise AssertionError(task)


@cache
def _folder():
    """Write the data of all tasks once."""
    folder = Path(mkdtemp(prefix="regard-every-task-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_text(folder / "text.txt", 60)
    write_texts(folder / "texts.csv", count=60)
    write_folder(folder / "images", count=12)
    return folder


@cache
def _pairs():
    return gather_pairs({"corpus": "builtin:hi-en", "size": 40})


@cache
def _aligned():
    return gather_aligned({"corpus": "builtin:hi-en", "size": 40})
