"""Write the reports of a class into a folder: those of learners who have changed, and the class's tables."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.gradebook.standings import batched
from course_grader.grading.packages.gradescope_results import gradescope_results
from course_grader.grading.reports.canvas_moodle import CanvasTable, LearnersTable, MoodleTable
from course_grader.grading.reports.csv_json import as_details, iterate_grades_csv, iterate_json
from course_grader.grading.reports.junit import iterate_junit
from course_grader.grading.reports.learner_page import as_page, has_stamp, load_template, make_stamp
from course_grader.grading.reports.safe_files import check_folder, safe_file_name, write_atomically

__all__ = ["REPORT_KINDS", "ClassGrades", "check_reports", "write_reports"]

# What is written besides grades.csv and details/, by the name of the option.
REPORT_KINDS = {
    "html": "learners/",
    "junit": "junit.xml",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "gradescope": "gradescope/",
    "json": "grades.json",
}
TABLES: dict[str, type[LearnersTable]] = {"canvas": CanvasTable, "moodle": MoodleTable}
LEARNERS_AT_ONCE = 50  # whose grades are in memory with all behind them


class ClassGrades(Protocol):
    """The grades of a class, as :class:`course_grader.grading.gradebook.Standings` has them.

    ``exercises`` are the names of all, in order.
    """

    exercises: list[str]

    def __iter__(self) -> Iterator[GradeLine]:
        """Yield a line for each learner and exercise, a learner's one after the other."""

    def final_grades(self, learners: Collection[str]) -> list[FinalGrade]:
        """Return the grades of some learners with all behind them, in the same order."""


def write_reports(
    grades: ClassGrades,
    folder: Path,
    *,
    kinds: Collection[str] = (),
    titles: Mapping[str, str] | None = None,
    pairs: Sequence[Pair] = (),
    look: Callable[[GradeLine], None] | None = None,
) -> list[Path]:
    """Write ``grades.csv``, ``details/`` and the reports asked for; a second run replaces the first one's.

    A learner's files are left as they are if their grades are still the same. What has a line for each grade is read
    off the lines; ``json``, ``junit`` and ``gradescope`` take a look at every test of everyone.

    Parameters
    ----------
    grades : ClassGrades
        From :class:`course_grader.grading.gradebook.Standings`.
    folder : Path
        The folder to write to; it is made if it is not there.
    kinds : collection of str
        Names from :data:`REPORT_KINDS`.
    titles : mapping, optional
        The exercises' titles by slug, for the learners' pages.
    pairs : sequence of Pair
        Submissions that are alike, for ``json``.
    look : callable, optional
        Called once with each line, while they are read anyway.

    Returns
    -------
    list of Path
        The paths written: files, and folders with one file for each learner.
    """
    check_reports(folder, kinds)
    # JSON first, which has all that the others are made of: if any of it cannot be written, nothing has been.
    if "json" in kinds:
        write_atomically(folder / REPORT_KINDS["json"], iterate_json(_iterate_all(grades), pairs))
    files = _LearnersFiles(grades, folder, titles or {}, pages="html" in kinds)
    tables = {kind: make(grades.exercises) for kind, make in TABLES.items() if kind in kinds}
    lines = _pass_on(files.update(), list(tables.values()), look)
    write_atomically(folder / "grades.csv", iterate_grades_csv(lines))
    for kind, table in tables.items():
        write_atomically(folder / REPORT_KINDS[kind], table)
    if "junit" in kinds:
        write_atomically(folder / REPORT_KINDS["junit"], iterate_junit(_iterate_all(grades)))
    if "gradescope" in kinds:
        _write_gradescope(grades, folder / REPORT_KINDS["gradescope"])
    asked = [place for kind, place in REPORT_KINDS.items() if kind in kinds]
    return [folder / name for name in ("grades.csv", "details", *asked)]


def check_reports(folder: Path, kinds: Collection[str]) -> None:
    """Check before grading that these reports can be written to ``folder``.

    Raises
    ------
    InputError
        If something else is there, or it may not be written to.
    MissingExtraError
        If Jinja2, which renders the pages, is not installed.
    """
    files = [REPORT_KINDS[kind] for kind in kinds if not REPORT_KINDS[kind].endswith("/")]
    check_folder(folder, ["grades.csv", *files])
    if "html" in kinds:
        load_template()


@dataclass
class _LearnersFiles:
    """The files that each learner has one of: ``details/``, and the pages."""

    grades: ClassGrades
    folder: Path
    titles: Mapping[str, str]
    pages: bool
    changed: list[str] = field(default_factory=list)

    def update(self) -> Iterator[list[GradeLine]]:
        """Yield the lines of each learner; write the files of those whose lines are new, before the end."""
        for learner, group in groupby(self.grades, key=attrgetter("learner")):
            theirs = list(group)
            stamp, name = make_stamp(theirs, self.titles), safe_file_name(learner)
            if not all(has_stamp(path, stamp) for path in self._paths(name)):
                self.changed.append(learner)
            if len(self.changed) == LEARNERS_AT_ONCE:
                self._write()
            yield theirs
        self._write()

    def _paths(self, name: str) -> list[str]:  # text, since paths take longer to put together than to look at
        paths = [f"{self.folder}/details/{name}.json"]
        return [*paths, f"{self.folder}/{REPORT_KINDS['html']}{name}.html"] if self.pages else paths

    def _write(self) -> None:
        for learner, group in groupby(self.grades.final_grades(self.changed), key=attrgetter("learner")):
            theirs = list(group)
            details, *page = self._paths(safe_file_name(learner))
            write_atomically(Path(details), as_details(theirs, make_stamp(theirs, self.titles)), sync=False)
            for path in page:
                write_atomically(Path(path), as_page(theirs, titles=self.titles), sync=False)
        self.changed.clear()


def _pass_on(
    learners: Iterable[list[GradeLine]], tables: Sequence[LearnersTable], look: Callable[[GradeLine], None] | None
) -> Iterator[GradeLine]:
    """Yield all lines; add them to the tables."""
    for theirs in learners:
        for table in tables:
            table.add(theirs[0].learner, theirs)
        if look is not None:
            for line in theirs:
                look(line)
        yield from theirs


def _iterate_all(grades: ClassGrades) -> Iterator[FinalGrade]:
    """Yield everyone's grades with all behind them."""
    learners = (learner for learner, _ in groupby(grades, key=attrgetter("learner")))
    for some in batched(learners, LEARNERS_AT_ONCE):
        yield from grades.final_grades(some)


def _write_gradescope(grades: ClassGrades, folder: Path) -> None:
    for each in _iterate_all(grades):
        results = gradescope_results(each.report, visibility=each.policy.gradescope_visibility)
        path = folder / safe_file_name(each.learner) / f"{safe_file_name(each.exercise)}.json"
        write_atomically(path, json.dumps(results, indent=2) + "\n")
