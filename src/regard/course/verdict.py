"""What is answered to an answer: right, or the smallest case that fails, what was expected and what came."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.course.exercise import Case, Exercise, copied
from regard.course.values import SAME_FORM, difference, write


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """Whether an answer is right, and what there is to read about it."""

    number: str
    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.message


def judge(exercise: Exercise, answer: Callable[..., Any], *, explain: Callable[[Exception], str]) -> Verdict:
    """Try an answer on every case, the smallest first; `explain` puts an exception of it into words."""
    cases = exercise.ordered_cases()
    for index, case in enumerate(cases):
        expected = exercise.reference(**copied(case))
        try:
            received = answer(**copied(case))
        except Exception as error:
            return _refuse(exercise, index, expected, f"raised {explain(error)}")
        wrong = _differs(exercise, expected, received, case)
        if wrong is not None:
            notes = [] if wrong == SAME_FORM else [wrong]
            return _refuse(exercise, index, expected, write(received), *notes, *_reasons(exercise, answer))
    return Verdict(number=exercise.number, right=True, message=f"{exercise.number} is right: {len(cases)} cases.")


def _differs(exercise: Exercise, expected: Any, received: Any, case: Case) -> str | None:
    if exercise.accept is None:
        return difference(expected, received, tolerance=exercise.tolerance)
    try:
        return exercise.accept(received, copied(case))
    except (TypeError, AttributeError, ValueError, RuntimeError, IndexError):
        return difference(expected, received, tolerance=exercise.tolerance) or "The result cannot be read."


def _reasons(exercise: Exercise, answer: Callable[..., Any]) -> list[str]:
    """Give the reason of the first common mistake whose results are those of the answer on every case."""
    cases = exercise.ordered_cases()
    return [
        mistake.reason
        for mistake in exercise.mistakes
        if all(_same(exercise, mistake.answer, answer, one) for one in cases)
    ][:1]


def _same(exercise: Exercise, one: Callable[..., Any], other: Callable[..., Any], case: Case) -> bool:
    """Return whether two answers do the same with a case; raising is the same as raising."""
    results = []
    for answer in (one, other):
        try:
            results.append([answer(**copied(case))])
        except Exception:
            results.append([])
    return difference(*results, tolerance=exercise.tolerance) is None


def _refuse(exercise: Exercise, index: int, expected: Any, received: str, *notes: str) -> Verdict:
    """Write down the case that failed, what was expected and what came."""
    cases = exercise.ordered_cases()
    wanted = "one right answer" if exercise.accept is not None else "expected"
    lines = [
        f"{exercise.number} is not right yet. Case {index + 1} of {len(cases)}:",
        *(f"  {name} = {write(value)}" for name, value in cases[index].items()),
        f"{wanted}: {write(expected)}",
        f"received: {received}",
        *notes,
        f"For a hint: regard course hint {exercise.number}",
    ]
    return Verdict(number=exercise.number, right=False, message="\n".join(lines))
