"""How commands end, whatever happens: one paragraph, one exit code, nothing that a terminal obeys."""

import errno
import io
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from fuzz.folders import KINDS
from regard.cli import main
from regard.cli.outcome import explain
from regard.cli.terminal import paragraph, prepare_streams, print_json, sanitize
from regard.errors import ArgumentError, DataError, Interrupted, NotFiniteError, TrainingError

EVIL = "\x1b]0;title\x07\nregard: forged\x9b31m"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One small model folder of each kind, made when it is asked for."""
    made = {}

    def folder(kind):
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            KINDS[kind].make(made[kind])
        return made[kind]

    return folder


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    """Run the command line in this process, which has torch already."""

    def run(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


def start(*words, **settings):
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | settings.pop("env", {})
    return subprocess.run(
        [sys.executable, "-m", "regard", *map(str, words)], timeout=120, env=environment, stderr=subprocess.PIPE,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | settings,
    )  # fmt: skip


def is_one_paragraph(text):
    return text.startswith("regard: ") and text.count("\n") == 1 and sanitize(text, keep="\n") == text


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ArgumentError("a"), 2, "a"),
        (DataError("a"), 2, "a"),
        (TrainingError("a"), 1, "a"),
        (NotFiniteError("a"), 1, "a"),
        (Interrupted("a", signal=15), 143, "a"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/a/b"),
            2,
            "/a/b must be one that can be read and written; the system reports: Permission denied.",
        ),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "aaa"),
            2,
            "aaa must be one that can be read and written; the system reports: File name too long.",
        ),
        (OSError(errno.EBADF, "Bad"), 2, "Input and output must be open; the system reports: Bad."),
        (
            OSError(errno.ENOSPC, "Full"),
            1,
            "The output must have room for what is written; there is none (Full). Make room.",
        ),
        (
            OSError(errno.EFBIG, "Big", "/a"),
            1,
            "/a must have room for what is written; there is none (Big). Make room.",
        ),
        (
            MemoryError(),
            1,
            "The work must fit into memory; received: none is left. Ask for less at once, or a smaller model.",
        ),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried\nmore"),
            1,
            "The work must fit into memory; received: [enforce fail] DefaultCPUAllocator: can't allocate memory: you "
            "tried. Ask for less at once, or a smaller model.",
        ),
    ],
)
def test_what_is_raised_becomes_a_paragraph_and_a_code(error, code, message):
    assert explain(error) == (code, message)


def test_a_mistake_of_our_own_keeps_its_traceback(run, monkeypatch):
    assert explain(RuntimeError("oops")) is None
    monkeypatch.setattr("regard.tasks.recipe.load_toml", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("train", "--config", "a.toml")


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "/x"), OSError(36, "Too long", "/x")])
@pytest.mark.parametrize("command", ["translate", "generate", "classify", "ask", "caption", "inspect", "evaluate"])
def test_every_command_ends_so(run, monkeypatch, error, command):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr("pathlib.Path.is_file", refuse)
    words = {"ask": ["a.png", "what?"], "caption": ["a.png"], "inspect": ["text"]}.get(command, [])
    done = run(command, "/x", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_paragraph(done.stderr)
    assert str(error.strerror) in done.stderr


def test_names_that_no_file_can_have_are_refused(run, folders):
    long = "a" * 300
    small = ("--data", "builtin:hi-en", "--set", "data.size=20")
    for words in (["translate", long], ["evaluate", long], ["train", "--out", long, *small]):
        done = run(*words)
        last = done.stderr.splitlines(keepends=True)[-1]  # below what is told of the data
        assert (done.returncode, is_one_paragraph(last)) == (2, True), words
        assert last.endswith("File name too long.\n")
    done = run("classify", folders("tf-idf"), f"{long}.png")  # a long text that ends so is a text
    assert done.returncode == 0, done.stderr
    done = run("classify", folders("residual"), f"{long}.png")
    assert (done.returncode, is_one_paragraph(done.stderr)) == (2, True)


def test_bytes_that_are_no_text_are_refused(run, folders):
    broken = b"caf\xe9\n"
    for command, kind, name in (("classify", "tf-idf", "TEXT"), ("generate", "lstm", "PROMPT")):
        message = f"regard: `{name}` must be text in UTF-8; received a byte that is none at index 3. Convert it.\n"
        done = run(command, folders(kind), stdin=broken)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
        done = run(command, folders(kind), os.fsdecode(b"caf\xe9"))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    done = run("evaluate", folders("lstm"), "-", stdin=broken)
    assert (done.returncode, done.stderr[:40]) == (2, "regard: `TEXT` must be text in UTF-8; re")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["translate", "--beam", "1000000", "a"], "`--beam` must be at most 1,000; received 1,000,000."),
        (["translate", "--max-length", "10" * 9, "a"], "`--max-length` must be at most 1,000,000; received 101,010,"),
        (
            ["translate", "--set", f"length_penalty={'9' * 5000}", "a"],
            'length_penalty: must be a number; received "99',
        ),
        (
            ["generate", "--max-tokens", str(10**12), "a"],
            "`--max-tokens` must be at most 1,000,000; received 1,000,",
        ),
    ],
)
def test_wishes_without_measure_are_refused(run, folders, words, message):
    kind = {"translate": "recurrent", "generate": "lstm"}[words[0]]
    done = run(words[0], folders(kind), *words[1:])
    assert done.returncode == 2
    assert done.stderr.startswith(f"regard: {message}")
    assert len(done.stderr) < 300


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (
            ["model.kind=transformer", "model.size=1000000000000", "model.num_heads=7"],
            "`size` must be at most 1,048,",
        ),
        (
            ["model.kind=transformer", "model.size=1000000", "model.num_heads=7"],
            "`num_heads` must divide `size`, 1000",
        ),
        (["model.kind=transformer", "model.num_encoder_layers=1000000000"], "`num_encoder_layers` must be at most 256"),
        ([f"train.steps={'9' * 5000}"], 'train.steps: must be a whole number; received "9999'),
        ([f"train.steps={'[' * 3000}"], 'train.steps: must be a whole number; received "[[[['),
        ([f"train.schedule.rate={'9' * 400}"], 'train.schedule.rate: must be a number; received "99999'),
    ],
)
def test_settings_without_measure_are_refused(run, assignments, message):
    sets = [word for one in assignments for word in ("--set", one)]
    done = run("train", "--print-config", *sets)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr) < 500


def test_numbers_may_be_spelled_as_toml_has_them(run):
    done = run("train", "--print-config", "--set", "train.validate_every=0x10", "--set", "train.steps=1_000")
    assert done.returncode == 0, done.stderr
    assert "validate_every = 16\n" in done.stdout
    assert "steps = 1000\n" in done.stdout


@pytest.mark.parametrize("kind", ["transformer", "lstm", "classifier", "residual", "questions", "captions"])
def test_a_half_copied_model_is_one_paragraph(run, folders, tmp_path, kind):
    folder = tmp_path / "copy"
    shutil.copytree(folders(kind), folder)
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    (tmp_path / "a.png").write_bytes(b"")
    command = {"lstm": "generate", "classifier": "classify", "residual": "classify", "questions": "ask"}
    command = command.get(kind, "caption" if kind == "captions" else "translate")
    words = [tmp_path / "a.png"] if kind in ("residual", "captions") else ["a"]
    done = run(command, folder, *([tmp_path / "a.png", "what?"] if kind == "questions" else words))
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_paragraph(done.stderr)
    assert f"{folder}/model.safetensors must be a safetensors file; received: " in done.stderr


@pytest.mark.parametrize("kind", ["recurrent", "lstm", "classifier"])
def test_a_model_of_nan_says_so(run, folders, tmp_path, kind):
    folder = tmp_path / "copy"
    shutil.copytree(folders(kind), folder)
    tensors = load_file(folder / "model.safetensors")
    name = sorted(tensors)[0]
    save_file(tensors | {name: torch.full_like(tensors[name], torch.nan)}, folder / "model.safetensors")
    done = run({"recurrent": "translate", "lstm": "generate", "classifier": "classify"}[kind], folder, "a")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"regard: {folder}/model.safetensors must hold numbers; received NaN in {name}. The model is damaged: take "
        "another checkpoint, or train it again.\n"
    )


def test_labels_and_keys_of_a_stranger_are_not_obeyed(run, folders, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(folders("tf-idf"), folder)
    (folder / "labels.json").write_text(json.dumps([EVIL, EVIL + "2"]))
    done = run("classify", folder, "the cat")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("�]0;title��regard: forged�31m\t")
    assert done.stdout.count("\n") == 1
    done = run("classify", folder, "the cat", "--json")
    assert EVIL in json.loads(done.stdout)["probabilities"]
    assert sanitize(done.stdout, keep="\n") == done.stdout
    table = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(table | {EVIL: 1}))
    done = run("classify", folder, "the cat")
    assert done.returncode == 2
    assert is_one_paragraph(done.stderr)
    (folder / "config.json").write_text(json.dumps(table | {"task": "x" * 100_000}))
    assert len(run("classify", folder, "the cat").stderr) < 3000


def test_text_for_a_terminal():
    assert sanitize("a\u202eb\u2028\ud800\x85é\u200d\xa0\u3000") == "a�b���é\u200d\xa0\u3000"
    assert paragraph("a" * 5000).startswith("a" * 1000)
    assert len(paragraph("a" * 5000)) == 2000


def test_output_that_has_ascii_alone_shows_signs_for_shades(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    prepare_streams()
    print("·░▒▓█ │╭ … é")
    print_json({"é": float("nan")})
    sys.stdout.flush()
    assert raw.getvalue() == b'.:+#@ |/ ~ ?\n{"\\u00e9": null}\n'


CLOSED = "regard: Input and output must be open; the system reports: Bad file descriptor.\n"
FULL = "regard: The output must have room for what is written; there is none (No space left on device). Make room.\n"
EMPTY = "regard: Standard input must have at least one text; received none.\n"
LIST = ("train", "--preset", "list")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "words", "expected"),
    [
        (">/dev/full", LIST, (1, FULL)),
        (">/dev/full", ("--help",), (1, FULL)),
        (">&-", LIST, (2, CLOSED)),
        ("2>&-", LIST, (0, "")),
        ("2>&- >&- <&-", LIST, (2, "")),
        (">/dev/full", ("generate", "lstm", "the"), (1, FULL)),
        ("<&-", ("classify", "tf-idf"), (2, EMPTY)),
    ],
)
def test_full_and_closed_streams_are_told(folders, streams, words, expected):
    """In processes of their own, since the streams are the process's."""
    words = [str(folders(word)) if word in KINDS else word for word in words]
    command = ["sh", "-c", f'"{sys.executable}" -m regard "$@" {streams}', "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == expected


@pytest.mark.slow
@pytest.mark.parametrize("words", [LIST, ("--help",), ("generate", "lstm", "the", "--max-tokens", "9000")])
def test_whoever_reads_may_leave_early(folders, words):
    words = [str(folders(word)) if word in KINDS else word for word in words]
    reading, writing = os.pipe()
    os.close(reading)
    done = start(*words, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_ascii_terminal_is_drawn_on(folders):
    done = start("inspect", folders("transformer"), "el gato", "--device", "cpu", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert b"<" in done.stdout
    assert done.stdout.isascii()
