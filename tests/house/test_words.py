"""The words of the field: what a user reads says attend, output, position, not words of our own."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from torch import nn
from typer.main import get_command

from house.source import PACKAGE, ROOT, modules, parsed, short
from house.test_messages import messages
from regard.cli import app

#: Words that public names avoid, and what they stand for.
NAMES = {
    **dict.fromkeys(("look", "looks", "looked", "looking"), "attend"),
    **dict.fromkeys(("hear", "heard", "hears"), "read, encode"),
    **dict.fromkeys(("say", "said", "told"), "output, generate"),
    **dict.fromkeys(("place", "places"), "position, index"),
    **dict.fromkeys(("found", "given", "seen"), "result"),
    "room": "capacity",
    "seam": "hook",
    "honesty": "checks",
    "together": "total",
}
#: Likewise of texts, where some of these words have an ordinary use.
PROSE = re.compile(
    r"\b(?:looks?(?![ -]up| like)|looked|looking|hears?|heard|seam|honesty|bends|meddles?|told|looks? at once)\b",
    re.IGNORECASE,
)
#: Help is short, so it can do without more of them.
HELP = re.compile(PROSE.pattern[:-3] + r"|places?|said|room)\b", re.IGNORECASE)

#: Writing in place, one thing in place of another, the last place of a number.
ORDINARY = re.compile(r"\bin place\b|\b(?:the|its|their|last) place\b(?! in)")


def words(name: str) -> set[str]:
    """Divide an identifier into its words."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def public_names(module: str) -> list[str]:
    """List what a module offers: names, methods, fields and parameters."""
    loaded, names = importlib.import_module(module), []
    for name in loaded.__all__:
        thing = getattr(loaded, name)
        names.append(name)
        if inspect.isfunction(thing):
            names += [f"{name}({parameter})" for parameter in inspect.signature(thing).parameters]
        if inspect.isclass(thing):
            for part in sorted({*dir(thing), *getattr(thing, "__annotations__", {})} - set(dir(nn.Module))):
                if not part.startswith("_"):
                    method = getattr(thing, part, None)
                    names.append(f"{name}.{part}")
                    if inspect.isfunction(method):
                        names += [f"{name}.{part}({one})" for one in inspect.signature(method).parameters]
            names += [f"{name}({parameter})" for parameter in inspect.signature(thing.__init__).parameters]
    return names


@pytest.mark.parametrize(
    "module", ["regard", "regard.attention", "regard.layers", "regard.inspection", "regard.decoding", "regard.models"]
)
def test_public_names_are_words_of_the_field(module: str) -> None:
    assert [name for name in public_names(module) if words(name) & NAMES.keys()] == []


SETTINGS = sorted([*(PACKAGE / "config").glob("*.py"), *(PACKAGE / "tasks").glob("*/settings.py")])


def helps(path: Path) -> list[str]:
    """List the strings under the fields of settings, which `--print-config` shows, and the docstrings of classes."""
    shown = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef):
            strings = [part.value for part in node.body if isinstance(part, ast.Expr)]
            shown += [one.value for one in strings if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return shown


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: f"{path.parent.stem}-{path.stem}")
def test_help_of_settings(path: Path) -> None:
    assert [text for text in helps(path) if HELP.search(text)] == []


def command_texts() -> list[str]:
    """List what `--help` of every command shows."""
    texts, commands = [], [get_command(app)]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        texts += [f"{command.name}: {line.strip()}" for line in (command.help or "").splitlines()]
        texts += [f"{command.name} {one.name}: {getattr(one, 'help', '') or ''}" for one in command.params]
    return texts


def test_help_of_commands() -> None:
    assert [text for text in command_texts() if HELP.search(text)] == []


def documents() -> list[Path]:
    return [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_documents(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if PROSE.search(line)] == []


def page_texts(path: Path) -> list[str]:
    """List the strings of a script of the page that are sentences or titles, without what is put into them."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip().startswith(("//", "*", "/*")):
            continue
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', line):
            plain = re.sub(r"\$\{[^}]*\}?", "", "".join(text))
            if re.search(r"[A-Za-z] [A-Za-z]", plain) and not re.fullmatch(r"[a-z\- ]+", plain):
                found.append(plain)
    return found


def test_the_page() -> None:
    scripts = sorted((ROOT / "web" / "src").rglob("*.ts"))
    assert len(scripts) > 30
    assert {path.name: bad for path in scripts if (bad := [one for one in page_texts(path) if PROSE.search(one)])} == {}


def test_the_patterns_see_what_they_should() -> None:
    assert words("LookAround_two") == {"look", "around", "two"}
    for text in ("Looks at once in each block", "What bends it.", "it looked at", "words hear each other"):
        assert PROSE.search(text)
    assert HELP.search("Share of what a sublayer said")
    assert HELP.search(ORDINARY.sub("", "at each place, the place in a sentence"))
    assert not HELP.search(ORDINARY.sub("", "written in place; takes the place of the first"))
    assert not PROSE.search("attends to; looks up a word; the look-up of a key")


def docstrings(path: Path) -> list[str]:
    """List the docstrings of a file and the strings under its fields and constants, without code and doctests."""
    texts = []
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body) | ast.FunctionDef(body=body):
                strings = [part.value for part in body if isinstance(part, ast.Expr)]
                texts += [
                    item.value for item in strings if isinstance(item, ast.Constant) and isinstance(item.value, str)
                ]
    plain = [re.sub(r"(?m)^ *>>> (?:.+\n?)+|`[^`]*`", "", text) for text in texts]
    return [ORDINARY.sub("", " ".join(text.split())) for text in plain]


def test_docstrings() -> None:
    """Also of what is private: who reads the code reads them."""
    bad = {short(path): [text for text in docstrings(path) if HELP.search(text)] for path in modules()}
    assert {path: texts for path, texts in bad.items() if texts and not path.startswith(GRAMMARS)} == {}


def test_messages() -> None:
    texts = [f"{short(path)}:{line}: {text}" for path in modules() for line, text in messages(path)]
    assert len(texts) > 500
    assert [text for text in texts if PROSE.search(text.split(": ", 1)[1])] == []


#: Attributes that are names in saved models.
SAVED = {"place", "place_vector", "places"}
#: Grammars speak of places that people go to, and of what somebody said or asked.
GRAMMARS = "data/builtin/"
AVOIDED = NAMES.keys() | {"asked", "fed"}


def defined(path: Path) -> set[str]:
    """List the names that a file defines, without those for looking a thing up."""
    names = set()
    for node in ast.walk(parsed(path)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return {name for name in names - SAVED if "look_up" not in name}


def test_identifiers_are_words_of_the_field() -> None:
    bad = {short(path): sorted(name for name in defined(path) if words(name) & AVOIDED) for path in modules()}
    assert {path: names for path, names in bad.items() if names and not path.startswith(GRAMMARS)} == {}
