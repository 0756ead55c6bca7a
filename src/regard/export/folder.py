"""`export`: a model written for another program, in a folder that is whole or not there.

Beside what the other program reads, the folder has tokenizer.json, untrained.json and regard.json, which says for what
it was written and describes the model.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

from regard.config.model import SavedModel
from regard.config.read import read_settings
from regard.config.show import to_table
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.errors import ArgumentError, DataError, brief, near_miss
from regard.files import read_json, write_text
from regard.models.folder import save_model
from regard.models.sequence.transformer import TransformerModel
from regard.models.statistical.translator import StatisticalModel
from regard.tasks.translation.model import Translator

Format: TypeAlias = Literal["ctranslate2", "onnx", "regard"]
Precision: TypeAlias = Literal["float32", "float16", "int8"]
ABOUT = "regard.json"


class Exported(NamedTuple):
    """What was written."""

    folder: Path
    bytes: int
    """Of all files."""
    difference: float | None = None
    """Of ONNX: the largest between onnxruntime's numbers and ours."""


def export(
    translator: Translator,
    out: str | Path,
    *,
    to: Format,
    precision: Precision = "float32",
    overwrite: bool = False,
) -> Exported:
    """Write a translator for another program into the folder `out`.

    - "ctranslate2": Transformers, in float32, float16 or int8; `regard translate --engine ctranslate2` reads it.
    - "onnx": networks of every kind, as encoder.onnx and step.onnx, in float32.
    - "regard": a model folder of ours, of a model that came from elsewhere.
    """
    check_choices(to, precision)
    if len(translator.models) > 1:
        raise ArgumentError(f"`translator` must be of one model; received {len(translator.models)}.")
    difference = None
    with new_folder(Path(out), overwrite=overwrite) as folder:
        _write_common(translator, folder, to, precision)
        match to:
            case "ctranslate2":
                _write_ctranslate2(translator, folder, precision)
            case "onnx":
                difference = _write_onnx(translator, folder)
            case "regard":
                _write_regard(translator, folder)
    return Exported(Path(out), sum(path.stat().st_size for path in Path(out).iterdir()), difference)


class About(NamedTuple):
    """What regard.json says of an export."""

    config: SavedModel
    precision: Precision


class Choices(NamedTuple):
    """For what to write, and in which precision."""

    to: Format
    precision: Precision


def check_choices(to: str, precision: str) -> Choices:
    """Give both as what they are, or raise."""
    for name, value, choices in (("to", to, get_args(Format)), ("precision", precision, get_args(Precision))):
        if value not in choices:
            raise ArgumentError(
                f'`{name}` must be {", ".join(choices[:-1])} or {choices[-1]}; received "{brief(value)}".'
                f"{near_miss(value, choices)}"
            )
    if precision != "float32" and to != "ctranslate2":
        raise ArgumentError(f"`precision` must be float32 for {to}; received {precision}. CTranslate2 takes others.")
    return Choices(cast(Format, to), cast(Precision, precision))


def read_about(folder: Path, to: Format) -> About:
    """Read regard.json of an export of that kind."""
    path = folder / ABOUT
    if not path.is_file():
        raise DataError(
            f"`folder` must be an export for {to}; {folder} has no {ABOUT}. Make one: regard export MODEL --to {to} "
            "--out DIR."
        )
    about = read_json(path)
    if about["to"].text() != to:
        raise about["to"].refuse(f'must be "{to}"')
    precision = about["precision"].text()
    if precision not in get_args(Precision):
        raise about["precision"].refuse(f"must be {' or '.join(get_args(Precision))}")
    try:
        return About(read_settings(SavedModel, about["model"].table()), cast(Precision, precision))
    except DataError:
        raise
    except ArgumentError as error:
        raise DataError(f"{path}: model.{error}") from error


@contextmanager
def new_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write into, which takes the name `out` when all is written, and is removed otherwise."""
    check_out(out, overwrite=overwrite)
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    try:
        yield aside
        made = aside / "mode"  # a folder of `tempfile` is for its owner alone; this one has what the umask leaves
        made.mkdir()
        aside.chmod(made.stat().st_mode)
        made.rmdir()
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
            out.rename(old / "old")
            aside.rename(out)
            shutil.rmtree(old, ignore_errors=True)
        else:
            aside.rename(out)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def check_out(out: Path, *, overwrite: bool) -> None:
    """Raise where a folder cannot be written, or is there and not to be replaced."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ArgumentError(f"`out` must be a folder; received {out}, which is something else. Name another one.")
    if out.exists() and any(out.iterdir()) and not overwrite:
        raise ArgumentError(
            f"`out` must be a new folder; received {out}, which has files. Replace it: `overwrite=True`."
        )
    if out.exists() and any(out.iterdir()) and not (out / ABOUT).is_file() and not (out / "config.json").is_file():
        raise ArgumentError(f"`out` must be an export to be replaced; received {out}, which is none. Name another one.")
    above = next(path for path in out.absolute().parents if path.exists())
    if not above.is_dir():
        raise ArgumentError(f"`out` must be in a folder; received {out}, and {above} is none. Name another one.")


def _write_common(translator: Translator, folder: Path, to: Format, precision: Precision) -> None:
    plain = TokenizerPair(*(side.with_untrained(()) for side in translator.tokenizers))
    plain = plain if not translator.tokenizers.joint else TokenizerPair(plain.source, plain.source)
    plain.save(folder)
    Untrained(*(side.untrained for side in translator.tokenizers)).save(folder)
    if to != "regard":
        about: dict[str, Any] = {"to": to, "precision": precision, "model": to_table(_config(translator))}
        write_text(folder / ABOUT, json.dumps(about, indent=2) + "\n")


def _write_ctranslate2(translator: Translator, folder: Path, precision: Precision) -> None:
    from regard.export.ctranslate2_spec import check_fits, make_spec, write_spec

    config = _config(translator)
    check_fits(config.model)
    assert isinstance(translator.model, TransformerModel)
    spec = make_spec(translator.model, config)
    source, target = (side.pieces(range(side.size)) for side in translator.tokenizers)
    write_spec(spec, folder, source=source, target=target, quantization=precision)


def _write_onnx(translator: Translator, folder: Path) -> float:
    from regard.export.onnx_export import write_onnx

    if isinstance(translator.model, StatisticalModel):
        raise ArgumentError("`model` must be a network for ONNX; received a statistical translator, which counts.")
    return write_onnx(translator.model, folder, source_vocabulary=translator.tokenizers.source.size)


def _write_regard(translator: Translator, folder: Path) -> None:
    config = _config(translator)
    save_model(
        translator.model,
        config.model,
        folder,
        source_vocabulary=config.source_vocabulary,
        target_vocabulary=config.target_vocabulary,
        guided_head=config.guided_head,
    )


def _config(translator: Translator) -> SavedModel:
    if translator.config is None:
        raise ArgumentError("`translator` must be one that was loaded from a folder; received one without settings.")
    return translator.config
