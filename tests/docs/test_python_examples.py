"""The Python of every page runs, with the arguments it shows; only sizes are smaller."""

import contextlib
import re
import shutil
from pathlib import Path

import matplotlib
import pytest
import torch

import regard
from catalogue.models import small as small_sizes
from docs.page_files import DOCS, PAGES, make_language_model, make_transformer, python_of, small
from regard.models import build_model
from regard.tasks.task import TASKS
from regard.tasks.translation.presets import preset
from unit.inspection.hugging_face_models import make_model, make_tokenizer
from unit.serving.served import ADDRESS, serving

QUICK = {"samples": 40, "search.beam": 1, "search.max_length": 5, "data.size": 3}
WITH_PYTHON = [page for page in PAGES if python_of(page)]


@pytest.fixture
def smaller(monkeypatch):
    """Let `regard.train` take two steps of a small model, and translators be measured on few pairs."""
    matplotlib.use("Agg")
    for task in ("images", "questions", "captions"):
        monkeypatch.setattr(f"regard.tasks.{task}.train.SHOWN", 1)
    really, evaluate, compare = regard.train, regard.evaluate, regard.compare

    def train(task, *, steps=None, settings=None, preset=None, data=None, **others):
        chosen = {**(settings or {}), **small(task, preset, str(data))}
        return really(task, steps=2, settings=chosen, preset=preset, data=data, **others)

    def few(model, settings):
        return {**(settings or {}), **(QUICK if model == "runs/a" else {})}

    monkeypatch.setattr(regard, "train", train)
    monkeypatch.setattr(
        regard,
        "evaluate",
        lambda model, settings=None, **others: evaluate(model, settings=few(model, settings), **others),
    )
    monkeypatch.setattr(regard, "compare", lambda *systems, **others: compare(*systems, settings=QUICK, **others))


def of_inspection():
    """Give the names that pages on inspection use: a Transformer, a batch, and what is forced on it."""
    sizes = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    model = build_model(small_sizes(preset("transformer-tiny"), **sizes), source_vocabulary=20, target_vocabulary=20)
    source, target = torch.randint(4, 20, (1, 5)), torch.randint(4, 20, (1, 4))
    lengths = torch.tensor([5])
    return {
        "model": model.eval(),
        "source": source,
        "lengths": lengths,
        "target": target,
        "source_words": list("abcde"),
        "target_words": list("wxyz"),
        "words": list("abcde"),
        "run": lambda: model(source, lengths, target),
        "forced": torch.full((4, 5), 0.2),
        "allowed": torch.ones(5, 5, dtype=torch.bool),
        "translator": regard.load("runs/a"),
        "source_ids": [5, 6, 7],
        "output_ids": [5, 6],
    }


def of_hugging_face():
    return {"model": make_model("gpt2", n_layer=4), "tokenizer": make_tokenizer()}


def write_torch_transformer():
    """Write the parameters of torch's own Transformer, with embeddings and an output of 8,000 words."""
    from safetensors.torch import save_file

    inner = torch.nn.Transformer(16, 8, 1, 1, 16, batch_first=True)
    tensors = {f"transformer.{name}": tensor for name, tensor in inner.state_dict().items()}
    for name in ("src_emb.weight", "tgt_emb.weight", "generator.weight"):
        tensors[name] = torch.randn(8000, 16)
    save_file(tensors, "model.safetensors")
    make_transformer(Path())
    return {}


#: The names that a page takes as known, and files that it alone reads.
KNOWN = {
    "docs/inspection.md": of_inspection,
    "docs/howto/read-attention.md": of_inspection,
    "docs/hugging-face.md": of_hugging_face,
    "docs/studio.md": lambda: {"translator": regard.load("runs/bahdanau")},
    "docs/export.md": write_torch_transformer,
}


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_of_a_page_runs(page, prepared, smaller, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(shutil.copytree(prepared, tmp_path / "here"))
    for folder in re.findall(r'out="(runs/\w+)"', "".join(block.code for block in python_of(page))):
        shutil.rmtree(folder, ignore_errors=True)  # which the page makes
    names = {"__name__": "__main__", **KNOWN.get(page, dict)()}
    with contextlib.ExitStack() as stack:
        address = ADDRESS
        if page == "docs/serving.md":
            make_language_model(Path(), "l", "transformer")
            models = {name: regard.load(f"runs/{name}") for name in ("a", "l")}
            address = stack.enter_context(serving(models))
        for block in python_of(page):
            exec(compile(block.code.replace(ADDRESS, address), f"{page}, line {block.line}", "exec"), names)


def test_every_task_and_every_call_is_shown():
    shown = "\n".join(block.code for page in WITH_PYTHON for block in python_of(page))
    assert {name for name in TASKS if not re.search(rf'regard\.train\(\s*"{name}"', shown)} == set()
    calls = set(re.findall(r"\bregard\.(train|evaluate|compare|align|inspect|load)\(", shown))
    assert calls == {"train", "evaluate", "compare", "align", "inspect", "load"}


def test_few_blocks_are_left_unrun():
    """Those that use the network, and the one that shows the form of an answer."""
    marked = re.compile(r"^ *```python skip$", re.MULTILINE)
    pages = [path for path in DOCS.rglob("*.md") for _ in marked.findall(path.read_text(encoding="utf-8"))]
    assert [path.name for path in pages] == ["export.md", "puzzles.md"]
