"""`regard evaluate --engine ray`: a translator on two large files."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.engine_run import run_lines
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize

if TYPE_CHECKING:
    from regard.scale.job import Engine

_FIRST = 1_000
"""References that show whether the text is tokenized."""


def evaluate_over(
    engine: "Engine",
    model: Path,
    files: tuple[Path, Path],
    output: Path,
    chosen: Mapping[str, Any],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Count what each pair gives over the workers of an engine, then print the figures of all."""
    from regard.config.read import read_settings
    from regard.data.formats.lines import read_lines
    from regard.data.text.tokenizer import TokenizerPair
    from regard.evaluation.scoring import suited_scoring
    from regard.scale.summary import summarize
    from regard.scale.text_work import EvaluateLines, Models
    from regard.tasks.evaluation.evaluate import Evaluating
    from regard.tasks.model_folder import find_model

    settings = read_settings(Evaluating, dict(chosen))
    source, target = (path.absolute() for path in files)
    models = Models.find([model], device=settings.device)
    scoring = suited_scoring(
        [line for line in islice(read_lines(target), _FIRST) if isinstance(line, str)],
        tokenize=settings.tokenize,
        case=settings.case,
        lower=TokenizerPair.load(find_model(model)).target.lowercases,
    )
    work = EvaluateLines(models=models, source=source, target=target, search=settings.search, scoring=scoring)
    run_lines(work, output, engine, overwrite=overwrite)
    result = summarize(output, scoring=scoring, samples=settings.samples, seed=settings.seed)
    if as_json:
        print_json(result.table(), indent=1)
        return
    print(f"{sanitize(model.name)} on {sanitize(files[0].name)} + {sanitize(files[1].name)}: {result.pairs:,} pairs\n")
    rows = [
        [name, f"{score.value:.2f}", f"{score.low:.1f}–{score.high:.1f}", result.signatures[name]]
        for name, score in result.scores.items()
    ]
    print_table(["", "score", "95 %", "signature"], rows, words=(0, 3))
    print(f"\nperplexity  {result.perplexity:,.2f} a token, {result.bits_per_character:.3f} bits a character")
    if result.empty:
        print(f"\nnote: {result.empty:,} pairs with an empty side are left out.")
    print(f"counts      {sanitize(str(output))}")
