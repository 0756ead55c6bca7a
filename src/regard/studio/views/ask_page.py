"""Ask an image as one file: the picture, what a model answers and attends to, without a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.data.images.picture import picture_size
from regard.errors import ArgumentError
from regard.studio.models import open_one
from regard.studio.single_file import Answer, Recorded, Watch, make_page, watch_nothing
from regard.studio.views.ask import answer_about, check, size_of, write_checks, write_picture
from regard.studio.views.ask_picture import Picture
from regard.tasks.captions.model import Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.picture_input import read_any_picture
from regard.tasks.questions.model import QuestionAnswerer


def picture_page(
    model: QuestionAnswerer | Captioner | ImageClassifier,
    picture: Path,
    questions: Sequence[str] = (),
    *,
    watch: Watch = watch_nothing,
) -> str:
    """Give a page of a picture and what a model answers, as the view Ask an image does."""
    return make_page(record_picture(model, picture, questions, watch=watch))


def record_picture(
    model: QuestionAnswerer | Captioner | ImageClassifier,
    picture: Path,
    questions: Sequence[str] = (),
    *,
    watch: Watch = watch_nothing,
) -> Recorded:
    """Ask every question and measure its checks; a model that describes or labels takes none."""
    asks = isinstance(model, QuestionAnswerer)
    if asks != bool(questions):
        expected = (
            "at least one for a model that answers questions" if asks else "none for a model that takes no question"
        )
        raise ArgumentError(f"`questions` must be {expected}; received {len(questions)}.")
    opened = open_one(model)
    read = _read(model, picture)
    request: dict[str, Any] = {"model": opened.name, "file": f"picture {_readable(picture.name)}"}
    answers = [Answer("ask/picture", request, write_picture(opened, read))]
    for done, question in enumerate(questions or [""]):
        watch("covering cells", done, len(questions) or 1)
        body = request | {"question": question}
        answers.append(Answer("ask/answer", body, answer_about(model, read, question)))
        answers.append(Answer("ask/checks", body, write_checks(check(model, read, question))))
    state = {"own": request["file"]} | ({"question": questions[0]} if questions else {})
    return Recorded("ask", f"ask?{urlencode(state)}", [opened.about], answers)


def _readable(name: str) -> str:
    """Replace bytes that are no UTF-8, which a file's name may have and an address may not."""
    return name.encode("utf-8", "replace").decode()


def _read(model: QuestionAnswerer | Captioner | ImageClassifier, picture: Path) -> Picture:
    """Read a picture as the command line does, which takes more kinds of files than the studio."""
    size, channels = size_of(model)
    pixels = read_any_picture(picture, size=size, channels=channels).numpy()
    return Picture(pixels=pixels, original=picture_size(picture))
