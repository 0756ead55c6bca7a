"""The course's exercises: shown, checked, and answered.

`check("7.3", function)` in a notebook, `regard course check 7.3 answer.py` at the command line. `Page` and `choices`
make the pages that chapters show beside their text.
"""

from regard.course.catalogue import CHAPTERS, EXERCISES, find
from regard.course.checking import check, check_file
from regard.course.exercise import Exercise
from regard.course.pages import Page, choices
from regard.course.verdict import Verdict

__all__ = ["CHAPTERS", "EXERCISES", "Exercise", "Page", "Verdict", "check", "check_file", "choices", "find"]
