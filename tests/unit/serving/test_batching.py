"""Batches: requests that ask alike are computed together, every one gets its own answer, none waits for ever.

A model is held inside a batch by an event, so that nothing here depends on time.
"""

import threading
from dataclasses import dataclass
from typing import ClassVar

import pytest
from starlette.exceptions import HTTPException
from torch import nn

from regard.errors import ArgumentError
from regard.serving.limits import Limits
from regard.serving.metrics import Metrics
from regard.serving.worker import Worker
from unit.serving.served import LONG, ask_at_once, sentences, serving


class Panic(BaseException):
    """What packages written in Rust raise where they fail."""


class Layer(nn.Module):
    """A model that is one layer; it stops in a batch until it may go on, and notes the batches."""

    def __init__(self):
        super().__init__()
        self.model, self.batches = nn.Identity(), []
        self.inside, self.go = threading.Event(), threading.Event()
        self.go.set()

    def compute(self, items):
        self.batches.append(list(items))
        self.inside.set()
        assert self.go.wait(LONG)
        self.model(None)  # where work that nobody waits for ends
        if "panic" in items:
            raise Panic
        if "bad" in items:
            raise ArgumentError("`text` must be good; received bad.")
        return [item.upper() for item in items]


@dataclass(frozen=True)
class Upper:
    batches: ClassVar[bool] = True
    name: str = ""

    def __call__(self, model, items, /):
        return model.compute(items)


@dataclass(frozen=True, eq=False)
class Alone(Upper):
    batches: ClassVar[bool] = False


@pytest.fixture
def held():
    """A worker whose model is in the midst of a first batch, and waits."""
    workers = []

    def make(**limits):
        model = Layer()
        worker = Worker("layer", model, limits=Limits(**{"wait": 0.0} | limits), metrics=Metrics())
        worker.start()
        model.go.clear()
        first = worker.submit(Upper(), ["first"])
        assert model.inside.wait(LONG)
        workers.append((worker, model))
        return worker, model, first

    yield make
    for worker, model in workers:
        model.go.set()
        worker.close()


def finish(worker, model, *jobs):
    model.go.set()
    return [job.future.result(LONG) for job in jobs]


def test_requests_that_ask_alike_are_computed_together(held):
    worker, model, first = held(batch=8)
    jobs = [worker.submit(Upper(), [f"a{number}", f"b{number}"]) for number in range(3)]
    assert finish(worker, model, first, *jobs) == [["FIRST"], *[[f"A{n}", f"B{n}"] for n in range(3)]]
    assert model.batches == [["first"], ["a0", "b0", "a1", "b1", "a2", "b2"]]


def test_others_are_computed_apart_oldest_first(held):
    worker, model, first = held(batch=8)
    calls = [Upper("x"), Upper("y"), Upper("x"), Alone(), Alone()]
    jobs = [worker.submit(call, [str(number)]) for number, call in enumerate(calls)]
    finish(worker, model, first, *jobs)
    assert model.batches[1:] == [["0", "2"], ["1"], ["3"], ["4"]]


def test_a_long_request_takes_its_share_and_goes_behind(held):
    worker, model, _ = held(batch=4)
    long = worker.submit(Upper(), [f"l{number}" for number in range(7)])
    short = [worker.submit(Upper(), [name]) for name in ("s", "t")]
    other = worker.submit(Upper("y"), ["o"])
    results = finish(worker, model, long, *short, other)
    assert results == [[f"L{number}" for number in range(7)], ["S"], ["T"], ["O"]]
    assert model.batches[1:] == [["l0", "l1", "s", "t"], ["o"], ["l2", "l3", "l4", "l5"], ["l6"]]


def test_one_bad_request_does_not_spoil_the_others(held):
    worker, model, _ = held(batch=8)
    good, bad, more = (worker.submit(Upper(), [name]) for name in ("good", "bad", "more"))
    model.go.set()
    assert (good.future.result(LONG), more.future.result(LONG)) == (["GOOD"], ["MORE"])
    with pytest.raises(ArgumentError, match=r"^`text` must be good; received bad\.$"):
        bad.future.result(LONG)


def test_no_failure_ends_the_thread(held):
    worker, model, _ = held(batch=1)
    bad, good = worker.submit(Upper(), ["panic"]), worker.submit(Upper(), ["good"])
    model.go.set()
    with pytest.raises(Panic):
        bad.future.result(LONG)
    assert good.future.result(LONG) == ["GOOD"]


def test_nobody_can_cancel_a_result_while_it_is_written(held):
    """The event loop cancels what it waits for; between asking and setting, that would end the model's thread."""
    worker, model, first = held()
    assert not first.future.cancel()
    assert finish(worker, model, first) == [["FIRST"]]


def test_a_full_queue_refuses_and_says_when_to_come_again(held):
    worker, _, _ = held(queue=3)
    worker.submit(Upper(), ["a", "b"])
    with pytest.raises(HTTPException) as refused:
        worker.submit(Upper(), ["c", "d"])
    assert refused.value.status_code == 429
    assert refused.value.detail == (
        "At most 3 sentences may wait for layer, and so much is asked of it. The limit is `queue`. Ask again in 1 s."
    )
    assert refused.value.headers == {"retry-after": "1"}
    worker.submit(Upper(), ["c"])
    assert not worker.is_open()


def test_what_would_wait_too_long_is_refused(held):
    worker, _, _ = held(batch=2, delay=2.0)
    worker._spent, worker._done = 7.0, 10.0  # seconds and items
    for name in "ab":
        worker.submit(Upper(), [name])  # a batch may wait in any case
    with pytest.raises(HTTPException) as refused:
        worker.submit(Upper(), ["c"])
    assert refused.value.detail == (
        "At most 2 s may be waited for layer, and so much is asked of it. The limit is `delay`. Ask again in 3 s."
    )
    assert refused.value.headers == {"retry-after": "3"}


def test_a_request_given_up_leaves_the_queue(held):
    worker, model, first = held(queue=3)
    gone, kept = worker.submit(Upper(), ["gone"] * 2), worker.submit(Upper(), ["kept"])
    worker.give_up(gone, "disconnected")
    assert worker.waiting() == 1
    finish(worker, model, first, kept)
    assert model.batches[1:] == [["kept"]]
    assert b'regard_cancelled_total{model="layer",reason="disconnected"} 1.0' in worker._metrics.text()


def test_a_batch_that_nobody_waits_for_ends_at_the_next_layer(held):
    worker, model, first = held()
    kept = worker.submit(Upper(), ["kept"])
    worker.give_up(first, "timeout")
    assert finish(worker, model, kept) == [["KEPT"]]
    assert not first.future.done()


def test_a_batch_that_somebody_waits_for_goes_on(held):
    worker, model, _ = held(batch=8)
    gone, kept = worker.submit(Upper(), ["gone"]), worker.submit(Upper(), ["kept"])
    model.inside.clear()
    model.go.set()
    assert model.inside.wait(LONG)
    worker.give_up(gone)
    assert kept.future.result(LONG) == ["KEPT"]


def test_what_was_taken_is_finished_and_no_more_is_taken(held):
    worker, model, first = held()
    second = worker.submit(Upper(), ["second"])
    closing = threading.Thread(target=worker.close)
    closing.start()
    while not worker._closing:
        pass
    with pytest.raises(HTTPException) as refused:
        worker.submit(Upper(), ["third"])
    assert (refused.value.status_code, refused.value.headers) == (503, {"retry-after": "1"})
    assert finish(worker, model, first, second) == [["FIRST"], ["SECOND"]]
    closing.join(LONG)
    assert not closing.is_alive()


def test_every_client_gets_its_own_answer(models):
    """Many at once, of different lengths and settings: each answer is the one that the library gives offline."""
    from regard.decoding.search import Search

    translator = models["translator"]
    bodies = [{"text": [text], "beam": 1 + number % 2} for number, text in enumerate(sentences())]
    bodies += [{"text": list(sentences()[n : n + 5]), "beam": 2} for n in range(3)]
    with serving({"translator": translator}, Limits(batch=8, wait=0.02, delay=LONG)) as address:
        replies = ask_at_once(address, bodies)
    for body, reply in zip(bodies, replies, strict=True):
        offline = [translator.translate([text], Search(beam=body["beam"]))[0] for text in body["text"]]
        assert [item["text"] for item in reply.json()["translations"]] == offline


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queue": 0}, "`queue` must be at least 1; received 0."),
        ({"timeout": float("nan")}, "`timeout` must be at least 0.1; received nan."),
        ({"wait": -1.0}, "`wait` must be at least 0; received -1.0."),
        ({"wait": 50.0}, "`wait` must be at most `timeout`, 30.0; received 50.0."),
    ],
)
def test_limits_must_make_sense(settings, message):
    with pytest.raises(ArgumentError) as refused:
        Limits(**settings)
    assert str(refused.value) == message
