"""Write grades for a learning management system: the columns that Canvas and Moodle import."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.reports.safe_files import iterate_csv

__all__ = ["CanvasTable", "LearnersTable", "MoodleTable", "as_canvas", "as_moodle"]

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MEMORY_BYTES = 1 << 20


class LearnersTable(ABC):
    """A table with a line per learner, put together while their grades are read: a large one lies on disk meanwhile.

    Parameters
    ----------
    exercises : sequence of str
        Their names, in the order of the columns.
    """

    def __init__(self, exercises: Sequence[str]) -> None:
        self.exercises = exercises
        self.worth = dict[str, float]()
        self._lines = tempfile.SpooledTemporaryFile(MEMORY_BYTES, "w+", encoding="utf-8", newline="")  # noqa: SIM115

    def add(self, learner: str, grades: Sequence[GradeLine]) -> None:
        """Add a learner."""
        for each in grades:
            self.worth[each.exercise] = max(each.max_points, self.worth.get(each.exercise, 0))
        self._lines.writelines(iterate_csv([self.make_line(learner, grades)]))

    def __iter__(self) -> Iterator[str]:
        """Yield all lines; this can be done once."""
        with self._lines as lines:
            yield from iterate_csv(self.make_head())
            lines.seek(0)
            yield from lines

    @abstractmethod
    def make_head(self) -> Sequence[Sequence[str]]:
        """Return the lines above those of learners."""

    @abstractmethod
    def make_line(self, learner: str, grades: Sequence[GradeLine]) -> Sequence[str]:
        """Return a learner's line."""


class CanvasTable(LearnersTable):
    """A Canvas gradebook import: a column per exercise, the points possible in line two."""

    def make_head(self) -> Sequence[Sequence[str]]:
        """Return the names of the columns, and the points possible."""
        points_possible = (_number(self.worth.get(slug, 0)) for slug in self.exercises)
        return [[*CANVAS, *self.exercises], ["Points Possible", "", "", "", "", *points_possible]]

    def make_line(self, learner: str, grades: Sequence[GradeLine]) -> Sequence[str]:
        """Return a learner's points."""
        points = _points_by_exercise(grades)
        return [learner, "", "", learner, "", *(points.get(slug, "") for slug in self.exercises)]


class MoodleTable(LearnersTable):
    """A Moodle grade import: for each exercise its points and what the learner is told."""

    def make_head(self) -> Sequence[Sequence[str]]:
        """Return the names of the columns."""
        return [["username", *(column for slug in self.exercises for column in (slug, f"{slug} feedback"))]]

    def make_line(self, learner: str, grades: Sequence[GradeLine]) -> Sequence[str]:
        """Return a learner's points, and what they are told."""
        points, said = _points_by_exercise(grades), {each.exercise: " | ".join(each.messages) for each in grades}
        return [learner, *(cell for slug in self.exercises for cell in (points.get(slug, ""), said.get(slug, "")))]


def as_canvas(grades: Sequence[GradeLine]) -> str:
    """Return a Canvas gradebook import: a line per learner, a column per exercise, the points possible in line two.

    Canvas finds a learner by any one of its three ids. The names of the folders handed in are given as login ids.

    Examples
    --------
    >>> from course_grader.grading.grade_one.report import SubmissionReport
    >>> from course_grader.grading.gradebook import FinalGrade
    >>> print(as_canvas([FinalGrade(SubmissionReport("ada", "double", "graded", 1.0, 2.0))]))
    Student,ID,SIS User ID,SIS Login ID,Section,double
    Points Possible,,,,,2
    ada,,,ada,,1
    <BLANKLINE>
    """
    return _fill(CanvasTable(_list_exercises(grades)), grades)


def as_moodle(grades: Sequence[GradeLine]) -> str:
    """Return a Moodle grade import: ``username``, then for each exercise its points and what the learner is told.

    Examples
    --------
    >>> from course_grader.grading.grade_one.report import SubmissionReport
    >>> from course_grader.grading.gradebook import FinalGrade
    >>> print(as_moodle([FinalGrade(SubmissionReport("ada", "double", "graded", 1.0, 2.0, ("halve it",)))]))
    username,double,double feedback
    ada,1,halve it
    <BLANKLINE>
    """
    return _fill(MoodleTable(_list_exercises(grades)), grades)


def _fill(table: LearnersTable, grades: Iterable[GradeLine]) -> str:
    for learner, group in groupby(grades, key=attrgetter("learner")):
        table.add(learner, list(group))
    return "".join(table)


def _list_exercises(grades: Iterable[GradeLine]) -> list[str]:
    return sorted({each.exercise for each in grades} - {""})


def _points_by_exercise(grades: Iterable[GradeLine]) -> dict[str, str]:
    """Return a learner's points; grading that failed gives none, so that an import leaves what the learner has."""
    counted = (each for each in grades if each.exercise and (each.status != "error" or each.attempts))
    return {each.exercise: _number(each.points) for each in counted}


def _number(value: float) -> str:
    return f"{value:g}"
