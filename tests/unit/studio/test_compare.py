"""The view Compare: two looks at one sentence, quality by length, and curves of runs."""

import json
import os
import shutil
import time

import pytest
import torch

import regard
from regard.data.text.special import END, START
from regard.decoding.search import Search
from regard.models.folder import CONFIG
from regard.studio.models import Models
from regard.studio.schema.compare import RunState
from regard.studio.views import compare_curves, compare_lengths
from regard.tasks import translation_attention
from regard.tasks.evaluation.evaluate import Evaluating, evaluate
from regard.tasks.evaluation.held_out import Choice, find_held_out
from regard.training.run_folder import RunFolder
from unit.studio.runs import make_runs, metrics, write_metrics
from unit.studio.visiting import ask, refused, unpacked, visitor
from unit.tasks.small_run import make_run, write_files
from unit.tasks.translators import BYTES, LEARNED, make_folder

TEXT = "El libro está en la mesa."


@pytest.fixture
def runs(tmp_path):
    return make_runs(tmp_path)


def forced_weights(model, source, tokens):
    heard = torch.tensor([[START, *tokens[:-1]]])
    with torch.no_grad():
        memory = model.encode(torch.tensor([source]))
        return model.step(heard, model.start(memory, capacity=heard.size(1)), memory, weights=True)[2][0]


def test_two_models_say_the_same_and_look_where_they_look(client, folders):
    told = ask(client, "compare/attention", model="recurrent", other="again", text=TEXT)
    assert told["models"] == ["recurrent", "again"]
    for name, output, seen in zip(told["models"], told["outputs"], told["attention"], strict=True):
        translator = regard.load(folders[name])
        longest = 2 * len(seen["source"]["ids"]) + 20
        assert output["text"] == translator.search([TEXT], Search(max_length=longest))[0][0].text
        tokens = [*translator.tokenizers.target.encode(told["target"]).ids, END]
        assert seen["target"]["ids"] == tokens
        expected = forced_weights(translator.model, seen["source"]["ids"], tokens)
        assert torch.equal(unpacked(seen["maps"][0]["weights"]), expected)
    assert told["target"] == told["outputs"][0]["text"]
    other = ask(client, "compare/attention", model="recurrent", other="again", text=TEXT, forced="second")
    assert other["target"] == other["outputs"][1]["text"]


def test_models_of_other_tokens_are_made_to_say_the_same_words(client):
    told = ask(
        client,
        "compare/attention",
        model="recurrent",
        other="transformer",
        text=TEXT,
        forced="target",
        target="The book",
    )
    assert told["target"] == "The book"
    assert [one["target"]["words"] for one in told["attention"]] == [["The", "book", "</s>"]] * 2
    assert [len(one["target"]["tokens"]) for one in told["attention"]] == [3, 9]
    assert told["attention"][0]["source"]["words"] == told["attention"][1]["source"]["words"]


def test_a_model_may_be_compared_with_itself(client):
    told = ask(client, "compare/attention", model="transformer", text=TEXT)
    assert told["models"] == ["transformer", "transformer"]
    assert told["attention"][0] == told["attention"][1]


def test_a_translation_that_cannot_be_said_is_refused(client):
    said = refused(client, "compare/attention", model="transformer", text=TEXT, forced="target", target="a" * 40)
    assert said == "`target` must have at most 29 tokens of transformer; received 40. Shorten it."
    assert refused(client, "compare/attention", model="recurrent", other="nobody", text=TEXT).startswith(
        '`model` must be one that is open; received "nobody".'
    )
    assert refused(client, "compare/attention", text=TEXT, forced="nothing").startswith("forced: ")


def test_runs_are_listed_with_how_far_they_are(runs):
    client = visitor(Models([run.path for run in runs]))
    told = ask(client, "compare/runs")["runs"]
    assert [(one["run"], one["state"]) for one in told] == [("done", "finished"), ("going", "going")]
    assert told[1]["steps"] == 400
    assert [one["name"] for one in ask(client, "overview")["models"]] == ["done"]
    old = time.time() - 1000
    os.utime(runs[1].metrics, (old, old))
    assert ask(client, "compare/runs")["runs"][1]["state"] == "stopped"


def test_a_curve_is_read_on_from_where_it_was(runs):
    client, going = visitor(Models([run.path for run in runs])), runs[1]
    first = ask(client, "compare/curve", run="going")
    assert first["lines"] == [
        {key: value for key, value in line.items() if key != "samples"} for line in metrics(range(10, 61, 10))
    ]
    assert first["anew"]
    where = {"offset": first["offset"], "file": first["file"]}
    assert ask(client, "compare/curve", run="going", **where)["lines"] == []
    write_metrics(going, metrics([70], valid=[70]))
    with going.metrics.open("a") as file:
        file.write('{"event": "train", "step": 80, "lo')
    second = ask(client, "compare/curve", run="going", **where)
    assert [(one["event"], one["step"]) for one in second["lines"]] == [("train", 70), ("valid", 70)]
    assert second["lines"][1]["bleu"] == 35.0
    assert not second["anew"]
    with going.metrics.open("a") as file:
        file.write('ss": 1.0}\n{"event": "note", "text": "x"}\nnonsense\n[1]\n{"event": "train", "loss": NaN}\n')
    third = ask(client, "compare/curve", run="going", offset=second["offset"], file=second["file"])
    assert third["lines"] == [
        {"event": "train", "step": 80, "loss": 1.0},
        {"event": "note", "text": "x"},
        {"event": "train", "loss": None},
    ]


def test_a_file_that_was_written_anew_is_read_anew(runs):
    client, going = visitor(Models([run.path for run in runs])), runs[1]
    first = ask(client, "compare/curve", run="going")
    going.metrics.rename(going.metrics.with_suffix(".old"))
    write_metrics(going, metrics([10, 20]))
    again = ask(client, "compare/curve", run="going", offset=first["offset"], file=first["file"])
    assert again["anew"]
    assert [one["step"] for one in again["lines"]] == [10, 20]
    going.metrics.unlink()
    state = compare_curves.state_of("going", going)
    assert compare_curves.read_on(state, going.metrics, 5, "1-2").anew


def test_a_long_file_comes_in_portions(runs, monkeypatch):
    monkeypatch.setattr(compare_curves, "PORTION", 300)
    client, found, where = visitor(Models([runs[0].path])), [], {}
    for _ in range(20):
        told = ask(client, "compare/curve", run="done", **where)
        found += told["lines"]
        where = {"offset": told["offset"], "file": told["file"]}
        if not told["more"]:
            break
    assert len(found) == 12
    assert told["offset"] == runs[0].metrics.stat().st_size


@pytest.mark.parametrize("name", ["../done", "/etc", "", "done/../done", "C:\\", "done\0"])
def test_nothing_but_the_runs_of_the_studio_can_be_read(runs, name):
    client = visitor(Models([runs[0].path]))
    said = refused(client, "compare/curve", run=name)
    assert said == f'`run` must be one that the studio was started with; received "{name}". Known: done.'


def test_without_runs_there_are_no_curves(client):
    assert ask(client, "compare/runs")["runs"] == []
    said = refused(client, "compare/curve", run="recurrent")
    assert said == '`run` must be one that the studio was started with; received "recurrent". None is.'


def test_a_run_is_opened_once_its_model_is_there(tmp_path, runs):
    models = Models([runs[1].path])
    client = visitor(models)
    assert ask(client, "overview")["models"] == []
    (runs[0].path / "model").rename(runs[1].path / "model")
    assert [one["name"] for one in ask(client, "overview")["models"]] == ["going"]
    assert [one["name"] for one in ask(client, "overview")["models"]] == ["going"]


def measured(client, names):
    """Wait until all is measured."""
    for _ in range(600):
        told = ask(client, "compare/lengths", models=names)
        if told["progress"] is None:
            return told
        time.sleep(0.1)
    raise AssertionError("measuring does not end")


def test_quality_by_length_is_what_evaluation_gives(runs):
    client = visitor(Models([runs[0].path]))
    assert ask(client, "compare/lengths", models=["done"]) == {"results": {}, "progress": None, "error": None}
    assert ask(client, "compare/measure", models=["done"])["progress"]["model"] == "done"
    told = measured(client, ["done"])
    assert told["error"] is None
    held_out = find_held_out(Choice(), runs[0].path)
    settings = Evaluating(bins=compare_lengths.edges_of(held_out), samples=compare_lengths.SAMPLES)
    expected = evaluate(regard.load(runs[0].path), held_out, settings, name="done")
    result = told["results"]["done"]
    assert result["scores"]["BLEU"] == expected.scores["BLEU"].value
    assert [one["scores"]["chrF"]["value"] for one in result["bins"]] == [
        one.scores["chrF"].value for one in expected.lengths
    ]
    assert sum(one["sentences"] for one in result["bins"]) == len(held_out.pairs)
    assert result["source"] == "measured here"


def test_what_was_measured_before_is_read(runs):
    client = visitor(Models([runs[0].path]))
    held_out = find_held_out(Choice(), runs[0].path)
    table = evaluate(regard.load(runs[0].path), held_out, Evaluating(bins=(6, 9), samples=40)).table()
    path = runs[0].evaluation
    path.write_text(json.dumps(table), encoding="utf-8")
    result = ask(client, "compare/lengths", models=["done"])["results"]["done"]
    assert result["source"] == "evaluation.json"
    assert result["fingerprint"] == held_out.fingerprint
    assert [one["low"] for one in result["bins"]] == [one["low"] for one in table["by_length"]]
    path.write_text('{"test_set": 3}', encoding="utf-8")
    assert ask(client, "compare/lengths", models=["done"])["results"] == {}


def test_runs_that_held_out_other_pairs_are_measured_on_those_of_one(tmp_path):
    """Where the other was trained on some of them, they are left out."""
    data = write_files(tmp_path / "more", 120)
    own, other = (make_run(tmp_path / name, data | {"hold_out": {"salt": name}}) for name in ("own", "other"))
    client, names = visitor(Models([own.path, other.path])), ["own", "other"]
    ask(client, "compare/measure", models=names)
    told = measured(client, names)
    own = find_held_out(Choice(), own.path)
    learned = {pair.source for pair in find_held_out(Choice(split="train"), other.path).pairs}
    kept = [pair for pair in own.pairs if pair.source not in learned]
    assert told["error"] is None
    assert 0 < len(kept) < len(own.pairs)
    assert [told["results"][name]["sentences"] for name in names] == [len(kept)] * 2
    left_out = len(own.pairs) - len(kept)
    assert told["results"]["other"]["test_set"] == f"{own.name}, without {left_out} that other learned from"
    assert told["results"]["own"]["source"] == "measured here"
    assert told["results"]["other"]["source"] == "measured here, on sentences that own held out"


def test_a_model_without_its_run_is_measured_beside_one_that_has_it(tmp_path, runs):
    bare = tmp_path / "bare"
    shutil.copytree(runs[0].model, bare)
    client, names = visitor(Models([bare, runs[0].path])), ["bare", "done"]
    ask(client, "compare/measure", models=names)
    told = measured(client, names)
    first, second = (told["results"][name] for name in names)
    assert first["fingerprint"] == second["fingerprint"] == find_held_out(Choice(), runs[0].path).fingerprint
    assert first["scores"] == second["scores"]
    assert second["source"] == "measured here"
    assert first["source"] == (
        "measured here, on sentences that done held out; whether it was trained on them is not known"
    )


def test_results_on_other_sentences_count_as_not_measured(tmp_path, runs):
    """So that the page offers to measure them together; what was measured together is found again."""
    other = make_run(tmp_path / "other", write_files(tmp_path / "more", 80))
    client, names = visitor(Models([runs[0].path, other.path])), ["done", "other"]
    for name in names:
        ask(client, "compare/measure", models=[name])
        assert measured(client, [name])["results"].keys() == {name}
    assert ask(client, "compare/lengths", models=names)["results"].keys() == {"done"}
    assert ask(client, "compare/lengths", models=names[::-1])["results"].keys() == {"other"}
    ask(client, "compare/measure", models=names)
    together = measured(client, names)["results"]
    assert together.keys() == set(names)
    ask(client, "compare/measure", models=["other"])
    measured(client, ["other"])
    assert ask(client, "compare/lengths", models=names)["results"] == together


def test_models_that_held_nothing_out_cannot_be_measured(client):
    said = refused(client, "compare/measure", models=["recurrent"])
    assert said == (
        "`models` must include one that was opened by the folder of its run, which knows what was held out; received "
        "recurrent, without config.toml beside the model. Choose such a model too: all are measured on its sentences."
    )
    assert refused(client, "compare/lengths", models=["nobody"]).startswith("`model` must be one that is open; ")
    assert refused(client, "compare/lengths", models=[]) == "models: at least 1, of letters or entries."


def test_a_failure_says_what_a_visitor_can_do_and_only_of_the_models_it_befell(tmp_path, runs):
    lost = make_run(tmp_path / "lost", write_files(tmp_path / "more", 60))
    client = visitor(Models([runs[0].path, lost.path]))
    shutil.rmtree(tmp_path / "more")
    ask(client, "compare/measure", models=["lost"])
    said = measured(client, ["lost"])["error"]
    assert said.startswith("The models must have sentences to be measured on; received none that lost may be measured")
    assert said.endswith("Choose a model whose run held out sentences that no other was trained on.")
    assert "--" not in said
    assert ask(client, "compare/lengths", models=["done"])["error"] is None


def test_an_error_of_any_kind_reaches_the_visitor(runs, monkeypatch):
    def failing(*_, **__):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore.")

    monkeypatch.setattr(compare_lengths, "evaluate", failing)
    client = visitor(Models([runs[0].path]))
    ask(client, "compare/measure", models=["done"])
    assert measured(client, ["done"])["error"] == ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_many_pairs_are_thinned(runs, monkeypatch):
    monkeypatch.setattr(compare_lengths, "MOST", 2)
    held_out = find_held_out(Choice(split="train"), runs[0].path)
    thin = compare_lengths.thinned(held_out)
    every = -(-len(held_out.pairs) // 2)
    assert thin.pairs == held_out.pairs[::every]
    assert thin.name == f"{held_out.name}, one of {every} pairs"


def test_a_run_without_settings_has_no_steps(tmp_path):
    run = RunFolder(tmp_path)
    assert compare_curves.state_of("x", run) == RunState(run="x", state="begun", steps=None)
    run.config.write_text("train = 3", encoding="utf-8")
    assert compare_curves.state_of("x", run).steps is None
    assert not (run.model / CONFIG).exists()


def test_a_model_may_say_its_own_longest_output(folders, tmp_path):
    """Search that never comes to an end leaves no room for one: the end of what was said is left out."""
    endless = make_folder(tmp_path / "endless", LEARNED, BYTES, favor=70)
    client = visitor(Models([endless, folders["recurrent"]]))
    text = "El libro está en la mesa. " * 3
    told = ask(client, "compare/attention", model="endless", text=text)
    assert told["outputs"][0]["cut"] > 0
    assert told["outputs"][0]["text"].startswith(told["target"])
    assert len(told["attention"][0]["target"]["ids"]) == 30
    both = ask(client, "compare/attention", model="recurrent", other="endless", text=text)
    assert len(both["attention"][1]["target"]["ids"]) <= 30


def test_what_is_said_is_searched_on_the_tokens_that_are_shown(client, monkeypatch):
    monkeypatch.setattr(translation_attention, "MAX_TOKENS", 9)
    told = ask(client, "compare/attention", model="recurrent", text=TEXT * 4)
    assert told["outputs"][0]["cut"] > 0
    said = sum(told["attention"][0]["log_probabilities"])
    assert told["outputs"][0]["log_probability"] == pytest.approx(said, abs=1e-4)
