"""Whatever is sent to whatever verb, the studio answers it or refuses it in words; it never fails.

What a verb takes is read off the app's own OpenAPI schema, so that a new one is tried too. Same seed, same requests.
"""

import json
import random

import pytest
from fastapi.testclient import TestClient

import regard
from regard.studio.models import Models
from regard.studio.server import create_app
from regard.studio.views import whatif as what_if
from unit.studio.readers import make_readers
from unit.studio.runs import make_runs
from unit.studio.seers import make_english, make_seers
from unit.studio.visiting import ADDRESS, make_folders

ROUNDS = 24
"""Requests to each verb."""
NUMBERS = (-1, 0, 1, 2, 5, 30, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 0.5, 1e308, -1e-308)
WORDS = (
    "", " ", "a", "El libro es azul.", "it is a good book, and they like it", "\u2028", "\x00", "\ud800", "𝕏" * 3, "é́́",
    "is there a circle?", "9" * 400, "-1", "nan", "1e999", "encoder.0.attention", "cross", "Infinity", "word " * 60,
)  # fmt: skip
ODD = (None, True, [], {}, [[]], {"": ""}, "x" * 300, [1] * 700, *NUMBERS, *WORDS)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Open models of every kind, and runs, one of which has no model yet."""
    root = tmp_path_factory.mktemp("every")
    done, going = make_runs(root / "runs-of") if (root / "runs-of").mkdir() is None else (None, None)
    made = {name: regard.load(path) for name, path in make_folders(root).items()}
    made |= {f"{name}-seer": thing for name, thing in make_seers().items()}
    made |= {f"{name}-reader": thing for name, thing in make_english().items()}
    made |= {f"{one.name}-text": one.thing for one in make_readers(root / "readers").all()}
    loaded = {**made, "done": regard.load(done.path)}
    models = Models([*made, done.path, going.path], load=lambda path: loaded[path.name])
    models.train_one = lambda: False  # no training in tests
    return models


class Sender:
    """Makes requests that a schema allows, or nearly."""

    def __init__(self, schema, names, draw):
        self.parts, self.names, self.draw = schema["components"]["schemas"], names, draw

    def make(self, schema, name=""):
        """Give a value; now and then one that is not allowed."""
        draw = self.draw
        if not schema or draw.random() < 0.04:
            return draw.choice(ODD)
        if "$ref" in schema:
            return self.make(self.parts[schema["$ref"].rpartition("/")[2]], name)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self.make(draw.choice(schema[choice]), name)
        if "const" in schema or "enum" in schema:
            return draw.choice(schema.get("enum", [schema.get("const")]))
        return getattr(self, f"_{schema.get('type', 'null')}")(schema, name)

    def near(self, body, schema):
        """Give a request with a part or two that is drawn."""
        parts = self.parts[schema["$ref"].rpartition("/")[2]]["properties"] if schema else {}
        chosen = self.draw.sample(sorted(parts), min(len(parts), self.draw.choice([1, 1, 2])))
        return {**body, **{name: self.make(parts[name], name) for name in chosen}}

    def _null(self, schema, name):
        return None

    def _boolean(self, schema, name):
        return self.draw.random() < 0.5

    def _number(self, schema, name):
        allowed = [one for one in NUMBERS if schema.get("minimum", one) <= one <= schema.get("maximum", one)]
        return self.draw.choice([self.draw.random(), self.draw.uniform(-3, 3), *allowed])

    def _integer(self, schema, name):
        few = self.draw.randrange(12)
        return self.draw.choice([few, few, few, *(one for one in NUMBERS if isinstance(one, int))])

    def _string(self, schema, name):
        if name in ("model", "other", "models", "run"):
            return self.draw.choice([*self.names, ""])
        return self.draw.choice(WORDS)[: schema.get("maxLength")]

    def _array(self, schema, name):
        count = self.draw.choice([schema.get("minItems", 0), 1, 2, 3, schema.get("maxItems", 4)])
        return [self.make(schema["items"], name) for _ in range(min(count, 40))]

    def _object(self, schema, name):
        needed = schema.get("required", [])
        parts = schema.get("properties", {}).items()
        made = {key: self.make(part, key) for key, part in parts if key in needed or self.draw.random() < 0.6}
        if made and self.draw.random() < 0.03:
            made.pop(self.draw.choice(sorted(made)))
        return made | ({"stranger": 1} if self.draw.random() < 0.03 else {})


def verbs(app):
    return {
        path: body["post"]["requestBody"]["content"]["application/json"]["schema"]
        if "requestBody" in body["post"]
        else {}
        for path, body in app.openapi()["paths"].items()
        if "post" in body
    }


VERBS = sorted(verbs(create_app(Models())))
TEXT = {"model": "recurrent", "text": "El libro es azul"}
TABLES = {"query": [[1.0, 0.0]], "key": [[1.0, 0.0], [0.0, 1.0]], "value": [[1.0], [2.0]]}
STEP = {**TEXT, "tokens": [5, 6, 7], "step": 1}
PICTURE = {"model": "answerer-seer", "seed": 3, "question": "is there a circle?"}
REVIEW = {"model": "transformer-reader", "text": "A good book, though they say it is too long."}
SHAPE = {"matrix": [1, 0, 0, 1, 2, 3], "path": "M 0 0 L 9 0 L 9 9 Z", "fill": "#0072b2"}
LETTERS = {"matrix": [1, 0, 0, 1, 5, 9], "text": "casa", "size": 12, "width": 20, "fill": "#000000"}
#: What is answered, by verb: requests are made of this with a part or two that is drawn, or drawn as a whole.
ANSWERED = {
    "/api/ask/checks": PICTURE,
    "/api/ask/answer": PICTURE,
    "/api/ask/picture": {"model": "captioner-seer", "seed": 3},
    "/api/classify/maps": REVIEW,
    "/api/classify/read": REVIEW,
    "/api/compare/curve": {"run": "done"},
    "/api/compare/lengths": {"models": ["done"]},
    "/api/compare/attention": {**TEXT, "other": "again"},
    "/api/compare/measure": {"models": ["done"]},
    "/api/compare/runs": {},
    "/api/keep/likely": {"shown": [{"verb": "steps/read", "body": TEXT}, {"verb": "whatif/begin", "body": TEXT}]},
    "/api/learn/frames": {"run": "done"},
    "/api/learn/train": {},
    "/api/mechanisms/attend": {**TABLES, "score": {"kind": "Dot"}, "normalizer": {"kind": "Softmax"}},
    "/api/mechanisms/lookup": {"query": "a", "keys": ["a", "b"], "values": ["1", "2"], "temperature": 1.0},
    "/api/mechanisms/waves": {},
    "/api/overview": {},
    "/api/passage/attention": REVIEW,
    "/api/read/text": {"model": "letters-reader", "text": "it is a good book"},
    "/api/share/pdf": {"title": "A map", "width": 40, "height": 30, "marks": [SHAPE, LETTERS]},
    "/api/states/near": TEXT,
    "/api/steps/apart": {**TEXT, "target": "the book", "layer": "decoder.attention"},
    "/api/steps/maps": {**TEXT, "target": "the book", "layer": "decoder.attention"},
    "/api/steps/read": TEXT,
    "/api/translate/checks": {**TEXT, "tokens": [5, 6, 7]},
    "/api/translate/attention": {**TEXT, "tokens": [5, 6, 7]},
    "/api/translate/row": {**TEXT, "tokens": [5, 6, 7], "map": "cross", "row": 1},
    "/api/translate/search": TEXT,
    "/api/whatif/another": STEP,
    "/api/whatif/begin": TEXT,
    "/api/whatif/change": {**STEP, "pinned": [{"position": 0, "share": 0.5}]},
    "/api/whatif/label": {**REVIEW, "hidden": [1]},
    "/api/whatif/tokens": {"model": "recurrent", "text": "l"},
}


def test_every_verb_has_a_request_that_is_answered():
    assert sorted(ANSWERED) == VERBS


@pytest.fixture(scope="module")
def client(models):
    with TestClient(create_app(models), base_url=ADDRESS) as client:  # whose errors are raised here
        yield client


@pytest.mark.usefixtures("unchecked")  # as it is for visitors
@pytest.mark.parametrize("verb", VERBS)
def test_no_request_makes_the_studio_fail(client, models, verb, monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 3)
    app = client.app
    sender = Sender(app.openapi(), [*models.folders], random.Random(f"regard/{verb}"))
    schema, sent = verbs(app)[verb], [ANSWERED[verb]]
    sent += [sender.near(ANSWERED[verb], schema) if number % 3 else sender.make(schema) for number in range(ROUNDS)]
    for number, body in enumerate(sent):
        text = json.dumps(body).encode()
        try:
            response = client.post(verb, content=text, headers={"content-type": "application/json"})
        except Exception as error:
            raise AssertionError(f"{verb} failed for {text[:2000]!r}") from error
        assert response.status_code in ((200, 422) if number else (200,)), (response.text, text[:2000])
        if response.status_code == 422:
            assert response.json()["error"]


@pytest.mark.parametrize(
    ("verb", "body", "said"),
    [
        (
            "translate/checks",
            {"model": "recurrent", "text": "El libro es", "tokens": [2**63]},
            "tokens 1: at most 2,147,483,647.",
        ),
        (
            "translate/checks",
            {"model": "recurrent", "text": "El libro es", "tokens": [2**31 - 1]},
            "`tokens` must be numbers from 0 to ",
        ),
        (
            "translate/checks",
            {"model": "recurrent", "text": "El libro es", "tokens": [-1]},
            "`tokens` must be numbers from 0 to ",
        ),
        (
            "compare/lengths",
            {"models": [""]},
            "models 1: at least 1, of letters or entries.",
        ),
        (
            "compare/measure",
            {"models": [""]},
            "models 1: at least 1, of letters or entries.",
        ),
    ],
)
def test_what_made_it_fail_once_is_refused_in_words(client, verb, body, said):
    response = client.post(f"/api/{verb}", json=body)
    assert response.status_code == 422
    assert response.json()["error"].startswith(said)
