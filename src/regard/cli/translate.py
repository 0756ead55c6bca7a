"""`regard translate`: sentences in, their translations out."""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.engine_run import find_engine, translate_over
from regard.cli.flags import AsTyped
from regard.cli.outcome import ending_at_sigterm
from regard.cli.terminal import TerminalSink
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.text_lines import ByteStream
    from regard.tasks.translation.lines import LineTranslator, Translate

_SEARCH = "Search"
DOCUMENT_SENTENCES = 1000
"""Sentences of a document that are translated at once."""


def translate(
    model: Annotated[Path, typer.Argument(help="A model folder or finished run, or a name of regard models.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Sentences; else they are read.")] = None,
    source: Annotated[
        Path | None, typer.Option("--input", help="A file of lines, or a page.html, .md or .srt; else standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; a run that was stopped goes on. Else standard output.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line: text, score, tokens, alignment, weights.")
    ] = False,
    others: Annotated[
        list[Path] | None, typer.Option("--with", help="Another model of the same vocabulary, to search with too.")
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option(help="TSV of words and their translations, for words the model cannot output.")
    ] = None,
    terms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TSV of terms and the translations that outputs must have.")
    ] = None,
    markup: Annotated[
        str | None,
        typer.Option(metavar="html|xml|placeholders", help="Carry tags, or {name} and %s, along to their words."),
    ] = None,
    as_typed: AsTyped = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="torch; ray or ray:HOST:PORT: large files, many workers; ctranslate2: a folder of `regard export`.",
        ),
    ] = "torch",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    precision: Annotated[
        str | None, typer.Option(metavar="PRECISION", help="float32; int8, quicker on a CPU; bfloat16, on a GPU.")
    ] = None,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="On a CPU, predict the words of the model's shortlist alone.")
    ] = False,
    beam: Annotated[
        int | None, typer.Option(help="Hypotheses kept; 1 is greedy. By default 5.", rich_help_panel=_SEARCH)
    ] = None,
    n_best: Annotated[
        int | None, typer.Option(help="Outputs a line, with tabs between them.", rich_help_panel=_SEARCH)
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(help="Tokens of an output at most.", rich_help_panel=_SEARCH)
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any other setting, such as length_penalty=0.6.", rich_help_panel=_SEARCH
        ),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw at random instead of searching.", rich_help_panel=_SEARCH)
    ] = False,
    temperature: Annotated[float | None, typer.Option(hidden=True)] = None,
    top_k: Annotated[int | None, typer.Option(hidden=True)] = None,
    top_p: Annotated[float | None, typer.Option(hidden=True)] = None,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Translate sentences, a file, or lines as they come: one line out for each line in.

    Example: `regard translate runs/a "¿Dónde está el libro?"`

    A file: `regard translate runs/a --input corpus.es --output corpus.en --beam 5`

    A document, whose form stays: `regard translate runs/a --input page.html --output page.en.html`

    Tags in sentences, and a glossary: `regard translate runs/a "El <b>libro</b>" --markup html --terms terms.tsv`

    A large file, over all processors: `regard translate runs/a --input big.es --output big.en --engine ray`

    A pipe: `cat corpus.es | regard translate runs/a --json > corpus.jsonl`

    At random: `regard translate runs/a "El gato duerme." --set sampling.temperature=0.7 --set sampling.seed=2`

    Quicker on a CPU: `regard translate exports/a --engine ctranslate2`, after `regard export`

    Further settings, by `--set`: length_penalty, weights, unknown, max_source_length; sampling.temperature,
    sampling.top_k, sampling.top_p and sampling.seed.
    """
    chosen: dict[str, Any] = {"json": json, "beam": beam, "n_best": n_best, "max_length": max_length, "markup": markup}
    chosen |= {"precision": precision, "shortlist": shortlist or None}
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    drawing = {name: value for name, value in drawing.items() if value is not None}
    if sample or drawing:
        chosen["sampling"] = drawing
    if as_typed:
        chosen["respell"] = False
    settings = _read({name: value for name, value in chosen.items() if value is not None}, assignments or [])
    if texts and source is not None:
        raise ArgumentError("The text must come from one place; received both sentences and --input. Leave out one.")
    if overwrite and output is None:
        raise ArgumentError("`--overwrite` must go with --output; received it alone.")
    with ending_at_sigterm():
        models = [model, *(others or [])]
        local = ("torch", "ctranslate2")
        if cluster := find_engine(engine, output=output, files=[source], refused={"TEXT": texts}, local=local):
            if source is not None and _is_document(source):
                _check_document(settings, cluster)
            translate_over(cluster, models, settings, source, output, overwrite, dictionary, terms, device)
            return
        load = partial(_loader(engine, models, settings), device=device)
        _run(models, settings, texts or [], source, output, overwrite, dictionary, terms, load)


def _read(chosen: dict[str, Any], assignments: list[str]) -> "Translate":
    from regard.config.read import parse_assignments, read_settings
    from regard.tasks.translation.lines import Translate

    return read_settings(Translate, chosen, parse_assignments(assignments))


def _run(
    models: list[Path],
    settings: "Translate",
    texts: list[str],
    source: Path | None,
    output: Path | None,
    overwrite: bool,
    dictionary: Path | None,
    terms: Path | None,
    load: Callable[..., Any],
) -> None:
    from regard.tasks.translation.files import OutputFile
    from regard.tasks.translation.lines import LineTranslator, translate_stream
    from regard.tasks.translation.unknown_words import read_dictionary

    if output is not None:
        OutputFile(output).check()
    if source is not None and _is_document(source):
        _check_document(settings, None)
    words, glossary = (read_dictionary(path) if path else {} for path in (dictionary, terms))
    with _lines(texts, source) as stream:
        translator = load(
            unknown=settings.unknown,
            dictionary=words,
            max_source_length=settings.max_source_length,
            respell=settings.respell,
        )
        work = LineTranslator(translator, settings, glossary)
        try:
            if source is not None and _is_document(source):
                _write_document(work, source, output, overwrite)
            elif output is None:
                translate_stream(work, stream, TerminalSink() if sys.stdout.isatty() else sys.stdout.buffer)
            elif output.exists() and not output.is_file() and not output.is_dir():  # a pipe, or /dev/null
                with output.open("wb") as file:
                    translate_stream(work, stream, file)
            else:
                _into_file(work, stream, output, _decisive(models, settings, words, glossary), overwrite, source)
        finally:
            for warning in work.warnings():
                print(f"regard: {warning}", file=sys.stderr)


def _loader(engine: str, models: list[Path], settings: "Translate") -> Callable[..., Any]:
    """Give what loads the models, for an engine of this process."""
    if engine == "torch":
        from regard.tasks.translation.model import load

        return partial(load, models, precision=settings.precision, shortlist=settings.shortlist)
    if settings.precision != "float32" or settings.shortlist:
        raise ArgumentError(
            "`--precision` and `--shortlist` must be left out with --engine ctranslate2, whose precision is chosen at "
            "`regard export`; received one of them."
        )
    if len(models) > 1:
        raise ArgumentError(f"`--with` must be left out with --engine ctranslate2; received {len(models) - 1} models.")
    from regard.export.ctranslate2_engine import load_ctranslate2

    return partial(load_ctranslate2, models[0])


def _is_document(source: Path) -> bool:
    from regard.tasks.translation.markup.documents import is_document

    return is_document(source)


def _write_document(work: "LineTranslator", source: Path, output: Path | None, overwrite: bool) -> None:
    """Translate a document as a whole."""
    from regard.cli.progress import LineProgress
    from regard.files import write_text
    from regard.tasks.text_lines import TextLine
    from regard.tasks.translation.markup.documents import translate_document

    if output is not None and output.exists() and not overwrite:
        raise ArgumentError(f"`--output` must be a file that is not there yet; {output} is. --overwrite replaces it.")
    progress = LineProgress(size=None)

    def translate(sentences: Sequence[str], form: Any) -> list[str]:
        result: list[str] = []
        progress(0, 0)
        for start in range(0, len(sentences), DOCUMENT_SENTENCES):
            lines = [TextLine(item, 0, False) for item in sentences[start : start + DOCUMENT_SENTENCES]]
            result += [outputs[0].with_marks or "" for outputs in work.search(lines, form)]
            progress(len(result), 0)
        return result

    try:
        text = translate_document(source, translate)
    finally:
        progress.close()
    if output is not None:
        write_text(output, text)
        progress.print_line(f"{work.lines:,} sentences in {output}")
    else:
        (TerminalSink() if sys.stdout.isatty() else sys.stdout.buffer).write(text.encode())


def _check_document(settings: "Translate", cluster: object) -> None:
    """Refuse what makes no sense for a document."""
    refused = {
        "--json": settings.json,
        "--n-best": settings.n_best > 1,
        "--markup": settings.markup != "none",
        "--engine ray": cluster is not None,
    }
    if flag := next((name for name, value in refused.items() if value), None):
        raise ArgumentError(f"`{flag}` must be left out for a document, whose form is kept; received it.")


def _into_file(
    work: "LineTranslator",
    stream: "ByteStream",
    output: Path,
    decisive: dict[str, str],
    overwrite: bool,
    source: Path | None,
) -> None:
    from regard.cli.progress import LineProgress, keeping_lines
    from regard.data.formats.paths import PACKED
    from regard.tasks.translation.files import CHUNK_LINES, translate_file

    plain = source is not None and source.is_file() and source.suffix not in PACKED
    progress = LineProgress(size=source.stat().st_size if source is not None and plain else None)
    with keeping_lines(progress, output, lambda: work.lines):
        translate_file(
            work,
            stream,
            output,
            settings=decisive,
            overwrite=overwrite,
            watch=progress,
            chunk_lines=CHUNK_LINES // 10 if work.settings.json else CHUNK_LINES,
        )


@contextmanager
def _lines(texts: list[str], source: Path | None) -> "Iterator[ByteStream]":
    """Open what is to be translated. Sentences on the command line are the bytes that were typed."""
    if texts:
        yield io.BytesIO(b"".join(os.fsencode(text) + b"\n" for text in texts))
    elif source is not None:
        from regard.data.formats.compressed import open_decompressed

        with open_decompressed(source) as stream:
            yield stream
    else:
        if sys.stdin.isatty():
            print("regard: a sentence and Enter; Ctrl-D ends.", file=sys.stderr)
        stdin = sys.stdin.buffer
        assert isinstance(stdin, io.BufferedIOBase)
        yield stdin


def _decisive(
    models: list[Path], settings: "Translate", words: dict[str, str], terms: dict[str, str]
) -> dict[str, str]:
    """Name all that decides the output, so that a run goes on only where it would output the same."""
    import hashlib
    from dataclasses import asdict

    from regard.tasks.model_folder import digest_model, find_model

    named = {name: str(value) for name, value in asdict(settings).items()}
    for name, table in (("dictionary", words), ("terms", terms)):
        named[name] = hashlib.sha256(repr(sorted(table.items())).encode()).hexdigest()[:16] if table else "none"
    return {"model": " ".join(digest_model(find_model(model)) for model in models), **named}
