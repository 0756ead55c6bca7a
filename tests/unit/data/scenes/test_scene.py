"""Scenes are drawn as they are told, and say nothing that is not plain."""

import re
from collections import Counter
from math import hypot
from random import Random

import numpy as np
import pytest

from regard.data.scenes import Asker, Scene, Shape, caption_scene, draw_scene, paint_scene
from regard.data.scenes.scene import COLORS, KINDS, SIMPLE
from regard.data.scenes.sides import draw_captions, draw_labeled, draw_questions, draw_scenes
from regard.errors import ArgumentError
from regard.evaluation.questions import BlindBaseline

SCENES = [draw_scene(Random(f"test/{number}")) for number in range(200)]


def test_shapes_lie_apart_inside_the_picture():
    for scene in SCENES:
        for number, one in enumerate(scene.shapes):
            assert one.radius < min(one.x, one.y)
            assert max(one.x, one.y) < 64 - one.radius
            for other in scene.shapes[:number]:
                assert hypot(one.x - other.x, one.y - other.y) > one.radius + other.radius
                assert other.x < one.x - 4


def test_every_number_kind_and_color_comes():
    assert {len(scene.shapes) for scene in SCENES} == {1, 2, 3, 4, 5}
    assert {one.kind for scene in SCENES for one in scene.shapes} == set(KINDS)
    assert {one.color for scene in SCENES for one in scene.shapes} == set(COLORS)


def test_the_number_of_shapes_may_be_chosen():
    assert len(draw_scene(Random(1), num_shapes=4).shapes) == 4
    with pytest.raises(ArgumentError, match=r"`num_shapes` must be from 1 to 5; received 6\."):
        draw_scene(Random(1), num_shapes=6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shape_is_painted_where_it_is_with_soft_edges(kind):
    shape = Shape(kind=kind, color="red", x=20, y=40, radius=9, paint=(200, 10, 20))
    pixels = paint_scene(Scene(shapes=(shape,), ground=(250, 250, 250)))
    assert pixels.shape == (3, 64, 64)
    assert pixels[:, 40, 20].tolist() == [200, 10, 20]
    assert (pixels[:, :30] == 250).all()
    assert (pixels[:, :, 30:] == 250).all()
    green = pixels[1].astype(int)
    assert ((green > 30) & (green < 230)).sum() > 5
    share = (250 - green).sum() / 240 / (np.pi * 81)
    assert {"circle": 0.99, "square": 0.6, "triangle": 0.38, "star": 0.3, "cross": 0.3}[kind] < share
    assert share < {"circle": 1.01, "square": 0.67, "triangle": 0.45, "star": 0.5, "cross": 0.7}[kind]


def test_two_scenes_with_their_shapes_in_the_same_cells_have_one_name():
    one = Scene(shapes=(Shape(kind="star", color="red", x=20.1, y=40.2, radius=9),))
    other = Scene(shapes=(Shape(kind="star", color="red", x=20.3, y=40.9, radius=7),))
    assert one.key() == other.key()
    for x in (19.9, 22.0, 30.0):  # in the cells beside it, and far off
        assert one.key() != Scene(shapes=(Shape(kind="star", color="red", x=x, y=40.2, radius=9),)).key()


def test_sides_share_no_scene_and_the_test_does_not_hang_on_the_training():
    few, many = draw_scenes({"test": 60, "train": 5}), draw_scenes({"test": 60, "train": 200})
    assert few["test"] == many["test"]
    assert few["train"] == many["train"][:5]
    keys = Counter(scene.key() for scenes in many.values() for scene in scenes)
    assert max(keys.values()) == 1
    assert draw_scenes({"test": 3}, seed=1)["test"] != few["test"][:3]


def find(scene, name):
    """Find what a name such as "red circle", "red shape" or "circles" means."""
    singular = re.sub(r"\b(cross)es\b", r"\1", name)
    singular = re.sub(r"\b(circle|square|triangle|star|shape)s\b", r"\1", singular)
    words = singular.split()
    color = next((word for word in words if word in COLORS), None)
    kind = next((word for word in words if word in KINDS), None)
    return [one for one in scene.shapes if color in (None, one.color) and kind in (None, one.kind)]


NAME = r"((?:\w+ )?(?:circle|square|triangle|star|cross|shape)(?:e?s)?)"


def check(scene, question):
    """Answer a question from the truth, by reading its words."""
    text, kind = question.text, question.kind
    names = re.findall(NAME, re.sub(r"\b(the|an?|of|many|more|than|what|which|is|there)\b ?", "", text))
    if kind == "count":
        return str(len(find(scene, names[0])))
    if kind == "color":
        [one] = find(scene, names[0])
        return one.color
    if kind == "shape":
        color = next(word for word in re.findall(r"\w+", text) if word in COLORS)
        [one] = [one for one in scene.shapes if one.color == color]
        return one.kind
    if kind == "position":
        places = [find(scene, name) for name in names]
        if len(places) == 1:
            return places[0][0].corner()
        first, second = (places[1], places[0]) if text.startswith("on which side") else places
        assert len(first) == len(second) == 1
        return first[0].direction_from(second[0])
    if "more" in text:
        return "yes" if len(find(scene, names[0])) > len(find(scene, names[1])) else "no"
    side = re.search(r"(left of|right of|above|below)", text)
    if side:
        [first], [second] = (find(scene, name) for name in names)
        return "yes" if first.direction_from(second) == side.group(1).split()[0] else "no"
    is_color = re.match(r"is (?:the color of )?the (\w+) (\w+)\?", text)
    if is_color:
        [one] = find(scene, is_color.group(1))
        return "yes" if one.color == is_color.group(2) else "no"
    return "yes" if find(scene, names[0]) else "no"


def test_every_answer_follows_from_the_truth(unchecked):
    asker, random = Asker(), Random(5)
    kinds = Counter()
    for scene in SCENES:
        for question in asker.ask(scene, random):
            kinds[question.kind] += 1
            assert check(scene, question) == question.answer, (scene, question)
    assert min(kinds[kind] for kind in ("color", "shape", "position", "count", "yes/no")) > 90


def test_guessing_is_poor(unchecked):
    sides = draw_questions({"test": 60, "train": 200})
    train, test = sides["train"].questions, sides["test"].questions
    texts, answers = [one.text for one in train], [one.answer for one in train]
    for words, most in ((False, 0.2), (True, 0.45)):
        blind = BlindBaseline(texts, answers, words=words)
        assert sum(blind.answer(one.text) == one.answer for one in test) / len(test) < most
    share = Counter(one.answer for one in train if one.kind == "yes/no")
    assert 0.45 < share["yes"] / share.total() < 0.55


def test_no_question_is_asked_twice_of_a_picture():
    side = draw_questions({"train": 40})["train"]
    assert len({(one.picture, one.text) for one in side.questions}) == len(side)
    assert len(side) > 40 * 8


def test_questions_and_captions_are_of_the_same_scenes(unchecked):
    told = []
    asked = draw_questions({"train": 100}, seed=3, count=told.append)["train"]
    said = draw_captions({"train": 100}, seed=3)["train"]
    assert (asked.pictures == said.pictures).all()
    assert told == [100]
    assert len(said) == 100


@pytest.mark.parametrize("draw", [draw_questions, draw_captions])
def test_pictures_of_all_sides_are_counted_together(draw):
    told = []
    draw({"test": 40, "valid": 40, "train": 20}, count=told.append)
    assert told == [100]


def test_captions_name_every_shape_from_left_to_right():
    for scene in SCENES:
        named = re.findall(r"(\w+) (circle|square|triangle|star|cross)", caption_scene(scene))
        assert named == [(one.color, one.kind) for one in scene.shapes]
        assert "None" not in caption_scene(scene)


def test_simple_scenes_have_few_large_shapes_and_speak_of_no_others():
    side = draw_questions({"test": 60}, style=SIMPLE)["test"]
    assert side.pictures.shape == (60, 3, 32, 32)
    asked = " ".join(f"{one.text} {one.answer}" for one in side.questions)
    for word in (*SIMPLE.kinds, *SIMPLE.colors):
        assert word in asked
    assert not re.search("star|cross|yellow|orange|purple", asked)
    assert {len(scene.shapes) for scene in draw_scenes({"test": 60}, style=SIMPLE)["test"]} == {1, 2}


def test_a_smaller_picture_is_the_same_scene():
    [scene] = draw_scenes({"a": 1}, style=SIMPLE)["a"]
    small = paint_scene(scene).astype(float)
    large = paint_scene(Scene(shapes=scene.shapes, ground=scene.ground)).astype(float)
    mean = large.reshape(3, 32, 2, 32, 2).mean((2, 4))
    assert abs(small - mean).max() < 60
    assert abs(small - mean).mean() < 1


def test_sentences_answer_their_questions():
    side = draw_captions({"test": 40}, answers=3)["test"]
    plain = draw_captions({"test": 40})["test"]
    described = [caption for caption, prompt in zip(side.captions, side.prompts, strict=True) if not prompt]
    assert tuple(described) == plain.captions
    asked = draw_questions({"test": 40})["test"].questions
    answers = {(one.picture, one.text): one.answer for one in asked}
    sentences = [one for one in zip(side.owners, side.prompts, side.captions, strict=True) if one[1]]
    assert 40 < len(sentences) <= 120
    numbers = dict(zip("012345", ("no", "one", "two", "three", "four", "five"), strict=True))
    for owner, prompt, sentence in sentences:
        answer = answers[owner, prompt]
        assert re.search(rf"\b{numbers.get(answer, answer)}\b", sentence)


def test_labeled_scenes_have_one_shape_each():
    sides = draw_labeled({"test": 30, "train": 30}, style=SIMPLE)
    assert sides["train"].names == ("circle", "square", "triangle")
    assert set(sides["test"].labels.tolist()) == {0, 1, 2}
    assert not set(sides["test"].digests()) & set(sides["train"].digests())
