"""Where pronouns look: computed from the model's own weights, in words."""

import pytest
import torch

from regard.data.builtin.stories import PASSAGE, READINGS
from regard.data.corpora.pair import words
from regard.studio.examples import examples_for
from regard.tasks.pronouns import divide
from unit.studio.seers import REVIEW, make_english, make_seers, opened
from unit.studio.visiting import ask, refused, visitor

SPACED = " ".join(words(PASSAGE))


def _readings(told):
    return [[reading["word"] for reading in one["readings"]] for one in told["attention"]]


@pytest.fixture(scope="module")
def things():
    return make_english()


@pytest.fixture
def client(things):
    return visitor(opened(things))


def test_the_passage_is_offered_to_models_that_know_its_words(things):
    assert examples_for(things["structured"])[-1].text == PASSAGE
    assert examples_for(things["letters"])[-1].text == PASSAGE
    assert examples_for(things["spaced"])[-1].text == SPACED
    assert examples_for(make_seers()["captioner"]) == ()
    lowered = words(PASSAGE.lower())
    for pronoun, readings in READINGS.items():
        for meant in readings:
            assert lowered.count(pronoun) == lowered.count(meant) == 1
            assert lowered.index(meant) < lowered.index(pronoun)


def test_a_classifiers_pronouns_are_told_in_its_own_weights(client, things):
    told = ask(client, "passage/attention", model="transformer", text=PASSAGE)
    trace = things["transformer"].inspect(PASSAGE).trace
    weights = torch.cat([call.weights[0] for call in trace if call.layer.startswith("reader")])
    mean = weights.mean(0)
    listed = words(PASSAGE)
    assert told["heads"] == 4
    assert [one["word"] for one in told["attention"]] == ["it", "their"]
    assert _readings(told) == [["sandwich", "restaurant"], ["restaurant"]]
    for one in told["attention"]:
        row = mean[one["position"]]
        assert [top["weight"] for top in one["top"]] == pytest.approx(row.topk(3).values.tolist())
        assert [top["position"] for top in one["top"]] == row.topk(3).indices.tolist()
        for reading in one["readings"]:
            where = listed.index(reading["word"])
            assert reading["weight"] == pytest.approx(float(row[where]))
            assert reading["rank"] == 1 + int((row > row[where]).sum())
            assert reading["head_weight"] == pytest.approx(float(weights[:, one["position"], where].max()))
        assert one["uniform"] == 1 / len(listed)
        assert one["number"] == one["position"] + 1


def test_letters_are_gathered_into_words(client, things):
    divided = divide(things["letters"], PASSAGE)
    assert divided.words == ["</s>", *words(PASSAGE)]
    spelled = [
        "".join(PASSAGE[place] for place, word in enumerate(divided.word_of[1:]) if word == one) for one in (1, 4)
    ]
    assert spelled == ["I", " sandwich"]
    told = ask(client, "passage/attention", model="letters", text=PASSAGE)
    weights = things["letters"].inspect(PASSAGE).call().weights[0].mean(0)
    it = [place for place, word in enumerate(divided.word_of) if word == told["attention"][0]["position"]]
    restaurant = [place for place, word in enumerate(divided.word_of) if divided.words[word] == "restaurant"]
    expected = weights[it][:, restaurant].sum(-1).mean()
    assert told["attention"][0]["readings"][1]["weight"] == pytest.approx(float(expected), abs=1e-6)
    assert told["attention"][0]["visible"] == words(PASSAGE).index("it") + 2
    assert told["attention"][0]["number"] == words(PASSAGE).index("it") + 1


def test_words_between_spaces_are_their_own(client):
    told = ask(client, "passage/attention", model="spaced", text=SPACED)
    assert _readings(told) == [["sandwich", "restaurant"], ["restaurant"]]
    odd = ask(client, "passage/attention", model="spaced", text="A zebra knew it")
    assert odd["unknown"] == ["A", "knew", "zebra"]
    assert odd["attention"][0]["readings"] == []


def test_a_text_of_ones_own_is_read_head_by_head_as_the_passage_is(client, things):
    """A visitor's passage has no readings of ours, and everything that is computed."""
    text = "The soup was good and they praised it"
    told = ask(client, "passage/attention", model="transformer", text=text)
    trace = things["transformer"].inspect(text).trace
    weights = torch.cat([call.weights[0] for call in trace if call.layer.startswith("reader")])
    assert [one["word"] for one in told["attention"]] == ["they", "it"]
    for one in told["attention"]:
        highest = weights[:, one["position"]].max(-1)
        assert one["readings"] == []
        assert len(one["heads"]) == told["heads"] == 4
        assert [each["weight"] for each in one["heads"]] == pytest.approx(highest.values.tolist())
        assert [each["position"] for each in one["heads"]] == highest.indices.tolist()


def test_where_there_is_nothing_to_tell_it_is_said(client):
    assert ask(client, "passage/attention", model="transformer", text=REVIEW)["why"] == "no pronoun"
    assert "no word attends to others" in ask(client, "passage/attention", model="structured", text=PASSAGE)["why"]
    assert ask(client, "passage/attention", model="last", text=PASSAGE)["why"] == "This model does not attend."
    assert "more than 256 tokens" in ask(client, "passage/attention", model="transformer", text=PASSAGE * 12)["why"]
    assert ask(client, "passage/attention", model="transformer", text="")["attention"] == []


def test_a_translator_is_refused(models):
    assert refused(visitor(models), "passage/attention", model="recurrent", text=PASSAGE) == (
        "`model` must be a classifier or a language model; received recurrent, a translator."
    )
