"""`regard.evaluate`, `regard.compare` and `regard.align` give what the commands give."""

import json
from dataclasses import FrozenInstanceError

import pytest

import regard
from regard.data.builtin import corpus
from regard.errors import ArgumentError, ArgumentTypeError, DataError
from regard.evaluation.alignment_error import alignment_error
from regard.inspection.readings.alignment import Reading

SMALL = {"data.size": 60, "model.embedding_size": 8, "model.hidden_size": 8, "train.threads": 1}
QUICK = {"samples": 40, "search.beam": 1}
PAIRS = [("la casa", "the house"), ("el perro come", "the dog eats")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two translators, and a model of every other task."""
    path = tmp_path_factory.mktemp("calls")
    for number, name in enumerate("ab"):
        settings = SMALL | {"train.seed": number}
        regard.train("translate", data="builtin:hi-en", out=path / name, preset="dot", steps=4, settings=settings)
    settings = {"data.size": 40, "tokenizer.kind": "character"}
    regard.train("language", data="builtin:stories", out=path / "l", preset="ngram", settings=settings)
    settings = {"data.size": 60, "model.size": 8}
    regard.train("classify", data="builtin:topics", out=path / "c", preset="average", steps=2, settings=settings)
    data = "builtin:simple-shapes"
    settings = {"data.size": 40, "model.widths": [4, 4], "model.num_blocks": 1, "model.reduction": 2}
    regard.train("images", data=data, out=path / "i", steps=2, settings=settings)
    settings = {"data.scenes": 12, "data.held_out_scenes": 4, "model.size": 8, "model.num_heads": 2}
    settings |= {"model.image.widths": [4, 4, 4, 8], "model.image.num_blocks": 1}
    for name, task in (("q", "questions"), ("p", "captions")):
        chosen = settings | ({"data.max_length": 6, "train.valid_sentences": 2} if task == "captions" else {})
        regard.train(task, data=data, out=path / name, steps=2, settings=chosen)
    return path


def test_a_translator_is_evaluated_as_a_folder_or_loaded(folder):
    found = regard.evaluate(folder / "a", settings=QUICK)
    assert found.name == "a"
    assert (found.scores["BLEU"].value, len(found.held_out.pairs)) == (found.table()["scores"]["BLEU"]["value"], 20)
    assert "|beam:1|" in found.signature
    again = regard.evaluate(regard.load(folder / "a"), data="builtin:hi-en", settings={**QUICK, "data.size": 20})
    assert again.scores["chrF"] == found.scores["chrF"]
    assert not (folder / "a" / "evaluation.json").exists()  # nothing is written


def test_a_language_model_is_evaluated_on_its_run_or_on_a_text(folder, tmp_path):
    assert regard.evaluate(str(folder / "l")).total.perplexity > 1
    (tmp_path / "a.txt").write_text("the dog\n")
    found = regard.evaluate(regard.load(folder / "l"), data=tmp_path / "a.txt")
    assert [*found.texts] == [str(tmp_path / "a.txt")]
    assert found.total.characters == 8


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("a", {"settings": {"search.bema": 1}}, "search.bema: unknown key. Did you mean beam?"),
        ("l", {"settings": {"strid": 1}}, "strid: unknown key. Did you mean stride?"),
        (
            "l",
            {"source": "a.es"},
            "`source` must be left out for a language model, which is measured on plain text, `data`; received a.es.",
        ),
        (
            "l",
            {"data": "a.txt", "split": "valid"},
            "`split` must be left out with `data`, which is read whole; received valid.",
        ),
        ("c", {"source": "a.es"}, "`source` must be left out for a text classifier, which is measured on one corpus"),
        ("c", {"split": "train"}, "`split` must be test or valid for this model; received train."),
        ("q", {"data": "a.csv"}, "`data` must be left out for a question answerer, which is measured on what its run"),
        *(
            (name, {"settings": {key: "x"}}, f"{key}: must be left out but for a text classifier that is measured on")
            for name in "ciqp"
            for key in ("text", "label")
        ),
        ("i", {"settings": {"text": "x"}, "data": "a"}, "text: must be left out but for a text classifier"),
        ("a", {"data": ["a.tsv", "b.tsv"]}, "`data` must name one corpus; received 2."),
    ],
)
def test_mistakes_in_evaluating(folder, name, changes, message):
    with pytest.raises(ArgumentError) as caught:
        regard.evaluate(folder / name, **changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "side"), [("c", "test"), ("i", "test"), ("q", "valid"), ("p", "test")])
def test_models_of_the_other_tasks_are_measured_as_training_measured_them(folder, name, side):
    steps = []
    watch = lambda *step: steps.append(step)  # noqa: E731
    result = regard.evaluate(folder / name, split="" if side == "test" else side, on_progress=watch)
    count = result.items
    assert steps == [("reading the data", 0, 1), ("measuring", 0, count), ("measuring", count, count)]
    figures = json.loads((folder / name / "model" / "figures.json").read_text())
    assert {key: figures[key] for key in result.figures} == pytest.approx(result.figures)
    shown = str(result).splitlines()
    assert shown[0].startswith(f"{name} on its {'test' if side == 'test' else 'validation'} data: ")
    assert shown[-1] == result.signature == result.table()["signature"]
    with pytest.raises(FrozenInstanceError):
        result.name = "other"


def test_a_classifier_is_measured_on_other_texts(folder, tmp_path):
    table = tmp_path / "new.csv"
    own = regard.evaluate(folder / "c", data="builtin:topics").labels[0]
    table.write_text(f"review,topic\nA goal in the last minute.,{own}\nRain.,none of these\n")
    settings = {"text": "review", "label": "topic"}
    result = regard.evaluate(folder / "c", data=table, settings=settings)
    assert (result.items, result.labels[-1]) == (2, "none of these")
    assert result.notes == (
        '1 have a label that the model does not have, such as "none of these", count as wrong, '
        "and are left out of the cross-entropy.",
    )
    steps = []
    watch = lambda *step: steps.append(step)  # noqa: E731
    loaded = regard.evaluate(regard.load(folder / "c"), data=str(table), settings=settings, on_progress=watch)
    assert steps == [("reading the data", 0, 1), ("measuring", 0, 2), ("measuring", 2, 2)]
    assert loaded.scores == result.scores
    with pytest.raises(DataError, match="must have a column named text and one named label"):
        regard.evaluate(folder / "c", data=table)


def test_models_without_their_run_are_refused(folder):
    message = "`model` must be a run folder, or a translator, a language model, an aligner or a classifier that was "
    message += "loaded; received"
    with pytest.raises(ArgumentTypeError, match=f"^{message} a QuestionAnswerer"):
        regard.evaluate(regard.load(folder / "q"))
    with pytest.raises(ArgumentError, match="`data` must name one corpus; received nothing"):
        regard.evaluate(regard.load(folder / "c"))


def test_the_output_of_any_system_is_scored(folder, tmp_path):
    pairs = regard.evaluate(folder / "a", settings=QUICK).held_out.pairs
    for name, side in (("s", "source"), ("t", "target"), ("out", "target")):
        (tmp_path / name).write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs))
    result = regard.evaluate(tmp_path / "out", source=tmp_path / "s", target=tmp_path / "t", settings=QUICK)
    assert (result.name, result.scores["BLEU"].value) == ("out", pytest.approx(100.0))
    assert "BLEU 100.00 (100.0–100.0)" in str(result)


def test_a_loaded_model_needs_a_text(folder):
    with pytest.raises(ArgumentError, match="`data` must name a text for a model that was loaded; received no"):
        regard.evaluate(regard.load(folder / "l"))


def test_systems_are_compared(folder):
    found = regard.compare(folder / "a", folder / "b", settings=QUICK)
    assert [one.name for one in found.evaluations] == ["a", "b"]
    assert 0 < found.differences[0]["BLEU"].p_value <= 1
    assert str(found).splitlines()[0].endswith("20 pairs; baseline a")
    with pytest.raises(ArgumentError, match=r"^`systems` must be two or more; received 1\. For one, evaluate it\.$"):
        regard.compare(folder / "a")
    with pytest.raises(DataError, match="must be the folder of a translator"):
        regard.compare(folder / "a", folder / "c")


def test_language_models_are_compared(folder, tmp_path):
    steps = []
    watch = lambda *step: steps.append(step)  # noqa: E731
    result = regard.compare(folder / "l", folder / "l" / "model", data="builtin:stories", on_progress=watch)
    assert [item.name for item in result.evaluations] == ["l", "l/model"] or len(result.evaluations) == 2
    assert str(result).startswith("builtin:stories, test: ")
    with pytest.raises(ArgumentError, match="`data` must be one text to compare on; received 2"):
        regard.compare(folder / "l", folder / "l", data=["builtin:stories", "builtin:stories"])


def test_words_are_linked(folder):
    translator = regard.load(folder / "a")
    plain = [one.links for one in translator.align(PAIRS)]
    assert [one.links for one in regard.align(folder / "a", PAIRS)] == plain
    assert [one.links for one in regard.align(translator, PAIRS)] == plain
    chosen = regard.align(translator, PAIRS, settings={"step": "read"})
    assert [one.links for one in chosen] == [one.links for one in translator.align(PAIRS, reading=Reading(step="read"))]
    joined = regard.align(translator, PAIRS, reverse=folder / "b", join="union")
    assert all(one.reverse_weights is not None for one in joined)
    assert all(set(one.links) >= set(links) for one, links in zip(joined, plain, strict=True))


def test_pairs_that_are_cut_are_warned_of(folder):
    pairs = [*PAIRS, ("el perro " * 2000, "the dog")]
    translator = regard.load(folder / "a")
    reach = f"{translator.reach.source:,}"
    for reverse in (None, folder / "b"):
        with pytest.warns(UserWarning, match=rf"^1 of 3 pairs, the first at index 2, had more than {reach} tokens on"):
            assert len(regard.align(translator, pairs, reverse=reverse)) == 3


def test_baselines_link_words_too():
    pairs = corpus("builtin:hi-en", split="test", size=60)
    gold = [pair.links for pair in pairs]
    errors = {
        name: alignment_error([one.links for one in regard.align(name, pairs, reverse=reverse)], gold).error
        for name, reverse in (("ibm-1", None), ("ibm-1", "ibm-1"), ("diagonal", None))
    }
    assert errors["ibm-1"] < errors["diagonal"]


def test_gold_links_choose_and_more_pairs_teach(folder):
    pairs = corpus("builtin:hi-en", split="test", size=12)
    gold = [pair.links for pair in pairs]
    chosen, plain = (
        alignment_error([item.links for item in regard.align(folder / "a", pairs, develop=known)], gold).error
        for known in (pairs, ())
    )
    assert chosen <= plain
    more = corpus("builtin:hi-en", split="train", size=200)
    taught, alone = (
        alignment_error([item.links for item in regard.align("ibm-1", pairs, train=known)], gold).error
        for known in (more, ())
    )
    assert taught < alone


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"join": "unoin"},
            "`join` must be one of intersection, union, grow-diag, grow-diag-final, agreement; received unoin. Did you",
        ),
        ({"words": "mark"}, "`words` must be one of "),
        ({"settings": {"lyer": 1}}, "lyer: unknown key. Did you mean layer?"),
        (
            {"settings": {"layer": 1}, "develop": corpus("builtin:hi-en", split="test", size=2)},
            "Either `develop` or `settings` must choose the reading; received both.",
        ),
        (
            {"settings": {"layer": 99}, "reverse": "ibm-1"},
            "`develop` and `settings` must come with a model that attends; received diagonal, where there is nothing",
        ),
        ({"train": PAIRS}, "`train` must come with ibm-1 or hmm, which count; received diagonal. Leave it out."),
    ],
)
def test_mistakes_in_aligning(unchecked, changes, message):
    with pytest.raises(ArgumentError) as caught:
        regard.align("diagonal", PAIRS, **changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("pairs", ["a b", ["a b"], [("a", "b"), ("a",)], [("a", "b", "c")], [("a", 1)]])
def test_pairs_to_align_are_pairs_of_texts(pairs):
    with pytest.raises(ArgumentTypeError, match=r"`pairs` must (be a list of|hold two texts each,) \(source, target\)"):
        regard.align("diagonal", pairs)
