"""Pages for instructors about people: the roster and its links, and one learner, with extensions and points by hand."""

import math
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote as quote_path

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from course_grader.grading.grade_class.roster import parse_roster
from course_grader.grading.gradebook.attempts import ManualPoints
from course_grader.grading.reports.safe_files import iterate_csv
from course_grader.grading.text import format_time, one_line, quote
from course_grader.service.course import Course
from course_grader.service.people import Person
from course_grader.service.tables import CredentialKind
from course_grader.service.web.access import AsInstructor, TheCourse
from course_grader.service.web.entry import go
from course_grader.service.web.pages import show
from course_grader.service.web.uploads import read_upload

__all__ = ["router"]

router = APIRouter(prefix="/course", include_in_schema=False)
NO_LEARNER = "expected a learner of this course, found nobody of this name; start from the list of people"
NO_EXERCISE = "expected an exercise of this course, found another; choose one of the list"
NOT_TEXT = "expected a CSV file in UTF-8, found something else; export it as CSV (UTF-8)"
Exercise = Annotated[str, Form()]


@router.get("/people")
def people_page(request: Request, _person: AsInstructor, course: TheCourse) -> Response:
    """Show everyone, and who has come in yet."""
    learners, kinds = course.people.list(), course.people.kinds_of_secrets()
    without = sum(not kinds.get(each.name) for each in learners)
    return show(request, "people.html", learners=learners, kinds=kinds, without=without)


@router.post("/people")
async def add_roster(request: Request, person: AsInstructor, course: TheCourse) -> Response:
    """Add the learners of a roster."""
    raw, _ = await read_upload(request, "roster")

    def add() -> Response:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise HTTPException(422, NOT_TEXT) from error
        entries = parse_roster(text, "the roster")
        count = course.people.add(entries)
        course.note(person.name, f"added {count} learners of a roster of {len(entries)}")
        return go("/course/people")

    return await run_in_threadpool(add)


@router.post("/people/links")
def make_links(request: Request, person: AsInstructor, course: TheCourse) -> Response:
    """Make a one-time link for everyone who has none and has not come in: a table, which is seen this once."""
    kinds = course.people.kinds_of_secrets()
    names = {each.name: each.full_name for each in course.people.list() if not kinds.get(each.name)}
    made = course.people.make_links(names)
    course.note(person.name, f"made links for {len(made)} learners")
    url = request.app.state.url
    rows = [(name, names[name], f"{url}/link/{secret}") for name, secret in made.items()]
    headers = {"Content-Disposition": 'attachment; filename="links.csv"'}
    return Response("".join(iterate_csv([("username", "name", "link"), *rows])), media_type="text/csv", headers=headers)


@router.get("/learners/{name}")
def learner_page(name: str, request: Request, _person: AsInstructor, course: TheCourse) -> Response:
    """Show how a learner stands, with all hand-ins."""
    learner = _find_learner(course, name)
    return show(request, "learner.html", learner=learner, standings=course.standings(name))


@router.post("/learners/{name}/link")
def make_link(name: str, request: Request, person: AsInstructor, course: TheCourse) -> Response:
    """Make a new link for a learner, in place of one that was not used, and show it this once."""
    learner = _find_learner(course, name)
    course.people.revoke(name=name, kind=CredentialKind.LINK)
    link = f"{request.app.state.url}/link/{course.people.make_secret(name, CredentialKind.LINK)}"
    course.note(person.name, "made a link", name)
    return show(request, "new_link.html", learner=learner, link=link)


@router.post("/learners/{name}/revoke")
def revoke(name: str, person: AsInstructor, course: TheCourse) -> Response:
    """Revoke a learner's links, sessions and tokens."""
    _find_learner(course, name)
    course.people.revoke(name=name)
    course.note(person.name, "revoked all access", name)
    return _go_to_learner(name)


@router.post("/learners/{name}/extension")
def extend(
    name: str, person: AsInstructor, course: TheCourse, exercise: Exercise, due: Annotated[str, Form()]
) -> Response:
    """Give a learner more time for an exercise."""
    _find_learner(course, name)
    _check_exercise(course, exercise)
    try:
        until = datetime.fromisoformat(due)
    except ValueError as error:
        wrong = f"expected a day and an hour like 2026-10-05T20:00, found {quote(due, chars=40)}"
        raise HTTPException(422, f"{wrong}; correct it") from error
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    course.extend(name, exercise, until)
    course.note(person.name, f"gave more time for {exercise}, until {format_time(until)}", name)
    return _go_to_learner(name)


@router.post("/learners/{name}/points")
def add_points(
    name: str,
    person: AsInstructor,
    course: TheCourse,
    exercise: Exercise,
    points: Annotated[float, Form()],
    why: Annotated[str, Form()] = "",
) -> Response:
    """Give or take points by hand, and say why."""
    _find_learner(course, name)
    _check_exercise(course, exercise)
    if not math.isfinite(points) or not points:
        raise HTTPException(422, "expected points above or below zero, found another number; correct it")
    if not (said := one_line(why)):
        raise HTTPException(422, "expected a comment that tells the learner why, found none; write one")
    course.book.add_points(ManualPoints(name, exercise, points, said, datetime.now(UTC)))
    course.note(person.name, f"gave {points:+g} points for {exercise}: {said}", name)
    return _go_to_learner(name)


@router.post("/learners/{name}/points/undo")
def undo_points(name: str, person: AsInstructor, course: TheCourse, exercise: Exercise) -> Response:
    """Take back the points that were given last."""
    _find_learner(course, name)
    if (points := course.book.undo_points(name, exercise)) is not None:
        course.note(person.name, f"took back {points.points:+g} points for {exercise}: {points.why}", name)
    return _go_to_learner(name)


def _find_learner(course: Course, name: str) -> Person:
    found = course.people.find(name)
    if found is None:
        raise HTTPException(404, NO_LEARNER)
    return found


def _check_exercise(course: Course, slug: str) -> None:
    if slug not in course.hand_ins.exercises():
        raise HTTPException(422, NO_EXERCISE)


def _go_to_learner(name: str) -> Response:
    return go(f"/course/learners/{quote_path(name, safe='')}")
