"""`regard.Client`: the endpoints as Python calls, with the standard library alone, and errors in words."""

import http.server
import json
import re
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.client import _unpack
from regard.decoding.search import Sampling, Search
from regard.errors import ArgumentError, ServerError
from regard.serving.keys import Keys
from regard.serving.limits import Limits
from regard.serving.metrics import Metrics
from regard.studio.tensors import pack, pack_weights
from unit.serving.served import LONG, sentences, serving
from unit.serving.test_endpoints import picture

KEY = "0123456789abcdef"


@pytest.fixture(scope="module")
def server(models):
    with serving(models, keys=Keys([KEY])) as address:
        yield regard.Client(address, key=KEY, timeout=LONG)


def test_calls_give_what_the_library_gives(server, models, tmp_path):
    texts = list(sentences()[:3])
    assert server.translate(texts) == models["translator"].translate(texts)
    [item] = server.search(texts[:1], beam=2, n_best=2, alignment=True, max_length=7)
    offline = models["translator"].search(texts[:1], Search(beam=2, n_best=2, max_length=7))[0]
    assert [output["text"] for output in item["n_best"]] == [output.text for output in offline]
    pairs = [("el libro", "the book")]
    links = regard.align(models["translator"], pairs, words="whitespace")[0].links
    assert server.align(pairs)[0]["links"] == [[link.source, link.target] for link in links]
    assert server.classify(["the cat"])[0]["label"] == models["classifier"].classify(["the cat"])[0].label
    (tmp_path / "a.png").write_bytes(picture())
    assert server.classify_images([tmp_path / "a.png"], model="residual") == (
        server.classify_images([picture()], model="residual")
    )
    assert (
        server.ask(tmp_path / "a.png", ["the"])[0]["answer"]
        == models["questions"].ask(tmp_path / "a.png", "the").answer
    )
    assert [item["name"] for item in server.models()["models"]] == list(models)


def test_text_comes_in_pieces(server, models):
    pieces = list(server.generate("the", model="ngram", max_tokens=9, seed=2, top_k=5, temperature=0.5))
    sampling = Sampling(seed=2, top_k=5, temperature=0.5)
    assert len(pieces) > 1
    assert "".join(pieces) == models["ngram"].generate("the", max_tokens=9, sampling=sampling)


def test_weights_are_numbers_of_any_library(server, models):
    reply = server.attention("el libro", target="the book", model="translator")
    [layer] = reply["layers"]
    weights = models["translator"].inspect("el libro", target="the book").call(layer.layer).weights[0]
    assert layer.values.shape == tuple(weights.shape)
    assert layer.values[0, 1, 2] == weights[0, 1, 2].item()
    assert np.array_equal(np.asarray(layer.values), weights.numpy())
    assert layer.query == reply["target_tokens"]


def test_both_ways_of_packing_are_read():
    weights = torch.rand(2, 3, 4)
    assert torch.equal(torch.tensor(np.asarray(_unpack(pack(weights)))), weights)
    rounded = np.asarray(_unpack(pack_weights(3 * weights, exact=0)))
    assert rounded.shape == (2, 3, 4)
    assert np.abs(rounded - 3 * weights.numpy()).max() <= 3 / 510 + 1e-6
    assert len(_unpack(pack(torch.zeros(0, 3)))) == 0


def test_refusals_are_errors_with_their_status(server):
    address = repr(server).removeprefix("Client(").removesuffix(")")
    with pytest.raises(ServerError) as refused:
        server.translate(["a"], beam=99)
    assert refused.value.status == 422
    assert str(refused.value) == (f"Client({address}): `beam` must be at most 12; received 99. The limit is `beam`.")
    with pytest.raises(ServerError) as refused:
        regard.Client(address).models()
    assert refused.value.status == 401


def test_no_server_is_an_error_in_words():
    with pytest.raises(ServerError) as refused:
        regard.Client("http://127.0.0.1:9").models()
    assert refused.value.status is None
    assert str(refused.value) == (
        "Client(http://127.0.0.1:9) must answer; received: [Errno 111] Connection refused. Is the server up?"
    )
    with pytest.raises(ArgumentError, match=r"^`address` must begin with http:// or https://; received ftp://a\.$"):
        regard.Client("ftp://a")


@pytest.fixture
def scripted():
    """A server that sends what it is given, reply after reply."""
    replies, asked = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.rfile.read(int(self.headers["content-length"])))
            status, headers, content = replies.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    opened = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=opened.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{opened.server_address[1]}", replies, asked
    opened.shutdown()
    thread.join(LONG)
    opened.server_close()


GOOD = (200, {}, json.dumps({"translations": [{"text": "the book"}]}).encode())
BUSY = (429, {"retry-after": "7"}, b'{"error": "At most 1 may wait."}')


def test_a_busy_server_is_asked_again_when_it_says(scripted, monkeypatch):
    address, replies, asked = scripted
    waited = []
    monkeypatch.setattr("regard.client.time.sleep", waited.append)
    replies += [BUSY, (503, {}, b"no JSON"), GOOD]
    assert regard.Client(address).translate(["el libro"]) == ["the book"]
    assert waited == [7.0, 1.0]
    assert len(set(asked)) == 1
    replies += [BUSY] * 2
    with pytest.raises(ServerError, match=r"At most 1 may wait\.$") as refused:
        regard.Client(address, retries=1).translate(["el libro"])
    assert (refused.value.status, refused.value.retry_after) == (429, 7.0)


BROKEN = {
    "half a reply": (200, {"content-length": "99"}, b'{"trans'),
    "no JSON": (200, {}, b"<html>"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_replies_that_are_none_are_errors(scripted, name):
    address, replies, _ = scripted
    replies.append(BROKEN[name])
    with pytest.raises(ServerError, match=r"^Client\(http://\S+\) must answer; received: .+\. Is the server up\?$"):
        regard.Client(address).translate(["el libro"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n', r"received: the text ended before it was whole\. Is the server up\?$"),
        (b'{"text": "a"}\n{"error": "It took too long."}\n', r": It took too long\.$"),
        (b'{"text": "a"}\n{"te', r"must answer; received: "),
    ],
)
def test_a_text_that_is_not_whole_is_an_error(scripted, content, message):
    address, replies, _ = scripted
    replies.append((200, {}, content))
    pieces = regard.Client(address).generate("x")
    assert next(pieces) == "a"
    with pytest.raises(ServerError, match=message):
        next(pieces)


def test_the_client_needs_the_standard_library_alone():
    program = (
        "import sys, regard; regard.Client();"
        "print([name for name in ('torch', 'numpy', 'fastapi', 'pydantic', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_the_python_of_the_page_runs(server, models, capsys):
    text = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    address = repr(server).removeprefix("Client(").removesuffix(")")
    exec(compile(block.replace("http://127.0.0.1:8766", address).replace('key=""', f'key="{KEY}"'), "page", "exec"), {})
    assert capsys.readouterr().out == models["language"].generate("Once upon", max_tokens=50)


def test_the_page_names_every_limit_and_figure():
    text = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    assert [item.name for item in fields(Limits) if f"`{item.name}`" not in text] == []
    shown = Metrics().text().decode()
    names = set(re.findall(r"^# HELP (regard_\w+?)(?:_created)? ", shown, re.MULTILINE))
    assert len(names) == 10
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_one_string_is_not_a_list_of_letters():
    with pytest.raises(ArgumentError, match="`texts` must be a list of sentences; received one string"):
        regard.Client("http://127.0.0.1:9").translate("El gato")
