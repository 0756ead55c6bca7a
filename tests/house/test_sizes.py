"""How large a module, a function and a list of parameters may grow; and what a docstring of a mechanism holds."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from house.source import PACKAGE, ROOT, everywhere, modules, parsed, short

MODULE, FUNCTION, PARAMETERS = 400, 60, 8
#: Files in which functions have more parameters, and why.
MANY_PARAMETERS = {
    "cli": "a parameter is a flag, and typer reads no other form",
    "attention/operator.py": "the operator's interface, as its equations have it",
    "attention/inputs.py": "the same",
    "attention/kernels/additive_triton.py": "a kernel: pointers, sizes and strides",
    "models/word_loss_triton.py": "the same",
    "layers/fused/block_triton.py": "the same",
    "layers/fused/conditional_triton.py": "the same",
    "attention/kernels/additive_forward_triton.py": "the same",
    "attention/kernels/additive_backward_triton.py": "the same",
    "attention/kernels/additive_few_triton.py": "the same",
    "attention/kernels/additive_op.py": "torch.library reads an operation's schema off the parameters",
    "attention/kernels/few_queries_triton.py": "the same",
    "decoding/word_choice_triton.py": "the same",
    "layers/attend.py": "the operator's interface",
    "inspection/trace/record.py": "the same",
    "inspection/trace/computation.py": "the same",
    "inspection/hugging_face/model.py": "the interface of transformers",
    "layers/mechanisms/local.py": "a constructor: every choice of the paper has a name",
    "layers/mechanisms/multi_head.py": "the same",
    "models/sequence": "the same",
    "models/vision/patch_transformer.py": "the same",
    "tasks/training.py": "`regard.train`: what a user names of a run",
    "training/loop.py": "the trainer: all that a run consists of",
    "decoding/beam.py": "what every search needs to know of tokens and model",
    "tasks/classification/page.py": "a report: what it shows",
    "tasks/images/page.py": "the same",
    "tasks/questions/page.py": "the same",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    """Give every function of a file, methods and inner ones too, without overloads."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function) and not any(
            ast.unparse(mark).endswith("overload") for mark in node.decorator_list
        ):
            yield node


def length(node: Function) -> int:
    """Count the lines of a function's statements, without signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def parameters(node: Function) -> int:
    """Count the parameters, without self and cls."""
    arguments = node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def test_modules_are_small() -> None:
    lines = {short(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name: count for name, count in lines.items() if count > MODULE} == {}


def test_functions_are_short() -> None:
    assert (
        everywhere(lambda path: [f"{one.name}: {length(one)}" for one in functions(path) if length(one) > FUNCTION])
        == ""
    )


def many(path: Path) -> list[str]:
    name = short(path)
    if any(name == allowed or name.startswith(f"{allowed}/") for allowed in MANY_PARAMETERS):
        return []
    return [f"{one.name}: {parameters(one)}" for one in functions(path) if parameters(one) > PARAMETERS]


def test_functions_take_few_parameters() -> None:
    assert everywhere(many) == ""


MECHANISMS = (
    *("attention/score.py", "attention/similarity.py", "attention/normalize.py", "attention/position.py"),
    *("attention/bias.py", "layers/mechanisms/*.py", "layers/position/*.py"),
)
REFERENCE = re.compile(r"References?:|arXiv:|\(\d{4}\)|et al\.")
#: Classes that are not mechanisms themselves: bases, results, and adapters, whose docstrings name what they adapt.
PLAIN = {"Score", "Inner", "Normalizer", "Position", "Pooled", "Attentional", "LearnedScore", "SingleHeadAttention"}


def described(path: Path) -> Iterator[tuple[str, str]]:
    """Give the public classes of a file of mechanisms with all their docstrings, that of the file before."""
    tree = parsed(path)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in PLAIN:
            inner = [ast.get_docstring(one) or "" for one in node.body if isinstance(one, Function)]
            yield node.name, "\n".join([ast.get_docstring(tree) or "", ast.get_docstring(node) or "", *inner])


def mechanisms() -> list[Path]:
    return sorted(path for pattern in MECHANISMS for path in PACKAGE.glob(pattern) if path.name != "__init__.py")


@pytest.mark.parametrize("path", mechanisms(), ids=short)
def test_a_mechanism_states_its_equation_and_its_reference(path: Path) -> None:
    missing = [
        f"{name}: {what}"
        for name, text in described(path)
        for what, there in (("equation", "$" in text), ("reference", REFERENCE.search(text)))
        if not there
    ]
    assert missing == []


def listed_paths() -> set[str]:
    """Give the paths that ARCHITECTURE.md names: those of the tree with their folders, and those in the text."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = text.split("```")[1]
    paths, folder = set(), ""
    for line in tree.strip().splitlines()[1:]:
        depth, entry = len(line) - len(line.lstrip()), re.split(r" {2,}", line.strip())[0]
        above = "" if depth == 0 else "src/regard/" if depth == 2 else folder
        names = [one for one in entry.split() if one.endswith(("/", ".py"))]
        paths |= {above + name for name in names}
        folder = f"src/regard/{names[0]}" if depth == 2 and names else folder
    named = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text.replace(tree, ""))
    return paths | {name if (ROOT / name).exists() else f"src/regard/{name}" for name in named}


def test_the_architecture_names_what_is_there() -> None:
    paths = listed_paths()
    assert len(paths) > 50
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_every_folder_of_the_package_is_in_the_architecture() -> None:
    folders = {f"src/regard/{short(path.parent)}/" for path in modules() if path.parent != PACKAGE}
    inner = {one for one in folders if one.count("/") <= 4}
    assert sorted(inner - listed_paths()) == []
