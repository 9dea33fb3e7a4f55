"""Which names a cell binds, read off its text: it is a learner's, and never parsed or run for this."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.grading.intake import CodeCell, Submission

__all__ = ["LeftOut", "bound", "defined"]

BINDING = re.compile(r"^(?:async +def|def|class) +(\w+)|^(\w+(?:, *\w+)*) *(?::[^=\n]+)?=(?!=)", re.MULTILINE)
IMPORT = re.compile(r"^(?:from +[\w.]+ +)?import +\(?([\w., ]+)", re.MULTILINE)
ABSENT = re.compile(r"name '(\w+)' is not defined|`(\w+)` is not (?:defined|written yet)")


def bound(source: str) -> set[str]:
    r"""Return the names that a cell binds at its top level.

    Examples
    --------
    >>> sorted(bound("import numpy as np, math\nEPS: float = 1e-6\ndef norm(x):\n    y = x\n"))
    ['EPS', 'math', 'norm', 'np']
    """
    parts = (part for match in IMPORT.finditer(source) for part in match.group(1).split(","))
    imported = {part.split(" as ")[-1].strip().partition(".")[0] for part in parts}
    return (defined(source) | imported) - {""}


def defined(source: str) -> set[str]:
    """Return those of them that it does not import."""
    names = {name for match in BINDING.finditer(source) for group in match.groups("") for name in group.split(",")}
    return {name.strip() for name in names} - {""}


@dataclass(frozen=True)
class LeftOut:
    """The cells of a learner's own, which are not graded, and what they bind."""

    count: int
    names: frozenset[str]

    @classmethod
    def of(cls, submission: Submission) -> "LeftOut":
        """Find them in a submission."""
        cells = [cell for cell in submission.cells if _own(cell)]
        return cls(len(cells), frozenset(name for cell in cells for name in bound(cell.source)))

    def notes(self) -> Iterable[str]:
        """Say that there are some."""
        if self.count:
            cells_are = "1 cell of your own was" if self.count == 1 else f"{self.count} cells of your own were"
            yield f"{cells_are} left out, since answer cells alone are graded: what an answer needs must stand in it"

    def explain(self, message: str) -> str:
        """Add to a message of a missing name that it is in one of these."""
        for groups in ABSENT.findall(message):
            if (name := "".join(groups)) in self.names:
                return f"{message}; `{name}` is in a cell of your own, which is not graded: put it into the answer cell"
        return message


def _own(cell: CodeCell) -> bool:
    return not cell.course and bool(cell.source.strip()) and "set-up" not in cell.names
