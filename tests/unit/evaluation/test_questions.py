"""Answers are counted, in all and by kind, and so are those of whoever never looks."""

import pytest

from regard.errors import ArgumentError
from regard.evaluation.questions import BlindBaseline, score_answers


def test_shares_by_kind():
    scores = score_answers(["a", "b", "c", "d"], ["a", "b", "x", "x"], ["two", "one", "one", "one"])
    assert scores.accuracy == 0.5
    assert scores.by_kind == {"one": pytest.approx(1 / 3), "two": 1.0}
    assert scores.questions == {"one": 3, "two": 1}
    assert score_answers([], [], []).accuracy == 0


def test_lengths_are_checked():
    with pytest.raises(ArgumentError, match=r"must be of one length; received 1, 2 and 1\."):
        score_answers(["a"], ["a", "b"], ["k"])


def test_the_commonest_answer_and_the_commonest_to_the_question():
    questions = ["What color is A?", "what color is a?", "what color is b?", "is it?", "is it?", "is it?"]
    answers = ["red", "red", "blue", "yes", "yes", "no"]
    hears, deaf = BlindBaseline(questions, answers), BlindBaseline(questions, answers, words=False)
    assert hears.answer("what color is b?") == "blue"
    assert hears.answer("what color is c?") == "red"
    assert hears.answer("is it?") == "yes"
    assert {deaf.answer(question) for question in questions} == {"red"}  # as common as yes, and before it
