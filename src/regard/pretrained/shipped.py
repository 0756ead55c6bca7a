"""Models that come with the package, by name: `regard.load("opinions")`, `regard translate es-en …`.

Each is a model folder below `models/`, with `about.json` beside the usual files: what it is, whom it owes its data to,
how good it is, and a checksum of every file.
"""

from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError
from regard.files import digest, json_text, read_json, write_text

MODELS = Path(__file__).parent / "models"
ABOUT = "about.json"
FIRST = "es-en"
"""The model that lists begin with, and so the studio."""


class ShippedModel(NamedTuple):
    """A model of the package."""

    name: str
    folder: Path
    task: str
    description: str
    license: str
    """Of the data it was trained on, which its parameters owe their credit to."""
    credit: str
    figures: dict[str, str]
    checksums: dict[str, str]

    @property
    def num_bytes(self) -> int:
        """How large its files are together."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def shipped_folder(name: str | Path) -> Path | None:
    """Give the folder of a model by its name; None where the package has none of that name.

    A folder of that name in the current folder is left to whoever asks: it comes first.
    """
    text = str(name)
    return MODELS / text if text in shipped_names() else None


def named_folder(path: str | Path) -> Path:
    """Give a path that is there as it is, else the folder of the shipped model of that name, else the path."""
    return Path(path) if Path(path).exists() else shipped_folder(path) or Path(path)


def shipped_names() -> list[str]:
    """List the names of the models that come with the package, the first one for whoever chooses none."""
    names = (path.parent.name for path in MODELS.glob(f"*/{ABOUT}"))
    return sorted(names, key=lambda name: (name != FIRST, name))


def list_models() -> list[ShippedModel]:
    """Describe the models that come with the package."""
    return [read_model(MODELS / name) for name in shipped_names()]


def read_model(folder: Path) -> ShippedModel:
    """Read what a folder's about.json holds."""
    about = read_json(folder / ABOUT)
    tables = [{name: about[key][name].text() for name in about[key].table()} for key in ("figures", "checksums")]
    return ShippedModel(
        name=folder.name,
        folder=folder,
        task=about["task"].text(),
        description=about["description"].text(),
        license=about["license"].text(),
        credit=about["credit"].text(),
        figures=tables[0],
        checksums=tables[1],
    )


def write_about(
    folder: Path, *, task: str, description: str, license: str, credit: str, figures: dict[str, str]
) -> ShippedModel:
    """Write about.json into a model folder whose other files are as they shall be."""
    texts = {"task": task, "description": description, "license": license, "credit": credit}
    about = {**texts, "figures": figures, "checksums": _checksums(folder)}
    write_text(folder / ABOUT, json_text(about, indent=1) + "\n")
    return read_model(folder)


def check_model(model: ShippedModel) -> None:
    """Raise where a file of a model is missing, or is not the one that was shipped."""
    here = _checksums(model.folder)
    for name in sorted({*here, *model.checksums}):
        if here.get(name) != model.checksums.get(name):
            state = "is missing" if name not in here else "is another one"
            raise DataError(
                f"{model.folder / name} must be the file that came with the package; it {state}. Install regard again."
            )


def _checksums(folder: Path) -> dict[str, str]:
    return {path.name: digest(path) for path in sorted(folder.iterdir()) if path.name != ABOUT}
