"""The Python of the pages runs, with the arguments it shows; only sizes are smaller."""

import re
import shutil
from pathlib import Path

import pytest

import regard
from regard.data.builtin import corpus
from regard.data.builtin.stories import stories
from regard.tasks.task import TASKS
from unit.data.images.pictures import write_folder
from unit.tasks.labeled_run import write_texts

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = {"data.scenes": 12, "data.held_out_scenes": 4, "model.size": 8, "model.num_heads": 2}
#: What makes a run of each task quick; what an example sets itself stays, but for sizes.
SMALL = {
    "translate": {"model.embedding_size": 8, "model.hidden_size": 8, "train.valid_sentences": 2},
    "language": {"model.size": 16, "model.feed_forward_size": 16, "model.num_layers": 1},
    "classify": {"data.size": 60, "model.size": 8},
    "images": {"data.image_size": 16, "model.widths": [4, 4], "model.num_blocks": 1, "model.reduction": 2},
    "questions": PICTURES,
    "captions": {**PICTURES, "train.valid_sentences": 2},
    "align": {"model.size": 16, "model.num_heads": 2, "model.feed_forward_size": 16, "train.valid_sentences": 2},
}
QUICK = {"train.threads": 1}
FEW = {"samples": 40, "search.beam": 1, "search.max_length": 5, "data.size": 3}


def blocks(name):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def calls(name):
    return set(re.findall(r"\bregard\.(train|evaluate|compare|align)\(", "\n".join(blocks(name))))


PAGES = [path.name for path in sorted(DOCS.glob("*.md")) if calls(path.name)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The files and runs that the pages name."""
    path = tmp_path_factory.mktemp("docs")
    pairs = corpus("builtin:es-en", split="train", size=60)
    for stem in ("a", "test"):
        (path / f"{stem}.es").write_text("".join(f"{pair.source}\n" for pair in pairs))
        (path / f"{stem}.en").write_text("".join(f"{pair.target}\n" for pair in pairs))
    write_texts(path / "reviews.csv", count=60)
    for name in ("shakespeare.txt", "other.txt"):
        (path / name).write_text("".join(f"{line}\n" for line in stories(split="train", size=40)))
    write_folder(path / "flowers", count=12)
    shutil.copy(next((path / "flowers").rglob("*.png")), path / "rose.png")
    for name in ("scene.png", "tulip.jpg"):
        shutil.copy(path / "rose.png", path / name)
    settings = {**SMALL["translate"], **QUICK, "data.size": 60}
    regard.train("translate", data="builtin:es-en", out=path / "runs/a", preset="dot", steps=2, settings=settings)
    for name in ("b", "fixed", "bahdanau"):
        shutil.copytree(path / "runs/a", path / "runs" / name)
    return path


@pytest.fixture
def smaller(monkeypatch):
    """Let `regard.train` take two steps of a small model, and translators be measured on few pairs."""
    for task in ("images", "questions", "captions"):
        monkeypatch.setattr(f"regard.tasks.{task}.train.SHOWN", 1)
    really, evaluate, compare = regard.train, regard.evaluate, regard.compare

    def train(task, *, steps=None, settings=None, **others):
        return really(task, steps=2, settings={**(settings or {}), **SMALL[task], **QUICK}, **others)

    def few(model, settings):
        return {**(settings or {}), **(FEW if model == "runs/a" else {})}

    monkeypatch.setattr(regard, "train", train)
    monkeypatch.setattr(
        regard,
        "evaluate",
        lambda model, settings=None, **others: evaluate(model, settings=few(model, settings), **others),
    )
    monkeypatch.setattr(regard, "compare", lambda *systems, **others: compare(*systems, settings=FEW, **others))


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page, prepared, smaller, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(shutil.copytree(prepared, tmp_path / "here"))
    if page == "training.md":
        shutil.rmtree("runs/a")  # which it makes
    names = {}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
    assert names["regard"] is regard


def test_every_task_and_every_call_is_shown():
    shown = "\n".join(block for page in PAGES for block in blocks(page))
    assert {name for name in TASKS if not re.search(rf'regard\.train\(\s*"{name}"', shown)} == set()
    assert set().union(*map(calls, PAGES)) == {"train", "evaluate", "compare", "align"}
