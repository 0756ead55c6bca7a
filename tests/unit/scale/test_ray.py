"""Blocks over a real Ray cluster on this machine: workers are killed in the middle, and no line is lost or doubled."""

import importlib.util
import os
import random
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.errors import ArgumentError, DataError, MissingExtraError
from regard.scale import ray_engine
from regard.scale.blocks import plan_blocks
from regard.scale.job import InProcess, run_job
from regard.scale.ray_engine import RayEngine
from regard.scale.text_work import Models, TranslateLines
from unit.scale.test_ledger import expected
from unit.scale.tiny import Killing, Upper, make_model, write_lines

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns of itself
#: Found, not imported: the engine must be the first to import it, with a token.
NEEDS_RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs regard[ray]")


def test_a_cluster_that_does_not_answer_is_named_at_once():
    for address, message in (
        ("127.0.0.1:1", r"`engine` must name a Ray cluster that answers; 127.0.0.1:1 does not \(.*refused\)\. Start"),
        ("nowhere", r"must name a cluster by host and port, such as ray:10.0.0.1:6379; received ray:nowhere\."),
        ("ray://127.0.0.1:1", r"ray://127.0.0.1:1 does not"),
    ):
        with pytest.raises(ArgumentError, match=message):
            list(RayEngine(address=address).run(Upper(source=None), [None]))


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        MissingExtraError, match=r"must have Ray; it is not installed \(.*\)\. Run: pip install 'regard\[ray"
    ):
        list(RayEngine().run(Upper(source=None), [None]))


def test_nothing_to_do_starts_no_cluster():
    assert list(RayEngine().run(Upper(source=None), [])) == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"number": 7}, r"A worker must answer with a block that it was sent; received 7\."),
        ({}, r"A worker must answer with a block that it was sent; received None\."),
        ({"number": 0, "problem": "", "content": b"", "facts": "{"}, r"The answer for block 0 must be JSON; received"),
        ({"number": 0, "problem": "DataError: x must be y.", "content": b"", "facts": "{}"}, r"^x must be y\.$"),
    ],
)
def test_what_a_worker_answers_is_checked(tmp_path, monkeypatch, answer, message):
    cluster = SimpleNamespace(cluster_resources=lambda: {"CPU": 1})
    monkeypatch.setattr(ray_engine, "_connected", lambda address: nullcontext(cluster))
    monkeypatch.setattr(ray_engine, "_compute", lambda work, blocks, **how: (item for item in [answer]))
    blocks = list(plan_blocks([write_lines(tmp_path / "a.txt", 3)]))
    with pytest.raises(DataError, match=message):
        list(RayEngine().run(Upper(source=None), blocks))


@pytest.mark.slow
@NEEDS_RAY
def test_workers_that_are_killed_lose_and_double_no_line(tmp_path, monkeypatch):
    tests = Path(__file__).parents[2]  # whose modules hold what is sent to the workers
    monkeypatch.setenv("PYTHONPATH", f"{tests}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    source, output, marks = write_lines(tmp_path / "a.txt", 20_000), tmp_path / "out.txt", tmp_path / "marks"
    marks.mkdir()
    at = tuple(random.Random(2).sample(range(20_000), 3))
    run_job(Killing(work=Upper(source=source), at=at, marks=marks), output, RayEngine(workers=2), chunk_lines=500)
    assert len(list(marks.iterdir())) == 3  # each has died
    assert output.read_bytes() == expected(source)


@pytest.mark.slow
@NEEDS_RAY
def test_ray_translates_as_one_process_does(tmp_path):
    model, source = make_model(tmp_path / "run"), write_lines(tmp_path / "a.txt", 300)
    work = TranslateLines(models=Models.find([model], device="cpu"), source=source)
    run_job(work, tmp_path / "one.txt", InProcess(), chunk_lines=100)
    run_job(work, tmp_path / "ray.txt", RayEngine(workers=2), chunk_lines=100)
    assert (tmp_path / "ray.txt").read_bytes() == (tmp_path / "one.txt").read_bytes()
    (model / "model" / "untrained.json").unlink()
    with pytest.raises(
        DataError, match=r"must be the same model on every machine, [0-9a-f]{16}; received [0-9a-f]{16}"
    ):
        run_job(work, tmp_path / "other.txt", RayEngine(workers=1), chunk_lines=100)
