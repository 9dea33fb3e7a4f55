"""Write the reports of a class into a folder."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.gradebook.standing import Standing
from course_grader.grading.packages.results import gradescope_results
from course_grader.grading.reports.files import check_folder, file_name, replace
from course_grader.grading.reports.grades import as_csv, as_json
from course_grader.grading.reports.junit import as_junit
from course_grader.grading.reports.lms import as_canvas, as_moodle
from course_grader.grading.reports.page import as_page, template

__all__ = ["KINDS", "prepare", "write"]

# What is written besides grades.csv and grades.json, by the name of the option.
KINDS = {
    "html": "learners/",
    "junit": "junit.xml",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "gradescope": "gradescope/",
}


def write(
    standings: Sequence[Standing],
    folder: Path,
    *,
    kinds: Collection[str] = (),
    titles: Mapping[str, str] | None = None,
    pairs: Sequence[Pair] = (),
) -> list[Path]:
    """Write ``grades.csv``, ``grades.json`` and the other reports asked for; a second run replaces the first one's.

    Parameters
    ----------
    standings : sequence of Standing
        From :func:`course_grader.grading.gradebook.standings`.
    folder : Path
        Where to; it is made if it is not there.
    kinds : collection of str
        Names from ``KINDS``.
    titles : mapping, optional
        The exercises' titles by slug, for the learners' pages.
    pairs : sequence of Pair
        Submissions that are alike.

    Returns
    -------
    list of Path
        What was written: files, and folders with one file for each learner.
    """
    prepare(folder, kinds)
    standings = sorted(standings, key=lambda each: (each.report.learner, each.report.exercise))
    # JSON first: if any of the text cannot be written, nothing has been.
    texts = {"grades.json": as_json(standings, pairs), "grades.csv": as_csv(standings)}
    for kind, render in {"junit": as_junit, "canvas": as_canvas, "moodle": as_moodle}.items():
        if kind in kinds:
            texts[KINDS[kind]] = render(standings)
    if "html" in kinds:
        texts.update(_pages(standings, titles or {}))
    if "gradescope" in kinds:
        texts.update(_results(standings))
    for name, text in texts.items():
        replace(folder / name, text)
    return [folder / "grades.csv", folder / "grades.json", *(folder / KINDS[kind] for kind in KINDS if kind in kinds)]


def prepare(folder: Path, kinds: Collection[str]) -> None:
    """Raise if these reports cannot be written to ``folder``: look before grading, not after.

    Raises
    ------
    InputError
        If something else is there, or it may not be written to.
    MissingExtraError
        If what writes them is not installed.
    """
    check_folder(folder, ["grades.csv", "grades.json", *(KINDS[kind] for kind in kinds if KINDS[kind][-1] != "/")])
    if "html" in kinds:
        template()


def _pages(standings: Sequence[Standing], titles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for learner, theirs in groupby(standings, key=lambda each: each.report.learner):
        yield f"learners/{file_name(learner)}.html", as_page(list(theirs), titles=titles)


def _results(standings: Sequence[Standing]) -> Iterator[tuple[str, str]]:
    for each in standings:
        name = f"gradescope/{file_name(each.report.learner)}/{file_name(each.report.exercise)}.json"
        yield name, json.dumps(gradescope_results(each.report), indent=2) + "\n"
