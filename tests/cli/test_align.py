"""`regard align` and `regard score-links`, run as a user runs them."""

import json
import subprocess
import sys

import pytest

from catalogue.models import small
from regard.cli import main
from regard.data.corpora.pair import Pair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError
from regard.models import build_model
from regard.models.folder import save_model
from regard.tasks.translation.presets import preset

SOURCE = ["el perro negro corre.", "un gato", "", "el gato negro"]
TARGET = ["the black dog runs.", "a cat", "", "the black cat"]
GOLD = ["0-0 1-2 2-1 3-3", "0-0 1?1", "", "0-0 1-2 2-1"]


@pytest.fixture
def run(unchecked, monkeypatch, capsys, tmp_path):
    """Run the command line in this process, in a folder of its own."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, shown.out, shown.err)

    return run


@pytest.fixture
def files(tmp_path):
    for name, lines in (("a.es", SOURCE), ("a.en", TARGET), ("gold", GOLD)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def write_model(folder, name, pairs):
    tokenizers = train_tokenizers(pairs, TokenizerConfig(kind="character", vocabulary_size=300))
    spec, size = small(preset(name)), tokenizers.source.size
    save_model(
        build_model(spec, source_vocabulary=size, target_vocabulary=size),
        spec,
        folder,
        source_vocabulary=size,
        target_vocabulary=size,
    )
    tokenizers.save(folder)


@pytest.fixture
def models(files):
    pairs = [Pair(source=one, target=other) for one, other in zip(SOURCE, TARGET, strict=True)]
    write_model(files / "there", "transformer-tiny", pairs)
    write_model(files / "back", "bahdanau", pairs)
    return files


BOTH = ("--source", "a.es", "--target", "a.en")


def targets(line):
    return sorted(int(link.partition("-")[2]) for link in line.split())


def test_links_are_printed_one_line_a_pair(run, models):
    done = run("align", "there", *BOTH)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert [targets(line) for line in lines] == [[0, 1, 2, 3], [0, 1], [], [0, 1, 2], []]
    done = run("align", "there", *BOTH, "--words", "marks")
    assert targets(done.stdout.split("\n")[0]) == [0, 1, 2, 3, 4]


def test_weights_are_printed_for_machines(run, models):
    done = run("align", "there", *BOTH, "--json", "--set", "layer=1", "--set", "norms=true")
    assert done.returncode == 0, done.stderr
    first, *_, last = map(json.loads, done.stdout.splitlines())
    assert first["source"] == ["el", "perro", "negro", "corre."]
    assert first["target"] == ["the", "black", "dog", "runs."]
    assert [sum(row) + rest for row, rest in zip(first["weights"], first["nothing"], strict=True)] == pytest.approx(
        [1.0] * 4, abs=1e-3
    )
    heaviest = [row.index(max(row)) for row in last["weights"]]
    assert sorted(last["links"].split()) == sorted(f"{column}-{row}" for row, column in enumerate(heaviest))


def test_long_lines_are_cut_and_named(run, models):
    (models / "long.es").write_text("un gato\n" + "el perro " * 2000 + "\n")
    (models / "long.en").write_text("a cat\nthe dog\n")
    for more in ((), ("--reverse", "back", "--json")):
        done = run("align", "there", "--source", "long.es", "--target", "long.en", "--device", "cpu", *more)
        assert (done.returncode, done.stdout.count("\n")) == (0, 2)
        assert done.stderr.endswith(
            "regard: Lines must have at most 1,024 tokens to be read whole; line 2 had more, and the rest was left "
            "out. Divide them into sentences.\n"
        )
    assert 200 < len(json.loads(done.stdout.splitlines()[1])["source"]) < 1024
    assert "`--device` must be cpu" in run("align", "there", *BOTH, "--device", "toaster").stderr


@pytest.mark.parametrize("more", [(), ("--reverse", "back"), ("--reverse", "ibm-1")])
def test_links_are_printed_as_they_are_found(run, models, monkeypatch, more):
    whole = run("align", "there", *BOTH, *more)
    monkeypatch.setattr("regard.tasks.alignment.aligner.AT_ONCE", 1)
    assert run("align", "there", *BOTH, *more).stdout == whole.stdout
    from regard.tasks.alignment import align as alignment

    kept = alignment.align

    def breaks(translator, pairs, **others):
        if pairs[0].source == SOURCE[3]:
            raise ArgumentError("broken")
        return kept(translator, pairs, **others)

    monkeypatch.setattr("regard.tasks.alignment.aligner.align", breaks)
    done = run("align", "there", *BOTH, *more)
    assert (done.returncode, done.stdout) == (2, "".join(whole.stdout.splitlines(keepends=True)[:3]))


def test_two_directions_are_joined_where_they_agree(run, models):
    done = run("align", "there", "--reverse", "back", *BOTH, "--json", "--join", "union")
    assert done.returncode == 0, done.stderr
    assert "there: step=" in done.stderr
    assert "by agreement: " in done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert {len(row) for row in first["reverse_weights"]} == {4}
    assert len(first["reverse_nothing"]) == 4
    fewer = run("align", "there", "--reverse", "back", *BOTH, "--join", "intersection").stdout.splitlines()[0]
    assert set(fewer.split()) <= set(first["links"].split())


def test_the_reading_is_chosen_by_gold_links(run, models):
    done = run("align", "there", *BOTH, "--develop", "a.es", "a.en", "gold")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("there: step=")
    assert ", by gold links: AER " in done.stderr


def test_baselines_need_no_model(run, files):
    done = run("align", "diagonal", *BOTH)
    assert done.stdout == "0-0 1-1 2-2 3-3\n0-0 1-1\n\n0-0 1-1 2-2\n"
    done = run("align", "ibm-1", "--reverse", "ibm-1", *BOTH, "--join", "intersection")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split("\n")) == 5


def test_matrices_are_drawn(run, files):
    done = run("align", "diagonal", *BOTH, "--draw")
    assert "   ╭ un\n    │ ╭ gato\n  a ██·\ncat · ██\n0-0 1-1\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--words", "mark"), "`--words` must be whitespace or marks; received mark. Did you mean marks?"),
        (
            ("--join", "grow"),
            "`--join` must be one of intersection, union, grow-diag, grow-diag-final, agreement; received grow. Did "
            "you mean grow-diag?",
        ),
        (
            ("--join", "union"),
            "`--join` must go with `--reverse`, a model of the other direction; received union alone.",
        ),
        (("--json", "--draw"), "Either `--json` or `--draw` must be given; received both."),
        (
            ("--set", "layer=1"),
            "`--develop` and `--set` must come with a model that attends; received diagonal, where there is nothing to "
            "choose but the threshold of hmm in both directions.",
        ),
        (
            ("--set", "layer=1", "--develop", "a.es", "a.en", "gold"),
            "Either `--develop` or `--set` must choose the reading; received both.",
        ),
    ],
)
def test_bad_options_are_refused(run, files, arguments, message):
    done = run("align", "diagonal", *BOTH, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"regard: {message}\n")


def test_bad_files_are_refused(run, models):
    (models / "short").write_text("the black dog\n")
    done = run("align", "there", "--source", "a.es", "--target", "short")
    assert (done.returncode, done.stderr) == (
        2,
        "regard: short must have a line for each of the 4 lines of a.es; received 1. Has a line been lost?\n",
    )
    (models / "bytes").write_bytes(b"\xff\n")
    done = run("align", "there", "--source", "bytes", "--target", "short")
    assert (done.returncode, done.stderr.startswith("regard: bytes, line 1 must be UTF-8;")) == (2, True)
    done = run("align", "there", *BOTH, "--set", "haed=1")
    assert (done.returncode, done.stderr) == (2, "regard: haed: unknown key. Did you mean head?\n")
    (models / "from-1").write_text("1-1 4-4\n1-1\n\n1-1\n")
    done = run("align", "there", *BOTH, "--develop", "a.es", "a.en", "from-1")
    assert done.returncode == 2
    assert done.stderr.endswith("it seems to count from 1. Set `--base 1`.\n")
    assert run("align", "there", *BOTH, "--develop", "a.es", "a.en", "from-1", "--base", "1").returncode == 0


def test_links_are_scored(run, files):
    (files / "found").write_text("0-0 1-1 2-1 3-3\n0-0 1-1\n\n0-0 1-2\n")  # |A| 8, |S| 8, |A ∩ S| 6, |A ∩ P| 7
    done = run("score-links", "found", "--gold", "gold", *BOTH)
    assert (done.returncode, done.stdout) == (0, "AER 18.8 %  precision 87.5 %  recall 75.0 %  8 links\n")
    (files / "gold-from-1").write_text("1-1 2-3 3-2 4-4\n1-1 2p2\n\n1-1 2-3 3-2\n")
    done = run("score-links", "found", "--gold", "gold-from-1", "--gold-base", "1", "--json")
    assert json.loads(done.stdout)["error"] == pytest.approx(0.1875)
    (files / "turned").write_text("0-0 1-1 1-2 3-3\n0-0 1-1\n\n0-0 2-1\n")
    assert run("score-links", "turned", "--gold", "gold", "--swapped", "--json").stdout == done.stdout


@pytest.mark.parametrize(
    ("hypotheses", "gold", "odd", "flag"),
    [("1-1\n", "0-0\n", "found", "--base"), ("0-0\n", "1-1\n", "right", "--gold-base")],
)
def test_without_sentences_files_that_count_apart_are_refused(run, files, hypotheses, gold, odd, flag):
    (files / "found").write_text(hypotheses)
    (files / "right").write_text(gold)
    done = run("score-links", "found", "--gold", "right")
    assert (done.returncode, done.stderr) == (
        2,
        f"regard: {odd} must count words from 0, as the other file does; received no 0 anywhere: it seems to "
        f"count from 1. Say what it counts from: {flag} 1, or {flag} 0.\n",
    )
    assert run("score-links", "found", "--gold", "right", flag, "1").stdout.startswith("AER 0.0 %")
    assert run("score-links", "found", "--gold", "right", flag, "0").stdout.startswith("AER 100.0 %")


def test_bad_scores_are_refused(run, files):
    done = run("score-links", "gold", "--gold", "gold", "--source", "a.es")
    assert (done.returncode, done.stderr) == (
        2,
        "regard: `--source` and `--target` must be given together; received one of them. Give both files.\n",
    )
    (files / "short").write_text("0-0\n")
    done = run("score-links", "short", "--gold", "gold")
    assert (done.returncode, done.stderr) == (
        2,
        "regard: short must have one line for each of the 4 lines of gold; received 1.\n",
    )
    done = run("score-links", "gold", "--gold", "gold", "--gold-base", "2")
    assert (done.returncode, done.stderr) == (
        2,
        "regard: `--gold-base` must be 0 or 1, what the first word is called; received 2.\n",
    )


def test_help_shows_an_example(run):
    for command, example in (
        ("align", "regard align runs/a --source test.es --target test.en"),
        ("score-links", "regard score-links out.links --gold test.links --source test.es --target test.en"),
    ):
        done = run(command, "--help")
        assert done.returncode == 0
        assert example in " ".join(done.stdout.split())
    told = {name: " ".join(run(name, "--help").stdout.replace("│", " ").split()) for name in ("align", "score-links")}
    assert "What the gold LINKS of --develop count from" in told["align"]
    assert "What the links of HYPOTHESES count from" in told["score-links"]
    assert "What the links of --gold count from" in told["score-links"]


def test_ibm_1_learns_from_more_pairs_than_it_aligns(run, tmp_path):
    (tmp_path / "a.es").write_text("negro gato\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("cat black\n", encoding="utf-8")
    (tmp_path / "more.es").write_text("negro\ngato\n" * 3, encoding="utf-8")
    (tmp_path / "more.en").write_text("black\ncat\n" * 3, encoding="utf-8")
    files = ("--source", "a.es", "--target", "a.en")
    assert run("align", "ibm-1", "--train", "more.es", "more.en", *files).stdout == "0-1 1-0\n"
    assert run("align", "ibm-1", *files).stdout != "0-1 1-0\n"
    joined = run("align", "diagonal", "--reverse", "ibm-1", "--train", "more.es", "more.en", "--join", "union", *files)
    assert {"0-1", "1-0"} <= set(joined.stdout.split())


def test_training_pairs_are_for_what_counts(run, files):
    found = run("align", "diagonal", "--train", "a.es", "a.en", "--source", "a.es", "--target", "a.en")
    assert found.returncode == 2
    assert "`--train` must come with ibm-1 or hmm, which count; received diagonal. Leave it out." in " ".join(
        found.stderr.split()
    )
    assert not found.stdout


def test_counts_with_jumps_are_joined_where_both_directions_agree(run, files):
    done = run("align", "hmm", "--reverse", "hmm", *BOTH, "--join", "agreement", "--train", "a.es", "a.en")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert len(lines) == 5
    assert lines[2] == ""
    assert "0-0" in lines[0]
    alone = run("align", "hmm", *BOTH, "--json")
    weights = [json.loads(line) for line in alone.stdout.splitlines()]
    for row, rest in zip(weights[0]["weights"], weights[0]["nothing"], strict=True):
        assert sum(row) + rest == pytest.approx(1.0, abs=1e-3)


def test_counts_of_both_directions_learn_together(run, files):
    both = ("align", "hmm", "--reverse", "hmm", *BOTH)
    usual, named = run(*both), run(*both, "--join", "agreement", "--set", "threshold=0.5")
    assert (usual.returncode, usual.stdout) == (0, named.stdout)
    assert len(run(*both, "--set", "threshold=0.0001").stdout) > len(usual.stdout)
    for name, choice in (("hmm", "layer=1"), ("ibm-1", "threshold=0.5"), ("diagonal", "threshold=0.5")):
        refused = run("align", name, "--reverse", name, *BOTH, "--set", choice)
        assert refused.returncode == 2
        assert f"`--set` must come with a model that attends; received {name}" in " ".join(refused.stderr.split())
    refused = run(*both, "--join", "union", "--set", "threshold=0.5")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "must go with" in refused.stderr


def test_counts_do_not_mind_case_and_marks(run, files):
    (files / "b.es").write_text("El perro, el gato\nel PERRO\n")
    (files / "b.en").write_text("the dog , the cat\nThe dog\n")
    done = run("align", "hmm", "--source", "b.es", "--target", "b.en", "--words", "whitespace")
    assert done.stdout.splitlines()[1] == "0-0 1-1"


def test_the_error_of_every_reading_is_a_table(run, models):
    done = run("align", "there", "--develop", "a.es", "a.en", "gold", "--table")
    assert done.returncode == 0, done.stderr
    title, heading, *rows, least, usual = done.stdout.splitlines()
    assert title == "alignment error, %, of 4 pairs"
    assert heading.split() == ["layer", "step", "mean", "of", "heads", "head", "0", "head", "1"]
    assert [row.split()[:2] for row in rows] == [[str(n), step] for n in range(2) for step in ("produced", "read")]
    assert least.startswith("least: step=")
    assert usual.startswith("where nothing is chosen: step=produced layer=0: AER")
    errors = [float(cell) for row in rows for cell in row.split()[2:]]
    assert f"AER {min(errors):.1f} %" in least
    done = run("align", "there", "--table", *BOTH, "--develop", "a.es", "a.en", "gold")
    assert "`--source` must be left out with --table" in done.stderr
    assert "`--table` must come with --develop SOURCE TARGET LINKS" in run("align", "there", "--table").stderr
    assert "`--source` and `--target` must name the two files" in run("align", "there", "--source", "a.es").stderr


def test_a_deep_translator_alone_is_read_where_it_agrees_with_counts(run, models, monkeypatch):
    monkeypatch.setattr("regard.tasks.alignment.aligner.LEAST", 4)
    assert run("align", "there", *BOTH).stderr == ""
    monkeypatch.setattr("regard.tasks.alignment.aligner.DEEP", 2)
    done = run("align", "there", *BOTH)
    assert "there: step=" in done.stderr
    assert "by agreement with hmm: " in done.stderr
    assert "by agreement with hmm" not in run("align", "there", *BOTH, "--set", "layer=1").stderr


def test_an_aligner_is_trained_and_links_words(run, files):
    done = run(
        "train", "--task", "align", "--data", "builtin:es-en", "--out", "al", "--set", "data.size=40", "--set",
        "model.size=16", "--set", "train.steps=3", "--set", "train.device=cpu", "--set", "train.validate_every=2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "alignment error" in done.stdout
    assert (files / "al" / "report.html").is_file()
    assert "regard align" in (files / "al" / "model" / "README.md").read_text()
    done = run("align", "al", *BOTH, "--set", "threshold=0.01")
    assert (done.returncode, done.stdout.count("\n")) == (0, 4)
    done = run("align", "al", *BOTH, "--develop", "a.es", "a.en", "gold", "--words", "whitespace")
    assert "threshold=" in done.stderr
    assert "AER" in done.stderr
    done = run("evaluate", "al", "--source", "a.es", "--target", "a.en", "--set", "links=gold", "--set", "device=cpu")
    assert "alignment error" in done.stdout
    figures = json.loads(run("evaluate", "al", "--json", "--set", "device=cpu").stdout)
    assert 0 <= figures["test_error"] <= 1
    assert "regard align" in run("translate", "al", "hola").stderr
