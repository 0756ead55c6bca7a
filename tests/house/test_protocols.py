"""Protocols that `isinstance` asks for: from Python 3.12 on it finds attributes and methods, but no submodule."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "regard"
#: Attributes that are never a submodule, a parameter or a buffer.
PLAIN = {
    "Portioned": {"at_once"},
    "Searching": {"tokenizers", "reach"},
    "AttentionLayer": {"interface"},
    "NextWordModel": {"vocabulary_size"},
    "Reader": {"size"},
    "Call": {"batches"},
}


def attributes(node: ast.ClassDef) -> set[str]:
    return {
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def test_no_protocol_that_is_asked_for_has_a_submodule() -> None:
    nodes = [node for path in SOURCE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    checked = [
        node
        for node in nodes
        if isinstance(node, ast.ClassDef)
        and any(isinstance(item, ast.Name) and item.id == "runtime_checkable" for item in node.decorator_list)
    ]
    assert {node.name: attributes(node) for node in checked if attributes(node)} == PLAIN
