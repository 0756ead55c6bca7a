"""The built-in texts: splits that share nothing, labels that words alone cannot tell, pronouns that need the place."""

import re
from collections import Counter, defaultdict

import pytest

from regard.data.builtin.labeled_texts import labeled_texts
from regard.data.builtin.stories import PASSAGE, READINGS, stories
from regard.data.corpora.catalogue import BUILTINS, check_builtin
from regard.errors import ArgumentError, DataError

SPLITS = ("train", "valid", "test")


@pytest.mark.parametrize("draw", [stories, lambda **how: [one.text for one in labeled_texts("builtin:topics", **how)]])
def test_splits_of_any_seed_share_no_text(draw):
    drawn = {split: {text for seed in (0, 1) for text in draw(split=split, size=60, seed=seed)} for split in SPLITS}
    assert not drawn["train"] & drawn["valid"]
    assert not drawn["test"] & (drawn["train"] | drawn["valid"])
    assert draw(split="train", size=30, seed=1) == draw(split="train", size=60, seed=1)[:30]
    assert len(set(draw(split="train", size=60))) == 60


def test_the_passage_is_not_trained_on_and_its_words_are_known():
    drawn = stories(split="train", size=800)
    assert stories(split="lectures", size=1) == [PASSAGE]
    assert PASSAGE not in drawn
    words = set(re.findall(r"\w+", " ".join(drawn).lower()))
    assert words >= set(re.findall(r"\w+", PASSAGE.lower()))
    assert set(READINGS) <= words


def test_what_is_theirs_depends_on_the_place_alone():
    """Neither the verb nor the thing tells the place: both go with several."""
    owners, things = defaultdict(set), defaultdict(set)
    for story in stories(split="train", size=800):
        place = re.search(r"at the \w+ (\w+)", story.lower())[1]
        owners[re.search(r"Their ([^.]*)", story)[1]].add(place)
        things[re.search(r"(?:found|chose|wanted|liked|tried) a (\w+)", story)[1]].add(place)
    assert {len(places) for places in owners.values()} == {1}
    assert min(len(places) for places in things.values()) > 1


def test_of_opinions_words_alone_tell_little():
    """A bag of words, as good as one can be on the training texts, is far from right."""
    train, test = (
        labeled_texts("builtin:opinions", split=split, size=size) for split, size in (("train", 1000), ("test", 400))
    )
    assert Counter(one.label for one in train)["positive"] == pytest.approx(500, abs=80)
    counts = defaultdict(Counter)
    for one in train:
        for word in set(re.findall(r"\w+", one.text.lower())):
            counts[word][one.label] += 1

    def vote(text):
        share = [
            counts[word]["positive"] / max(1, sum(counts[word].values())) for word in re.findall(r"\w+", text.lower())
        ]
        return "positive" if sum(share) > len(share) / 2 else "negative"

    right = sum(vote(one.text) == one.label for one in test) / len(test)
    assert right < 0.7


def test_more_than_there_are_is_an_error(monkeypatch):
    monkeypatch.setattr("regard.data.builtin.sampling._PATIENCE", 5)
    with pytest.raises(
        DataError, match=r"`size` must be at most [\d,]+, all that split 'test' of builtin:topics gives;"
    ):
        labeled_texts("builtin:topics", split="test", size=10**6)


def test_names_of_other_tasks_and_unknown_ones_say_what_there_is():
    for task in ("translate", "language", "classify", "images", "questions", "captions"):
        assert [one for one in BUILTINS if task in one.tasks]
    with pytest.raises(
        ArgumentError,
        match=r"`data` must be a built-in corpus for task language, builtin:stories; received builtin:topics, which "
        r"is for task classify\.",
    ):
        check_builtin("builtin:topics", "language")
    with pytest.raises(ArgumentError, match=r"received builtin:shape\. Did you mean builtin:shapes\?"):
        check_builtin("builtin:shape", "images")
