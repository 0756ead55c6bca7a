"""`regard models`: the models that come with the package."""

from typing import Annotated

import typer

from regard.cli.tables import print_table
from regard.cli.terminal import print_json


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """List the models that come with regard, which commands take by name: what each is for, and how good.

    Example: `regard models`
    """
    from regard.pretrained.shipped import list_models
    from regard.tasks.task import TASKS

    shipped = list_models()
    if as_json:
        print_json(
            {"models": [item._asdict() | {"folder": str(item.folder), "bytes": item.num_bytes} for item in shipped]}
        )
        return
    rows = [
        [
            item.name,
            f"{TASKS[item.task].command} {item.name}",
            item.description,
            f"{item.num_bytes / 1e6:.1f} MB",
            ", ".join(f"{name} {value}" for name, value in item.figures.items()),
            item.license,
        ]
        for item in shipped
    ]
    print_table(["name", "command", "what", "size", "figures", "license"], rows, words=(0, 1, 2, 4, 5))
