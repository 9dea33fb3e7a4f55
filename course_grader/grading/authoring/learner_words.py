"""Tell a learner's words from the grader's: quote them, and keep back what a hidden call may have put into them.

A hidden test gives a learner's function inputs, and whatever the function says may hold them: a text, even the name of
a class. So of an exception raised inside such a call its learner is told the type, and the line of their own code, if
both can be found in the answers. The text itself stays in the message between two marks, where a hidden test may look
for a word in it, and is cut out before anyone is told.
"""

import builtins
import re
from collections.abc import Mapping
from functools import cached_property

import course_lib.errors
from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.text import one_line

__all__ = ["LearnerWords", "confide", "cut_confided", "show_confided"]

OPEN, CLOSE = "\N{START OF SELECTED AREA}", "\N{END OF SELECTED AREA}"
CONFIDED = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*(?:{CLOSE}|$)")
LINE_CHARS = 80
# What NumPy, torch and this course raise and return, beside what Python has.
LIBRARY_TYPES = {"AxisError", "LinAlgError", "OutOfMemoryError", "UFuncTypeError", "Parameter", "Tensor", "ndarray"}
LIBRARY_TYPES |= {"function", "generator", "method", "module", "NoneType", *course_lib.errors.__all__}


def confide(text: str) -> str:
    """Mark text as for hidden tests alone.

    Examples
    --------
    >>> cut_confided(f"`f` raised ValueError{confide(': 0.25')}; work on a copy")
    '`f` raised ValueError; work on a copy'
    """
    return f"{OPEN}{text.replace(OPEN, '').replace(CLOSE, '')}{CLOSE}"


def cut_confided(message: str) -> str:
    """Cut out all that was confided to hidden tests."""
    return CONFIDED.sub("", message).replace(CLOSE, "")


def show_confided(message: str) -> str:
    """Show what was confided: to a learner who runs the hidden tests by themselves.

    Examples
    --------
    >>> show_confided(f"`f` raised ValueError{confide(': 0.25')}")
    '`f` raised ValueError: 0.25'
    """
    return message.replace(OPEN, "").replace(CLOSE, "")


class LearnerWords:
    r"""The names and lines of a learner's answers: what of a reply can be repeated to them.

    Examples
    --------
    >>> words = LearnerWords({"f": "def f(x):\n    raise Odd(x)"})
    >>> words.has_type("ValueError"), words.has_type("Odd"), words.has_type("x0p19"), words.find_line("  raise Odd(x)")
    (True, True, False, 'raise Odd(x)')
    """

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = answers

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that the answers bind for the whole notebook."""
        return frozenset(name for cell in self._answers.values() for name in CellNames.of(cell).bound)

    @cached_property
    def used(self) -> frozenset[str]:
        """The names that an answer takes from elsewhere, or binds anywhere."""
        read = [CellNames.of(cell) for cell in self._answers.values()]
        return frozenset(name for cell in read for name in cell.free | cell.stored)

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(line.strip() for cell in self._answers.values() for line in cell.splitlines())

    def has_type(self, name: str) -> bool:
        """Tell whether a type's name is Python's, a library's, or stands in an answer."""
        return hasattr(builtins, name) or name in LIBRARY_TYPES or name in self.used

    def find_line(self, line: object) -> str:
        """Return a line of code without its indent, if it is one of the answers', else nothing."""
        found = line.strip() if isinstance(line, str) else ""
        return one_line(found, chars=LINE_CHARS).replace("`", "'") if found and found in self._lines else ""
