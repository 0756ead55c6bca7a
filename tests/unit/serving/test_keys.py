"""Who may ask: those with a key, or this machine; and what is never logged."""

import io
import json
import logging

import pytest

from regard.errors import ArgumentError
from regard.serving.keys import Keys, read_keys, readable_by_others
from regard.serving.logs import LOGGER, JsonLines
from unit.serving.served import client

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"
SECRET = "el secreto de Ana"


@pytest.fixture(scope="module")
def locked(models):
    with client({"translator": models["translator"]}, keys=Keys([KEY, OTHER])) as asking:
        yield asking


@pytest.fixture(scope="module")
def alone(models):
    with client({"translator": models["translator"]}) as asking:
        yield asking


def test_a_key_opens(locked):
    for key in (KEY, OTHER):
        assert locked.get("/v1/models", headers={"authorization": f"Bearer {key}"}).status_code == 200
    assert locked.get("/v1/models", headers={"authorization": f"bearer  {KEY} "}).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Basic {KEY}",
        KEY,
        f"Bearer {KEY} {OTHER}",
        "é",
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/openapi.json", "/nothing"])
def test_anything_else_is_401(locked, header, path):
    response = locked.get(path, headers={"authorization": header.encode("latin-1")} if header else {})
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    received = "not one of the server's keys" if header else "none"
    assert response.json()["error"] == f"`Authorization` must be Bearer and an API key; received {received}."


def test_probes_need_no_key_and_any_host_may_ask_with_one(locked):
    assert locked.get("/health").status_code == 200
    assert locked.get("/ready").status_code in (200, 503)
    named = {"authorization": f"Bearer {KEY}", "host": "models.example"}
    assert locked.get("/v1/models", headers=named).status_code == 200


def test_the_description_says_that_a_key_is_needed(locked, alone):
    described = locked.get("/openapi.json", headers={"authorization": f"Bearer {KEY}"}).json()
    assert described["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert "security" not in alone.get("/openapi.json").json()


def test_every_key_is_compared_whichever_is_right(monkeypatch):
    compared = []
    monkeypatch.setattr(
        "regard.serving.keys.hmac.compare_digest", lambda left, right: compared.append(len(left)) or left == right
    )
    keys = Keys([KEY, OTHER])
    assert [keys.allow(f"Bearer {key}") for key in (KEY, OTHER, "x")] == [True, True, False]
    assert compared == [32] * 6  # checksums of one length, all of them, each time


def test_keys_are_kept_as_checksums():
    assert KEY not in repr(vars(Keys([KEY])))


def test_keys_come_from_a_file_and_a_variable(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# of the first\n{KEY}\n\n")
    path.chmod(0o644)
    keys = read_keys(path, f" {OTHER} ")
    assert keys.allow(f"Bearer {KEY}")
    assert keys.allow(f"Bearer {OTHER}")
    assert readable_by_others(path)
    path.chmod(0o600)
    assert not readable_by_others(path)
    assert not read_keys(None, None)


def test_files_without_good_keys_are_refused(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# nothing\n")
    with pytest.raises(ArgumentError) as refused:
        read_keys(path, None)
    assert str(refused.value) == (
        f"`key_file` must hold a key a line; {path} has none. Make one: openssl rand -hex 24."
    )
    path.write_text(f"{KEY}\nshort\n")
    with pytest.raises(ArgumentError) as refused:
        read_keys(path, None)
    assert str(refused.value) == (
        "A key must have at least 16 letters, digits or marks of ASCII, and no spaces; received 5 characters as number "
        "2. Make one: openssl rand -hex 24."
    )


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"host": "127.0.0.1@evil.example"}, {"origin": "http://evil.example"}, {"host": ""}],
)
def test_without_a_key_strangers_pages_are_refused(alone, headers):
    response = alone.get("/v1/models", headers=headers)
    assert response.status_code == 403
    name = "Origin" if "origin" in headers else "Host"
    assert response.json()["error"].startswith(f"`{name}` must be ")


def test_anyone_may_ask_where_that_was_wanted(models):
    with client({"ngram": models["ngram"]}, any_host=True) as asking:
        assert asking.get("/v1/models", headers={"host": "models.example"}).status_code == 200


@pytest.fixture
def logged():
    stream, logger = io.StringIO(), logging.getLogger(LOGGER)
    handler, before = logging.StreamHandler(stream), logger.level
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_logs_count_and_quote_nothing(alone, logged, models, monkeypatch):
    alone.post("/v1/translate", json={"text": [SECRET]})
    alone.post("/v1/translate", json={"text": SECRET, SECRET: 1}, headers={"authorization": f"Bearer {KEY}"})
    alone.get(f"/{SECRET}?{SECRET}")

    def fail(*args, **kwargs):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(models["translator"], "search", fail)
    failed = alone.post("/v1/translate", json={"text": [SECRET]})
    lines = logged()
    assert [(line["path"], line["status"]) for line in lines if line["event"] == "request"] == [
        ("/v1/translate", 200),
        ("/v1/translate", 422),
        ("other", 404),
        ("/v1/translate", 500),
    ]
    assert (lines[0]["items"], lines[0]["characters"], lines[0]["model"]) == (1, len(SECRET), "translator")
    [error] = [line for line in lines if line["level"] == "error"]
    assert (error["event"], error["error"], error["frames"][-1].endswith(" fail")) == (
        "the server failed", "RuntimeError", True
    )  # fmt: skip
    assert error["id"] == failed.headers["x-request-id"]
    assert failed.json()["error"] == (
        f"The server failed; this is a defect of it. Report it with the number {error['id']}."
    )
    shown = json.dumps(lines, ensure_ascii=False)
    assert not [word for word in (*SECRET.split(), KEY) if len(word) > 2 and word in shown]


def test_the_next_request_after_a_failure_works(alone, models, monkeypatch):
    monkeypatch.setattr(models["translator"], "search", lambda *args, **kwargs: 1 / 0)
    assert alone.post("/v1/translate", json={"text": ["a"]}).status_code == 500
    monkeypatch.undo()
    assert alone.post("/v1/translate", json={"text": ["a"]}).status_code == 200
