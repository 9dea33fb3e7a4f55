"""The interface for programs: hand in, ask how far it is, read marks; described at ``/openapi.json``."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from course_grader.grading.gradebook.attempts import Attempt
from course_grader.service.course import Course
from course_grader.service.tables import State
from course_grader.service.web.access import AsLearner, TheCourse
from course_grader.service.web.uploads import read_limited, take_in

__all__ = ["UNKNOWN", "HandInNumber", "router"]

HandInNumber = Annotated[int, Path(ge=1, lt=2**31)]  # what the database counts with
router = APIRouter(prefix="/api", tags=["hand-ins"])
LONGEST_WAIT = 25.0
UNKNOWN = "expected the number of one of your hand-ins, found another; see your page"


class PartOut(BaseModel):
    """One test or check: its verdict, its points, and what it says."""

    name: str
    kind: str
    status: str
    points: float
    max_points: float
    title: str
    message: str


class HandInOut(BaseModel):
    """A hand-in: ``state`` is waiting, graded or failed; ``place`` is its place in the queue, 0 once it is through."""

    id: int
    exercise: str
    title: str
    state: State
    place: int
    status: str = ""
    points: float | None = None
    max_points: float | None = None
    messages: list[str] = []
    parts: list[PartOut] = []


class StandingOut(BaseModel):
    """How a learner stands in one exercise."""

    exercise: str
    title: str
    points: float
    max_points: float
    attempts: int
    attempts_left: int | None
    due: str | None


class MeOut(BaseModel):
    """Who the token belongs to, and how they stand."""

    name: str
    standings: list[StandingOut]


@router.post("/hand-ins/{exercise}", status_code=202)
async def hand_in(exercise: str, request: Request, person: AsLearner, course: TheCourse) -> HandInOut:
    """Hand in a notebook: its bytes are the request's body. The same bytes again are the same hand-in."""
    raw = await read_limited(request)
    return await take_in(request, lambda: _describe(course, course.hand_in(person.name, exercise, raw), person.name))


@router.get("/hand-ins/{number}")
async def hand_in_state(
    number: HandInNumber,
    request: Request,
    person: AsLearner,
    course: TheCourse,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 0,
) -> HandInOut:
    """Return how far a hand-in is; with ``wait``, not before it is further, or so many seconds are over."""
    found = await run_in_threadpool(_describe, course, number, person.name)
    if not wait or found.state is not State.WAITING:
        return found
    await request.app.state.places.wait(number, seconds=wait)
    return await run_in_threadpool(_describe, course, number, person.name)


@router.get("/me")
def me(person: AsLearner, course: TheCourse) -> MeOut:
    """Return who the token belongs to, and their points in each exercise."""
    standings = [
        StandingOut(
            exercise=each.exercise.slug,
            title=each.exercise.title,
            points=each.grade.points,
            max_points=each.exercise.max_points,
            attempts=len(each.hand_ins),
            attempts_left=each.attempts_left,
            due=each.policy.due.isoformat() if each.policy.due else None,
        )
        for each in course.standings(person.name)
    ]
    return MeOut(name=person.name, standings=standings)


def _describe(course: Course, number: int, learner: str) -> HandInOut:
    found = course.hand_ins.find(number, learner=learner)
    if found is None:
        raise HTTPException(404, UNKNOWN)
    title = course.title(found.exercise)
    known = HandInOut(id=found.id, exercise=found.exercise, title=title, state=found.state, place=found.place)
    if found.state is State.FAILED:
        return known.model_copy(update={"messages": [found.message]})
    attempt, _ = (None, None) if found.state is State.WAITING else course.attempt_and_former(found)
    return known if attempt is None else _with_report(known, attempt)


def _with_report(known: HandInOut, attempt: Attempt) -> HandInOut:
    """Add what the learner may know of a report: everything but ``detail``, which may hold expected values."""
    report = attempt.report
    parts = [PartOut(**{name: getattr(row, name) for name in PartOut.model_fields}) for row in report.rows]
    marks = {"points": report.points, "max_points": report.max_points, "messages": list(report.messages)}
    return known.model_copy(update={"status": report.status, "parts": parts, **marks})
