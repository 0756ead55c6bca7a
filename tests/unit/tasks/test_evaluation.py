"""Evaluation and comparison of whole systems."""

import json

import pytest

from regard.data.corpora.pair import Pair
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError
from regard.evaluation.bleu import score
from regard.tasks.evaluation.comparison import common_held_out, compare, evaluate_systems, system_names
from regard.tasks.evaluation.evaluate import Evaluating, Outputs, assess, evaluate
from regard.tasks.evaluation.held_out import Choice, HeldOut, find_held_out
from regard.tasks.evaluation.length_figure import save_length_figure
from regard.tasks.translation.model import load
from unit.tasks.small_run import make_run, write_files

GREEDY = Evaluating(search=Search(beam=1), samples=40)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    files = write_files(folder)
    return [make_run(folder / preset, files, preset=preset).path for preset in ("fixed", "bahdanau")]


@pytest.fixture(scope="module")
def evaluations(runs):
    return evaluate_systems(runs, GREEDY, watch=lambda name: lambda what, done, total: None)


def make_held_out(*pairs):
    return HeldOut(pairs=[Pair(source=source, target=target) for source, target in pairs], name="some pairs")


def test_a_model_is_scored_on_its_own_translations(runs):
    translator, held_out = load(runs[1]), find_held_out(Choice(), runs[1])
    seen = []
    found = evaluate(translator, held_out, GREEDY, name="a", watch=lambda *told: seen.append(told))
    hypotheses = translator.translate(held_out.sources, Search(beam=1))
    assert list(found.outputs.hypotheses) == hypotheses
    assert found.scores["BLEU"].value == pytest.approx(score(hypotheses, held_out.references, found.scoring).bleu)
    assert found.scores["BLEU"].low <= found.scores["BLEU"].value <= found.scores["BLEU"].high
    assert {"translating", "perplexity", "scoring"} == {what for what, _, _ in seen}
    assert all(0 <= done <= total for _, done, total in seen)
    assert "|beam:1|length_penalty:1|bs:40|seed:12345|" in found.signature


def test_perplexity_is_that_of_the_references(runs):
    translator, held_out = load(runs[1]), find_held_out(Choice(), runs[1])
    found = evaluate(translator, held_out, GREEDY).outputs.perplexity
    forced = translator.force(held_out.sources, held_out.references)
    assert found.tokens == sum(len(one.log_probabilities) for one in forced)
    # A model that has learned nothing is about as unsure as one that draws from the vocabulary.
    assert found.per_token == pytest.approx(translator.tokenizers.target.size, rel=0.3)


def test_attention_is_told_where_there_is_some(evaluations):
    fixed, bahdanau = (one.outputs for one in evaluations)
    assert fixed.attention == []
    [head] = bahdanau.attention
    assert head.relative_entropy == pytest.approx(1, abs=0.1)  # it has not learned where to look
    assert 0 <= head.coverage <= 1
    assert 0 < head.end_mass < 0.3
    assert (fixed.parameters or 0) > 1000
    assert (bahdanau.sentences_per_second or 0) > 0


def test_every_figure_can_be_told_as_json(evaluations):
    table = json.loads(json.dumps(evaluations[1].table(), allow_nan=False))
    assert table["sentences"] == len(evaluations[1].held_out.pairs)
    assert table["scores"]["TER"]["signature"].startswith("nrefs:1|case:lc|tok:tercom")  # the text has no upper case
    assert sum(one["sentences"] for one in table["by_length"]) == table["sentences"]
    assert set(table["by_length"][0]) >= {"low", "high", "mean_length", "few", "BLEU", "chrF"}
    assert table["attention"][0]["layer"] == 0


def test_words_and_case_are_scored_as_chosen():
    held_out = make_held_out(("x y", "The Cat, asleep, sees."), ("y", "And so do I now."))
    said = Outputs(hypotheses=["the cat , asleep , sees .", "And so do I now."])
    found = assess(said, held_out, Evaluating(tokenize="words", case="lower", samples=40))
    assert found.scores["BLEU"].value == pytest.approx(100)
    assert "case:lc|eff:no|tok:regard-words" in found.measures["BLEU"].signature
    given = assess(said, held_out, Evaluating(tokenize="none", samples=40))
    assert given.scores["BLEU"].value < 100
    assert "case:mixed|eff:no|tok:none" in given.measures["BLEU"].signature
    assert "case:mixed|eff:no|tok:13a" in assess(said, held_out).measures["BLEU"].signature
    assert (found.outputs.perplexity, found.table()["parameters"]) == (None, None)


def test_a_model_without_upper_case_is_scored_without_case():
    held_out = make_held_out(("x y", "The cat sees a dog."), ("y", "And so do I."))
    lower = ["the cat sees a dog.", "and so do i."]
    model = assess(Outputs(hypotheses=lower, lower=True), held_out, GREEDY)
    assert model.scores["BLEU"].value == pytest.approx(100)
    assert "case:lc" in model.measures["BLEU"].signature
    assert "outputs no upper case" in model.notes[0]
    file = assess(Outputs(hypotheses=lower), held_out, GREEDY)
    assert file.scores["BLEU"].value < 80
    assert "No hypothesis has upper case" in file.notes[0]
    assert "`case=lower`" in file.notes[0]
    counted = assess(Outputs(hypotheses=lower, lower=True), held_out, Evaluating(case="mixed", samples=40))
    assert (counted.scores["BLEU"], counted.notes) == (file.scores["BLEU"], ())


def test_systems_are_compared_without_case_where_one_has_none(runs, tmp_path):
    held_out = find_held_out(Choice(), runs[0])
    (tmp_path / "loud.txt").write_text("\n".join(held_out.references).upper(), encoding="utf-8")
    found = evaluate_systems([runs[0], tmp_path / "loud.txt"], GREEDY, watch=lambda name: lambda *told: None)
    assert [item.scoring.lowercase for item in found] == [True, True]
    assert found[1].scores["BLEU"].value == pytest.approx(100)
    assert "another system outputs no upper case" in found[1].notes[0]


def test_what_a_reader_should_know_is_noted():
    held_out = make_held_out(("x", "a ."), ("y", "b ."))
    [note] = assess(Outputs(hypotheses=["a .", "b ."]), held_out).notes
    assert "references are tokenized" in note
    assert "(tok:none)" in note
    chosen = Evaluating(tokenize="13a")
    notes = assess(Outputs(hypotheses=["a.", "b."], unfinished=2, cut=1), held_out, chosen).notes
    assert "Of 2 translations, 2 reached the longest length" in notes[0]
    assert "Of 2 sources, 1 had more tokens than the model reads" in notes[1]


def test_bins_are_checked_before_any_work():
    with pytest.raises(ArgumentError, match="`bins` must be lengths"):
        Evaluating(bins=(20, 10))


def test_a_comparison_tests_each_system_against_the_first(evaluations):
    found = compare([*evaluations, evaluations[0]], samples=40)
    assert [set(one) for one in found.differences] == [{"BLEU", "chrF", "TER"}] * 2
    assert found.differences[1]["BLEU"].p_value == 1.0
    table = json.loads(json.dumps(found.table()))
    assert table["baseline"] == "fixed"
    assert "difference" not in table["systems"][0]
    difference = evaluations[1].scores["chrF"].value - evaluations[0].scores["chrF"].value
    assert table["systems"][1]["difference"]["chrF"]["value"] == pytest.approx(difference)
    with pytest.raises(ArgumentError, match="`evaluations` must be two or more; received 1"):
        compare(evaluations[:1])


def test_systems_are_compared_on_the_same_pairs_only(runs, tmp_path):
    other = make_run(tmp_path / "other", write_files(tmp_path, 200)).path
    with pytest.raises(DataError, match=r"on the same pairs; .*fixed was .*\(\d+ pairs, \w+\), .*other on .*`data`"):
        common_held_out([runs[0], other], Choice())
    assert len(common_held_out([runs[0], other], Choice(**write_files(tmp_path, 15))).pairs) == 15
    with pytest.raises(DataError, match=r"A system must be a run folder, a model folder or a file.*gone is not there"):
        common_held_out([runs[0], tmp_path / "gone"], Choice())
    with pytest.raises(ArgumentError, match="The test set must be named"):
        common_held_out([tmp_path / "other" / "config.toml"], Choice())


def test_files_of_output_are_systems_too(runs, tmp_path):
    held_out = find_held_out(Choice(), runs[0])
    (tmp_path / "perfect.txt").write_text("\n".join(held_out.references), encoding="utf-8")
    found = evaluate_systems([runs[0], tmp_path / "perfect.txt"], GREEDY, watch=lambda name: lambda *told: None)
    assert found[1].scores["BLEU"].value == pytest.approx(100)
    assert found[1].name == "perfect.txt"
    assert "beam" not in found[1].signature


def test_systems_of_one_path_are_numbered(runs):
    assert system_names([runs[0], runs[0]]) == [f"{runs[0]} (1)", f"{runs[0]} (2)"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_figure_is_written_as_its_name_ends(evaluations, tmp_path, kind):
    path = tmp_path / "new folder" / f"lengths.{kind}"
    save_length_figure(evaluations, path, metric="chrF")
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_a_figure_that_cannot_be_written(evaluations, tmp_path):
    with pytest.raises(ArgumentError, match=r"`figure` must end in .png, .svg or .pdf; received .*a.gif"):
        save_length_figure(evaluations, tmp_path / "a.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"`figure` must be a file that can be written; .*a.png: \w+"):
        save_length_figure(evaluations, tmp_path / "file" / "a.png")
