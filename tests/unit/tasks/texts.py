"""A small text with a pattern, and settings that learn it in seconds."""

import random
from pathlib import Path

from regard.tasks.language.settings import LanguageConfig, compose_language

SENTENCES = ("the dog barks", "the cat meows", "a bird sings", "a fish swims")
SIZES = {
    "bag": {},
    "ngram": {},
    "feed-forward": {"context": 8, "embedding_size": 16, "hidden_size": 64, "dropout": 0.0},
    "transformer": {
        "size": 32,
        "num_layers": 2,
        "num_heads": 2,
        "feed_forward_size": 64,
        "context": 32,
        "dropout": 0.0,
    },
}
RECURRENT = {
    "embedding_size": 32,
    "hidden_size": 48,
    "num_layers": 1,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "layer_dropout": 0.0,
}


def write_text(path: Path, lines: int = 400) -> Path:
    """Write sentences in random order."""
    stream = random.Random(1)
    path.write_text("".join(stream.choice(SENTENCES) + "\n" for _ in range(lines)), encoding="utf-8")
    return path


def settings(text: Path, name: str, **train: object) -> LanguageConfig:
    """Give small settings for a preset."""
    steps = int(train.get("steps", 60 if name in SIZES else 150))
    return compose_language(
        {
            "data": {"text": str(text), "length": 32},
            "tokenizer": {"kind": "character"},
            "model": SIZES.get(name, RECURRENT),
            "train": {
                "steps": steps,
                "batch_tokens": 512,
                "validate_every": steps,
                "checkpoint_every": 10**6,
                "samples": 1,
                "threads": 1,
                "schedule": {"rate": 1e-2 if name in SIZES else 2e-2, "warm_up": 5},
            }
            | train,
        },
        name=name,
    )
