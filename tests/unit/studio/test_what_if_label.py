"""What if, for classifiers: weights are forced as asked, tokens are hidden, and the labels follow."""

import re

import pytest
import torch

from regard.inspection.trace.intervene import intervene
from regard.studio.pages import record_relabeling, relabeling_page
from unit.studio.seers import REVIEW, make_english, opened
from unit.studio.visiting import ask, refused, visitor

SOME = ("transformer", "structured", "attending")


@pytest.fixture(scope="module")
def english():
    return make_english()


@pytest.fixture(scope="module")
def client(english):
    return visitor(opened(english))


def probabilities(classifier, **changes):
    ids = torch.tensor([classifier.encode([REVIEW])[0].tolist()])
    with torch.no_grad(), intervene(classifier.model, **changes):
        return classifier.model(ids, torch.tensor([ids.size(1)])).logits[0].double().softmax(-1)


def told(answer, when):
    return {one["token"]: one[when] for one in answer["candidates"]}


@pytest.mark.parametrize("name", SOME)
def test_undisturbed_nothing_changes(english, client, name):
    found = ask(client, "whatif/label", model=name, text=REVIEW)
    assert found["change"] == 0
    assert found["own"] == found["weights"]
    assert sum(found["own"]) == pytest.approx(1, abs=1e-6)
    decision = english[name].classify([REVIEW])[0]
    assert told(found, "before") == pytest.approx(decision.probabilities, abs=1e-6)
    assert found["tokens"] == ["a", "good", "book", ",", "though", "too", "long", "."]


@pytest.mark.parametrize("name", SOME)
def test_weights_are_forced(english, client, name):
    found = ask(client, "whatif/label", model=name, text=REVIEW, pinned=[{"position": 1, "share": 1}])
    assert found["weights"] == pytest.approx([0, 1, 0, 0, 0, 0, 0, 0])
    one = torch.zeros(8).index_fill(0, torch.tensor(1), 1.0)
    expected = probabilities(english[name], weights={"summarize*": one})
    assert list(told(found, "after").values()) == pytest.approx(
        [float(expected[english[name].labels.index(label)]) for label in told(found, "after")], abs=1e-6
    )
    assert found["change"] > 0


@pytest.mark.parametrize("name", SOME)
def test_tokens_are_hidden(english, client, name):
    found = ask(client, "whatif/label", model=name, text=REVIEW, hidden=[2, 6])
    assert [place for place, weight in enumerate(found["weights"]) if weight == 0] == [2, 6]
    mask = torch.ones(1, 8, dtype=torch.bool).index_fill(1, torch.tensor([2, 6]), False)
    expected = probabilities(english[name], mask={"*": mask})
    label = english[name].labels[0]
    assert told(found, "after")[label] == pytest.approx(float(expected[0]), abs=1e-6)


def test_mistakes_are_told(client):
    message = "`model` must weigh the tokens of a text; received one that does not attend. Choose another model."
    assert refused(client, "whatif/label", model="last", text=REVIEW) == message
    message = "`pinned` must be positions of tokens from 0 to 7; received 8."
    assert (
        refused(client, "whatif/label", model="attending", text=REVIEW, pinned=[{"position": 8, "share": 0}]) == message
    )
    message = "`hidden` must be positions of tokens from 0 to 7; received -1."
    assert refused(client, "whatif/label", model="attending", text=REVIEW, hidden=[-1]) == message
    message = "`text` must have 1 to 256 tokens to be changed; received 300."
    assert refused(client, "whatif/label", model="attending", text="good " * 300) == message


def test_a_file_holds_what_the_studio_answers(english):
    recorded = record_relabeling(english["attending"], REVIEW)
    client = visitor(opened({"one": english["attending"]}))
    assert len(recorded.answers) == 1 + 3 * 8
    for one in recorded.answers:
        assert ask(client, one.verb, **one.body | {"model": ""}) == one.answer
    assert re.search(r'"view":"whatif"', relabeling_page(english["attending"], REVIEW))
