"""The package's source as the house tests read it: parsed, never imported."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "regard"


def modules() -> list[Path]:
    """Give every file of source."""
    return sorted(PACKAGE.rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    """Parse one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def short(path: Path) -> str:
    """Name a file from the package down."""
    return str(path.relative_to(PACKAGE))


def part(path: Path) -> str:
    """Name the part of the package a file belongs to: its folder, or its own name at the top."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give the line and the full name of every module imported, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            name = node.module or ""
            # `from regard import data` and `from regard import Dot` both name something inside the package
            yield from ((node.lineno, f"{name}.{alias.name}") for alias in node.names)


def everywhere(check: Callable[[Path], list[str]]) -> str:
    """Give what a check finds wrong in any file, a line each, with the file's name."""
    return "\n".join(f"{short(path)}, {finding}" for path in modules() for finding in check(path))
