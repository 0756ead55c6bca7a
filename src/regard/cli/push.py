"""`regard push`: a model folder into a repository of a hub."""

from pathlib import Path
from typing import Annotated

import typer


def push(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a finished run.")],
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Where to put it; made where it is not.")],
    revision: Annotated[str, typer.Option(help="The branch.")] = "main",
    message: Annotated[str, typer.Option(help="Of the commit.")] = "Model of regard",
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
) -> None:
    """Put a model on a hub of Hugging Face: the files of its folder alone, tensors as safetensors.

    Example: `regard push runs/a owner/name`, then `regard translate hf:owner/name "¿Dónde está el libro?"`

    Log in before: `hf auth login`.
    """
    from regard.export.push import push

    name = push(model, repository, revision=revision, message=message, private=private)
    print(name)
