"""Pages for everybody: come in by a one-time link, go to one's own page, and leave."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from course_grader.service.people import LIFETIMES
from course_grader.service.tables import CredentialKind, Role
from course_grader.service.web.access import COOKIE, FAILURES, AsAnybody, Limiter, TheCourse, address_of
from course_grader.service.web.pages import show

__all__ = ["go", "router"]

router = APIRouter(include_in_schema=False)
USED = "expected a link that has not been used, found another; it is good once: ask your instructor for a new one"


@router.get("/")
def start(request: Request, person: AsAnybody) -> Response:
    """Show what this is, or lead to one's own page."""
    if person is None:
        return show(request, "welcome.html")
    return go("/course" if person.role is Role.INSTRUCTOR else "/my")


@router.get("/link/{secret}")
def look_at_link(secret: str, request: Request, _person: AsAnybody, course: TheCourse) -> Response:
    """Show whom a link lets in; mail programs look at links as well, so that looking does not use it up."""
    owner = course.people.who(secret, CredentialKind.LINK)
    if owner is None:
        raise _refuse_link(request)
    return show(request, "link.html", owner=owner)


@router.post("/link/{secret}")
def use_link(secret: str, request: Request, _person: AsAnybody, course: TheCourse) -> Response:
    """Use up a link: the browser is let in from now on."""
    session = course.people.redeem_link(secret)
    if session is None:
        raise _refuse_link(request)
    response = go("/")
    response.set_cookie(
        COOKIE,
        session,
        max_age=int(LIFETIMES[CredentialKind.SESSION].total_seconds()),
        httponly=True,
        secure=request.app.state.url.startswith("https:"),
        samesite="lax",  # with "strict", a link in an e-mail would find nobody
    )
    return response


@router.post("/leave")
def leave(request: Request, _person: AsAnybody, course: TheCourse) -> Response:
    """End this browser's session."""
    if secret := request.cookies.get(COOKIE):
        course.people.revoke(kind=CredentialKind.SESSION, secret=secret)
    response = go("/")
    response.delete_cookie(COOKIE)
    return response


def go(path: str) -> RedirectResponse:
    """Lead the browser on, after a form."""
    return RedirectResponse(path, 303)


def _refuse_link(request: Request) -> HTTPException:
    limiter: Limiter = request.app.state.limiter
    limiter.hit(FAILURES, "failed", address_of(request))
    return HTTPException(404, USED)
