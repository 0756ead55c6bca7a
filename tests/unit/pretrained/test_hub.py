"""Models on a hub, against one on loopback: fetched by a list of names, pinned, kept, and pushed whole."""

import os
import re
import subprocess
import sys

import pytest

from regard.errors import ArgumentError, DataError
from regard.export.push import list_files, push
from regard.pretrained import hub as hub_module
from regard.pretrained.hub import fetch, is_hub_name, parse_hub_name
from unit.pretrained.stand_in_hub import running_hub
from unit.tasks.translators import make_folder

pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.usefixtures("unchecked")
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("model"))
    (folder / "notes.txt").write_text("private")
    (folder / "README.md").write_text("# A model\n")
    return folder


@pytest.fixture
def served(model, tmp_path):
    """Give a hub that has the model, its address, and an empty cache."""
    with running_hub() as (hub, address):
        files = {path.name: path.read_bytes() for path in model.iterdir()}
        hub.commit("me/small", {**files, "pytorch_model.bin": b"pickle", "modeling.py": b"import os"})
        yield hub, address, tmp_path / "cache"


def test_names():
    assert str(parse_hub_name("hf:owner/name")) == "hf:owner/name"
    assert parse_hub_name("hf:owner/name@refs/pr/1").revision == "refs/pr/1"
    assert is_hub_name("hf:a/b")
    assert not is_hub_name("a/b")
    paths = ("hf:a/b@../c", "hf:a/b@/etc/c", "hf:a/b@c//d")  # what names a file of the cache stays in it
    for text in ("hf:name", "hf:a/b/c", "hf:../b", *paths, "hf:a/b@", "hf:a/b\n", "hf:a b/c", "hf:é/b"):
        with pytest.raises(ArgumentError, match=r"`path` must be hf:owner/name or hf:owner/name@revision; received"):
            parse_hub_name(text)


def test_only_the_files_of_a_model_are_fetched_and_the_commit_is_named(served, model, caplog):
    hub, address, cache = served
    folder = fetch("hf:me/small", endpoint=address, cache=cache)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    commit = hub.number("me/small", 0)
    assert f"hf:me/small is commit {commit}. To load the same again: hf:me/small@{commit}." in caplog.text
    assert not [request for request in hub.requests if re.search(r"pytorch_model|modeling|notes", request)]


def test_a_pinned_commit_stays_and_needs_no_hub_again(served):
    hub, address, cache = served
    first = hub.number("me/small", 0)
    pinned = fetch(f"hf:me/small@{first}", endpoint=address, cache=cache)
    hub.commit("me/small", {"config.json": b"{}"})
    hub.requests.clear()
    assert fetch(f"hf:me/small@{first}", endpoint=address, cache=cache) == pinned
    assert hub.requests == []
    assert fetch(f"hf:me/small@{first}", endpoint=NOBODY, cache=cache) == pinned
    assert fetch("hf:me/small", endpoint=address, cache=cache) != pinned


def test_the_cache_serves_while_the_hub_is_away(served, caplog):
    _, address, cache = served
    folder = fetch("hf:me/small", endpoint=address, cache=cache)
    assert fetch("hf:me/small", endpoint=NOBODY, cache=cache) == folder
    assert "the hub cannot be reached; using" in caplog.text
    with pytest.raises(DataError, match=r"hf:me/other must be in the cache while the hub cannot be reached; it is not"):
        fetch("hf:me/other", endpoint=NOBODY, cache=cache)


def test_what_is_no_model_is_refused_before_it_is_fetched(served, monkeypatch):
    hub, address, cache = served
    hub.commit("me/pickle", {"config.json": b"{}", "pytorch_model.bin": b"x"})
    with pytest.raises(DataError, match=r"the only format of tensors that is read; it lacks model\.safetensors\."):
        fetch("hf:me/pickle", endpoint=address, cache=cache)
    hub.sizes["tokenizer.json"] = 10**12
    with pytest.raises(DataError, match=r"tokenizer\.json must have at most 134,217,728 bytes; the hub names 1,000"):
        fetch("hf:me/small", endpoint=address, cache=cache)
    with pytest.raises(DataError, match=r"hf:me/none must be a repository that you may read; the hub has none of"):
        fetch("hf:me/none", endpoint=address, cache=cache)
    with pytest.raises(DataError, match=r"hf:me/small@later must name a branch, tag or commit of the repository"):
        fetch("hf:me/small@later", endpoint=address, cache=cache)
    assert not [request for request in hub.requests if "/resolve/" in request]
    monkeypatch.setattr(hub, "number", lambda repository, index: "../../x")
    with pytest.raises(DataError, match=r"must have a commit of 40 hexadecimal digits; the hub answers \.\./\.\./x"):
        fetch("hf:me/small", endpoint=address, cache=cache)
    monkeypatch.setattr(hub, "find", lambda repository, revision: ([], {}))
    with pytest.raises(DataError, match=r"must have a commit of 40|must be on a hub that speaks its protocol"):
        fetch("hf:me/small", endpoint=address, cache=cache)


def test_push_sends_the_files_of_the_model_in_one_commit(model, tmp_path):
    with running_hub() as (hub, address):
        name = push(model, "me/new", endpoint=address)
        assert str(name) == f"hf:me/new@{hub.number('me/new', 0)}"
        assert {*hub.repositories["me/new"][0]} == {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
        push(model, "me/new", endpoint=address)
        assert len(hub.repositories["me/new"]) == 2
        folder = fetch(str(name), endpoint=address, cache=tmp_path)
        assert (folder / "tokenizer.json").read_bytes() == (model / "tokenizer.json").read_bytes()
        hub.token = "secret"
        with pytest.raises(DataError, match=r"must be a repository that (you may read|the hub gives)"):
            push(model, "me/new", endpoint=address)


def test_push_refuses_what_is_no_model_folder(model, tmp_path):
    with pytest.raises(ArgumentError, match=r"`repository` must be owner/name, of letters, digits, .*; received a b\."):
        push(model, "a b")
    with pytest.raises(ArgumentError, match=r"`path` must be a folder of this machine; received hf:a/b, which is on"):
        push("hf:a/b", "c/d")
    for path in model.iterdir():
        (tmp_path / path.name).symlink_to(path)
    with pytest.raises(DataError, match=r"must hold plain files; received links: config\.json, model\.safetensors"):
        list_files(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"must be a model folder with config\.json and model\.safetensors; it lacks m"):
        list_files(tmp_path)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'regard\[hub\]'"):
        hub_module.fetch("hf:a/b")


PROGRAM = """
import sys
from regard.cli import main
commands = ["push", sys.argv[1], "me/cli"], ["translate", "hf:me/cli", "El libro.", "--beam", "1"], ["push", "x", "y"]
for words in commands:
    sys.argv = ["regard", *words]
    try:
        main()
    except SystemExit as ended:
        print("exit", ended.code)
"""


@pytest.mark.slow
def test_the_command_line_pushes_and_translates_by_name(model, tmp_path):
    """In a process of its own, since `huggingface_hub` reads its address when it is imported."""
    with running_hub() as (hub, address):
        settings = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_TOKEN": "none"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(model)], capture_output=True, text=True, timeout=300, env=settings
        )
        lines = done.stdout.splitlines()
        assert lines[0] == f"hf:me/cli@{hub.number('me/cli', 0)}", done.stderr
        assert [line for line in lines if line.startswith("exit")][-1] == "exit 2"
        assert "`OWNER/NAME` must be owner/name" in done.stderr
        assert f"hf:me/cli is commit {hub.number('me/cli', 0)}" in done.stderr
