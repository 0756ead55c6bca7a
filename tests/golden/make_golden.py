"""Write golden files: what this version of regard writes, and the numbers it gets from them.

    PYTHONPATH=src:tests python -m golden.make_golden

Files go to `tests/golden/data/VERSION`, where VERSION is "0.1" for 0.1.x. Golden files are never overwritten: they are
what users of that version have on their disks. After a release that changes a format, run this once for the new version
and commit the new folder beside the old ones; `test_golden.py` reads every folder there is.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw

import regard
from golden.measures import (
    DATA,
    PICTURE,
    PROMPT,
    QUESTION,
    REVIEW,
    SOURCES,
    last_losses,
    measure_model,
    measure_trace,
    rounded,
    run_command,
    task_of,
)

TRAIN = {"train.steps": 150, "train.threads": 1, "train.device": "cpu", "train.schedule.rate": 0.02}
TRAIN |= {"train.patience": 0, "train.result": "last"}
PAIRS = ["--source", "inputs/pairs.es", "--target", "inputs/pairs.en"]
LANGUAGE = ["--task", "language", "--data", "inputs/text.txt"]
CLASSIFY = ["--task", "classify", "--data", "inputs/reviews.csv"]
RECURRENT = {"model.embedding_size": 8, "model.hidden_size": 8, "tokenizer.kind": "word"}
SMALL = {"model.size": 8, "model.num_heads": 2, "model.feed_forward_size": 16}
LAYERS = {"model.num_encoder_layers": 1, "model.num_decoder_layers": 2}
CHARACTERS = {"tokenizer.kind": "character", "data.length": 16, "train.batch_tokens": 128}
CELLS = {"model.embedding_size": 8, "model.hidden_size": 8, "model.num_layers": 1} | CHARACTERS
SHAPES = {"data.scenes": 16, "data.held_out_scenes": 6, "data.max_length": 8}
FEW = {"train.steps": 30, "train.batch_size": 8}
CAPTIONS = {"train.valid_sentences": 2}
NETWORK = {"model.image.widths": "[4,4,4,8]", "model.image.num_blocks": 1}

MODELS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "translator-bahdanau": ([*PAIRS, "--preset", "bahdanau"], RECURRENT),
    "translator-luong-dot": ([*PAIRS, "--preset", "luong-dot"], RECURRENT),
    "translator-fixed": ([*PAIRS, "--preset", "fixed"], RECURRENT),
    "translator-transformer": (
        [*PAIRS, "--preset", "transformer-tiny"],
        SMALL | LAYERS | {"tokenizer.kind": "bpe", "tokenizer.vocabulary_size": 300},
    ),
    "language-ngram": ([*LANGUAGE, "--preset", "ngram"], {"tokenizer.kind": "character", "model.order": 3}),
    "language-feed-forward": (
        [*LANGUAGE, "--preset", "feed-forward"],
        {"model.embedding_size": 8, "model.hidden_size": 8} | CHARACTERS,
    ),
    "language-lstm": ([*LANGUAGE, "--preset", "lstm"], CELLS),
    "language-lstm-attention": ([*LANGUAGE, "--preset", "lstm-attention"], CELLS),
    "language-transformer": ([*LANGUAGE, "--preset", "transformer"], SMALL | CHARACTERS | {"model.num_layers": 2}),
    "classifier-attentive-pooling": (
        [*CLASSIFY, "--preset", "attentive-pooling"],
        {"model.size": 8, "model.attention_size": 4, "tokenizer.min_frequency": 1},
    ),
    "classifier-tf-idf": ([*CLASSIFY, "--preset", "tf-idf"], {"tokenizer.min_frequency": 1}),
    "images-resnet-both": (
        ["--task", "images", "--preset", "resnet-both", "--data", "pictures"],
        {"model.widths": "[4,8]", "model.num_blocks": 1, "model.reduction": 4} | FEW,
    ),
    "images-vit": (
        ["--task", "images", "--preset", "vit", "--data", "pictures"],
        SMALL | FEW | {"model.num_layers": 1},
    ),
    "questions-shapes": (["--task", "questions", "--data", "builtin:shapes"], SMALL | SHAPES | FEW | NETWORK),
    "captions-shapes": (["--task", "captions", "--data", "builtin:shapes"], SMALL | SHAPES | FEW | NETWORK | CAPTIONS),
}
STOPPED = {"train.steps": 40, "train.checkpoint_every": 4, "train.validate_every": 20, "train.keep_checkpoints": 1}
STOPPED |= {"train.log_every": 1}  # the seconds of each step tell that a run went on and did not begin anew
INTERRUPTED = {"translator": "translator-bahdanau", "language": "language-lstm"}

NOUNS = {"casa": "house", "mesa": "table", "silla": "chair", "puerta": "door"}
THINGS = {"perro": "dog", "gato": "cat", "libro": "book", "vaso": "glass"}
ADJECTIVES = {"rojo": "red", "viejo": "old", "nuevo": "new", "pequeño": "small"}


def main() -> None:
    """Write the files of this version, which must not have any yet."""
    version = ".".join(regard.__version__.split(".")[:2])
    if (DATA / version).exists():
        raise SystemExit(f"{DATA / version} must not be there yet; golden files are never overwritten.")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write_inputs(Path("inputs"), Path("pictures"))
        expected = {"version": regard.__version__, "models": {}, "commands": {}, "interrupted": {}}
        for model in MODELS:
            expected["models"][model] = make_model(model)
        run_command(["inspect", "models/translator-transformer", SOURCES[0], "--out", "looks.trace", "--json"])
        expected["trace"] = measure_trace(Path("looks.trace"))
        for title, arguments in commands().items():
            expected["commands"][title] = {"arguments": arguments, "output": run_command(arguments)}
        for task, model in INTERRUPTED.items():
            expected["interrupted"][task] = make_interrupted(task, model)
        Path("expected.json").write_text(as_text(rounded(expected)), encoding="utf-8")
        for kept in ("inputs", "models", "interrupted"):
            shutil.copytree(kept, DATA / version / kept)
        for kept in ("looks.trace", "expected.json"):
            shutil.copy(kept, DATA / version / kept)


def commands() -> dict[str, list[str]]:
    """Give a command for each kind of model and file, as the documents have them."""
    pairs = ["--source", "inputs/pairs.es", "--target", "inputs/pairs.en"]
    wanted = {
        "translate": ["translate", "models/translator-bahdanau", *SOURCES],
        "ensemble": ["translate", "models/translator-bahdanau", "--with", "models/translator-luong-dot", *SOURCES],
        "align": ["align", "models/translator-transformer", *pairs],
        "generate": ["generate", "models/language-transformer", PROMPT, "--temperature", "0", "--max-tokens", "8"],
        "next": ["generate", "models/language-lstm-attention", PROMPT, "--next"],
        "classify": ["classify", "models/classifier-attentive-pooling", REVIEW],
        "classify images": ["classify", "models/images-resnet-both", PICTURE],
        "ask": ["ask", "models/questions-shapes", PICTURE, QUESTION],
        "caption": ["caption", "models/captions-shapes", PICTURE],
        "inspect": ["inspect", "models/translator-luong-dot", SOURCES[0], "--target", "the house is red"],
        "score links": ["score-links", "inputs/hypotheses.links", "--gold", "inputs/gold.links", *pairs],
    }
    device = {title: [] if title == "score links" else ["--device", "cpu"] for title in wanted}
    return {title: [*arguments, "--json", *device[title]] for title, arguments in wanted.items()}


def make_model(name: str) -> dict[str, Any]:
    """Train a model, keep its folder, and give its numbers."""
    arguments, settings = MODELS[name]
    run_command(train_command(arguments, settings, out=f"whole/{name}"))
    shutil.copytree(f"whole/{name}/model", f"models/{name}")
    return measure_model(task_of(name), Path("models") / name, Path(PICTURE))


def make_interrupted(task: str, model: str) -> dict[str, Any]:
    """Kill a run after a checkpoint, and give its command and the losses of one that was never stopped."""
    arguments, settings = MODELS[model]
    out = Path("interrupted") / task
    command = train_command(arguments, settings | STOPPED, out=str(out))
    run_command(command)
    losses = last_losses(out / "metrics.jsonl")
    shutil.rmtree(out)
    while not list(out.glob("checkpoints/step-*")):
        shutil.rmtree(out, ignore_errors=True)
        kill_after_checkpoint(command, out)
    for name in (".lock", ".made-here.json"):  # which say something of this machine alone
        (out / name).unlink(missing_ok=True)
    return {"command": command, "losses": losses}


def kill_after_checkpoint(command: list[str], out: Path) -> None:
    """Start a run and kill it once a checkpoint is there; remove one that came to its end before."""
    process = subprocess.Popen([sys.executable, "-m", "regard", *command], stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(out.glob("checkpoints/step-*")):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if (out / "model").exists():
        shutil.rmtree(out)


def train_command(arguments: list[str], settings: dict[str, Any], *, out: str) -> list[str]:
    """Give the arguments of a run."""
    sets = [word for key, value in (TRAIN | settings).items() for word in ("--set", f"{key}={value}")]
    return ["train", *arguments, "--out", out, "--json", *sets]


def as_text(expected: dict[str, Any]) -> str:
    """Write JSON with a line for each model, command, run and call, so that a change is seen in one line."""
    parts = []
    for name, part in expected.items():
        items = part.items() if isinstance(part, dict) else []
        lines = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in items)
        parts.append(f'"{name}": ' + (f"{{\n  {lines}\n }}" if lines else json.dumps(part, ensure_ascii=False)))
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def write_inputs(inputs: Path, pictures: Path) -> None:
    """Write sentences, links, texts, labels and pictures of our own."""
    inputs.mkdir()
    draw = random.Random(1)
    pairs = [*make_pairs("la", NOUNS, "a"), *make_pairs("el", THINGS, "o")]
    draw.shuffle(pairs)
    links = ["0-0 1-1 2-2 3-3"] * len(pairs)
    others = ["0-0 1-1 3-2 3-3" if number % 3 else one for number, one in enumerate(links)]
    written = {"pairs.es": [one for one, _ in pairs], "pairs.en": [one for _, one in pairs]}
    written |= {"gold.links": links, "hypotheses.links": others, "text.txt": written["pairs.en"] * 3}
    kinds = {"good": "a {} and funny film", "bad": "a {} and boring film"}
    words = [*ADJECTIVES.values(), "warm", "long", "short", "quiet", "loud", "strange"]
    written["reviews.csv"] = ["text,label", *(f"{kinds[k].format(w)},{k}" for w in words for k in kinds)]
    for name, lines in written.items():
        (inputs / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for color in ("red", "blue"):
        (pictures / color).mkdir(parents=True)
        for number in range(8):
            draw_picture(color, number, 16).save(pictures / color / f"{number}.png")
    draw_picture("red", 3, 64).save(inputs / "picture.png")


def make_pairs(article: str, nouns: dict[str, str], ending: str) -> list[tuple[str, str]]:
    """Give every noun with every adjective, in Spanish and English."""
    return [
        (f"{article} {noun} es {adjective[:-1]}{ending}", f"the {english} is {meaning}")
        for noun, english in nouns.items()
        for adjective, meaning in ADJECTIVES.items()
    ]


def draw_picture(color: str, number: int, size: int) -> Image.Image:
    """Draw a disk on gray; each number has its own position."""
    image = Image.new("RGB", (size, size), (200, 200, 200))
    left, top = size * (number % 4) // 8, size * (number // 4) // 4
    ImageDraw.Draw(image).ellipse([left, top, left + size // 2, top + size // 2], fill=color)
    return image


if __name__ == "__main__":
    main()
