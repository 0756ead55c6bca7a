"""A folder that `save_pretrained` wrote: find out that it is one, and load what it holds. Nothing is downloaded."""

import json
from pathlib import Path
from typing import Any

import torch

from regard.errors import DataError, MissingExtraError

_CONFIG = "config.json"
_TOKENIZERS = ("tokenizer_config.json", "tokenizer.json")


def is_hugging_face(folder: str | Path) -> bool:
    """Say whether a folder holds a model of `transformers`: its config.json names the type of model."""
    try:
        table = json.loads((Path(folder) / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(table, dict) and "model_type" in table


def load_hugging_face(folder: str | Path, *, device: torch.device | str = "cpu") -> tuple[Any, Any]:
    """Give the model, as the class that the folder names, and its tokenizer.

    Only safetensors are read, no code of the folder is run, and what is not in the folder is an error.
    """
    folder = Path(folder)
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            "Models of Hugging Face need the package transformers, which is not installed. Install it: "
            "pip install 'regard[transformers]'."
        ) from error
    names = json.loads((folder / _CONFIG).read_text(encoding="utf-8")).get("architectures") or ["AutoModel"]
    kind = getattr(transformers, names[0], None)
    if kind is None:
        raise DataError(
            f"{folder} must hold a model that transformers {transformers.__version__} knows; received {names[0]}. "
            "Update transformers."
        )
    if not any((folder / name).is_file() for name in _TOKENIZERS):  # transformers would make up an empty one
        raise DataError(
            f"{folder} must hold a tokenizer beside the model; received none. Save it there by save_pretrained."
        )
    try:
        model = kind.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(
            f"{folder} must hold a whole model, as safetensors, and its tokenizer; transformers says: {first}"
        ) from error
    return model.to(device).eval(), tokenizer
