"""Judge a cell by what it printed or raised: lines compared with the reference's, and words for the learner."""

import math
import re
from dataclasses import dataclass

from course_grader.grading.exercises.ungraded_cells import UNDEFINED, UNWRITTEN, missing_names
from course_grader.grading.text import one_line, quote

__all__ = ["NOT_PRINTED", "TOLERANCE", "Failure", "describe_exception", "prints_as_expected"]

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")  # in parentheses, so that a split keeps it
TOLERANCE = 1e-9  # for an exercise that sets none: what rounding in another order changes
PLACE = re.compile(r"\s*\([^()]*, line (\d+)\)$")
NOT_PRINTED = "the check ran, but did not print what it prints for a right answer"


@dataclass(frozen=True)
class Failure:
    """Why a cell failed, for the learner; the names that it lacked; and whether it met a stub."""

    message: str
    missing: tuple[str, ...] = ()
    unwritten: bool = False


def describe_exception(kind: str, text: str, *, check: str = "") -> Failure:
    r"""Put what a cell raised into words for its learner; the cell's own words are quoted.

    Parameters
    ----------
    kind, text : str
        The type of the exception and what it says.
    check : str
        The code of the cell if it is a check: what it asserts in these words is the course's to say.

    Examples
    --------
    >>> describe_exception("SyntaxError", "expected ':' (<ipython-input-3>, line 1)").message
    'SyntaxError: "expected \':\'" (line 1)'
    >>> describe_exception("AssertionError", "twice one is two", check="assert two == 2, 'twice one is two'").message
    'twice one is two'
    >>> describe_exception("NotImplementedError", "`slope` is not written yet").unwritten
    True
    """
    kind, text = one_line(kind), one_line(ANSI.sub("", text))
    missing = missing_names(text)
    if kind == "NotImplementedError" and (not text or UNWRITTEN.fullmatch(text)):
        return Failure(text or "not written yet", missing, unwritten=True)
    if kind == "AssertionError" and text and check:
        return Failure(text if text in check else f"the check says {quote(text)}", missing)
    line = PLACE.search(text)  # IPython's name for the cell means nothing to anyone
    said = f": {text if UNDEFINED.fullmatch(text) else quote(PLACE.sub('', text))}" if text else ""
    kind = kind if kind.isidentifier() else "an exception"
    message = f"{kind}{said}{f' (line {line[1]})' if line else ''}"
    return Failure(message, missing, unwritten=kind == "NotImplementedError")


def prints_as_expected(printed: str, expected: str, tolerance: float) -> bool:
    r"""Tell whether a check printed the reference's lines, in order, whatever else it printed.

    Examples
    --------
    >>> prints_as_expected("debug\nloss: 0.3333\n", "loss: 0.3334\n", tolerance=1e-3)
    True
    """
    lines = iter(printed.splitlines())
    return all(any(_lines_agree(line, wanted, tolerance) for line in lines) for wanted in expected.splitlines())


def _lines_agree(line: str, wanted: str, tolerance: float) -> bool:
    """Compare two lines: words and whole numbers exactly, other numbers within a relative or absolute tolerance."""
    if line == wanted:
        return True
    pieces, wanted_pieces = NUMBER.split(line), NUMBER.split(wanted)  # alternating: text, number, text, ...
    return len(pieces) == len(wanted_pieces) and all(
        piece == other
        or (i % 2 == 1 and not (_is_whole(piece) and _is_whole(other)) and _is_close(piece, other, tolerance))
        for i, (piece, other) in enumerate(zip(pieces, wanted_pieces, strict=True))
    )


def _is_whole(number: str) -> bool:
    return number.lstrip("+-").isdecimal()


def _is_close(number: str, wanted: str, tolerance: float) -> bool:
    return math.isclose(float(number), float(wanted), rel_tol=tolerance, abs_tol=tolerance)
