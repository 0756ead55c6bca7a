"""Pages of the reference that are made from the code: the API, the commands, every setting, every error."""

import ast
import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from typer.main import get_command

from regard.cli import app
from regard.config.show import field_help
from regard.tasks.task import TASKS

MARKER = "<!-- errors -->"
PACKAGE = Path(__file__).parents[2] / "src" / "regard"


class Section(NamedTuple):
    """Some names of one module, under a heading."""

    title: str
    module: str
    names: tuple[str, ...]
    methods: bool = False


OPERATOR = ("attention", "explain_backend", "summarize_weights", "merge", "lookup", "from_torch_mha")
SCORES = ("Dot", "ScaledDot", "Bilinear", "Additive", "Concat", "Location", "Gaussian", "Cosine", "Softcap")
API: dict[str, tuple[str, tuple[Section, ...]]] = {
    "reference/api-operator.md": (
        "The operator",
        (
            Section("Functions", "regard.attention", OPERATOR),
            Section("What they give", "regard.attention", ("Attended", "Partial", "WeightSummary")),
            Section("Scores", "regard.attention", (*SCORES, "ScoreMod", "ScoreRows")),
            Section("Masks", "regard.attention", ("Causal", "Padding", "Window", "Documents", "Not")),
            Section(
                "Positions",
                "regard.attention",
                ("Rotary", "Alibi", "RelativeBias", "RelativeBuckets", "Shaw", "GaussianWindow"),
            ),
            Section(
                "Normalizers",
                "regard.attention",
                ("Softmax", "Sink", "Sparsemax", "Entmax", "Sigmoid", "Hard", "Mean"),
            ),
            Section("To derive from", "regard.attention", ("Score", "Mask", "Position", "Normalizer"), methods=True),
        ),
    ),
    "reference/api-layers.md": ("Layers", (Section("", "regard.layers", ()),)),
    "reference/api-models.md": (
        "Training, models and results",
        (
            Section("Calls", "regard", ("train", "load", "evaluate", "compare", "align", "inspect", "list_runs")),
            Section("Translators", "regard.tasks.translation.model", ("Translator",), methods=True),
            Section("Search", "regard.decoding.search", ("Search", "Sampling")),
            Section("Language models", "regard.tasks.language.model", ("LanguageModel",), methods=True),
            Section("Text classifiers", "regard.tasks.classification.model", ("Classifier", "Decision"), methods=True),
            Section("Image classifiers", "regard.tasks.images.model", ("ImageClassifier",), methods=True),
            Section("Question answerers", "regard.tasks.questions.model", ("QuestionAnswerer",), methods=True),
            Section("Captioners", "regard.tasks.captions.model", ("Captioner",), methods=True),
            Section("Word aligners", "regard.tasks.alignment.model", ("WordAligner",), methods=True),
            Section("Word links", "regard.tasks.alignment.result", ("Alignment",)),
            Section("Progress", "regard.tasks.progress", ("Progress",)),
            Section("A server's client", "regard.client", ("Client",), methods=True),
        ),
    ),
    "reference/api-inspection.md": ("Inspection", (Section("", "regard.inspection", ()),)),
    "reference/api-course.md": (
        "The course",
        (
            Section("Exercises", "regard.course", ("check", "check_file", "find", "Exercise", "Verdict")),
            Section("Pages", "regard.course", ("Page", "choices")),
            Section("A small corpus", "regard.course.animals", ("animals", "write_animals")),
            Section("Operations of puzzles", "regard.course.operations", ()),
        ),
    ),
}
"""Pages, their titles, and what they hold; a section without names holds all that its module offers."""
METHODS = {"regard.layers": ("forward", "remember", "from_torch", "to_torch", "penalty", "rotation", "table", "tf_idf")}
"""Methods that are shown of classes of which not all are."""


def names_of(section: Section) -> list[str]:
    """Give the names of a section."""
    if section.names:
        return list(section.names)
    return list(importlib.import_module(section.module).__all__)


def api_page(title: str, sections: tuple[Section, ...]) -> str:
    """Write a page of the API: mkdocstrings fills in what the code has."""
    lines = [f"# API: {title}\n"]
    for section in sections:
        level = 3 if section.title else 2
        lines += [f"## {section.title}\n"] if section.title else []
        for name in names_of(section):
            thing = getattr(importlib.import_module(section.module), name)
            if not hasattr(thing, "__module__"):
                continue  # a plain value
            options = {
                "show_root_heading": "true",
                "show_root_toc_entry": "true",
                "show_root_full_path": "false",
                "heading_level": level,
                "members": _members(section, thing),
            }
            written = "".join(f"      {key}: {value}\n" for key, value in options.items())
            lines.append(f"::: {thing.__module__}.{thing.__qualname__}\n    options:\n{written}")
    return "\n".join(lines)


def _members(section: Section, thing: Any) -> str:
    """Write which members mkdocstrings shows of a class."""
    if section.methods:
        return str([name for name in vars(thing) if not name.startswith("_")])
    return str(list(METHODS.get(section.module, ()))) if inspect.isclass(thing) else "false"


def command_page() -> str:
    """Write what `--help` of every command shows."""
    lines = ["# Commands\n", "What `regard COMMAND --help` shows. Bad input ends in one paragraph and exit code 2;"]
    lines += ["[errors](errors.md) lists the exit codes. `--json` is there wherever a machine may read the result.\n"]
    for name, command in sorted(_commands(get_command(app))):
        usage = " ".join(
            ["regard", name, *(_usage(one) for one in command.params if one.param_type_name == "argument")]
        )
        lines += [f"## {name}\n", f"```text\n{usage} [OPTIONS]\n```\n", _paragraphs(command.help or ""), ""]
        rows = [_option(one) for one in command.params if one.name != "help"]
        lines += ["| | |\n| --- | --- |", *rows, ""] if rows else []
    return "\n".join(lines)


def _commands(group: Any, before: str = "") -> list[tuple[str, Any]]:
    found = []
    for name, command in group.commands.items():
        full = f"{before}{name}"
        found += _commands(command, f"{full} ") if hasattr(command, "commands") else [(full, command)]
    return found


def _usage(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper()) + ("…" if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _paragraphs(text: str) -> str:
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text).replace("\f", ""))
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _option(parameter: Any) -> str:
    name = (
        ", ".join(f"`{one}`" for one in parameter.opts)
        if parameter.param_type_name == "option"
        else f"`{_usage(parameter)}`"
    )
    default = (
        ""
        if parameter.default in (None, False, (), "") or callable(parameter.default)
        else f" Default: `{parameter.default}`."
    )
    text = " ".join((getattr(parameter, "help", "") or "").split()).replace("|", "\\|")
    return f"| {name} | {text}{default} |"


def settings_page() -> str:
    """Write every key of every task, with its help, its values and its default."""
    lines = [
        "# Settings\n",
        "Every key of `regard train`, by task: in a TOML file (`--config run.toml`), as `--set train.steps=500`, or",
        'in Python as `settings={"train.steps": 500}`. `regard train --print-config` shows those of a run with the',
        "values that suit its data; the defaults below are what holds before that. An unknown key is an error that",
        "names the nearest one.\n",
    ]
    for name, task in TASKS.items():
        lines += [
            f"## {name}\n",
            f"`{task.training_command}`: {task.summary}.\n",
            "| key | default | |",
            "| --- | --- | --- |",
        ]
        lines += [*_keys(task.settings, ""), ""]
    return "\n".join(lines)


def _keys(settings: type[Any], at: str, kind: str = "") -> list[str]:
    """Give a row for each key; of a table with kinds, those of each kind."""
    rows, helps, hints = [], field_help(settings), get_type_hints(settings)
    for item in fields(settings):
        key = f"{at}{item.name}"
        tables = [
            one for one in (hints[item.name], *get_args(hints[item.name])) if inspect.isclass(one) and is_dataclass(one)
        ]
        if tables:
            for table in tables:
                own = getattr(table, "kind", "") if len(tables) > 1 else ""
                rows += _keys(table, f"{key}.", own)
            continue
        about = helps.get(item.name, "").replace("|", "\\|")
        note = f" *({at.rstrip('.')}.kind = {kind})*" if kind and item.name != "kind" else ""
        rows.append(f"| `{key}` | {_default(item)} | {about}{_values(hints[item.name], about)}{note} |")
    return rows


def _default(item: Any) -> str:
    from dataclasses import MISSING

    value = (
        item.default
        if item.default is not MISSING
        else item.default_factory()
        if item.default_factory is not MISSING
        else ""
    )
    return "" if value in ("", None, ()) else f"`{value}`" if not isinstance(value, bool) else f"`{str(value).lower()}`"


def _values(hint: Any, already: str) -> str:
    choices = [one for part in (hint, *get_args(hint)) for one in get_args(part) if isinstance(one, str)]
    if len(choices) < 2 or all(choice in already for choice in choices):
        return ""
    return f" One of {', '.join(f'`{choice}`' for choice in choices)}."


def error_messages() -> dict[str, list[str]]:
    """Give the messages that the package raises, by the part of it; what is filled in stands as …"""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and ast.unparse(node.exc.func).endswith("Error")
            ):
                text = _written(node.exc.args[0]) if node.exc.args else ""
                if " must " in text:
                    found.setdefault(part, set()).add(" ".join(text.split()))
    return {part: sorted(texts) for part, texts in found.items()}


def _written(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_written(one) for one in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _written(left) + _written(right)
        case _:
            return "…"


def error_list() -> str:
    """Write the messages as lists, to be searched."""
    lines = []
    for part, texts in error_messages().items():
        items = "\n".join(f"    - {_escape(text)}" for text in texts)
        lines.append(f'??? note "{part}: {len(texts)} messages"\n\n{items}\n')
    return "\n".join(lines)


def _escape(text: str) -> str:
    return (
        re.sub(r"([*_<>\[\]])", r"\\\1", text)
        if "`" not in text
        else re.sub(r"([*<>\[\]])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", text)
    )


def pages() -> dict[str, str]:
    """Give all generated pages by their address."""
    made = {address: api_page(title, sections) for address, (title, sections) in API.items()}
    return made | {"reference/commands.md": command_page(), "reference/settings.md": settings_page()}
