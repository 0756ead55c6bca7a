"""The model card, README.md of a model folder: what the model is, what it was made from, how good it is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from regard import __version__


class Use(NamedTuple):
    """What a model is for, as hubs call it, and how it is used from a shell and from Python."""

    kind: str
    command: str
    python: str
    arguments: str = '"..."'
    """What the command is given beside the folder."""


TRANSLATE = Use("translation", "translate", 'translate(["..."])')
GENERATE = Use("text-generation", "generate", 'generate("...")')


CLASSIFY = Use("text-classification", "classify", 'classify(["..."])[0]')


class Card(NamedTuple):
    """What a card tells."""

    title: str
    summary: str
    data: str
    license: str
    figures: Mapping[str, str]
    command: str
    signature: str
    folder: str
    use: Use
    checksum: str | None = None
    """SHA-256 of the data that was read, cleaned and divided: the run's fingerprint."""
    languages: Sequence[str] = ()
    """Codes of the languages of the data, source before target."""
    note: str = ""
    """What a user should know of the output."""
    torch_version: str = torch.__version__
    """Of torch, where the model was trained."""


def write_card(card: Card) -> str:
    """Write a card as Markdown with the head that model hubs read."""
    note = f"\n{_cell(card.note)}\n" if card.note else ""
    languages = f"language: [{', '.join(map(_plain, card.languages))}]\n" if card.languages else ""
    rows = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in card.figures.items())
    return f"""---
license: {_plain(card.license)}
library_name: regard
{languages}pipeline_tag: {card.use.kind}
tags: [{card.use.kind}, attention, regard]
---
# {_cell(card.title)}

{card.summary}

## Use

```
regard {card.use.command} {card.folder} {card.use.arguments}
```

```python
import regard

model = regard.load("{card.folder}")
print(model.{card.use.python})
```
{note}
## Data

{card.data}
License of the data: {_cell(card.license)}.
Languages: {_cell(", ".join(card.languages) or "not named")}.
SHA-256 of the data, as it was read, cleaned and divided: {card.checksum or "not known"}.

## Figures

| | |
| --- | --- |
{rows}

`{card.signature}`

## Made by

```
{card.command}
```

by regard {__version__} with torch {card.torch_version}. The settings are in `config.toml` of the run folder.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _plain(text: str) -> str:
    """Quote a value for YAML."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'
