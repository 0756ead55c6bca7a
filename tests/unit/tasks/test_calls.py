"""`regard.evaluate`, `regard.compare` and `regard.align` give what the commands give."""

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
    """Two translators and a language model."""
    path = tmp_path_factory.mktemp("calls")
    for number, name in enumerate("ab"):
        settings = SMALL | {"train.seed": number}
        regard.train("translate", data="builtin:hi-en", out=path / name, preset="dot", steps=4, settings=settings)
    settings = {"data.size": 40, "tokenizer.kind": "character"}
    regard.train("language", data="builtin:stories", out=path / "l", preset="ngram", settings=settings)
    settings = {"data.size": 60, "model.size": 8}
    regard.train("classify", data="builtin:topics", out=path / "c", preset="average", steps=2, settings=settings)
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
            "`source` must be left out for a language model, which is measured on one text, `data`",
        ),
        (
            "l",
            {"data": "a.txt", "split": "valid"},
            "`split` must be left out with a text, which is read whole; received valid.",
        ),
        ("c", {}, "`path` must be the folder of a translator or a language model; "),
    ],
)
def test_mistakes_in_evaluating(folder, name, changes, message):
    with pytest.raises(ArgumentError) as caught:
        regard.evaluate(folder / name, **changes)
    assert message in str(caught.value)


def test_other_models_are_refused(folder):
    message = "`model` must be a translator, a language model or a folder of one; received a Classifier"
    with pytest.raises(ArgumentTypeError, match=message):
        regard.evaluate(regard.load(folder / "c"), data="a.csv")


def test_a_loaded_model_needs_a_text(folder):
    with pytest.raises(ArgumentError, match="`data` must name a text for a model that was loaded; received no"):
        regard.evaluate(regard.load(folder / "l"))


def test_systems_are_compared(folder):
    found = regard.compare(folder / "a", folder / "b", settings=QUICK)
    assert [one.name for one in found.evaluations] == ["a", "b"]
    assert 0 < found.differences[0]["BLEU"].p_value <= 1
    with pytest.raises(
        ArgumentError, match=r"^`systems` must be two or more; received 1\. For one: regard\.evaluate\.$"
    ):
        regard.compare(folder / "a")
    with pytest.raises(DataError, match="must be the folder of a translator"):
        regard.compare(folder / "a", folder / "c")


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


def test_baselines_link_words_too():
    pairs = corpus("builtin:hi-en", split="test", size=60)
    gold = [pair.links for pair in pairs]
    errors = {
        name: alignment_error([one.links for one in regard.align(name, pairs, reverse=reverse)], gold).error
        for name, reverse in (("ibm-1", None), ("ibm-1", "ibm-1"), ("diagonal", None))
    }
    assert errors["ibm-1"] < errors["diagonal"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"join": "unoin"},
            "`join` must be one of intersection, union, grow-diag, grow-diag-final; received unoin. Did you",
        ),
        ({"words": "mark"}, "`words` must be one of "),
        ({"settings": {"lyer": 1}}, "lyer: unknown key. Did you mean layer?"),
    ],
)
def test_mistakes_in_aligning(changes, message):
    with pytest.raises(ArgumentError) as caught:
        regard.align("diagonal", PAIRS, **changes)
    assert str(caught.value).startswith(message)
