"""`regard scene`: draw a picture of shapes, with its caption and questions that have one answer each."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal import print_json
from regard.errors import ArgumentError


def scene(
    out: Annotated[Path, typer.Argument(help="The picture to write, such as scene.png.")],
    seed: Annotated[int, typer.Option(help="Another number, another picture.")] = 0,
    shapes: Annotated[int, typer.Option(help="How many shapes, 1 to 5; 0 leaves it to chance.")] = 0,
    data: Annotated[str, typer.Option(help="builtin:shapes or builtin:simple-shapes.")] = "builtin:shapes",
    as_json: Annotated[bool, typer.Option("--json", help="Everything that is true of it, as one JSON object.")] = False,
) -> None:
    """Draw a picture of shapes for `regard ask` and `regard caption`, and print what is true of it.

    Example: `regard scene scene.png --seed 3`
    """
    from random import Random

    from regard.data.corpora.catalogue import check_builtin
    from regard.data.scenes.scene import STYLES

    style = STYLES[check_builtin(data, "questions").name]
    if not 0 <= shapes <= style.most:
        raise ArgumentError(f"`--shapes` must be from 1 to {style.most}, or 0 for any; received {shapes}.")
    from PIL import Image

    from regard.data.scenes import Asker, caption_scene, draw_scene, paint_scene

    random = Random(f"regard scene/{seed}")
    drawn = draw_scene(random, num_shapes=shapes or None, style=style)
    questions = Asker().ask(drawn, random)
    try:
        Image.fromarray(paint_scene(drawn).transpose(1, 2, 0)).save(out)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"`OUT` must be a picture to write, such as scene.png; {out} cannot be ({error})."
        ) from error
    if as_json:
        tables = [item._asdict() for item in questions]
        truth = [asdict(item) for item in drawn.shapes]
        print_json({"caption": caption_scene(drawn), "shapes": truth, "questions": tables})
        return
    print(caption_scene(drawn))
    for item in questions:
        print(f"  {item.text}  {item.answer}")
