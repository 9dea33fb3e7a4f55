"""Pages for learners: how they stand, hand in, a hand-in's marks, tokens, and all that is kept about them."""

import time
from collections.abc import Iterator
from typing import IO

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import Response, StreamingResponse

from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.reports.safe_files import safe_file_name
from course_grader.service.course import Course
from course_grader.service.hand_ins import HandIn
from course_grader.service.people import Person
from course_grader.service.tables import CredentialKind, Role, State
from course_grader.service.web.access import COOKIE, AsLearner, TheCourse
from course_grader.service.web.api import UNKNOWN, HandInNumber
from course_grader.service.web.entry import go
from course_grader.service.web.pages import show
from course_grader.service.web.progress import stream_progress
from course_grader.service.web.queue_places import QueuePlaces
from course_grader.service.web.report_view import view_report
from course_grader.service.web.uploads import read_upload, take_in

__all__ = ["router", "send_notebook"]

router = APIRouter(prefix="/my", include_in_schema=False)
PIECE_BYTES = 64 << 10
NOT_CONFIRMED = "expected the box to be ticked, found it empty; go back, and tick it if all of it is to be deleted"
INSTRUCTOR = "expected a learner, found an instructor, whom the course needs; log out instead"


@router.get("")
def my_page(request: Request, person: AsLearner, course: TheCourse) -> Response:
    """Show how a learner stands, and what they can do."""
    tokens = course.people.count_secrets(person.name, CredentialKind.TOKEN)
    standings = course.standings(person.name)
    return show(request, "my.html", standings=standings, tokens=tokens, most_mib=MAX_BYTES >> 20)


@router.post("/hand-ins")
async def upload(request: Request, person: AsLearner, course: TheCourse) -> Response:
    """Take in a notebook that a form sends."""
    raw, fields = await read_upload(request, "notebook")
    number = await take_in(request, lambda: course.hand_in(person.name, fields.get("exercise", ""), raw))
    return go(f"/my/hand-ins/{number}")


@router.get("/hand-ins/{number}")
def my_hand_in(number: HandInNumber, request: Request, person: AsLearner, course: TheCourse) -> Response:
    """Show how far a hand-in is, or what it earned."""
    found = _find(course, number, person)
    attempt, former = (None, None) if found.state is State.WAITING else course.attempt_and_former(found)
    return show(
        request,
        "hand_in.html",
        hand_in=found,
        title=course.title(found.exercise),
        said=_say_place(found.place),
        view=attempt and view_report(attempt, former),
    )


@router.get("/hand-ins/{number}/progress")
def progress(number: HandInNumber, request: Request, person: AsLearner, course: TheCourse) -> Response:
    """Tell how far a hand-in is, whenever that changes."""
    _find(course, number, person)
    places: QueuePlaces = request.app.state.places
    since = time.monotonic()

    async def say() -> str:
        return _say_place(await places.place(number, since=since))

    return stream_progress(say)


@router.get("/hand-ins/{number}/notebook")
def my_notebook(number: HandInNumber, person: AsLearner, course: TheCourse) -> Response:
    """Send a notebook back as it was handed in."""
    return send_notebook(course, _find(course, number, person))


@router.post("/tokens")
def make_token(request: Request, person: AsLearner, course: TheCourse) -> Response:
    """Make a token, and show it this once."""
    token = f"{request.app.state.url}#{course.people.make_secret(person.name, CredentialKind.TOKEN)}"
    course.note(person.name, "made a token")
    return show(request, "token.html", token=token)


@router.post("/tokens/revoke")
def revoke_tokens(person: AsLearner, course: TheCourse) -> Response:
    """Revoke all of a learner's tokens."""
    count = course.people.revoke(name=person.name, kind=CredentialKind.TOKEN)
    course.note(person.name, f"revoked {count} tokens")
    return go("/my#tokens")


@router.get("/data")
def my_data(person: AsLearner, course: TheCourse) -> Response:
    """Send all that is kept about a learner, as a zip archive."""
    file = course.pack_kept_data(person.name)
    name = f'attachment; filename="{safe_file_name(person.name)}.zip"'
    return StreamingResponse(_read_in_pieces(file), media_type="application/zip", headers={"Content-Disposition": name})


@router.get("/delete")
def ask_to_delete(request: Request, person: AsLearner) -> Response:
    """Ask whether all of it is to be deleted."""
    return show(request, "delete.html")


@router.post("/delete")
def delete(request: Request, person: AsLearner, course: TheCourse, sure: str = Form("")) -> Response:
    """Delete a learner, and all that is kept about them but the audit log."""
    if person.role is Role.INSTRUCTOR:
        raise HTTPException(409, INSTRUCTOR)
    if sure != "yes":
        raise HTTPException(422, NOT_CONFIRMED)
    course.forget(person.name)
    course.note(person.name, "deleted all that was kept about them")
    request.state.person = None
    response = show(request, "deleted.html")
    response.delete_cookie(COOKIE)
    return response


def send_notebook(course: Course, found: HandIn) -> Response:
    """Return a notebook as a file to keep, which no browser opens as a page."""
    raw = course.hand_ins.notebook(found.notebook_hash)
    if raw is None:
        raise HTTPException(404, "expected a notebook that is kept, found one that is not; hand it in once more")
    name = f"{safe_file_name(found.exercise)}-{found.id}.ipynb"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(raw, media_type="application/octet-stream", headers=headers)


def _read_in_pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _find(course: Course, number: int, person: Person) -> HandIn:
    found = course.hand_ins.find(number, learner=person.name)
    if found is None:
        raise HTTPException(404, UNKNOWN)
    return found


def _say_place(place: int) -> str:
    if not place:
        return ""
    return "Handed in. Grading it now." if place == 1 else f"Handed in. {place - 1} before yours."
