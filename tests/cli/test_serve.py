"""`regard serve`, run as a user runs it: started, asked, ended, killed and started again."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.main import get_command

import regard
from fuzz.folders import KINDS
from regard.cli import app, main
from regard.cli.serve import VARIABLE, listen
from regard.errors import ArgumentError, ServerError
from unit.tasks.translators import make_folder

LONG = 90
ROOT = Path(__file__).parents[2]
KEY = "0123456789abcdef"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    (root / "counts").mkdir()
    KINDS["ngram"].make(root / "counts")
    return [str(make_folder(root / "small")), str(root / "counts")]


@contextmanager
def started(*words, **variables):
    """Start a server, and give its process and address once it is ready."""
    command = [sys.executable, "-m", "regard", "serve", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), process.stderr.read()
        yield process, address.rstrip("/")
    finally:
        process.kill()
        process.communicate()


def test_it_answers_finishes_and_ends_with_exit_code_0(folders):
    with started(*folders, "--port", "0", **{VARIABLE: KEY}) as (process, address):
        client = regard.Client(address, key=KEY, timeout=LONG)
        assert client.translate(["el libro"]) == regard.load(folders[0]).translate(["el libro"])
        pieces = client.generate("the", max_tokens=300)
        first = next(pieces)
        process.send_signal(signal.SIGTERM)
        text = first + "".join(pieces)  # what was taken is finished
        _, logged = process.communicate(timeout=LONG)
    assert text == regard.load(folders[1]).generate("the", max_tokens=300)
    assert process.returncode == 0
    lines = [json.loads(line) for line in logged.splitlines()]
    assert [line["path"] for line in lines if line["event"] == "request"] == ["/v1/translate", "/v1/generate"]
    assert KEY not in logged


@pytest.mark.slow
def test_killed_in_mid_request_it_gives_a_clean_error_and_the_next_call_works(folders):
    with started(folders[1], "--port", "0", "--set", "tokens=1000000", "--set", "timeout=600") as (process, address):
        client = regard.Client(address, timeout=LONG)
        pieces = client.generate("the", max_tokens=10**6)
        assert next(pieces)
        threading.Timer(0.2, process.kill).start()
        with pytest.raises(ServerError, match=r"must answer; received: .+\. Is the server up\?$") as broken:
            for _ in pieces:
                pass
        assert broken.value.status is None
        process.wait(LONG)
        with pytest.raises(ServerError, match=r"Connection refused\. Is the server up\?$"):
            client.models()
    with started(folders[1], "--port", address.rsplit(":", 1)[1]) as (_, again):
        assert again == address
        assert list(client.generate("the", max_tokens=3))


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["regard", "serve", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


BAD = [
    (["--host", "0.0.0.0"], "`--host` must be 127.0.0.1, ::1 or localhost for a server without a key; received "
     "0.0.0.0. Name a file of keys with --key-file, or set REGARD_API_KEY; --allow-anyone answers whoever asks."),
    (["--port", "99999"], "`--port` must be from 0 to 65535; received 99999."),
    (["--set", "sentencs=3"], "sentencs: unknown key. Did you mean sentences?"),
    (["--set", "queue=0"], "`queue` must be at least 1; received 0."),
    (["--set", "queue"], "`--set` must be key=value, such as train.steps=500; received queue."),
    (["--key-file", "none.txt"], "none.txt must be a file that can be read; received: No such file or directory."),
    (["--host", "no.such.host.invalid", "--allow-anyone"], "`--host` must be an address of this machine; received "),
    ([], "`MODEL...` must be a model folder or a run folder; received nothing, which is not there."),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_usage_is_one_paragraph_and_exit_code_2(monkeypatch, capsys, unchecked, tmp_path, words, message):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    port = [] if "--port" in words else ["--port", "0"]
    code, shown = run(monkeypatch, capsys, "nothing", *port, *words)
    assert code == 2
    assert shown.startswith(f"regard: {message}")
    assert shown.count("\n") == 1


def test_with_a_key_or_told_so_it_listens_elsewhere():
    from regard.cli.serve import check_host

    check_host("0.0.0.0", has_key=True, allow_anyone=False)
    check_host("0.0.0.0", has_key=False, allow_anyone=True)
    check_host("::1", has_key=False, allow_anyone=False)


def test_a_port_that_is_taken_is_refused():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ArgumentError,
            match=rf"^`--host` and `--port` must be free, .* 127\.0\.0\.1 and {port}: .+ Choose others\.$",
        ):
            listen("127.0.0.1", port)


def test_help_has_an_example(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["regard", "serve", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = " ".join(re.sub(r"[│\s]+", " ", capsys.readouterr().out).split())
    assert ended.value.code == 0
    assert "Example: regard serve runs/a" in shown
    assert "/v1/translate" in shown


def test_without_its_package_the_command_says_what_to_install(monkeypatch, capsys, unchecked):
    for name in [name for name in sys.modules if name.startswith("regard.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert run(monkeypatch, capsys, "nothing", "--port", "0") == (
        2,
        "regard: `regard serve` must have the package prometheus_client; it is not installed. pip install "
        "'regard[serve]'.\n",
    )


def test_the_image_starts_the_command_as_it_is_and_not_as_root():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    [entry] = [json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRYPOINT ")]
    flags = {flag for item in get_command(app).commands["serve"].params for flag in item.opts}
    assert entry[:2] == ["regard", "serve"]
    assert {word for word in entry if word.startswith("--")} <= flags
    assert "0.0.0.0" in entry  # which is refused without a key
    assert [line for line in lines if line.startswith("USER ")] == ["USER regard"]
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    assert {name for name in copied if not (ROOT / name).exists()} == set()
    assert set(copied) == kept
    assert "STOPSIGNAL SIGTERM" in lines
