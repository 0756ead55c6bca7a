"""What the pages name: files, pictures and small runs; and which pages and commands there are."""

import json
import lzma
import re
import shutil
from pathlib import Path

from code_blocks import Block, chapters, find_blocks

import regard
from regard.data.builtin import corpus
from regard.data.builtin.stories import stories
from unit.data.images.pictures import write_folder
from unit.tasks.labeled_run import write_texts

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: All pages but the chapters of the course, whose code is run by their notebooks and by the site.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if path not in chapters(DOCS)
]
PICTURES = {"data.scenes": 12, "data.held_out_scenes": 4, "model.size": 8, "model.num_heads": 2}
#: What makes a run of each task quick; what an example sets itself stays, but for sizes.
SMALL = {
    "translate": {"train.valid_sentences": 2},
    "language": {"train.batch_tokens": 256},
    "classify": {"model.size": 8},
    "images": {"data.image_size": 16, "model.widths": [4, 4], "model.num_blocks": 1, "model.reduction": 2},
    "questions": PICTURES,
    "captions": {**PICTURES, "train.valid_sentences": 2},
    "align": {"model.size": 16, "model.feed_forward_size": 16, "model.num_heads": 2, "train.valid_sentences": 2},
}
#: Of presets that have such sizes.
SIZES = {
    "recurrent": {"model.embedding_size": 8, "model.hidden_size": 8},
    "transformer": {"model.size": 16, "model.feed_forward_size": 16, "model.num_heads": 2},
}


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def python_of(page: str) -> list[Block]:
    """Give the Python of a page that is run from top to bottom."""
    return [block for block in find_blocks(read(page)) if block.runs]


def small(task: str, preset: str | None, data: str = "") -> dict[str, object]:
    """Give the settings that make such a run quick."""
    chosen = {**SMALL[task], "train.threads": 1}
    if task in ("translate", "language", "classify") and data.startswith("builtin:"):
        chosen["data.size"] = 60
    if task in ("translate", "language") and preset:
        chosen |= SIZES["transformer" if preset.startswith("transformer") else "recurrent"]
    return chosen


def commands_of(page: str) -> list[str]:
    """Give the commands of a page's blocks, without what they print and what stands behind #.

    >>> "regard demo" in commands_of("README.md")
    True
    """
    found = []
    for block in find_blocks(read(page)):
        if block.language not in ("", "sh"):
            continue
        text = re.sub(r"\\\n\s*", "", block.code)
        lines = [line.removeprefix("$ ") for line in text.splitlines()]
        if block.code.lstrip().startswith("$ "):
            lines = lines[:1]  # the others are its output
        found += [re.sub(r"\s+#\s.*$", "", line) for line in lines if _is_command(line)]
    return found


def _is_command(line: str) -> bool:
    return bool(re.match(r"(regard|torchrun|cat \S+ \| regard) ", line)) and not line.startswith("regard: ")


def inline_commands(page: str) -> list[str]:
    """Give the commands within sentences and tables, `regard …`."""
    prose = "".join(part for part in re.split(r"^ *```.*?^ *```", read(page), flags=re.MULTILINE | re.DOTALL))
    return [" ".join(words.split()) for words in re.findall(r"`(regard [^`]+)`", prose)]


def write_pairs(path: Path) -> None:
    """Write the sentence pairs that the pages name, in all their forms."""
    pairs = corpus("builtin:es-en", split="train", size=60)
    source = "".join(f"{pair.source}\n" for pair in pairs)
    target = "".join(f"{pair.target}\n" for pair in pairs)
    for stem in ("a", "b", "corpus", "train", "test", "dev", "big"):
        (path / f"{stem}.es").write_text(source)
        (path / f"{stem}.de").write_text(source)
        (path / f"{stem}.en").write_text(target)
        (path / f"{stem}.links").write_text("0-0\n" * len(pairs))
    (path / "out.txt").write_text(target)
    (path / "out.links").write_text("0-0\n" * len(pairs))
    (path / "parts").mkdir()
    (path / "FOLDER").mkdir()
    table = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
    for name in ("a", "b", "pairs", "corpus", "parts/1", "FOLDER/train"):
        (path / f"{name}.tsv").write_text(table if name != "b" else table.replace(".", " !"))
    (path / "page.html").write_text("<p>El gato <b>duerme</b>.</p><p>El perro come.</p>")


def write_world(path: Path) -> Path:
    """Write all files, and the translators, that the pages name into a folder."""
    write_pairs(path)
    write_texts(path / "reviews.csv", count=60)
    lines = (path / "reviews.csv").read_text().splitlines(keepends=True)
    (path / "test.csv").write_text("".join(["review,stars\n", *lines[1:]]))
    text = "".join(f"{line}\n" for line in stories(split="train", size=40))
    for name in ("shakespeare.txt", "other.txt", "text.txt"):
        (path / name).write_text(text)
    (path / "other.txt").write_text(text[:300])
    (path / "other.txt.xz").write_bytes(lzma.compress(text[:300].encode()))
    write_folder(path / "flowers", count=12)
    for name in ("rose.png", "scene.png", "picture.png", "tulip.jpg"):
        shutil.copy(next((path / "flowers").rglob("*.png")), path / name)
    pictures = [picture.relative_to(path) for picture in sorted((path / "flowers").rglob("*.png"))]
    (path / "captions.csv").write_text("".join(["image,caption\n", *(f"{one},a flower\n" for one in pictures)]))
    make_translators(path)
    return path


def make_translators(path: Path) -> None:
    """Train a translator for two steps, under the names that the pages have for theirs."""
    chosen = {**small("translate", "dot", "builtin:"), "tokenizer.kind": "bpe", "tokenizer.vocabulary_size": 300}
    regard.train("translate", data="builtin:es-en", out=path / "runs/a", preset="dot", steps=2, settings=chosen)
    for name in ("b", "fixed", "bahdanau", "es-en", "en-es", "g", "bad", "demo/bahdanau", "seed-1", "seed-2"):
        shutil.copytree(path / "runs/a", path / "runs" / name)


def make_transformer(path: Path) -> None:
    """Make the translator a Transformer, which every engine takes."""
    shutil.rmtree(path / "runs/a")
    chosen = {**small("translate", "transformer-tiny"), "model.num_encoder_layers": 1, "model.num_decoder_layers": 1}
    pairs = {"source": path / "a.es", "target": path / "a.en"}
    regard.train("translate", **pairs, out=path / "runs/a", preset="transformer-tiny", steps=2, settings=chosen)


def write_questions(path: Path) -> None:
    """Let FOLDER hold questions about pictures."""
    shutil.rmtree(path / "FOLDER")
    shutil.copytree(path / "flowers", path / "FOLDER/pictures")
    pictures = sorted(picture.relative_to(path / "FOLDER") for picture in (path / "FOLDER").rglob("*.png"))
    rows = [{"image": str(one), "question": "what is it?", "answer": "a flower"} for one in pictures]
    (path / "FOLDER/train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def make_language_model(path: Path, name: str, preset: str) -> None:
    """Train a language model for two steps."""
    chosen = small("language", preset)
    regard.train("language", data=path / "text.txt", out=path / f"runs/{name}", preset=preset, steps=2, settings=chosen)


def make_others(path: Path) -> None:
    """Train the other runs that the pages name."""
    make_language_model(path, "lstm", "lstm")
    make_language_model(path, "transformer", "transformer")
    shutil.copytree(path / "runs/transformer", path / "runs/l")
    chosen = small("classify", None)
    regard.train("classify", data=path / "reviews.csv", out=path / "runs/reviews", steps=2, settings=chosen)
    shutil.copytree(path / "runs/reviews", path / "runs/c")
    pairs = {"source": path / "a.es", "target": path / "a.en"}
    regard.train("align", **pairs, out=path / "runs/al", steps=2, settings=small("align", None))
