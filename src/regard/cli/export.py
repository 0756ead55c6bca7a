"""`regard export`: a translator for another program."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal import print_json


def export(
    model: Annotated[Path, typer.Argument(help="A model or run folder, a Marian folder, or hf:owner/name@revision.")],
    to: Annotated[str, typer.Option(help="ctranslate2, onnx, or regard: a model folder of a Marian model.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it appears when all is written.")],
    precision: Annotated[str, typer.Option(help="float32; of CTranslate2 also float16 and int8.")] = "float32",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an export that is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a translator for CTranslate2 or onnxruntime, or one of Marian as a model folder.

    Example: `regard export runs/a --to ctranslate2 --precision int8 --out exports/a`, then `regard translate exports/a
    --engine ctranslate2 "¿Dónde está el libro?"`

    ONNX: `regard export runs/a --to onnx --out exports/a-onnx`; examples/21_onnx_without_torch.py translates with it.

    From a hub: `regard export hf:Helsinki-NLP/opus-mt-es-en --to regard --out models/es-en`
    """
    from regard.export.folder import check_choices, check_out, export
    from regard.tasks.translation.model import load

    chosen = check_choices(to, precision)
    check_out(out, overwrite=overwrite)
    result = export(load(model), out, to=chosen.to, precision=chosen.precision, overwrite=overwrite)
    if json:
        print_json({"folder": str(result.folder), "bytes": result.bytes, "difference": result.difference})
        return
    checked = "" if result.difference is None else f"; onnxruntime agrees to {result.difference:.1g}"
    print(f"{result.folder}: {result.bytes:,} bytes{checked}")
