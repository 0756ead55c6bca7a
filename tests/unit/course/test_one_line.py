"""What a puzzle's line may hold is read off its syntax tree."""

import pytest

from regard.course.one_line import check_line

ALLOWED = ("arange", "where", "T")


def check(line, before="", after=""):
    return check_line(f"{before}def f(x, n):\n    return {line}\n{after}", "f", ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "x @ x.T",
        "arange(n)[:, None] >= arange(n)",
        "where(x > 0, x, -1e9)",
        "x[..., 0]",
        "-x ** 2 // 3 % 2",
        "~(x == 0) & (x < 1) | (x != 2)",
    ],
)
def test_operators_indices_and_the_list_are_allowed(line):
    assert check(line) is None


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("torch.tril(x)", "the attribute .tril"),
        ("x.sum()", "the attribute .sum"),
        ("exp(x)", "exp"),
        ("where(x > 0, x, other=0)", "the keyword other"),
        ("[i for i in x]", "a comprehension"),
        ("x if n else n", "an if"),
        ("(lambda y: y)(x)", "a call of a call"),
        ("(y := x)", "an assignment (:=)"),
        ("x and n", "and, or"),
        ("__import__('os')", "__import__"),
        ("x['key']", "'key'"),
        ("x.__class__", "the attribute .__class__"),
        ("True", "True"),
        ("[x]", "a list"),
    ],
)
def test_anything_else_is_named(line, names):
    assert check(line) == (
        f"The line must use arange, where, .T, operators and indices alone; it uses {names}"
        f"{' (for tensors: &, |)' if names == 'and, or' else ''}."
    )


def test_it_must_be_one_line_of_few_letters():
    assert check("(x +\n        n)") == "The line must be one line; it is 2."
    assert check(" + ".join(["x"] * 40)) == "The line must have at most 100 letters; it has 157."


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(x):\n    y = x\n    return y", "f must be one `return` and nothing else; it has 2 statements."),
        ("def f(x):\n    pass", "f must be one `return` and nothing else; it has 1 statements."),
        ("import os\ndef f(x):\n    return x", "line 1 is something else."),
        ("def g(x):\n    return x", "The file must hold f alone"),
        ("", "The file must define f once; it does so 0 times."),
        ("def f(x):\n    return x\ndef f(x):\n    return x", "it does so 2 times."),
        ("def f(x) return x", "The file must be Python; line 1 is not"),
    ],
)
def test_a_file_of_another_form_is_refused(source, message):
    assert message in check_line(source, "f", ALLOWED)


def test_imports_of_the_operations_and_a_docstring_may_stay():
    imports = "from regard.course.operations import *\nfrom torch import Tensor\n"
    source = f'{imports}\ndef f(x: Tensor) -> Tensor:\n    """Do."""\n    return x\n'
    assert check_line(source, "f", ALLOWED) is None
