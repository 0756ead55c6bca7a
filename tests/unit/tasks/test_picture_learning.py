"""Models for questions and captions learn a few pictures by heart, through the loop that every run goes through."""

from random import Random

import numpy as np
import pytest

from regard.data.scenes import caption_scene, draw_scene, paint_scene
from regard.data.scenes.sides import CaptionSide, PictureQuestion, QuestionSide
from regard.tasks.captions.data import CaptionCorpus
from regard.tasks.captions.settings import compose_captions
from regard.tasks.captions.train import train_captions
from regard.tasks.questions.data import QuestionCorpus
from regard.tasks.questions.settings import PictureSize, compose_questions
from regard.tasks.questions.train import train_questions
from regard.training.run import Run
from regard.training.run_folder import RunFolder

SMALL = {
    "data": {"corpus": "builtin:shapes", "image_size": 32},
    "model": {
        "size": 32,
        "num_heads": 2,
        "feed_forward_size": 32,
        "dropout": 0.0,
        "image": {"kind": "residual", "widths": (8, 12, 16), "num_blocks": 1},
    },
    "train": {
        "steps": 60,
        "batch_size": 8,
        "threads": 1,
        "validate_every": 60,
        "device": "cpu",
        "schedule": {"kind": "cosine", "rate": 3e-3, "warm_up": 5, "final": 0.1},
    },
}
SIZE = PictureSize(pictures=8, words=100)
pytestmark = pytest.mark.usefixtures("unchecked")  # for speed


def draw(num_shapes):
    """Draw eight scenes, with their pictures at half the size."""
    scenes = [draw_scene(Random(f"learn/{number}"), num_shapes=num_shapes) for number in range(8)]
    return scenes, np.stack([paint_scene(scene)[:, ::2, ::2] for scene in scenes])


@pytest.mark.parametrize("image", [{}, {"kind": "vision-transformer", "patch_size": 8, "size": 32, "num_layers": 1}])
def test_questions_are_learned_that_only_the_picture_answers(tmp_path, image):
    scenes, pictures = draw(1)
    asked = []
    for number, scene in enumerate(scenes):
        [shape] = scene.shapes  # the same three questions of every picture
        asked += [
            PictureQuestion(number, "what color is it?", shape.color, "color"),
            PictureQuestion(number, "which shape is it?", shape.kind, "shape"),
            PictureQuestion(number, "in which corner is it?", str(shape.corner()), "position"),
        ]
    side = QuestionSide(pictures=pictures, questions=tuple(asked))
    chosen = {**SMALL, "model": {**SMALL["model"], "image": image or SMALL["model"]["image"]}}
    corpus = QuestionCorpus(train=side, valid=side, test=side)
    trained = train_questions(compose_questions(chosen, SIZE), corpus, Run(folder=RunFolder(tmp_path)))
    assert trained.figures["test_question_only"] < 0.6
    assert trained.figures["test_accuracy"] > 0.9


def test_captions_are_learned(tmp_path):
    scenes, pictures = draw(2)
    captions = tuple(map(caption_scene, scenes))
    assert len(set(captions)) == 8
    side = CaptionSide(
        pictures=pictures, captions=captions, prompts=("",) * len(captions), owners=tuple(range(len(captions)))
    )
    corpus = CaptionCorpus(train=side, valid=side, test=side)
    trained = train_captions(compose_captions(SMALL, SIZE), corpus, Run(folder=RunFolder(tmp_path)))
    assert trained.figures["test_majority"] == 1 / 8
    assert trained.figures["test_exact"] > 0.9
    assert trained.figures["test_bleu"] > 90
