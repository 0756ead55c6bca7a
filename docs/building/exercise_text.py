"""The exercises of a chapter as the site and the notebooks show them: task, signature, hints and how to check."""

import re

from regard.course.catalogue import of_chapter
from regard.course.exercise import Exercise

MARKER = "<!-- exercises -->"


def chapter_of(name: str) -> str:
    """Give the number of a chapter from the name of its page.

    >>> chapter_of("07-luong.md"), chapter_of("puzzles.md")
    ('7', 'p')
    """
    digits = re.match(r"\d+", name)
    return str(int(digits[0])) if digits else "p"


def heading(exercise: Exercise) -> str:
    """Name an exercise."""
    return f"{exercise.number} {exercise.title}"


def allowed_line(exercise: Exercise) -> str:
    """Say what a puzzle may be made of; nothing for an exercise."""
    if not exercise.one_line:
        return ""
    names = ", ".join(f"`.{name}`" if name == "T" else f"`{name}`" for name in exercise.allowed)
    return f"One line, from operators, indices{' and ' + names if names else ''} alone.\n\n"


def on_the_site(name: str) -> str:
    """Write the exercises of a page: each with its hints folded away."""
    parts = []
    for exercise in of_chapter(chapter_of(name)):
        hints = "".join(f'??? tip "Hint {n}"\n\n    {hint}\n\n' for n, hint in enumerate(exercise.hints, start=1))
        parts.append(
            f"### {heading(exercise)} {{ #{exercise.number.replace('.', '-')} }}\n\n{exercise.task}\n\n"
            f"{allowed_line(exercise)}```text\n{exercise.signature}\n```\n\n{hints}"
        )
    first = of_chapter(chapter_of(name))[0].number
    how = (
        f"Write the function into a file and check it: `regard course show {first} --out answer.py` begins one, "
        f"`regard course check {first} answer.py` checks it. In a notebook: "
        f'`regard.course.check("{first}", function)`.\n\n'
    )
    return how + "".join(parts)
