"""A small classifier run that several tests make: the label hangs on one word."""

import random

from regard.config.read import merge
from regard.tasks.classification.data import gather_texts
from regard.tasks.classification.settings import LabeledSize, compose_classifier
from regard.tasks.classification.train import train_classifier
from regard.training.run import Run
from regard.training.run_folder import RunFolder

KEYWORDS = {"fruit": ("apple", "pear"), "metal": ("bolt", "nut"), "pet": ("cat", "dog")}
LABEL_OF = {word: label for label, words in KEYWORDS.items() for word in words}


def write_texts(path, *, count=400, seed=1):
    """Write texts of three labels, each with one keyword somewhere among words that mean nothing."""
    draw = random.Random(seed)
    lines = ["text,label"]
    for _ in range(count):
        label = draw.choice(sorted(KEYWORDS))
        words = [f"w{draw.randrange(30)}" for _ in range(draw.randint(2, 9))]
        words.insert(draw.randint(0, len(words)), draw.choice(KEYWORDS[label]))
        lines.append(f"{' '.join(words)},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


def settings(path, preset, **changes):
    """Choose what trains in a second or two."""
    train = {"steps": 120, "batch_tokens": 256, "threads": 1, "validate_every": 60, "device": "cpu"}
    table = {"data": {"corpus": str(path)}, "train": {**train, "schedule": {"rate": 0.01}}}
    table["model"] = {} if preset == "tf-idf" else {"size": 32}
    return compose_classifier(merge(table, changes), LabeledSize(texts=400, words=2400), name=preset)


def make_classifier(folder, path, preset, **changes):
    """Train into `folder`, and give what came of it and the texts."""
    config = settings(path, preset, **changes)
    corpus = gather_texts(config.data)
    run = RunFolder(folder)
    run.begin(config, corpus.fingerprint())
    return train_classifier(config, corpus, Run(folder=run, command="regard train")), corpus
