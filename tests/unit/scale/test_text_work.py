"""Work on blocks gives what the plain commands give, whatever the blocks."""

import io
import json

import pytest

from regard.data.formats.pharaoh import format_links
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError
from regard.inspection.readings.alignment import Reading
from regard.scale.job import InProcess, run_job
from regard.scale.summary import summarize
from regard.scale.text_work import AlignLines, EvaluateLines, Models, TokenizeLines, TranslateLines, merge_tallies
from regard.tasks.alignment.align import align
from regard.tasks.evaluation.evaluate import Evaluating, evaluate
from regard.tasks.evaluation.held_out import Choice, find_held_out
from regard.tasks.translation.files import translate_file
from regard.tasks.translation.lines import LineTranslator, Translate
from regard.tasks.translation.model import load
from unit.scale.tiny import make_model, write_lines, write_pairs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("tiny") / "run")


@pytest.fixture(scope="module")
def models(model):
    return Models.find([model], device="cpu")


def test_translating_gives_the_file_and_the_warnings_of_one_process(tmp_path, model, models):
    source, settings = write_lines(tmp_path / "a.txt", 120), Translate(beam=1, max_length=8)
    work = TranslateLines(models=models, source=source, translate=settings)
    facts = run_job(work, tmp_path / "blocks.txt", InProcess(), chunk_lines=50)
    plain = LineTranslator(load(model), settings)
    translate_file(plain, io.BytesIO(source.read_bytes()), tmp_path / "plain.txt", settings={}, chunk_lines=50)
    assert (tmp_path / "blocks.txt").read_bytes() == (tmp_path / "plain.txt").read_bytes()
    assert plain.tally.broken_lines == 2
    assert merge_tallies(facts) == plain.tally


def test_tallies_name_the_first_lines_alone():
    table = {"broken_bytes": 3, "broken_lines": 3, "first_broken": [1, 2, 3]}
    plain = merge_tallies([]).to_table()
    assert merge_tallies([plain | table, {}, plain | table]).first_broken == [1, 2, 3, 1, 2]
    with pytest.raises(DataError, match=r"the tally must have"):
        merge_tallies([{"broken_lines": "many"}])


def test_aligning_gives_the_links_of_one_process(tmp_path, model, models):
    source, target = write_pairs(tmp_path, 60)
    work = AlignLines(models=models, source=source, target=target, readings=(Reading(),))
    run_job(work, tmp_path / "links", InProcess(), chunk_lines=25)
    pairs = find_held_out(Choice(source=str(source), target=str(target))).pairs
    expected = [format_links(item.links) for item in align(load(model), pairs, words="whitespace")]
    assert (tmp_path / "links").read_text().splitlines() == expected


def test_two_directions_are_joined(tmp_path, model):
    source, target = write_pairs(tmp_path, 10)
    both = Models.find([model, model], device="cpu")
    work = AlignLines(models=both, source=source, target=target, readings=(Reading(),) * 2, join="union")
    run_job(work, tmp_path / "links", InProcess())
    assert len((tmp_path / "links").read_text().splitlines()) == 10


def test_tokens_are_those_of_the_model(tmp_path, model, models):
    source, tokenizer = write_pairs(tmp_path, 30)[0], load(model).tokenizers.source
    for numbers in (False, True):
        output = tmp_path / f"tokens-{numbers}"
        run_job(TokenizeLines(models=models, source=source, numbers=numbers), output, InProcess(), chunk_lines=7)
        rows = [tokenizer.encode(line).ids for line in source.read_text().splitlines()]
        expected = [" ".join(map(str, row) if numbers else tokenizer.pieces(row)) for row in rows]
        assert output.read_text().splitlines() == expected


def test_figures_are_those_of_one_process(tmp_path, model, models):
    source, target = write_pairs(tmp_path, 40)
    settings = Evaluating(search=Search(beam=1, max_length=8), samples=50)
    held_out = find_held_out(Choice(source=str(source), target=str(target)))
    expected = evaluate(load(model), held_out, settings)
    for path in (source, target):  # an empty pair is left out, as it is there
        path.write_text(path.read_text() + "\n")
    work = EvaluateLines(models=models, source=source, target=target, search=settings.search)
    run_job(work, tmp_path / "counts", InProcess(), chunk_lines=16)
    result = summarize(tmp_path / "counts", samples=50)
    assert (result.pairs, result.empty) == (40, 1)
    for name, score in expected.scores.items():
        assert result.scores[name] == pytest.approx(score)
        assert result.signatures[name] == expected.measures[name].signature
    assert result.perplexity == pytest.approx(expected.outputs.perplexity.per_token)
    assert result.bits_per_character == pytest.approx(expected.outputs.perplexity.bits_per_character)
    assert json.loads(json.dumps(result.table()))["scores"]["BLEU"]["value"] == result.scores["BLEU"].value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": ""}\n', r"must hold at least one pair with text on both sides; received 1 without\."),
        ("[1]\n", r"counts, line 1 must hold a table of settings; received"),
        ('{"tokens": 1}\n', r"counts, line 1 must have the key BLEU"),
        ('{"tokens": "x", "BLEU": ["a"]}\n', r"line 1: BLEU\[0\] must be a number; received"),
    ],
)
def test_damaged_counts_are_refused(tmp_path, content, message):
    (tmp_path / "counts").write_text(content)
    with pytest.raises(DataError, match=message):
        summarize(tmp_path / "counts")


def test_another_model_under_the_name_is_refused(models):
    other = Models(paths=models.paths, digest="0" * 16)
    with pytest.raises(DataError, match=r"must be the same model on every machine, 0{16}; received [0-9a-f]{16}\."):
        other.check()


def test_a_folder_without_a_translator_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"must be a model folder or a run folder"):
        Models.find([tmp_path])
