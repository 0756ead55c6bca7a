"""Visitors who hang up: they leave the queue, their question is given up, and others get their answers.

Real connections to a real server. Nothing here waits for a time to pass, but for something to happen.
"""

import json
import socket
import threading
import time
import urllib.request
from urllib.parse import urlsplit

import pytest
import torch
from torch import nn

from regard.studio.models import Models
from regard.studio.turns import Turns, VisitorGone, cancelled
from unit.studio.visiting import serving

LONG = 60  # seconds after which something is wrong
ASKED = {"model": "recurrent", "text": "El libro", "tokens": [5, 6, 7]}
LOOKED_UP = {"query": "a", "keys": ["a", "b"], "values": ["1", "2"], "temperature": 1.0}


def until(condition):
    """Wait for something to happen."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


class Studio:
    """A studio whose recurrent model can be held: a visitor stops in it until `go`."""

    def __init__(self, folders, monkeypatch):
        self.models = Models([folders["recurrent"], folders["again"]])
        self.opened = self.models.find("recurrent", object)
        self.inside, self.go, self.readings = threading.Event(), threading.Event(), 0
        model = self.opened.thing.model
        self.own = model.start
        monkeypatch.setattr(model, "start", self.start)
        self.address = ""

    def start(self, *args, **kwargs):
        self.readings += 1
        self.inside.set()
        assert self.go.wait(LONG)
        return self.own(*args, **kwargs)

    def waiting(self):
        return len(self.opened.turns._tickets)

    def knock(self, body=ASKED, verb="translate/attention"):
        """Ask something, without waiting for the answer."""
        data, place = json.dumps(body).encode(), urlsplit(self.address)
        visitor = socket.create_connection((place.hostname, place.port), timeout=LONG)
        head = f"POST /api/{verb} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        visitor.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        return visitor

    def ask(self, verb, body):
        """Ask something, and give status, headers and answer."""
        asked = urllib.request.Request(
            f"{self.address}api/{verb}", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=LONG) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.headers, json.load(error)


@pytest.fixture
def studio(folders, monkeypatch):
    made = Studio(folders, monkeypatch)
    with serving(made.models) as address:
        made.address = address
        yield made
        made.go.set()


def test_who_hangs_up_before_a_turn_leaves_and_is_never_computed(studio):
    held = studio.knock()
    assert studio.inside.wait(LONG)
    gone = [studio.knock() for _ in range(20)]
    until(lambda: studio.waiting() == 21)
    for visitor in gone:
        visitor.close()
    until(lambda: studio.waiting() == 1)
    last = studio.knock()
    until(lambda: studio.waiting() == 2)
    studio.go.set()
    assert held.recv(12) == last.recv(12) == b"HTTP/1.1 200"
    assert studio.readings == 2
    held.close()
    last.close()


def test_a_question_is_given_up_where_its_visitor_hangs_up_in_its_turn(studio, monkeypatch):
    model = studio.opened.thing.model
    ended = threading.Event()

    def think(*args, **kwargs):
        """Call a layer again and again, as a long search does."""
        studio.inside.set()
        end = time.monotonic() + LONG
        try:
            while time.monotonic() < end:
                model.source(torch.tensor([[5]]))
                time.sleep(0.005)
        finally:
            ended.set()
        raise AssertionError("nobody stopped it")

    with monkeypatch.context() as thinking:
        thinking.setattr(model, "start", think)
        visitor = studio.knock()
        assert studio.inside.wait(LONG)
        visitor.close()
        assert ended.wait(LONG)
        until(lambda: studio.waiting() == 0)
    studio.go.set()
    status, _, answer = studio.ask("translate/attention", ASKED)
    assert (status, answer["target"]["ids"]) == (200, ASKED["tokens"])
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_more_than_may_wait_are_asked_to_come_again_and_other_questions_need_not_wait(studio):
    visitors = [studio.knock()]
    assert studio.inside.wait(LONG)
    visitors += [studio.knock() for _ in range(64)]
    until(lambda: studio.waiting() == 65)
    status, headers, answer = studio.ask("translate/attention", ASKED)
    assert (status, headers["retry-after"]) == (503, "5")
    assert answer == {
        "error": "At most 64 questions may wait for recurrent, and so many do. Ask again in a moment.",
    }
    assert studio.ask("mechanisms/lookup", LOOKED_UP)[0] == 200
    assert studio.ask("translate/attention", ASKED | {"model": "again"})[0] == 200
    for visitor in visitors[1:-1]:
        visitor.close()
    until(lambda: studio.waiting() == 2)
    studio.go.set()
    assert visitors[0].recv(12) == visitors[-1].recv(12) == b"HTTP/1.1 200"
    visitors[0].close()
    visitors[-1].close()


def test_turns_come_in_order():
    turns, order, threads = Turns("a"), [], []

    def take(number):
        with turns.taken():
            order.append(number)

    with turns.taken():
        for number in range(5):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            until(lambda: len(turns._tickets) == number + 2)
    for thread in threads:
        thread.join(LONG)
    assert order == [0, 1, 2, 3, 4]


def test_work_is_given_up_at_a_layer_and_leaves_nothing_behind():
    model, gone = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), threading.Event()
    calls = []
    model[0].register_forward_hook(lambda *_: (calls.append(1), gone.set())[0])
    with pytest.raises(VisitorGone), cancelled(model, gone):
        model(torch.zeros(1, 2))
    assert len(calls) == 1
    assert not any(layer._forward_pre_hooks for layer in model.modules())
    with cancelled(None, gone), cancelled(object(), gone):
        model(torch.zeros(1, 2))
