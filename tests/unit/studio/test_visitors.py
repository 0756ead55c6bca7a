"""Two visitors at once: one is held in the midst of asking a model while the other comes, and each gets its own answer.

Nothing here waits for a time to pass. The first visitor is stopped where the model is being recorded or meddled with,
and goes on once the second has found that it must wait, or, were there no turns, once the second has been answered.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from regard.studio.models import Models
from regard.studio.server import create_app
from regard.studio.turns import Turns
from unit.studio.visiting import ADDRESS, ask

LONG = 60  # seconds after which something is wrong
ASKED = {"first": "El libro", "second": "La casa grande y el libro"}
TOKENS = {"first": [5, 6, 7], "second": [8, 9, 5, 6]}
#: What is asked: of which the first is held at its last step of decoding, and the second comes meanwhile.
PAIRS = {
    "recording": ("translate/attention", "translate/attention"),
    "uniform": ("translate/checks", "translate/attention"),
    "steps": ("steps/read", "steps/read"),
}


class Door(Turns):
    """The queue before a model. Who finds another in turn knocks, so that the one inside goes on, and waits."""

    def __init__(self, name, go):
        super().__init__(name)
        self.go, self.knocked = go, False

    def is_first(self, ticket):
        first = super().is_first(ticket)
        if not first:
            self.knocked = True
            self.go.set()
        return first


class House:
    """A studio in which a visitor of the recurrent model stops at a step of decoding until told to go on."""

    def __init__(self, folders, monkeypatch):
        self.models = Models([folders["recurrent"], folders["again"]])
        self.app = create_app(self.models)
        self.inside, self.go = threading.Event(), threading.Event()
        self.steps, self.stop = 0, None
        self.doors = {one.name: Door(one.name, self.go) for one in self.models.all()}
        for one in self.models.all():
            self.models._opened[one.name] = one._replace(turns=self.doors[one.name])
        model = self.models.find("recurrent", object).thing.model
        self.own = model.start
        monkeypatch.setattr(model, "start", self.start)

    def start(self, *args, **kwargs):
        """Begin decoding: where every look of a translator comes by."""
        self.steps += 1
        if self.steps == self.stop:
            self.inside.set()
            assert self.go.wait(LONG)
        return self.own(*args, **kwargs)

    def ask(self, verb, who, model="recurrent"):
        said = {"target": "the book"} if verb.startswith("steps") else {"tokens": TOKENS[who]}
        return ask(TestClient(self.app, base_url=ADDRESS), verb, model=model, text=ASKED[who], **said)

    def alone(self, verb, who, model="recurrent"):
        """Ask while nobody else does, and count the steps."""
        self.steps = 0
        return self.ask(verb, who, model), self.steps

    def hold(self, steps):
        """Stop the next visitor at its last step."""
        self.steps, self.stop = 0, steps


@pytest.fixture
def house(folders, monkeypatch):
    return House(folders, monkeypatch)


@pytest.mark.parametrize("pair", PAIRS)
def test_who_comes_meanwhile_waits_and_both_get_what_they_would_alone(house, pair):
    verbs = dict(zip(ASKED, PAIRS[pair], strict=True))
    second, _ = house.alone(verbs["second"], "second")
    first, steps = house.alone(verbs["first"], "first")
    house.hold(steps)

    def come():
        try:
            return house.ask(verbs["second"], "second")
        finally:
            house.go.set()

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(house.ask, verbs["first"], "first")
        assert house.inside.wait(LONG)
        other = pool.submit(come)
        assert held.result(LONG) == first
        assert other.result(LONG) == second
    assert house.doors["recurrent"].knocked


def test_who_asks_another_model_need_not_wait(house):
    first, steps = house.alone("translate/attention", "first")
    second, _ = house.alone("translate/attention", "second", "again")
    house.hold(steps)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(house.ask, "translate/attention", "first")
        assert house.inside.wait(LONG)
        try:
            assert house.ask("translate/attention", "second", "again") == second
            assert not held.done()
        finally:
            house.go.set()
        assert held.result(LONG) == first
    assert not any(door.knocked for door in house.doors.values())
