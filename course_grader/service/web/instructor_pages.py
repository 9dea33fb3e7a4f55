"""Pages for instructors: how the class stands, one hand-in, grades for other systems, and the audit log."""

from collections.abc import Callable

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.reports.canvas_moodle import as_canvas, as_moodle
from course_grader.grading.reports.csv_json import as_csv, as_json
from course_grader.service.class_overview import overview_of
from course_grader.service.course import Course
from course_grader.service.hand_ins import Counts, HandIn
from course_grader.service.tables import ExerciseRow
from course_grader.service.web.access import AsInstructor, TheCourse
from course_grader.service.web.api import HandInNumber
from course_grader.service.web.entry import go
from course_grader.service.web.learner_pages import send_notebook
from course_grader.service.web.notebook_text import read_cells
from course_grader.service.web.pages import show
from course_grader.service.web.progress import stream_progress
from course_grader.service.web.report_view import view_report

__all__ = ["router"]

router = APIRouter(prefix="/course", include_in_schema=False)
FORMS: dict[str, tuple[str, Callable[[list[FinalGrade]], str]]] = {
    "canvas": ("canvas.csv", as_canvas),
    "moodle": ("moodle.csv", as_moodle),
    "csv": ("grades.csv", as_csv),
    "json": ("grades.json", as_json),
}
NO_EXERCISE = "expected an exercise of this course, found another; start from the course's page"
NO_HAND_IN = "expected the number of a hand-in, found another; start from a learner's page"
NO_FORM = f"expected grades as one of {', '.join(FORMS)}, found another; start from the course's page"


@router.get("")
def course_page(request: Request, _person: AsInstructor, course: TheCourse) -> Response:
    """Show the exercises, and how many have handed in."""
    counts = course.hand_ins.counts()
    rows = [(row, counts.get(slug, Counts())) for slug, row in course.hand_ins.exercises().items()]
    return show(request, "course.html", rows=rows, learners=len(course.people.list()), forms=list(FORMS))


@router.get("/exercises/{slug}")
def exercise_page(slug: str, request: Request, _person: AsInstructor, course: TheCourse) -> Response:
    """Show how the class stands in an exercise."""
    exercise = _find_exercise(course, slug)
    said = _say_waiting(course, slug)  # first: what ends from here on is on the page, or the page follows it
    grades = course.grades(slug)
    return show(
        request,
        "exercise.html",
        exercise=exercise,
        grades=grades,
        overview=overview_of(grades, exercise.max_points),
        comparison=course.comparisons.find(slug),
        said=said,
    )


@router.get("/exercises/{slug}/progress")
def exercise_progress(slug: str, _person: AsInstructor, course: TheCourse) -> Response:
    """Tell how many hand-ins wait, and whether notebooks are being compared, whenever that changes."""
    _find_exercise(course, slug)
    return stream_progress(lambda: run_in_threadpool(_say_waiting, course, slug))


@router.post("/exercises/{slug}/regrade")
def regrade(slug: str, person: AsInstructor, course: TheCourse) -> Response:
    """Have all hand-ins of an exercise graded again."""
    _find_exercise(course, slug)
    count = course.hand_ins.regrade(slug)
    course.note(person.name, f"had {count} hand-ins graded again", slug)
    return go(f"/course/exercises/{slug}")


@router.post("/exercises/{slug}/compare")
def compare(slug: str, person: AsInstructor, course: TheCourse) -> Response:
    """Have the notebooks of an exercise compared with each other."""
    _find_exercise(course, slug)
    course.comparisons.ask(slug)
    course.note(person.name, "had notebooks compared", slug)
    return go(f"/course/exercises/{slug}#similar")


@router.get("/hand-ins/{number}")
def hand_in_page(number: HandInNumber, request: Request, person: AsInstructor, course: TheCourse) -> Response:
    """Show a hand-in, what its tests said to the instructor alone, and its notebook as text."""
    found = _find_hand_in(course, number)
    attempt, former = course.attempt_and_former(found)
    raw = course.hand_ins.notebook(found.notebook_hash)
    cells = None if raw is None else read_cells(raw)
    course.note(person.name, f"looked at hand-in {number}", found.learner)
    return show(
        request,
        "attempt.html",
        hand_in=found,
        title=course.title(found.exercise),
        view=attempt and view_report(attempt, former),
        cells=cells,
    )


@router.get("/hand-ins/{number}/notebook")
def notebook(number: HandInNumber, person: AsInstructor, course: TheCourse) -> Response:
    """Send a learner's notebook as it was handed in."""
    found = _find_hand_in(course, number)
    course.note(person.name, f"downloaded the notebook of hand-in {number}", found.learner)
    return send_notebook(course, found)


@router.get("/grades/{kind}")
def grades(kind: str, person: AsInstructor, course: TheCourse) -> Response:
    """Send all final grades, as a file for another system."""
    if kind not in FORMS:
        raise HTTPException(404, NO_FORM)
    name, write = FORMS[kind]
    text = write(course.grades())
    course.note(person.name, f"downloaded all grades as {name}")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "backslashreplace"), media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/audit")
def audit(request: Request, _person: AsInstructor, course: TheCourse) -> Response:
    """Show who did what."""
    return show(request, "audit.html", entries=course.audit())


def _find_exercise(course: Course, slug: str) -> ExerciseRow:
    row = course.hand_ins.exercises().get(slug)
    if row is None:
        raise HTTPException(404, NO_EXERCISE)
    return row


def _find_hand_in(course: Course, number: int) -> HandIn:
    found = course.hand_ins.find(number)
    if found is None:
        raise HTTPException(404, NO_HAND_IN)
    return found


def _say_waiting(course: Course, slug: str) -> str:
    counts, comparison = course.hand_ins.counts().get(slug, Counts()), course.comparisons.find(slug)
    said = f"{counts.waiting} of {counts.hand_ins} hand-ins wait to be graded. " if counts.waiting else ""
    return (said + ("Notebooks are being compared." if comparison and comparison.is_waiting else "")).strip()
