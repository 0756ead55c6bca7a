"""Only this machine, only the studio's own page, and not without end."""

import pytest

from regard.studio.guard import MAX_BODY
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
