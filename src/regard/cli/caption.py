"""`regard caption`: a picture in, a sentence out, with what the model attends to for each word."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.ask import check_page, check_picture_figure, write_figure, write_picture_page
from regard.cli.files import check_unicode
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError


def caption(
    model: Annotated[Path, typer.Argument(help="The folder of a model for captions, or of a finished run.")],
    picture: Annotated[Path, typer.Argument(help="A picture; `regard scene a.png` draws one.")],
    question: Annotated[
        str, typer.Argument(help="A question to answer in a sentence, of a model trained with data.answers.")
    ] = "",
    beam: Annotated[int, typer.Option(help="Captions kept in the search; 1 takes the likeliest word each time.")] = 1,
    n_best: Annotated[int, typer.Option(help="Captions to give, best first; at most --beam.")] = 1,
    figure: Annotated[Path | None, typer.Option(help="Draw the picture with a map for each word; .html too.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the studio's view of it, in one file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line: text, probability, maps.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Describe a picture, or answer a question about it in a sentence, with a map of attention for each word.

    Example: `regard caption runs/captions scene.png`

    A question, answered in a sentence: `regard caption runs/captions scene.png "where is the circle?"`

    Drawn: `regard caption runs/captions scene.png --beam 5 --figure attention.html`

    A picture to try: `regard scene scene.png`
    """
    if figure is not None:
        check_picture_figure(figure)
    check_page(out)
    if out is not None and beam > 1:
        raise ArgumentError(f"`--out` must go without --beam, since the view describes greedily; received {beam}.")
    if out is not None and question:
        raise ArgumentError("`--out` must go without a question, since the view describes. Use --figure maps.html.")
    check_unicode("QUESTION", question)
    from regard.tasks.captions.model import load_captioner
    from regard.tasks.captions.train import captions_page

    captioner = load_captioner(model, device=device)
    result = captioner.caption(picture, question=question, beam=beam, n_best=n_best)
    if unknown := captioner.unknown(question):
        print(f"regard: words that the model was never trained on: {sanitize(', '.join(unknown))}", file=sys.stderr)
    if figure is not None:  # before anything is printed: whoever reads a pipe may leave early
        page = captions_page([(item, None) for item in result], title="A picture described")
        write_figure(result[0].attention, figure, title=result[0].text, page=page)
    if out is not None:
        write_picture_page(out, captioner, picture, [])
    for item in result:
        if as_json:
            words = item.attention.to_json()
            print_json({"text": item.text, "probability": item.probability, "words": words})
        else:
            print(f"{sanitize(item.text)}  ({item.probability:.3g})")
    if not as_json:
        print()
        for line in result[0].attention.text(width=max(20, shutil.get_terminal_size().columns)):
            print(sanitize(line))
