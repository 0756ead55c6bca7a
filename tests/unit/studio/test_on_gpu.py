"""The studio with its models on a GPU: the answers are those of the CPU, within rounding."""

import pytest
import torch

from unit.studio.readers import make_readers
from unit.studio.seers import REVIEW, make_english, make_seers, opened
from unit.studio.visiting import ask, unpacked, visitor

TEXT, QUESTION = "El libro es azul.", "is there a circle?"
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _whole_numbers(monkeypatch):
    """Let convolutions keep all digits, which they do not on a GPU by default."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """Open the same models twice: on the CPU, and on the GPU."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    both = []
    for place in ("cpu", "cuda"):
        made = {one.name: one.thing for one in make_readers(tmp_path_factory.mktemp(place)).all()}
        made |= make_seers() | {f"english-{name}": thing for name, thing in make_english().items()}
        for thing in made.values():
            thing.model.to(place)
        both.append(visitor(opened(made)))
    return both


def close(first, second, *, at=""):
    """Compare two answers, numbers within rounding and all else exactly; a mask that hides nothing is none."""
    if at.endswith(".mask") and (first is None) != (second is None):
        assert bool(unpacked(first or second).all()), at
    elif isinstance(first, dict) and "float32" in first:
        assert first["shape"] == second["shape"], at
        if first["float32"]:
            pair = unpacked(first), unpacked(second)
            torch.testing.assert_close(*pair, rtol=1e-3, atol=1e-4, equal_nan=True, msg=lambda text: f"{at}: {text}")
    elif isinstance(first, dict):
        assert first.keys() == second.keys(), at
        for key in first:
            close(first[key], second[key], at=f"{at}.{key}")
    elif isinstance(first, list):
        assert len(first) == len(second), at
        for place, (one, two) in enumerate(zip(first, second, strict=True)):
            close(one, two, at=f"{at}[{place}]")
    elif isinstance(first, float) and isinstance(second, float | int):
        assert first == pytest.approx(second, rel=1e-3, abs=1e-4, nan_ok=True), at
    else:
        assert first == second, at


def same(clients, verb, **body):
    """Ask both, and give what the CPU answered."""
    first, second = (ask(client, verb, **body) for client in clients)
    close(first, second, at=verb)
    return first


@pytest.mark.parametrize("name", ["additive", "local", "transformer"])
def test_a_translation(clients, name):
    asked = {"model": name, "text": TEXT}
    found = same(clients, "translate/search", **asked, beam=3)
    tokens = found["outputs"][0]["tokens"]
    same(clients, "translate/attention", **asked, tokens=tokens)
    same(clients, "translate/checks", **asked, tokens=tokens)
    same(clients, "compare/attention", **asked)


@pytest.mark.parametrize("name", ["additive", "location", "gaussian", "transformer"])
def test_what_if(clients, name):
    begun = same(clients, "whatif/begin", model=name, text=TEXT)
    asked = {"model": name, "text": TEXT, "tokens": begun["tokens"], "step": 0}
    same(clients, "whatif/change", **asked, pinned=[{"position": 0, "share": 1}], hidden=[2], onward=True)


@pytest.mark.parametrize("name", ["additive", "location", "general", "concat", "local", "gaussian", "dot"])
def test_step_by_step_of_translators(clients, name):
    apart(clients, name)


@pytest.mark.parametrize("name", ["transformer", "language", "attending", "classifier"])
def test_step_by_step_of_others(clients, name):
    apart(clients, name)


def apart(clients, name):
    read = same(clients, "steps/read", model=name, text=TEXT)
    asked = {"model": name, "text": TEXT, "target": read["target"], "layer": read["layer"]}
    last = next(len(one["queries"]) - 1 for one in read["layers"] if one["name"] == read["layer"])
    same(clients, "steps/apart", **asked, head=0, query=last)


@pytest.mark.parametrize("name", ["english-structured", "english-attending", "english-transformer"])
def test_labels(clients, name):
    same(clients, "classify/read", model=name, text=REVIEW)
    same(clients, "classify/maps", model=name, text=REVIEW)


def test_pictures(clients):
    same(clients, "ask/answer", model="answerer", seed=3, question=QUESTION)
    same(clients, "ask/checks", model="answerer", seed=3, question=QUESTION)
    same(clients, "ask/answer", model="captioner", seed=3)
