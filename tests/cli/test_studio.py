"""`regard studio`, run as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from regard.cli import main
from regard.cli.studio import listen
from regard.errors import ArgumentError
from unit.tasks.translators import make_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("models") / "small")


def test_it_serves_until_it_is_interrupted(model):
    command = [sys.executable, "-m", "regard", "studio", str(model), "--no-open", "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        asked = urllib.request.Request(f"{address}api/overview", b"{}", {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            told = json.load(answer)
        assert [one["name"] for one in told["models"]] == ["small"]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert said == "regard: the studio is served to this machine alone; Ctrl-C ends it.\n"


def test_a_port_that_is_taken_is_passed_over_or_told():
    first = listen(None)
    second = listen(None)
    try:
        taken, other = first.getsockname()[1], second.getsockname()[1]
        assert taken != other
        assert first.getsockname()[0] == "127.0.0.1"
        with pytest.raises(
            ArgumentError, match=rf"^`--port` must be free; received {taken}: .+\. Leave it out for one that is\.$"
        ):
            listen(taken)
    finally:
        first.close()
        second.close()


def test_bad_input_ends_in_one_paragraph(monkeypatch, capsys, unchecked, tmp_path):
    for words, said in [
        (["--port", "99999"], "regard: `--port` must be from 0 to 65535; received 99999.\n"),
        ([str(tmp_path / "none"), "--no-open"], "regard: `MODEL` must be a model folder or a run folder; received "),
    ]:
        monkeypatch.setattr(sys, "argv", ["regard", "studio", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith(said)
