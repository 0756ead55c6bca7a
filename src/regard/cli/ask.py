"""`regard ask`: a picture and a question in, an answer out, with what each word attends to."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_file, check_unicode, write_file, write_page
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.captions.model import Captioner
    from regard.tasks.questions.model import Answer, QuestionAnswerer
    from regard.tasks.word_maps import WordMaps

KINDS = (".png", ".svg", ".pdf", ".html")


def ask(
    model: Annotated[Path, typer.Argument(help="The folder of a model for questions, or of a finished run.")],
    picture: Annotated[Path, typer.Argument(help="A picture; `regard scene a.png` draws one.")],
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="Questions; else they are read, one a line.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the picture with a map for each word; .html for several questions.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the studio's view of it, in one file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line: answer, probabilities, maps.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Ask about a picture, and see which positions each word of the question attends to.

    Example: `regard ask runs/shapes scene.png "what color is the circle?"`

    Drawn: `regard ask runs/shapes scene.png "what color is the circle?" --figure attention.png`

    As a page: `regard ask runs/shapes scene.png "what color is the circle?" --out answer.html`

    A picture to try: `regard scene scene.png`
    """
    if figure is not None:
        check_picture_figure(figure)
    check_page(out)
    for question in questions or []:
        check_unicode("QUESTION", question)
    from regard.tasks.picture_input import read_any_picture
    from regard.tasks.questions.model import load_question_answerer

    answerer = load_question_answerer(model, device=device)
    pixels = read_any_picture(picture, size=answerer.image_size)
    answers = []
    for question in questions or _read_questions():
        answers.append(answerer.ask_pixels(pixels, [question])[0])
        if figure is None and out is None:
            _show(answers[-1], as_json=as_json)
    if figure is not None:  # before anything is printed: whoever reads a pipe may leave early
        _draw(answers, figure)
    if out is not None:
        write_picture_page(out, answerer, picture, [item.question for item in answers])
    if figure is not None or out is not None:
        for answer in answers:
            _show(answer, as_json=as_json)


def _read_questions() -> Iterator[str]:
    """Give the lines of standard input."""
    if sys.stdin.isatty():
        print("regard: a question and Enter; Ctrl-D ends.", file=sys.stderr)
    for line in sys.stdin:
        check_unicode("QUESTION", line.strip())
        if line.strip():
            yield line.strip()


def check_picture_figure(path: Path) -> None:
    """Refuse a figure that cannot be written, before anything is computed."""
    if path.suffix.lower() not in KINDS:
        raise ArgumentError(f"`--figure` must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}; received {path}.")
    check_file(path, option="--figure")


def check_page(path: Path | None) -> None:
    """Refuse a page that is not called one or cannot be written, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() != ".html":
        raise ArgumentError(f"`--out` must end in .html; received {path}. Use --figure for a picture of the maps.")
    check_file(path, option="--out")


def write_picture_page(path: Path, model: "QuestionAnswerer | Captioner", picture: Path, questions: list[str]) -> None:
    """Write the studio's view of a picture and what the model outputs, in one file."""
    from regard.cli.progress import Watching
    from regard.studio.pages import picture_page

    with Watching() as watching:
        page = picture_page(model, picture, questions, watch=watching)
    write_page(path, page, option="--out")


def write_figure(word_maps: "WordMaps", path: Path, *, title: str, page: str) -> None:
    """Write maps as what the name ends in: the page given, or a figure."""
    if path.suffix.lower() == ".html":
        write_page(path, page, option="--figure")
    else:
        write_file(path, lambda aside: word_maps.figure(title=title).savefig(aside), option="--figure")


def _draw(answers: "list[Answer]", path: Path) -> None:
    from regard.tasks.questions.page import Asking, answers_page

    if not answers:
        raise ArgumentError("`--figure` must have a question to draw; received none.")
    if len(answers) > 1 and path.suffix.lower() != ".html":
        raise ArgumentError(
            f"`--figure` must end in .html for several questions; received {path} for {len(answers)} of them."
        )
    page = answers_page([Asking(item) for item in answers], title="Questions about a picture")
    first = answers[0]
    write_figure(first.attention, path, title=f"{first.question} {first.answer}", page=page)


def _show(answer: "Answer", *, as_json: bool) -> None:
    from regard.tasks.word_maps import chances

    if answer.unknown:
        never = sanitize(", ".join(dict.fromkeys(answer.unknown)))
        print(f"regard: words that the model was never trained on: {never}", file=sys.stderr)
    if as_json:
        answer_table = {"question": answer.question, "answer": answer.answer, "probabilities": answer.probabilities}
        print_json({**answer_table, "unknown": answer.unknown, "words": answer.attention.to_json()})
        return
    print(f"{sanitize(answer.answer)}  ({sanitize(chances(answer.likeliest(3)))})\n")
    for line in answer.attention.text(width=max(20, shutil.get_terminal_size().columns)):
        print(sanitize(line))
    print()
