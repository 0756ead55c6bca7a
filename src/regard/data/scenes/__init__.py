"""Pictures with questions and captions: scenes of shapes drawn here, easy-VQA, and folders of one's own.

`builtin:shapes` draws from one to five shapes a picture and asks about color, shape, position and number, or what is
answered by yes or no; every question has one answer, and hearing the question alone helps little.

>>> from random import Random
>>> random = Random(2)
>>> scene = draw_scene(random, num_shapes=2)
>>> print(caption_scene(scene))
a yellow triangle left of a green square
>>> for question in Asker().ask(scene, random):
...     print(f"{question.kind}: {question.text} {question.answer}")
color: what color is the triangle? yellow
shape: which shape is green? square
position: where is the yellow triangle, seen from the green shape? left
count: how many yellow squares are in the picture? 0
yes/no: is there a circle in the picture? no
"""

from regard.data.scenes.captions import caption_scene
from regard.data.scenes.paint import paint_scene
from regard.data.scenes.questions import QUESTION_KINDS, Asker, Question
from regard.data.scenes.scene import COLORS, KINDS, Scene, Shape, draw_scene
from regard.data.scenes.sides import CaptionSide, PictureQuestion, QuestionSide, draw_captions, draw_questions

__all__ = [
    "COLORS",
    "KINDS",
    "QUESTION_KINDS",
    "Asker",
    "CaptionSide",
    "PictureQuestion",
    "Question",
    "QuestionSide",
    "Scene",
    "Shape",
    "caption_scene",
    "draw_captions",
    "draw_questions",
    "draw_scene",
    "paint_scene",
]
