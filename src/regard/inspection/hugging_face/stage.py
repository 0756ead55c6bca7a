"""The part of a stranger's folder that `transformers` may read: tensors, vocabularies, and settings checked before.

`transformers` follows many settings of a folder: it runs its code, fetches kernels and base models, opens files that
settings name. So it reads another folder instead, with links to the files of tensors and of vocabularies, and with
settings from which such keys are dropped, or which are refused for them.
"""

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.text.tokenizer import check_tokenizer
from regard.errors import DataError, brief
from regard.files import LARGE, Entry, read_json
from regard.models.folder import open_tensors

CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
_INDEX = "model.safetensors.index.json"
_TENSORS = re.compile(r"model(-\d{5}-of-\d{5})?\.safetensors")
_LINKED = (TOKENIZER, "vocab.json", "added_tokens.json", "special_tokens_map.json", "generation_config.json")
_LINKED_ENDINGS = (".txt", ".model", ".spm")
_IMPLEMENTATIONS = ("eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3", "flash_attention_4")
_REPEATED = re.compile(r"layers?$|depths?$|blocks?$|stages?$|experts$")
"""What the names of settings end in that say how often something is built."""
_UNBOUNDED = re.compile(r"theta|base|seed")
MOST_REPEATED = 1_000
LARGEST = 1 << 24
"""The largest whole number of a config.json: positions, words, labels."""
HOLES = 100_000
"""Numbers that a vocabulary may leave out."""


class Size(NamedTuple):
    """What the files of tensors hold."""

    tensors: int
    numbers: int


def read_config(folder: Path) -> Entry:
    """Read config.json, and refuse what would run code or fetch it, and numbers that nobody can build."""
    config = read_json(folder / CONFIG)
    config.table()
    for entry in _walk(config):
        name = entry.key.rpartition(".")[2]
        if name == "auto_map":
            raise _foreign_code(folder / CONFIG)
        if name.endswith("attn_implementation"):
            _check_implementation(entry)
        if name == "quantization_config" and entry.value is not None:
            raise entry.refuse("must be left out: only models of plain numbers can be inspected", "a quantized model")
        if type(entry.value) is int and entry.value > LARGEST and not _UNBOUNDED.search(name):
            raise entry.refuse(f"must be at most {LARGEST:,}")
        if type(entry.value) is int and entry.value > MOST_REPEATED and _REPEATED.search(name):
            raise entry.refuse(f"must be at most {MOST_REPEATED:,}")
    return config


def measure_tensors(folder: Path) -> Size:
    """Count the tensors and the numbers of a folder's files, by their heads alone."""
    tensors = numbers = 0
    for path in _tensor_files(folder):
        with open_tensors(path) as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 (not a mapping)
            tensors, numbers = tensors + len(shapes), numbers + sum(map(math.prod, shapes))
    return Size(tensors, numbers)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give a folder with the permitted part of another, for as long as it is loaded from."""
    with tempfile.TemporaryDirectory(prefix="regard-") as made:
        stage = Path(made)
        for path in sorted(folder.iterdir()):
            plain = path.name in _LINKED or path.suffix in _LINKED_ENDINGS or _TENSORS.fullmatch(path.name)
            if plain and path.is_file():
                _link(path, stage / path.name)
        _write(stage / CONFIG, _without(read_config(folder).value))
        if (folder / TOKENIZER).is_file():
            check_tokenizer(read_json(folder / TOKENIZER, most=LARGE), holes=HOLES)
        if (folder / TOKENIZER_CONFIG).is_file():
            _write(stage / TOKENIZER_CONFIG, _tokenizer_settings(folder))
        if (folder / _INDEX).is_file():
            _write(stage / _INDEX, _index(folder))
        yield stage


def _walk(entry: Entry) -> Iterator[Entry]:
    """Give every entry of every table."""
    if isinstance(entry.value, dict):
        for name in entry.value:
            yield entry[name]
            yield from _walk(entry[name])
    elif isinstance(entry.value, list):
        for item in entry.items():
            yield from _walk(item)


def _check_implementation(entry: Entry) -> None:
    named = list(entry.value.values()) if isinstance(entry.value, dict) else [entry.value]
    if strange := [name for name in named if name is not None and name not in _IMPLEMENTATIONS]:
        raise entry.refuse(
            f"must be {', '.join(_IMPLEMENTATIONS[:-1])} or {_IMPLEMENTATIONS[-1]}, which transformers brings; "
            "a kernel from elsewhere is never fetched",
            f'"{brief(strange[0])}"',
        )


def _foreign_code(path: Path) -> DataError:
    return DataError(
        f"{path} must describe a model that transformers brings; received auto_map, which asks for code of the folder "
        "to be run. regard runs none: load the model yourself, and give it to regard.inspect."
    )


def _without(value: Any) -> Any:
    """Drop the settings of how and from where to load."""
    if isinstance(value, list):
        return [_without(item) for item in value]
    if not isinstance(value, dict):
        return value
    dropped = ("transformers_weights", "_name_or_path", "name_or_path")
    return {
        name: _without(inner)
        for name, inner in value.items()
        if name not in dropped and not name.endswith(("attn_implementation", "experts_implementation"))
    }


def _tokenizer_settings(folder: Path) -> dict[str, Any]:
    """Read tokenizer_config.json without the files it names: those of the folder have their usual names."""
    table = read_json(folder / TOKENIZER_CONFIG).table()
    if "auto_map" in table:
        raise _foreign_code(folder / TOKENIZER_CONFIG)
    dropped = ("init_inputs", "name_or_path")
    return {name: value for name, value in table.items() if name not in dropped and not name.endswith("_file")}


def _index(folder: Path) -> dict[str, Any]:
    """Read the index of several files of tensors, each of which must lie in the folder."""
    index = read_json(folder / _INDEX, most=LARGE)
    for name in index["weight_map"].table():
        file = index["weight_map"][name]
        if not _TENSORS.fullmatch(file.text()):
            raise file.refuse("must be a file of the folder, such as model-00001-of-00002.safetensors")
    return index.table()


def _tensor_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if _TENSORS.fullmatch(path.name) and path.is_file()]


def _link(path: Path, target: Path) -> None:
    try:
        os.symlink(path.absolute(), target)
    except OSError:  # where links are forbidden
        shutil.copyfile(path, target)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
