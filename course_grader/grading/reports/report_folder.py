"""Write the reports of a class into a folder."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path

from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.packages.gradescope_results import gradescope_results
from course_grader.grading.reports.canvas_moodle import as_canvas, as_moodle
from course_grader.grading.reports.csv_json import as_csv, iterate_json
from course_grader.grading.reports.junit import as_junit
from course_grader.grading.reports.learner_page import as_page, is_up_to_date, load_template
from course_grader.grading.reports.safe_files import check_folder, safe_file_name, write_atomically

__all__ = ["REPORT_KINDS", "check_reports", "write_reports"]

# What is written besides grades.csv and grades.json, by the name of the option.
REPORT_KINDS = {
    "html": "learners/",
    "junit": "junit.xml",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "gradescope": "gradescope/",
}


def write_reports(
    grades: Sequence[FinalGrade],
    folder: Path,
    *,
    kinds: Collection[str] = (),
    titles: Mapping[str, str] | None = None,
    pairs: Sequence[Pair] = (),
) -> list[Path]:
    """Write ``grades.csv``, ``grades.json`` and the other reports asked for; a second run replaces the first one's.

    A learner's page whose grades are still the same is left as it is.

    Parameters
    ----------
    grades : sequence of FinalGrade
        From :func:`course_grader.grading.gradebook.compute_final_grades`.
    folder : Path
        The folder to write to; it is made if it is not there.
    kinds : collection of str
        Names from :data:`REPORT_KINDS`.
    titles : mapping, optional
        The exercises' titles by slug, for the learners' pages.
    pairs : sequence of Pair
        Submissions that are alike.

    Returns
    -------
    list of Path
        The paths written: files, and folders with one file for each learner.
    """
    check_reports(folder, kinds)
    grades = sorted(grades, key=lambda each: (each.report.learner, each.report.exercise))
    # JSON first, which has all that the others are made of: if any of it cannot be written, nothing has been.
    write_atomically(folder / "grades.json", iterate_json(grades, pairs))
    texts = {"grades.csv": as_csv(grades)}
    for kind, render in {"junit": as_junit, "canvas": as_canvas, "moodle": as_moodle}.items():
        if kind in kinds:
            texts[REPORT_KINDS[kind]] = render(grades)
    pages = _render_pages(grades, titles or {}, folder) if "html" in kinds else ()
    results = _render_gradescope(grades) if "gradescope" in kinds else ()
    for name, text in chain(texts.items(), pages, results):
        write_atomically(folder / name, text)
    asked = [place for kind, place in REPORT_KINDS.items() if kind in kinds]
    return [folder / name for name in ("grades.csv", "grades.json", *asked)]


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
    check_folder(folder, ["grades.csv", "grades.json", *files])
    if "html" in kinds:
        load_template()


def _render_pages(grades: Sequence[FinalGrade], titles: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages that have changed."""
    for learner, group in groupby(grades, key=lambda each: each.report.learner):
        name, theirs = f"learners/{safe_file_name(learner)}.html", list(group)
        if not is_up_to_date(folder / name, theirs, titles=titles):
            yield name, as_page(theirs, titles=titles)


def _render_gradescope(grades: Sequence[FinalGrade]) -> Iterator[tuple[str, str]]:
    for each in grades:
        results = gradescope_results(each.report, visibility=each.policy.gradescope_visibility)
        name = f"gradescope/{safe_file_name(each.report.learner)}/{safe_file_name(each.report.exercise)}.json"
        yield name, json.dumps(results, indent=2) + "\n"
