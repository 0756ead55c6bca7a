"""Every exercise: its solution is right, its mistakes are refused with their reasons, its cases and hints are there."""

import ast
import re

import pytest

from regard.course import CHAPTERS, EXERCISES, find
from regard.course.answers import solution
from regard.course.checking import judge_file
from regard.course.exercise import Exercise
from regard.course.one_line import check_line
from regard.course.verdict import judge
from regard.errors import ArgumentError

every = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.number)
PUZZLES = [exercise for exercise in EXERCISES if exercise.one_line]


def raising(error: Exception) -> str:
    return f"{type(error).__name__}"


def test_there_are_enough_of_them() -> None:
    chapters = [exercise for exercise in EXERCISES if not exercise.one_line]
    assert len(chapters) >= 60
    assert len(PUZZLES) == 21
    assert {exercise.chapter for exercise in EXERCISES} == set(CHAPTERS)
    assert all(sum(one.chapter == chapter for one in chapters) >= 3 for chapter in CHAPTERS if chapter != "p")


def test_numbers_run_on_within_each_chapter() -> None:
    for chapter in CHAPTERS:
        numbers = [exercise.number for exercise in EXERCISES if exercise.chapter == chapter]
        assert numbers == [f"{chapter}.{count}" for count in range(1, len(numbers) + 1)]


@every
def test_the_solution_is_right(exercise: Exercise, tmp_path) -> None:
    path = tmp_path / "answer.py"
    path.write_text(solution(exercise), encoding="utf-8")
    verdict = judge_file(exercise.number, path)
    assert verdict.right, verdict.message


@every
def test_the_solution_is_not_the_reference(exercise: Exercise) -> None:
    """They check each other, so they must not share their code."""
    own = ast.parse(solution(exercise)).body[-1]
    assert isinstance(own, ast.FunctionDef)
    assert "regard" not in ast.unparse(own)


@every
def test_every_mistake_is_refused_with_its_reason(exercise: Exercise) -> None:
    assert exercise.mistakes
    for mistake in exercise.mistakes:
        verdict = judge(exercise, mistake.answer, explain=raising)
        assert not verdict.right
        assert mistake.reason in verdict.message
        assert re.match(rf"{re.escape(exercise.number)} is not right yet\. Case \d+ of \d+:\n  \w+ = ", verdict.message)
        assert "\nreceived: " in verdict.message
        assert re.search(r"\n(expected|one right answer): ", verdict.message)


@every
def test_cases_are_few_numbers_first_and_the_same_each_time(exercise: Exercise) -> None:
    first, again = exercise.ordered_cases(), exercise.ordered_cases()
    assert len(first) >= 2
    assert str(first) == str(again)


@every
def test_what_a_learner_reads_is_there(exercise: Exercise) -> None:
    assert exercise.hints
    assert len(exercise.task) > 40
    assert exercise.signature.startswith(f"def {exercise.name}(")
    tree = ast.parse(exercise.template)
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == [exercise.name]
    words = " ".join((exercise.task, *exercise.hints, *(mistake.reason for mistake in exercise.mistakes)))
    assert not re.search(r"\b(look(s|ed|ing)?(?! an?\b| up)|told|hears?|heard)\b", words, re.IGNORECASE)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: puzzle.number)
def test_a_puzzle_may_not_be_answered_by_torch(puzzle: Exercise) -> None:
    arguments = puzzle.signature.partition("(")[2].partition(")")[0]
    names = ", ".join(part.partition(":")[0].strip() for part in arguments.split(","))
    line = f"def {puzzle.name}({names}):\n    return torch.softmax({names.split(',')[0]}, -1)\n"
    assert "alone; it uses " in (check_line(line, puzzle.name, puzzle.allowed) or "")


@pytest.mark.parametrize("number", ["", "99.1", "7,3", "p.22"])
def test_an_unknown_number_is_an_error_that_lists_them(number: str) -> None:
    with pytest.raises(ArgumentError, match=rf"`number` must be that of an exercise.*received {re.escape(number)}\."):
        find(number)


def test_a_near_number_is_offered() -> None:
    with pytest.raises(ArgumentError, match=r"Did you mean 7\.3\?"):
        find("7.33")
