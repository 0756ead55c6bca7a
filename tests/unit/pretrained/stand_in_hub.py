"""A hub on loopback: as much of its protocol as `huggingface_hub` uses to list, fetch and commit small repositories."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandInHub:
    """Repositories as lists of commits, each a table of files."""

    def __init__(self) -> None:
        self.repositories: dict[str, list[dict[str, bytes]]] = {}
        self.requests: list[str] = []
        self.sizes: dict[str, int] = {}
        self.token: str | None = None

    def commit(self, repository: str, files: dict[str, bytes]) -> str:
        """Add a commit, and give its number."""
        commits = self.repositories.setdefault(repository, [])
        commits.append({**(commits[-1] if commits else {}), **files})
        return self.number(repository, len(commits) - 1)

    def number(self, repository: str, index: int) -> str:
        return hashlib.sha1(f"{repository} {index}".encode()).hexdigest()

    def find(self, repository: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Give the number and the files of a revision."""
        commits = self.repositories.get(repository, [])
        numbers = [self.number(repository, index) for index in range(len(commits))]
        if revision == "main" and commits:
            return numbers[-1], commits[-1]
        return (revision, commits[numbers.index(revision)]) if revision in numbers else None


class _Handler(BaseHTTPRequestHandler):
    hub: StandInHub

    def log_message(self, *received) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer_json(self, value: object, status: int = 200) -> None:
        self.answer(status, json.dumps(value).encode(), Content_Type="application/json")

    def missing(self, kind: str) -> None:
        self.answer(404, b"{}", X_Error_Code=kind, X_Error_Message=kind)

    def do_GET(self) -> None:
        path = self.path.split("?")[0].replace("%2F", "/")
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path):
            return self.list_files(found[1], found[2])
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)/?.*", path):
            return self.list_tree(found[1], found[2])
        if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.give_file(found[1], found[2], found[3])
        return self.answer(404)

    do_HEAD = do_GET  # noqa: N815 (the name that http.server calls)

    def list_files(self, repository: str, revision: str) -> None:
        if repository not in self.hub.repositories:
            return self.missing("RepoNotFound")
        if (known := self.hub.find(repository, revision)) is None:
            return self.missing("RevisionNotFound")
        number, files = known
        names = [
            {"rfilename": name, "size": self.hub.sizes.get(name, len(content)), "blobId": "0"}
            for name, content in files.items()
        ]
        return self.answer_json({"id": repository, "modelId": repository, "sha": number, "siblings": names})

    def list_tree(self, repository: str, revision: str) -> None:
        known = self.hub.find(repository, revision)
        if known is None:
            return self.missing("RevisionNotFound")
        entries = [
            {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for name, content in known[1].items()
        ]
        return self.answer_json(entries)

    def give_file(self, repository: str, revision: str, name: str) -> None:
        known = self.hub.find(repository, revision)
        if known is None or name not in known[1]:
            return self.missing("EntryNotFound")
        content = known[1][name]
        return self.answer(
            200,
            content,
            ETag=f'"{hashlib.sha1(content).hexdigest()}"',
            X_Repo_Commit=known[0],
            Accept_Ranges="bytes",
        )

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.hub.token and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self.answer_json({"error": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            wanted = json.loads(content)
            name = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
            there = name in self.hub.repositories
            self.hub.repositories.setdefault(name, [])
            answer = {"url": f"http://{self.headers['Host']}/{name}", "name": name}
            return self.answer_json(answer, 409 if there else 200)
        if self.path == "/api/validate-yaml":
            return self.answer_json({"errors": [], "warnings": []})
        if re.fullmatch(r"/api/models/[^/]+/[^/]+/preupload/[^/]+", self.path):
            files = json.loads(content)["files"]
            return self.answer_json(
                {"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]}
            )
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/([^/]+)", self.path):
            lines = [json.loads(line) for line in content.splitlines()]
            added = {
                line["value"]["path"]: base64.b64decode(line["value"]["content"])
                for line in lines
                if line["key"] == "file"
            }
            number = self.hub.commit(found[1], added)
            address = f"http://{self.headers['Host']}/{found[1]}/commit/{number}"
            return self.answer_json({"success": True, "commitOid": number, "commitUrl": address})
        return self.answer(404)


@contextmanager
def running_hub():
    """Run one, and give it with its address."""
    hub = StandInHub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
