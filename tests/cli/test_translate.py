"""`regard translate`, run as a user runs it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from regard.cli import main
from unit.tasks.translators import BYTES, RECURRENT, make_folder, pairs

QUICK = ("--beam", "2", "--max-length", "6")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture
def run(unchecked, monkeypatch, capsysbinary, model):
    """Run the command line in this process, which has torch already."""

    def run(*arguments, stdin=b"", folder=model):
        words = ["regard", "translate", str(folder), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsysbinary.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out.decode(), shown.err.decode())

    return run


def test_marks_terms_and_documents(run, tmp_path):
    done = run("El <b>libro</b>", "--markup", "html", *QUICK)
    assert (done.returncode, done.stdout.count("<b>"), done.stdout.count("</b>")) == (0, 1, 1)
    (tmp_path / "terms.tsv").write_text("libro\tthe house\n")
    done = run("El libro", "--terms", tmp_path / "terms.tsv", "--json", "--markup", "placeholders")
    assert "the house" in json.loads(done.stdout)["text"]
    assert json.loads(done.stdout)["with_marks"] == json.loads(done.stdout)["text"]
    page = "<html>\n<p class='x'>El <b>libro</b>. La casa.</p>\n<pre>no</pre></html>\n"
    (tmp_path / "page.html").write_text(page)
    shown = run("--input", tmp_path / "page.html", *QUICK)
    assert re.fullmatch(r"<html>\n<p class='x'>.*<b>.*</b>.*</p>\n<pre>no</pre></html>\n", shown.stdout)
    done = run("--input", tmp_path / "page.html", "--output", tmp_path / "out.html", *QUICK)
    assert (done.returncode, done.stderr) == (0, f"2 sentences in {tmp_path}/out.html\n")
    assert (tmp_path / "out.html").read_text() == shown.stdout
    again = run("--input", tmp_path / "page.html", "--output", tmp_path / "out.html", *QUICK)
    assert again.returncode == 2
    assert again.stderr.startswith("regard: `--output` must be a file that is not there yet;")
    for flags in (["--json"], ["--n-best", "2"], ["--markup", "html"], ["--engine", "ray"]):
        done = run("--input", tmp_path / "page.html", *flags, "--output", tmp_path / "new.html")
        assert done.returncode == 2
        assert " must be left out for a document, whose form is kept; received it." in done.stderr


def test_sentences_files_and_pipes_say_the_same(run, tmp_path):
    texts = [pair.source for pair in pairs()[:5]]
    content = "".join(f"{text}\n" for text in texts)
    typed = run(*texts, *QUICK)
    assert (typed.returncode, typed.stdout.count("\n"), typed.stderr) == (0, 5, "")
    assert run(*QUICK, stdin=content.encode()).stdout == typed.stdout
    (tmp_path / "in").write_text(content)
    done = run("--input", tmp_path / "in", *QUICK)
    assert (done.returncode, done.stdout) == (0, typed.stdout)
    done = run("--input", tmp_path / "in", "--output", tmp_path / "out", *QUICK)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"5 lines in {tmp_path}/out\n"
    assert (tmp_path / "out").read_text() == typed.stdout
    again = run("--input", tmp_path / "in", "--output", tmp_path / "out", *QUICK)
    assert again.returncode == 2
    assert again.stderr.startswith("regard: `--output` must be a file that is not there yet;")
    assert run("--output", tmp_path / "out", "--overwrite", *QUICK, stdin=b"hola\n").returncode == 0
    assert (tmp_path / "out").read_text().count("\n") == 1
    assert run("--output", "/dev/null", *QUICK, stdin=b"hola\n").returncode == 0


def test_every_line_has_its_answer(run):
    odd = "\x00\n\n   \r\nשלום 🙂\na\u2028b\x85c\x0cd\n".encode() + b"M\xfcll\xe9r\n" + b"el libro " * 5000 + b"\nlast"
    done = run(*QUICK, stdin=odd)
    assert done.returncode == 0
    lines = done.stdout.split("\n")
    assert (len(lines), lines[1], lines[2], lines[-1]) == (9, "", "", "")
    assert done.stderr == (
        "regard: Lines must be UTF-8; line 6 had 2 bytes that no UTF-8 has, replaced by U+FFFD.\n"
        "regard: Lines must have at most 1,024 tokens to be read whole; line 7 had more, and the rest was left out. "
        "Divide them into sentences.\n"
    )
    assert run(*QUICK).stdout == ""
    assert run(os.fsdecode(b"caf\xe9"), *QUICK).stderr.startswith("regard: Lines must be UTF-8; line 1 had 1 byte")


def test_outputs_begin_with_a_prefix(run):
    done = run("El libro.", *QUICK, "--set", "prefix=the house")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the house")
    done = run("El libro.", *QUICK, "--set", "prefix=Zoroaster")
    assert (done.returncode, done.stderr.startswith("regard: `prefixes` must be text that the model can output;")) == (
        2,
        True,
    )


def test_json_and_settings(run):
    done = run("El libro.", "--json", "--n-best", "2", *QUICK, "--set", "weights=none", "--set", "length_penalty=0")
    told = json.loads(done.stdout)
    assert len(told["n_best"]) == 2
    assert told["score"] == pytest.approx(told["log_probability"], abs=1e-4)
    assert "weights" not in told
    drawn = [run("El libro.", "--top-k", "5", "--seed", seed, "--max-length", "6").stdout for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    plain = run("El libro.", "--sample", "--temperature", "0.5", "--max-length", "6")
    assert (plain.returncode, plain.stdout.count("\n")) == (0, 1)


def test_unknown_words_and_several_models(run, model, tmp_path):
    from regard.data.text.special import UNKNOWN

    folder = make_folder(tmp_path / "unknowing", favor=[UNKNOWN])
    (tmp_path / "words.tsv").write_text("Babieca\tthe horse\n")
    short = ("--beam", "1", "--max-length", "1")
    assert run("Babieca", *short, folder=folder).stdout == "Babieca\n"
    assert run("Babieca", *short, "--set", "unknown=keep", folder=folder).stdout == "<unk>\n"
    assert run("Babieca", *short, "--dictionary", tmp_path / "words.tsv", folder=folder).stdout == "the horse\n"
    done = run("El libro.", "--json", "--with", folder, *QUICK)
    assert done.returncode == 0
    done = run("El libro.", "--with", make_folder(tmp_path / "bytes", RECURRENT, BYTES))
    assert done.returncode == 2
    assert "must share their tokenizer.json" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--set", "lenght_penalty=1"], "regard: lenght_penalty: unknown key. Did you mean length_penalty?\n"),
        (["a", "--beam", "2", "--n-best", "3"], "regard: `--n-best` must be from 1 to `--beam`, 2; received 3.\n"),
        (["a", "--beam", "0"], "regard: `--beam` must be at least 1; received 0.\n"),
        (["a", "--temperature", "0"], "`--temperature` must be above 0; received 0.0. For greedy, beam=1.\n"),
        (
            ["a", "--input", "b"],
            "regard: The text must come from one place; received both sentences and --input. Leave out one.\n",
        ),
        (["a", "--overwrite"], "regard: `--overwrite` must go with --output; received it alone.\n"),
        (["a", "--device", "toaster"], "where torch sees a GPU; received toaster.\n"),
        (["--input", "absent.es"], "must be a file; received a path where there is none."),
        (["a", "--set", "weights=some"], 'weights: must be one of mean, all, none; received "some".'),
    ],
)
def test_mistakes_are_one_paragraph_and_exit_code_2(run, arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("regard: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_model_is_one_paragraph(run, tmp_path):
    done = run("a", folder=tmp_path / "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("regard: `MODEL` must be a model folder or a run folder; received ")


def test_a_full_disk_is_one_paragraph(run, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.tasks.translation.files.translate_file", full)
    done = run("a", "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("must have room for it; it is full. Make room: the same command goes on.\n")


def test_help_has_examples():
    done = subprocess.run(
        [sys.executable, "-m", "regard", "translate", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "regard translate runs/a --input corpus.es --output corpus.en --beam 5" in " ".join(done.stdout.split())


LISTENING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background would ignore it
runpy.run_module("regard", run_name="__main__", alter_sys=True)
"""


def start(model, *arguments, **streams):
    """Start the command as a terminal would: Ctrl-C reaches it, even where the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-c", LISTENING, "translate", str(model), *QUICK, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        **streams,
    )


def test_a_line_is_answered_before_the_next_comes(model):
    """And when the reader goes away, the command ends quietly."""
    with start(model, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for text in ("El libro.", "", "La mesa."):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            answered = process.stdout.readline()  # waits for ever if lines were held back
            assert answered.endswith(b"\n")
            assert (answered == b"\n") == (text == "")
        process.stdout.close()
        process.stdin.write(b"one\n" * 3)
        process.stdin.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")


@pytest.mark.slow
def test_what_is_stopped_goes_on(run, model, tmp_path):
    """Ctrl-C leaves what is done, and the same command ends with the same file."""
    many = "".join(f"{pair.source}\n" for pair in pairs()) * 20  # too many to be done before it is stopped
    (tmp_path / "in").write_text(many)
    files = ("--input", tmp_path / "in", "--json", "--set", "weights=none", "--output", tmp_path / "out")
    process = start(model, *files)
    begun = time.monotonic()
    while process.poll() is None and time.monotonic() - begun < 100:
        journal = tmp_path / "out.progress"
        if journal.exists() and json.loads(journal.read_text())["lines"]:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert b"lines are done and kept. The same command goes on." in errors
    assert not (tmp_path / "out").exists()
    process = start(model, *files)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert b"going on after line " in errors
    run(*files[:-1], tmp_path / "whole", *QUICK)
    assert (tmp_path / "out").read_text() == (tmp_path / "whole").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]
