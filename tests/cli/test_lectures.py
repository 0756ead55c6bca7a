"""What the lectures print, typed as they print it, through every command that reads a sentence."""

import io
import json
import subprocess
import sys

import pytest

import regard
from regard.cli import main
from regard.studio.models import Models
from regard.tasks.demo import CORPUS, LECTURES, SYSTEMS, _chosen, _show
from unit.studio.visiting import ask, visitor
from unit.tasks.lecture_run import train_lectures

CANADA = "Yo soy de Canada"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return train_lectures(tmp_path_factory.mktemp("lectures"))


@pytest.fixture
def run(unchecked, monkeypatch, capsysbinary, tmp_path):
    def run(*arguments, stdin=b""):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsysbinary.readouterr()
        return subprocess.CompletedProcess(arguments, code, shown.out.decode(), shown.err.decode())

    return run


def test_translate_reads_the_lectures_sentences(run, model):
    done = run("translate", model, CANADA, "¿Me puedes traer un tenedor?", "Me puedes traer un tenedor")
    assert done.stdout.splitlines() == ["I am from Canada", *["Can you bring me a fork?"] * 2]
    assert done.stderr == (
        "regard: In line 1, words that the model knows with other accents or case were read so: Canada as Canadá. To "
        "read every word as typed: --as-typed.\n"
    )


def test_translate_says_so_in_json(run, model):
    told = json.loads(run("translate", model, "--json", CANADA).stdout)
    assert (told["source"], told["read_as"], told["text"]) == (CANADA, {"Canada": "Canadá"}, "I am from Canada")
    assert told["source_tokens"] == ["Yo", "soy", "de", "Canadá", "</s>"]
    assert told["alignment"].split()[-1] == "3-3"
    assert json.loads(run("translate", model, "--json", "Ana es de Perú").stdout)["read_as"] == {}


@pytest.mark.parametrize("setting", [("--as-typed",), ("--set", "respell=false")], ids=["flag", "setting"])
def test_as_typed_the_word_is_unknown_and_marked(run, model, setting):
    done = run("translate", model, "--json", *setting, CANADA)
    told = json.loads(done.stdout)
    assert (told["read_as"], told["source_tokens"][3], done.stderr) == ({}, "⟨Canada⟩", "")


def test_files_are_read_alike_and_the_lines_are_named(run, model, tmp_path):
    lines = ["ana es de peru", "Ana es de Perú", *[CANADA] * 6]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = run("translate", model, "--input", "in", "--output", "out")
    assert (tmp_path / "out").read_text().splitlines() == [*["Ana is from Peru"] * 2, *["I am from Canada"] * 6]
    assert "In 7 lines (1, 3, 4, 5, 6, …), words" in done.stderr
    assert "ana as Ana, peru as Perú, Canada as Canadá." in done.stderr


def test_inspect_says_how_it_read(run, model):
    done = run("inspect", model, CANADA)
    assert done.stdout.splitlines()[:2] == ["I am from Canada", "read: Canada as Canadá"]
    assert run("inspect", model, "--as-typed", CANADA).stdout.count("⟨Canada⟩") == 1
    told = json.loads(run("inspect", model, "--json", CANADA, "--target", "i am from canada").stdout)
    assert told["read_as"] == {"Canada": "Canadá", "i": "I", "canada": "Canada"}
    assert told["target"] == "I am from Canada"


def test_align_links_the_words_as_they_were_typed(run, model, tmp_path):
    (tmp_path / "es").write_text(f"{CANADA}\nAna es de Perú\n", encoding="utf-8")
    (tmp_path / "en").write_text("I am from Canada\nAna is from Peru\n", encoding="utf-8")
    done = run("align", model, "--source", "es", "--target", "en", "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[0]["source"] == CANADA.split()
    assert [one["read_as"] for one in told] == [{"Canada": "Canadá"}, {}]
    assert all("3-3" in one["links"] for one in told)
    assert "In line 1, words that the model knows" in done.stderr
    plain = run("align", model, "--source", "es", "--target", "en", "--as-typed")
    assert "words that" not in plain.stderr


def test_the_studio_reads_the_same_in_every_view(model):
    client = visitor(Models([model]))
    found = ask(client, "translate/search", text=CANADA)
    assert found["outputs"][0]["text"] == "I am from Canada"
    assert (found["source"]["read_as"], found["source"]["words"][3]) == ({"Canada": "Canadá"}, "Canadá")
    begun = ask(client, "whatif/begin", text=CANADA)
    assert (begun["text"], begun["attention"]["source"]["read_as"]) == ("I am from Canada", {"Canada": "Canadá"})
    read = ask(client, "steps/read", text=CANADA)
    assert (read["target"], read["read_as"]) == ("I am from Canada", {"Canada": "Canadá"})
    looks = ask(client, "compare/attention", text=CANADA)
    assert looks["attention"][0]["source"]["read_as"] == {"Canada": "Canadá"}
    changed = ask(
        client, "whatif/change", text="Yo soy de Francia", tokens=begun["tokens"], step=3,
        replaced=[{"position": 3, "text": "Canada"}],
    )  # fmt: skip
    assert changed["source"]["tokens"][3] == "Canadá"
    assert "Canada" not in ask(client, "whatif/tokens", text="cana")["tokens"]


def test_a_studio_that_respells_nothing_marks_the_word(model):
    client = visitor(Models([model], load=lambda path: regard.load(path, respell=False)))
    found = ask(client, "translate/search", text=CANADA)
    assert (found["source"]["tokens"][3], found["source"]["read_as"]) == ("⟨Canada⟩", {})


def test_the_demonstration_types_what_the_lectures_print(model):
    from regard.data.builtin import corpus
    from regard.inspection.readings.alignment import Reading
    from regard.tasks.demo import FAST

    test = corpus(CORPUS, split="test", size=FAST.each * 3)
    pairs = _chosen(test, FAST)
    assert tuple(pair.source for pair in pairs[:2]) == LECTURES == (CANADA, "¿Me puedes traer un tenedor?")
    shown = _show(dict.fromkeys(SYSTEMS, regard.load(model)), pairs[0], Reading())
    assert (shown.source, shown.read_as) == (CANADA, {"Canada": "Canadá"})
    assert shown.by_system["bahdanau"] == shown.reference == "I am from Canada"
    assert shown.source_words[3] == "Canada"
