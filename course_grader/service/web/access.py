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

__all__ = ["COOKIE", "AsInstructor", "AsLearner", "Limiter", "TheCourse", "refuse_other_sites"]

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
    address = request.client.host if request.client else "?"
    limiter.test(FAILURES, "failed", address)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        person, said = course.people.who(token.strip(), CredentialKind.TOKEN), NO_TOKEN
    else:
        person, said = course.people.who(request.cookies.get(COOKIE, ""), CredentialKind.SESSION), NOT_IN
        refuse_other_sites(request)
    if person is None:
        limiter.hit(FAILURES, "failed", address)
        raise HTTPException(401, said, headers={"WWW-Authenticate": "Bearer"})
    limiter.hit(REQUESTS, "person", person.name)
    return person


def _find_instructor(person: Annotated[Person, Depends(_find_person)]) -> Person:
    if person.role is not Role.INSTRUCTOR:
        raise HTTPException(403, NOT_YOURS)
    return person


AsLearner: Any = Annotated[Person, Depends(_find_person)]  # an instructor may hand in, too: to try it
AsInstructor: Any = Annotated[Person, Depends(_find_instructor)]


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
