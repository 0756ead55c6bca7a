"""Public tensors say their shape: the number of those that do not may only fall."""

import ast
from collections.abc import Iterator
from pathlib import Path

from house.source import PACKAGE, parsed, short

FOLDERS = ("attention", "layers", "models", "decoding")
#: Parameters and results of public functions and methods that are plain `Tensor`s. Lower it when you annotate some.
BARE = 103

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_bare(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation names `Tensor` outside of a jaxtyping shape such as `Float[Tensor, "batch size"]`."""
    if annotation is None:
        return False
    shaped = {
        id(node.slice.elts[0])
        for node in ast.walk(annotation)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2
        if isinstance(node.slice.elts[1], (ast.Constant, ast.JoinedStr))
    }
    names = [node for node in ast.walk(annotation) if isinstance(node, ast.Name) and node.id == "Tensor"]
    return any(id(name) not in shaped for name in names)


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Give the public functions and methods, without overloads, which repeat what the function below them says."""
    for outer in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        if isinstance(outer, ast.ClassDef) and outer.name.startswith("_"):
            continue
        for node in outer.body:
            if not isinstance(node, Function) or (node.name.startswith("_") and node.name != "__call__"):
                continue
            if not any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list):
                yield (f"{outer.name}.{node.name}" if isinstance(outer, ast.ClassDef) else node.name), node


def bare(path: Path) -> list[str]:
    """Name the parameters and results of a file that are tensors without a shape."""
    named = []
    for name, node in public_functions(parsed(path)):
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        named += [f"{short(path)}: {name}({one.arg})" for one in arguments if is_bare(one.annotation)]
        named += [f"{short(path)}: {name}() gives"] * is_bare(node.returns)
    return named


def all_bare() -> list[str]:
    return [one for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py")) for one in bare(path)]


def test_no_more_tensors_without_a_shape() -> None:
    assert len(all_bare()) == BARE, "\n".join(all_bare())


def test_what_counts_as_bare() -> None:
    def annotation(text: str) -> ast.expr:
        return ast.parse(text, mode="eval").body

    for text in ("Tensor", "Tensor | None", "tuple[Tensor, Tensor]", 'Float[Tensor, "size"] | Tensor'):
        assert is_bare(annotation(text)), text
    for text in ('Float[Tensor, "batch size"]', 'Mask | Bool[Tensor, "..."] | None', "int"):
        assert not is_bare(annotation(text)), text
