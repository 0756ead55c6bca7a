"""Only this machine, only the studio's own page, and not without end."""

import asyncio
import json

import pytest
from starlette.responses import JSONResponse

from regard.studio.guard import MAX_BODY, Guard
from unit.studio.visiting import ADDRESS


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.7:8765", "127.0.0.1@evil.example", "", "["]
)
def test_a_foreign_host_is_refused(client, host):
    response = client.get("/", headers={"host": host})
    assert response.status_code == 403
    assert response.json()["error"] == (
        f"`Host` must be this machine; received {host!r}. Open the address that the studio printed."
    )


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:9000"])
def test_loopback_is_let_in_under_all_its_names(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200
    own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert client.post("/api/overview", json={}, headers=own).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8765", "http://127.0.0.1:9999", "null"])
def test_another_page_is_refused(client, origin):
    response = client.post("/api/overview", json={}, headers={"origin": origin})
    assert response.status_code == 403
    assert response.json()["error"] == f"`Origin` must be the studio's own page; received {origin!r}."


def test_what_a_browser_calls_cross_site_is_refused(client):
    response = client.get("/studio.js", headers={"sec-fetch-site": "cross-site"})
    assert response.status_code == 403
    assert response.json()["error"] == "`Sec-Fetch-Site` must be same-origin; received 'cross-site'."
    assert client.get("/", headers={"sec-fetch-site": "none"}).status_code == 200


def test_a_form_of_another_page_cannot_post(client):
    response = client.post("/api/overview", content="{}", headers={"content-type": "text/plain"})
    assert response.status_code == 415
    assert response.json()["error"] == "`Content-Type` must be application/json."


def test_a_body_has_an_end(client):
    said = f"A request must have at most {MAX_BODY:,} bytes; received more. Send less."
    large = b'{"text": "' + b"a" * MAX_BODY + b'"}'
    kind = {"content-type": "application/json"}
    response = client.post("/api/translate/search", content=large, headers=kind)
    assert (response.status_code, response.json()["error"]) == (413, said)
    parts = (large[start : start + 2**20] for start in range(0, len(large), 2**20))  # sent without a length
    response = client.post("/api/translate/search", content=parts, headers=kind)
    assert (response.status_code, response.json()["error"]) == (413, said)


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "/static/../models.py",
        "/etc/passwd",
        "/server.py",
        "/.env",
    ],
)
def test_no_path_leads_out(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "error" in response.json()


def test_every_answer_forbids_what_the_page_does_not_need(client):
    for response in (
        client.get("/"),
        client.get("/studio.js"),
        client.get("/none"),
        client.get("/", headers={"host": "x"}),
    ):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in response.headers


def test_the_page_and_its_files_come(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'src="studio.js"' in page.text
    assert client.get("/studio.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/studio.css").headers["content-type"].startswith("text/css")
    assert client.get(ADDRESS + "/openapi.json").status_code == 404


def send(guard, *messages, headers=()):
    """Send one request past a guard, and give what it answered."""
    answered = []
    waiting = list(messages)
    named = {"host": "127.0.0.1", "content-type": "application/json", **dict(headers)}

    async def receive():
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    async def keep(message):
        answered.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    return guard(scope, receive, keep), answered


def part(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def status_of(answered):
    return answered[0]["status"] if answered else None


def test_requests_have_an_end_together_and_others_follow_when_there_are_fewer():
    inside, go, calls = asyncio.Event(), asyncio.Event(), []

    async def app(scope, receive, send):
        calls.append((await receive())["body"])
        inside.set()
        await go.wait()
        await JSONResponse({})(scope, receive, send)

    guard = Guard(app, max_body=8, max_open=12, patience=0.0)

    async def visit():
        first, told = send(guard, part(b"12345678"), headers={"content-length": "8"})
        task = asyncio.ensure_future(first)
        await inside.wait()
        for headers in ({"content-length": "5"}, {"transfer-encoding": "chunked"}):
            second, refused = send(guard, part(b"12345"), headers=headers)
            await second
            assert status_of(refused) == 503
            assert (b"retry-after", b"5") in refused[0]["headers"]
            assert json.loads(refused[1]["body"]) == {
                "error": "Requests must have at most 12 bytes together, and so many do. Ask again in a moment.",
            }
        small, let_in = send(guard, part(b"1234"), headers={"content-length": "4"})
        other = asyncio.ensure_future(small)
        go.set()
        await asyncio.gather(task, other)
        assert status_of(told) == status_of(let_in) == 200
        later, let_in = send(guard, part(b"12345678"), headers={"transfer-encoding": "chunked"})
        await later
        assert status_of(let_in) == 200

    asyncio.run(visit())
    assert calls == [b"12345678", b"1234", b"12345678"]


def test_who_waits_for_others_is_let_in_when_they_are_answered():
    inside, go = asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        await receive()
        inside.set()
        await go.wait()
        await JSONResponse({})(scope, receive, send)

    guard = Guard(app, max_body=8, max_open=8, patience=60.0)

    async def visit():
        tasks = [asyncio.ensure_future(send(guard, part(b"12345678"), headers={"content-length": "8"})[0])]
        await inside.wait()
        last, told = send(guard, part(b"12345678"), headers={"content-length": "8"})
        tasks.append(asyncio.ensure_future(last))
        await asyncio.sleep(0)
        assert not told
        go.set()
        await asyncio.gather(*tasks)
        assert status_of(told) == 200

    asyncio.run(visit())


def test_half_a_body_of_a_visitor_who_has_gone_is_not_answered():
    calls = []

    async def app(scope, receive, send):
        calls.append(1)

    guard = Guard(app, max_body=8, max_open=8, patience=0.0)

    async def visit():
        for _ in range(3):  # what was taken is given back
            half, told = send(
                guard, part(b"1", more=True), {"type": "http.disconnect"}, headers={"content-length": "8"}
            )
            await half
            assert told == []

    asyncio.run(visit())
    assert not calls
