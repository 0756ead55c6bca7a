"""The card of a language model, README.md of its folder."""

from collections.abc import Mapping
from typing import NamedTuple


class LanguageCard(NamedTuple):
    """What a card tells."""

    title: str
    summary: str
    data: str
    license: str
    figures: Mapping[str, str]
    command: str
    signature: str
    folder: str


def write_language_card(card: LanguageCard) -> str:
    """Write a card as Markdown with the head that model hubs read."""
    rows = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in card.figures.items())
    return f"""---
license: {_quoted(card.license)}
library_name: regard
pipeline_tag: text-generation
tags: [text-generation, attention, regard]
---
# {_cell(card.title)}

{card.summary}

## Use

```
regard generate {card.folder} "..."
```

```python
import regard

model = regard.load("{card.folder}")
print(model.generate("..."), model.perplexity(["..."]).bits_per_character)
```

## Data

{card.data}
License of the data: {_cell(card.license)}.

## Figures

| | |
| --- | --- |
{rows}

`{card.signature}`

## Made by

```
{card.command}
```

The settings are in `config.toml` of the run folder.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _quoted(text: str) -> str:
    """Quote a value for YAML."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'
