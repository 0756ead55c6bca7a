"""The mechanism atlas: one table of every mechanism, made from docstrings, from the index of lectures and by measuring.

Equation and paper come from the docstring, parameters are counted on a layer of width 64, backends are what the
operator answers for such a call, and the other columns are those of docs/lectures.md.
"""

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from regard import layers
from regard.attention import explain_backend

operator = import_module("regard.attention")  # by that name `regard` keeps the function
DOCS = Path(__file__).parents[1]
MARKER = "<!-- atlas -->"
SIZE = 64
HEADER = ["topic", "equation", "operator", "layer, model", "preset", "command", "experiment", "view", "test"]
EQUATION = re.compile(r"\$\$(.*?)\$\$", re.DOTALL)
REFERENCE = re.compile(r"References?: (.*?)(?:\n\s*\n|\n\s*Differs:|\Z)", re.DOTALL)


class Row(NamedTuple):
    """A mechanism: its class, what it costs, and an example of it."""

    cost: str
    """Multiplications for each pair of query and key, in words where it is another."""
    make: Callable[[], Any]


def _parameter(*shape: int) -> torch.Tensor:
    return torch.ones(*shape) / SIZE


SCORES = {
    "Dot": Row("d", operator.Dot),
    "ScaledDot": Row("d", operator.ScaledDot),
    "Bilinear": Row("d, and d² a query", lambda: operator.Bilinear(_parameter(SIZE, SIZE))),
    "Additive": Row("d, and d tanh", lambda: operator.Additive(_parameter(SIZE))),
    "Concat": Row("h, and h tanh", lambda: operator.Concat(_parameter(SIZE, 2 * SIZE), _parameter(SIZE))),
    "Location": Row("d", lambda: operator.Location(_parameter(SIZE, 32))),
    "Gaussian": Row("d", operator.Gaussian),
    "Cosine": Row("d", operator.Cosine),
    "Softcap": Row("d, and a tanh", lambda: operator.Softcap(30.0)),
    "ScoreMod": Row("that of the function", lambda: operator.ScoreMod(lambda score, b, h, i, j: score)),
    "ScoreRows": Row("that of the function", lambda: operator.ScoreRows(lambda q, k, *_: q @ k.mT)),
}
POSITIONS = {
    "Rotary": Row("2d a query and a key", operator.Rotary),
    "Alibi": Row("1", lambda: operator.Alibi.of_heads(4)),
    "RelativeBias": Row("an addition", lambda: operator.RelativeBias(table=_parameter(9))),
    "RelativeBuckets": Row("an addition", lambda: operator.RelativeBuckets(table=_parameter(32))),
    "Shaw": Row("d (2R + 1) a query", lambda: operator.Shaw(keys=_parameter(9, SIZE))),
    "GaussianWindow": Row(
        "an exponential", lambda: operator.GaussianWindow(center=torch.ones(1, 4, 8), half_width=2.0)
    ),
}
NORMALIZERS = {
    "Softmax": Row("an exponential", operator.Softmax),
    "Sink": Row("an exponential", lambda: operator.Sink(torch.tensor(0.0))),
    "Sparsemax": Row("a sort", operator.Sparsemax),
    "Entmax": Row("a bisection", lambda: operator.Entmax(1.5)),
    "Sigmoid": Row("an exponential", operator.Sigmoid),
    "Hard": Row("a comparison", operator.Hard),
    "Mean": Row("nothing", operator.Mean),
}
MASKS = {
    "Causal": Row("none; half is skipped", operator.Causal),
    "Padding": Row("none", lambda: operator.Padding(torch.tensor([8, 5]))),
    "Window": Row("none; what is outside is skipped on CUDA", lambda: operator.Window(2, 2)),
    "Documents": Row("none; others are skipped on CUDA", lambda: operator.Documents(torch.arange(8) // 4)),
    "Not": Row("none", lambda: ~operator.Causal()),
}
LAYERS: dict[str, Row] = {
    "DotAttention": Row("d", lambda: layers.DotAttention(SIZE)),
    "AdditiveAttention": Row("h, and h tanh", lambda: layers.AdditiveAttention(SIZE, SIZE, SIZE)),
    "BilinearAttention": Row("d", lambda: layers.BilinearAttention(SIZE, SIZE)),
    "LuongAttention": Row("d", lambda: layers.LuongAttention(SIZE, SIZE)),
    "LocalAttention": Row("d within the window", lambda: layers.LocalAttention(SIZE, SIZE)),
    "GaussianAttention": Row("d", layers.GaussianAttention),
    "CosineAttention": Row("d", layers.CosineAttention),
    "MultiHeadAttention": Row("d in all heads together", lambda: layers.MultiHeadAttention(SIZE, 8)),
    "LearnedAdditive": Row("d, and d tanh", lambda: layers.LearnedAdditive(SIZE // 8, num_heads=8)),
    "LearnedBilinear": Row("d", lambda: layers.LearnedBilinear(SIZE // 8, SIZE // 8, num_heads=8)),
    "LearnedGaussian": Row("d", lambda: layers.LearnedGaussian(num_heads=8)),
    "LearnedCosine": Row("d", lambda: layers.LearnedCosine(num_heads=8)),
    "LearnedSink": Row("an exponential", lambda: layers.LearnedSink(8)),
    "SelfAttention": Row("d", lambda: layers.SelfAttention(SIZE)),
    "StructuredSelfAttention": Row("h a word and hop", lambda: layers.StructuredSelfAttention(SIZE, SIZE, 4)),
    "AttentionPooling": Row("d a word", lambda: layers.AttentionPooling("learned", size=SIZE)),
    "TokenWeights": Row("1 a word", lambda: layers.TokenWeights(1000)),
    "TfIdf": Row("1 a word", lambda: layers.TfIdf.fit([["a"]])),
    "SinusoidalPositions": Row("an addition a feature", lambda: layers.SinusoidalPositions(SIZE)),
    "LearnedPositions": Row("an addition a feature", lambda: layers.LearnedPositions(100, SIZE)),
    "RotaryPositions": Row("2d a word", layers.RotaryPositions),
    "RelativePositions": Row("d (2R + 1) a query", lambda: layers.RelativePositions(reach=4, key_size=8, value_size=8)),
    "RelativeBiases": Row("an addition", lambda: layers.RelativeBiases(8, reach=4)),
    "RelativeBucketBiases": Row("an addition", lambda: layers.RelativeBucketBiases(8)),
    "AlibiBias": Row("1", lambda: layers.AlibiBias(8)),
    "StructuralPositions": Row("d² a word", lambda: layers.StructuralPositions(SIZE)),
    "StructuralRelations": Row("d a pair", lambda: layers.StructuralRelations(reach=4, key_size=8, value_size=8)),
    "ChannelAttention": Row("d²/8 an image", lambda: layers.ChannelAttention(SIZE)),
    "SpatialAttention": Row("98 a position", layers.SpatialAttention),
    "ConvolutionalBlockAttention": Row("both", lambda: layers.ConvolutionalBlockAttention(SIZE)),
    "PatchEmbedding": Row("d a pixel", lambda: layers.PatchEmbedding(8, 3, SIZE)),
}
GROUPS: dict[str, tuple[Any, dict[str, Row]]] = {
    "Scores": (operator, SCORES),
    "Positions": (operator, POSITIONS),
    "Normalizers": (operator, NORMALIZERS),
    "Masks": (operator, MASKS),
    "Layers": (layers, LAYERS),
}


def lecture_rows() -> list[dict[str, str]]:
    """Read the tables of docs/lectures.md."""
    text, rows = (DOCS / "lectures.md").read_text(encoding="utf-8"), []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        table = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        if table[0] == HEADER:
            rows += [dict(zip(HEADER, row, strict=True)) for row in table[2:]]
    return rows


def docstring_of(thing: Any) -> str:
    """Give the docstring of a class with that of its file: equations of small classes stand there."""
    return f"{inspect.getdoc(thing) or ''}\n\n{inspect.getdoc(inspect.getmodule(thing)) or ''}"


def equation_of(thing: Any) -> str:
    """Give the first equation of a class."""
    found = EQUATION.search(docstring_of(thing))
    return "" if found is None else f"${' '.join(found[1].split())}$".replace("|", r"\vert ")


def paper_of(thing: Any) -> str:
    """Give where it comes from, without sections."""
    found = REFERENCE.search(docstring_of(thing))
    if found is None:
        return ""
    text = " ".join(found[1].split()).rstrip(".")
    return "; ".join(
        re.sub(r", (?:sections?|equations?|appendix|table|algorithm|footnote) [^;]*?(?=, arXiv|;|$)", "", part)
        for part in text.split("; ")
    )


def parameters_of(row: Row) -> str:
    """Count the learned numbers of an example."""
    made = row.make()
    return f"{sum(one.numel() for one in made.parameters()):,}" if isinstance(made, nn.Module) else ""


def backends_of(group: str, row: Row) -> str:
    """Ask the operator which backends can compute a call with this mechanism; those on CUDA alone are marked."""
    if group == "Layers":
        return ""
    argument = {"Scores": "score", "Positions": "position", "Normalizers": "normalize", "Masks": "mask"}[group]
    query, key = torch.zeros(2, 4, 8, SIZE) if group != "Positions" else torch.zeros(1, 4, 8, SIZE), None
    report = explain_backend(query, query if key is None else key, **{argument: row.make()})
    able = [
        report.chosen,
        *(name for name, reason in report.refusals.items() if reason is None and name != report.chosen),
    ]
    cuda = [f"{name} (CUDA)" for name, reason in report.refusals.items() if reason and "CUDA" in reason]
    return ", ".join(dict.fromkeys([*able, *cuda]))


def found_in(name: str, rows: list[dict[str, str]], column: str) -> str:
    """Join the entries of a column of all rows of the index that name a mechanism."""
    cells = [row[column] for row in rows if f"`{name}`" in row["operator"] + row["layer, model"]]
    return ", ".join(dict.fromkeys(cell for cell in cells if cell))


def table() -> str:
    """Write the atlas."""
    rows, lines = lecture_rows(), []
    for group, (module, entries) in GROUPS.items():
        lines += [
            f"## {group}\n",
            "| | equation | paper | parameters | cost | backends | operator | layer, model | preset | view | test |",
        ]
        lines.append("| --- | --- | --- | ---: | --- | --- | --- | --- | --- | --- | --- |")
        for name, row in entries.items():
            thing = getattr(module, name)
            page = "api-operator" if module is operator else "api-layers"
            cells = [
                f"[`{name}`](reference/{page}.md#{thing.__module__}.{name})",
                equation_of(thing),
                paper_of(thing),
                parameters_of(row),
                row.cost,
                backends_of(group, row),
                found_in(name, rows, "operator"),
                found_in(name, rows, "layer, model"),
                found_in(name, rows, "preset"),
                found_in(name, rows, "view"),
                found_in(name, rows, "test"),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)
