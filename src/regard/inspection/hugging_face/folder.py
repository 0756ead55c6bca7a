"""A folder that `save_pretrained` wrote: find out that it is one, and load what it holds. Nothing is downloaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.errors import DataError, MissingExtraError, RegardError, brief
from regard.files import Entry
from regard.inspection.hugging_face.stage import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    Size,
    measure_tensors,
    read_config,
    staged,
)
from regard.models.folder import check_finite, list_some, read_table

_SPARE = 1 << 24
"""Numbers that a model may make for itself: tables of positions."""


def is_hugging_face(folder: str | Path) -> bool:
    """Return whether a folder holds a model of `transformers`: its config.json names the type of model."""
    try:
        return "model_type" in read_table(folder)
    except DataError:
        return False


def load_hugging_face(
    folder: str | Path, *, device: torch.device | str = "cpu", reads_text: bool = True
) -> tuple[Any, Any]:
    """Give the model, as the class that the folder names, and its tokenizer; None for one that reads no text.

    Only safetensors are read, no code of the folder is run, and what is not in the folder is an error: see
    `hugging_face_stage`.
    """
    folder = Path(folder)
    transformers = _transformers()
    settings = read_config(folder)
    kind = _find_class(transformers, settings, folder)
    if reads_text and not any(
        (folder / name).is_file() for name in (TOKENIZER_CONFIG, TOKENIZER)
    ):  # an empty one would be made up
        raise DataError(
            f"{folder} must hold a tokenizer beside the model; received none. Save it there by save_pretrained."
        )
    size = measure_tensors(folder)
    local = {"local_files_only": True, "trust_remote_code": False}
    whole = "hold a whole model, as safetensors, and its tokenizer"
    with staged(folder) as stage, quiet(transformers), naming_errors(folder, whole):
        config = getattr(kind, "config_class", transformers.AutoConfig).from_pretrained(stage, **local)
        implementation = _plan(kind, config, size, folder)
        model, loading = kind.from_pretrained(
            stage,
            config=config,
            use_safetensors=True,
            attn_implementation=implementation,
            output_loading_info=True,
            **local,
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(stage, **local) if reads_text else None
    _check_whole(folder, loading)
    check_finite(dict(model.named_parameters()), folder)
    model.config._name_or_path = str(folder)
    return model.to(device).eval(), tokenizer


@contextmanager
def naming_errors(folder: Path, expected: str) -> Iterator[None]:
    """Turn whatever goes wrong inside `transformers`, fed with a stranger's files, into one error on the folder."""
    try:
        yield
    except RegardError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # Ctrl-C; but what goes wrong inside `tokenizers` is no `Exception` either
        first = next(iter(str(error).strip().splitlines()), "")
        plain = isinstance(error, OSError | ValueError) and first
        reason = brief(first, letters=300) if plain else f"{type(error).__name__}: {brief(first, letters=300)}"
        raise DataError(f"{folder} must {expected}; transformers says: {reason}") from error


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Keep `transformers` from writing reports and bars meanwhile: what is wrong becomes an error."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            "Models of Hugging Face need the package transformers, which is not installed. Install it: "
            "pip install 'regard[transformers]'."
        ) from error
    return transformers


def _find_class(transformers: Any, settings: Entry, folder: Path) -> Any:
    """Find the class that config.json names among the models of `transformers`, and nowhere else."""
    named = settings.get("architectures")
    names = ["AutoModel"] if not named.value else [name.text() for name in named.items()]
    kind = getattr(transformers, names[0], None) if names[0].isidentifier() else None
    if kind is transformers.AutoModel or (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        return kind
    raise DataError(
        f"{folder} must hold a model that transformers {transformers.__version__} knows; received {brief(names[0])}. "
        "Update transformers."
    )


def _plan(kind: Any, config: Any, size: Size, folder: Path) -> str:
    """Build the model without numbers, see that the files hold as many, and say how it attends.

    `transformers` itself makes up what is missing, and only then says so.
    """
    with torch.device("meta"):
        model = kind(config) if hasattr(kind, "config_class") else kind.from_config(config, trust_remote_code=False)
    described = sum(tensor.numel() for tensor in model.parameters())
    made = sum(tensor.numel() for tensor in model.buffers())
    if size.tensors and (described > 2 * size.numbers + _SPARE or made > 2 * size.numbers + _SPARE):
        raise DataError(
            f"{folder} must hold the {max(described, made):,} numbers that its config.json asks for; received "
            f"{size.numbers:,}. Is the file of another model?"
        )
    implementation = model.config._attn_implementation
    return implementation if implementation in ("eager", "sdpa") else "eager"


def _check_whole(folder: Path, loading: dict[str, Any]) -> None:
    """Raise where a tensor was not in the files, or had another shape: random numbers would stand in its place."""
    missing = sorted(map(str, loading["missing_keys"]))
    other = sorted(str(key[0] if isinstance(key, tuple) else key) for key in loading["mismatched_keys"])
    if missing or other:
        what = f"missing: {list_some(missing)}" if missing else f"of another shape: {list_some(other)}"
        raise DataError(
            f"{folder} must hold every tensor of the model; received {what}. Copy or save the model once more."
        )
