"""Puzzles are answered in one line, from a list of operations: what a line holds is read off its syntax tree."""

import ast
from collections.abc import Sequence

LONGEST = 100
"""Letters of the line behind `return`."""
MODULE = "regard.course.operations"
_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Subscript, ast.Slice, ast.Tuple,
    ast.Attribute,
)  # fmt: skip
_SIGNS = (ast.operator, ast.unaryop, ast.cmpop, ast.expr_context)
_NAMES = {
    ast.Lambda: "a lambda", ast.ListComp: "a comprehension", ast.GeneratorExp: "a comprehension", ast.IfExp: "an if",
    ast.SetComp: "a comprehension", ast.DictComp: "a comprehension", ast.NamedExpr: "an assignment (:=)",
    ast.BoolOp: "and, or (for tensors: &, |)", ast.List: "a list", ast.Dict: "a dictionary", ast.Await: "await",
    ast.JoinedStr: "a text", ast.Starred: "a star", ast.Yield: "yield", ast.Set: "a set",
}  # fmt: skip


def check_line(source: str, name: str, allowed: Sequence[str]) -> str | None:
    """Give why a file is no answer to a puzzle; None where it is one line of allowed operations.

    >>> check_line("def causal(n):\\n    return arange(n)[:, None] >= arange(n)", "causal", ("arange",))
    >>> check_line("def causal(n):\\n    return torch.ones(n, n).tril()", "causal", ("arange",))
    'The line must use arange, operators and indices alone; it uses the attribute .tril.'
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"The file must be Python; line {error.lineno} is not: {error.msg}."
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in (MODULE, "torch"):
            continue
        if not (isinstance(node, ast.FunctionDef) and node.name == name):
            return f"The file must hold {name} alone, and imports of {MODULE}; line {node.lineno} is something else."
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(definitions) != 1:
        return f"The file must define {name} once; it does so {len(definitions)} times."
    return _check_definition(definitions[0], allowed)


def _check_definition(definition: ast.FunctionDef, allowed: Sequence[str]) -> str | None:
    body = definition.body[1:] if ast.get_docstring(definition) is not None else definition.body
    if definition.decorator_list or len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return f"{definition.name} must be one `return` and nothing else; it has {len(body)} statements."
    line = body[0].value
    if line.lineno != line.end_lineno:
        return f"The line must be one line; it is {(line.end_lineno or 0) - line.lineno + 1}."
    length = (line.end_col_offset or 0) - line.col_offset
    if length > LONGEST:
        return f"The line must have at most {LONGEST} letters; it has {length}."
    parameters = {argument.arg for argument in definition.args.args}
    names = [f".{name}" if name == "T" else name for name in allowed]
    for node in ast.walk(line):
        wrong = _check_node(node, parameters, allowed)
        if wrong is not None:
            return f"The line must use {', '.join((*names, 'operators'))} and indices alone; it uses {wrong}."
    return None


def _check_node(node: ast.AST, parameters: set[str], allowed: Sequence[str]) -> str | None:
    """Name what is not allowed of one part of the line."""
    match node:
        case ast.Attribute(attr=name):
            return None if name == "T" and name in allowed else f"the attribute .{name}"
        case ast.Name(id=name):
            return None if name in parameters or name in allowed else name
        case ast.Call(func=function, keywords=keywords):
            if not isinstance(function, ast.Name):
                return f"the attribute .{function.attr}" if isinstance(function, ast.Attribute) else "a call of a call"
            return f"the keyword {keywords[0].arg}" if keywords else None
        case ast.Constant(value=value):
            plain = (
                value is None or value is Ellipsis or (isinstance(value, int | float) and not isinstance(value, bool))
            )
            return None if plain else repr(value)
        case _ if isinstance(node, (*_EXPRESSIONS, *_SIGNS)):
            return None
        case _:
            return _NAMES.get(type(node), type(node).__name__)
