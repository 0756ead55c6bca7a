"""The house habits that a machine can see."""

import ast
import re
from pathlib import Path

from house.source import ROOT, everywhere, modules, parsed, part, short

FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "base", "util", "helper"}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users|mnt|data)/\w|[A-Z]:\\\\\w")
SPEAKS = {"cli", "bench", "__main__"}  # the parts that may print


def test_no_module_is_called_utils() -> None:
    assert not [path for path in modules() if FORBIDDEN_NAMES & {path.stem, *path.relative_to(ROOT).parts}]


def bare_articles(path: Path) -> list[str]:
    """List where "a" stands before a kind that may begin with a vowel; `errors.with_article` knows."""
    return re.findall(r"\b[Aa] \{[\w.]*(?:kind|__name__)\}", path.read_text(encoding="utf-8"))


def test_kinds_have_their_article() -> None:
    assert everywhere(bare_articles) == ""


def documented(node: ast.AST) -> bool:
    return ast.get_docstring(node) is not None  # type: ignore[arg-type]


def undocumented(tree: ast.Module) -> list[str]:
    """Name what is public and has no docstring: functions, classes and their methods, but for overloads."""
    missing = []
    for outer in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        if isinstance(outer, ast.ClassDef) and outer.name.startswith("_"):
            continue
        for node in outer.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            overload = any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list)
            if not node.name.startswith("_") and not overload and not documented(node):
                missing.append(f"line {node.lineno}: {node.name}")
    return missing


def silent(path: Path) -> list[str]:
    """List what says nothing of itself, the module included."""
    tree = parsed(path)
    return ([] if not tree.body or documented(tree) else ["the module"]) + undocumented(tree)


def test_every_public_name_is_documented() -> None:
    assert everywhere(silent) == ""


def narrows(test: ast.expr) -> bool:
    """Say whether an assertion tells the type checker something, and checks no input."""
    if isinstance(test, ast.BoolOp):
        return all(narrows(value) for value in test.values)
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in ("isinstance", "callable")
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))


def checking_asserts(path: Path) -> list[str]:
    """List assertions with a message or a comparison of values: these check input, which is for errors.py."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Assert) and (node.msg is not None or not narrows(node.test))
    ]


def test_assert_never_checks_input() -> None:
    assert everywhere(checking_asserts) == ""


def wrong_annotations(path: Path) -> list[str]:
    """List annotations turned to strings, which jaxtyping cannot read, and its decorators, which are for tests."""
    nodes = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom)]
    future = [f"line {node.lineno}: {ast.unparse(node)}" for node in nodes if node.module == "__future__"]
    names = [(node.lineno, alias.name) for node in nodes if node.module == "jaxtyping" for alias in node.names]
    return future + [f"line {line}: {name}" for line, name in names if name == "jaxtyped"]


def test_annotations_are_what_jaxtyping_can_read() -> None:
    assert everywhere(wrong_annotations) == ""


def prints(path: Path) -> list[str]:
    """List calls of print where the library must be silent."""
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    found = [f"line {call.lineno}" for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
    return [] if part(path) in SPEAKS else found


def test_the_library_never_prints() -> None:
    assert everywhere(prints) == ""


FOLDERS = ("src", "tests", "benchmarks", "examples", "docs", "recipes", "release", ".ci", ".github", ".devcontainer")
WRITTEN = {".py", ".md", ".ipynb", ".toml", ".txt", ".json", ".sh", ".cff", ".yml", ""}


def test_no_machine_is_named() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    paths += [path for path in sorted(ROOT.iterdir()) if not path.name.startswith(".")]
    texts = [path for path in paths if path.is_file() and path.suffix in WRITTEN]
    named = {
        str(path.relative_to(ROOT)): found
        for path in texts
        if (found := MACHINE_PATH.findall(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert named == {}


def test_there_is_something_to_check() -> None:
    assert {"__init__.py", "errors.py"} <= {short(path) for path in modules()}
    assert len(modules()) > 20
    assert MACHINE_PATH.search("see /" + "work/x")
    assert not narrows(ast.parse("x > 0", mode="eval").body)
    assert undocumented(ast.parse("def public(): pass")) == ["line 1: public"]
