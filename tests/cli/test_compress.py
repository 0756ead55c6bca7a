"""`regard compress`, and what `regard translate` does with its folder."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.config.model import StatisticalSpec
from regard.data.text.special import END
from regard.decoding.search import Search
from regard.decoding.shortlist import FILE
from regard.errors import ArgumentError
from regard.models.folder import save_model
from regard.models.statistical.counts import count_translator
from regard.tasks.model_folder import digest_model
from regard.tasks.translation.compress import compress
from regard.tasks.translation.lines import LineTranslator, Translate
from unit.tasks.translators import WORDS, make_folder, pairs, tokenizers

Run = Callable[..., "subprocess.CompletedProcess[str]"]
TEXTS = [pair.source for pair in pairs()[:4]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def small(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compressed") / "small"
    compress(model, folder, pairs=pairs())
    return folder


@pytest.fixture
def run(unchecked: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        words = ["regard", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


def test_a_folder_is_made_smaller(run: Run, model: Path, tmp_path: Path) -> None:
    for name, side in (("es", "source"), ("en", "target")):
        (tmp_path / name).write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs()), encoding="utf-8")
    done = run("compress", model, tmp_path / "small", "--train", tmp_path / "es", tmp_path / "en")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path}/small  ")
    assert "a shortlist of" in done.stdout
    names = {path.name for path in (tmp_path / "small").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", FILE} <= names
    assert not list(tmp_path.glob("*.part"))
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (model, tmp_path / "small")]
    assert sizes[1] < 0.5 * sizes[0]
    again = run("compress", model, tmp_path / "small")
    assert again.returncode == 2
    assert again.stderr.startswith("regard: `OUTPUT` must be a folder that is not there yet; received ")


def test_it_is_translated_with_as_any_other(run: Run, small: Path) -> None:
    quick = ("--beam", "2", "--max-length", "6", *TEXTS)
    plain = run("translate", small, *quick)
    assert plain.returncode == 0
    for options in (("--precision", "int8"), ("--shortlist",), ("--precision", "int8", "--shortlist")):
        done = run("translate", small, *options, *quick)
        assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, len(TEXTS), plain.stderr)
    refused = run("translate", small, "--precision", "int4", *quick)
    assert refused.returncode == 2
    assert "precision" in refused.stderr
    assert "int4" in refused.stderr


def test_a_model_without_a_shortlist_has_none_to_use(run: Run, model: Path) -> None:
    done = run("translate", model, "--shortlist", *TEXTS)
    assert done.returncode == 2
    assert done.stderr.startswith("regard: `--shortlist` must be False for a model without shortlist.safetensors;")


def test_weights_alignments_and_prefixes_are_there(small: Path) -> None:
    translator = regard.load(small, precision="int8", shortlist=True)
    search = Search(beam=2, max_length=6)
    best = translator.search(TEXTS[:1], search, weights=True)[0][0]
    assert best.weights is not None
    assert translator.align([(TEXTS[0], best.text)])[0].weights.size
    begun = translator.search(TEXTS[:1], search, prefixes=[pairs()[0].target.split()[0]])[0][0]
    assert begun.text.startswith(pairs()[0].target.split()[0])
    assert repr(regard.load(small)) == repr(translator), "as many parameters"


def test_a_gpu_that_decodes_step_by_step_says_why(small: Path) -> None:
    translator = regard.load(small)
    work = LineTranslator(translator, Translate())
    assert work.warnings() == []
    translator._searcher.captured.serves(Search(coverage_penalty=0.1))
    assert work.warnings() == [
        "The GPU decoded step by step, not by captured steps: `coverage_penalty` adds up the weights."
    ]


def test_several_models_have_no_shortlist(small: Path) -> None:
    with pytest.raises(ArgumentError, match="`shortlist` must go with one model; received 2 models"):
        regard.load([small, small], shortlist=True)


def test_a_shortlist_decides_what_a_model_outputs(small: Path, tmp_path: Path) -> None:
    before = digest_model(small)
    content = (small / FILE).read_bytes()
    (small / FILE).unlink()
    try:
        assert digest_model(small) != before
    finally:
        (small / FILE).write_bytes(content)


def test_a_model_that_counts_is_refused(tmp_path: Path) -> None:
    sides, spec = tokenizers(WORDS), StatisticalSpec(order=2, iterations=1)
    sizes = {"source_vocabulary": sides.source.size, "target_vocabulary": sides.target.size}
    model = count_translator(spec, [[4, 5]], [[6, 7]], end=END, **sizes)
    save_model(model, spec, tmp_path / "counts", **sizes)
    with pytest.raises(
        ArgumentError, match=r"`path` must be a network's folder; received .*, a translator that counts"
    ):
        compress(tmp_path / "counts", tmp_path / "small")
