"""Tell who is asking, and refuse who may not: every route but the public ones asks here."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from course_grader.service.course import Course
from course_grader.service.people import Person
from course_grader.service.tables import CredentialKind, Role

__all__ = ["COOKIE", "FAILURES", "AsAnybody", "AsInstructor", "AsLearner", "Limiter", "TheCourse", "address_of"]

COOKIE = "course_session"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
FAILURES, REQUESTS = RateLimitItemPerMinute(30), RateLimitItemPerMinute(300)
NOT_IN = "expected someone who has come in, found nobody; open the link that your instructor gave you, or ask for one"
NO_TOKEN = "expected a token that holds, found another; make a new one on your page"  # noqa: S105 - a sentence
NOT_YOURS = "expected an instructor, found a learner; ask your instructor"


class Limiter:
    """Counts requests of each address and each person, in this process."""

    def __init__(self) -> None:
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def hit(self, item: RateLimitItemPerMinute, *names: str) -> None:
        """Count one; refuse it if it is one too many."""
        if not self._window.hit(item, *names):
            wrong = f"expected at most {item.amount} requests in a minute, found more"
            raise HTTPException(429, f"{wrong}; wait a minute", headers={"Retry-After": "60"})

    def test(self, item: RateLimitItemPerMinute, *names: str) -> None:
        """Refuse if it was too many already, without counting."""
        if not self._window.test(item, *names):
            wrong = f"expected at most {item.amount} failed requests in a minute, found more"
            raise HTTPException(429, f"{wrong}; wait a minute", headers={"Retry-After": "60"})


def _course(request: Request) -> Course:
    course: Course = request.app.state.course
    return course


TheCourse = Annotated[Course, Depends(_course)]


def _find_person(request: Request, course: TheCourse) -> Person:
    """Find whose token or session this is; a program sends a token, a browser a cookie."""
    limiter: Limiter = request.app.state.limiter
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    kind, said = CredentialKind.TOKEN, NO_TOKEN
    if scheme.lower() != "bearer":
        kind, said, secret = CredentialKind.SESSION, NOT_IN, request.cookies.get(COOKIE, "")
        refuse_other_sites(request)
    person = None
    if secret:
        limiter.test(FAILURES, "failed", address_of(request))
        person = course.people.who(secret.strip(), kind)
    if person is None:
        if secret:
            limiter.hit(FAILURES, "failed", address_of(request))
        raise HTTPException(401, said, headers={"WWW-Authenticate": "Bearer"})
    limiter.hit(REQUESTS, "person", person.name)
    request.state.person = person
    return person


def _find_anybody(request: Request, course: TheCourse) -> Person | None:
    """Find who this is, or that it is nobody who has come in."""
    try:
        return _find_person(request, course)
    except HTTPException as error:
        if error.status_code != 401:
            raise
        return None


def _find_instructor(person: Annotated[Person, Depends(_find_person)]) -> Person:
    if person.role is not Role.INSTRUCTOR:
        raise HTTPException(403, NOT_YOURS)
    return person


# Every route has one of these. What a learner asks for is looked up among what is theirs.
AsAnybody: Any = Annotated[Person | None, Depends(_find_anybody)]
AsLearner: Any = Annotated[Person, Depends(_find_person)]  # an instructor may hand in, too: to try it
AsInstructor: Any = Annotated[Person, Depends(_find_instructor)]


def address_of(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else "?"


def refuse_other_sites(request: Request) -> None:
    """Refuse what another site's page makes a browser send: browsers say where a request comes from.

    As OWASP's sheet on cross-site request forgery has it: ``Sec-Fetch-Site``, or ``Origin`` where that is missing.
    """
    if request.method in SAFE_METHODS:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    same = site in ("same-origin", "none") if site else origin is None or urlsplit(origin).netloc == request.url.netloc
    if not same:
        raise HTTPException(403, "expected a request from this site's own pages, found one from elsewhere; go back")
