"""Where pronouns look: computed from the model's own weights, in words."""

import pytest
import torch

from regard.data.pair import words
from regard.studio.examples import PASSAGE, REFERENTS, examples_for
from regard.studio.passage import divide
from unit.studio.seers import REVIEW, make_english, make_seers, opened
from unit.studio.visiting import ask, refused, visitor

SPACED = " ".join(words(PASSAGE))


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
    for pronoun, meant in REFERENTS.items():
        assert words(PASSAGE).count(pronoun) == words(PASSAGE).count(meant) == 1
        assert words(PASSAGE).index(meant) < words(PASSAGE).index(pronoun)


def test_a_classifiers_pronouns_are_told_in_its_own_weights(client, things):
    told = ask(client, "passage/look", model="transformer", text=PASSAGE)
    trace = things["transformer"].inspect(PASSAGE).trace
    weights = torch.cat([call.weights[0] for call in trace if call.layer.startswith("reader")])
    mean = weights.mean(0)
    listed = words(PASSAGE)
    assert told["heads"] == 4
    assert [one["word"] for one in told["looks"]] == ["it", "their", "it"]
    assert [one["referent"]["word"] for one in told["looks"]] == ["restaurant", "cooks", "soup"]
    for one in told["looks"]:
        row = mean[one["place"]]
        assert [top["weight"] for top in one["top"]] == pytest.approx(row.topk(3).values.tolist())
        assert [top["place"] for top in one["top"]] == row.topk(3).indices.tolist()
        where = listed.index(one["referent"]["word"])
        assert one["referent"]["weight"] == pytest.approx(float(row[where]))
        assert one["referent"]["rank"] == 1 + int((row > row[where]).sum())
        assert one["referent"]["head_weight"] == pytest.approx(float(weights[:, one["place"], where].max()))
        assert one["uniform"] == 1 / len(listed)
        assert one["number"] == one["place"] + 1


def test_letters_are_gathered_into_words(client, things):
    divided = divide(things["letters"], PASSAGE)
    assert divided.words == ["</s>", *words(PASSAGE)]
    spelled = [
        "".join(PASSAGE[place] for place, word in enumerate(divided.word_of[1:]) if word == one) for one in (1, 4)
    ]
    assert spelled == ["We ", "small "]
    told = ask(client, "passage/look", model="letters", text=PASSAGE)
    weights = things["letters"].inspect(PASSAGE).call().weights[0].mean(0)
    it = [place for place, word in enumerate(divided.word_of) if word == told["looks"][0]["place"]]
    restaurant = [place for place, word in enumerate(divided.word_of) if divided.words[word] == "restaurant"]
    expected = weights[it][:, restaurant].sum(-1).mean()
    assert told["looks"][0]["referent"]["weight"] == pytest.approx(float(expected), abs=1e-6)
    assert told["looks"][0]["seen"] == words(PASSAGE).index("It") + 2
    assert told["looks"][0]["number"] == words(PASSAGE).index("It") + 1


def test_words_between_spaces_are_their_own(client):
    told = ask(client, "passage/look", model="spaced", text=SPACED)
    assert [one["referent"]["word"] for one in told["looks"]] == ["restaurant", "cooks", "soup"]
    odd = ask(client, "passage/look", model="spaced", text="A zebra knew it")
    assert odd["unknown"] == ["A", "zebra"]
    assert odd["looks"][0]["referent"] is None


def test_where_there_is_nothing_to_tell_it_is_said(client):
    assert ask(client, "passage/look", model="transformer", text=REVIEW)["why"] == "no pronoun"
    assert "no word looks at others" in ask(client, "passage/look", model="structured", text=PASSAGE)["why"]
    assert ask(client, "passage/look", model="last", text=PASSAGE)["why"] == "This model does not attend."
    assert "more than 256 tokens" in ask(client, "passage/look", model="transformer", text=PASSAGE * 12)["why"]
    assert ask(client, "passage/look", model="transformer", text="")["looks"] == []


def test_a_translator_is_refused(models):
    assert refused(visitor(models), "passage/look", model="recurrent", text=PASSAGE) == (
        "`model` must be a classifier or a language model; received recurrent, a translator."
    )
