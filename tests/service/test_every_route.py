"""Every route of the service, tried by everyone: what is not theirs is refused, and others' ids are not there."""

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlalchemy.orm import Session

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.service.course import Course
from course_grader.service.database import open_service_database
from course_grader.service.tables import CredentialKind, CredentialRow, ExerciseRow, Role, State
from course_grader.service.web import progress
from course_grader.service.web.access import COOKIE
from course_grader.service.web.app import make_app

URL = "http://testserver"
SCRIPT = "expected 2, found <script>alert(1)</script>"
PUBLIC = {"/", "/link/{secret}", "/leave", "/health"}
FORMS = {  # what a form must have, to get further than its check
    "/api/hand-ins/{exercise}": {"content": b"another"},
    "/course/people": {"files": {"roster": ("roster.csv", b"username,name\ncem,Cem\nada,Ada")}},
    "/course/learners/{name}/extension": {"data": {"exercise": "double", "due": "2030-01-01T20:00"}},
    "/course/learners/{name}/points": {"data": {"exercise": "double", "points": "0.5", "why": "a good idea"}},
    "/course/learners/{name}/points/undo": {"data": {"exercise": "double"}},
    "/my/hand-ins": {"files": {"notebook": ("a.ipynb", b"one more")}, "data": {"exercise": "double"}},
}


def walk(routes):
    """Yield all routes, those of included routers as well."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield from ((route.path, method) for method in route.methods)
        elif router := getattr(route, "original_router", None):
            yield from walk(router.routes)


ROUTES = sorted(walk(make_app(None, url=URL).routes))
CLOSED = [each for each in ROUTES if each[0] not in PUBLIC]
FOR_INSTRUCTORS = [each for each in CLOSED if each[0].startswith(("/course", "/metrics"))]
FOR_LEARNERS = [each for each in CLOSED if each not in FOR_INSTRUCTORS]
POSTS = [each for each in ROUTES if each[1] != "GET"]


@pytest.fixture(scope="module")
def course(new_database):
    """A course with an exercise, two learners of whom one has handed in, and an instructor."""
    yield from make_course(new_database())


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch):
    """For marks: no worker is there."""
    monkeypatch.setattr(progress, "LONGEST_SECONDS", 0.1)


@pytest.fixture
def own_course(new_database):
    """The same for a test alone."""
    yield from make_course(new_database())


def make_course(address):
    """Yield a course, and close it."""
    course = Course(address)
    course.people.add([RosterEntry("ada"), RosterEntry("bob")])
    course.people.add([RosterEntry("ines")], role=Role.INSTRUCTOR)
    course.hand_ins.publish([ExerciseRow(slug="double", title="Twice as much", max_points=2, key_hash="k")])
    hand_in(course, b"{}", SCRIPT)
    yield course
    course.close()


def hand_in(course, raw, message, *, learner="ada"):
    """Hand in, and record marks as a worker would."""
    now = datetime.now(UTC)
    number = course.hand_ins.accept(learner, "double", raw, at=now, policy=Policy())
    rows = (Row("test_double", "test", "failed", 0, 2, "Doubles.", message, detail="the key's own 4"),)
    report = SubmissionReport(learner, "double", "graded", 0, 2, (message,), rows)
    course.book.record(Attempt(report, course.hand_ins.find(number).notebook_hash, "k", now, now, now))
    course.hand_ins.finish(number, State.GRADED)
    return number


@pytest.fixture
def client(course):
    """A browser without a window, which asks for pages; its service has counted no requests yet."""
    return make_client(course)


def make_client(course):
    """Return a browser for a course."""
    made = TestClient(make_app(course, url=URL), follow_redirects=False)
    made.headers["accept"] = "text/html"
    return made


@pytest.fixture
def ask(course, client):
    """Return a function that asks for a route with someone's new session, about what is ada's."""
    return make_ask(course, client)


def make_ask(course, client):
    """Return the function for a course."""

    def ask(route, who, **headers):
        path, method = route
        secret = course.people.make_secret(who, CredentialKind.SESSION) if who in ("ada", "bob", "ines") else who
        client.cookies = {COOKIE: secret} if secret else {}
        number = course.hand_ins.of("ada")[-1].id  # which is graded
        values = {"number": number, "name": "ada", "exercise": "double", "slug": "double", "kind": "canvas"}
        values["secret"] = course.people.make_secret("ada", CredentialKind.LINK)
        address = re.sub(r"{(\w+)}", lambda found: str(values[found[1]]), path)
        return client.request(method, address, headers=headers, **FORMS.get(path, {}))

    return ask


def name(route):
    """Name a test for its route."""
    return f"{route[1]} {route[0]}"


@pytest.mark.parametrize("route", CLOSED, ids=name)
def test_nobody_comes_in(route, ask, course):
    """Without a session, with one that is made up, has expired, or was revoked; a page says what to do."""
    expired, revoked = (course.people.make_secret("ines", CredentialKind.SESSION) for _ in range(2))
    course.people.revoke(secret=revoked)
    engine = open_service_database(course.address)
    with Session(engine) as session, session.begin():
        session.execute(update(CredentialRow).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    engine.dispose()
    for secret in ("", "made up", expired, revoked):
        answer = ask(route, secret)
        assert answer.status_code == 401
        assert "open the link" in answer.text
        assert "<html" in answer.text


@pytest.mark.parametrize("route", FOR_LEARNERS, ids=name)
def test_a_learner_gets_what_is_theirs(route, ask):
    """The form that deletes everything wants its box ticked."""
    assert ask(route, "ada").status_code in ((422,) if route == ("/my/delete", "POST") else (200, 202, 303))


@pytest.mark.parametrize("route", FOR_INSTRUCTORS, ids=name)
def test_an_instructor_gets_every_page_of_the_course(route, own_course):
    """What they change, and whose notebooks they look at, is in the audit log."""
    path, method = route
    if path.endswith("undo"):
        own_course.book.add_points(ManualPoints("ada", "double", 1, "a slip", datetime.now(UTC)))
    ask = make_ask(own_course, make_client(own_course))
    assert ask(route, "ines").status_code in (200, 303)
    noted = [entry.who for entry in own_course.audit()]
    assert noted == (["ines"] if method == "POST" or "{number}" in path or "{kind}" in path else [])


@pytest.mark.parametrize(
    "path", ["/course/learners/{}", "/course/exercises/{}", "/course/grades/{}", "/course/hand-ins/9"]
)
def test_what_is_not_there_is_a_page(path, ask):
    """Whatever the address has in it."""
    for strange in ("nobody", "a%00b", "%2e%2e", "<b>"):
        answer = ask((path.format(strange), "GET"), "ines")
        assert answer.status_code == 404
        assert "<b>" not in answer.text


def test_links_are_made_once_and_let_in(own_course):
    """For those who have no way in yet; a full name that is a formula is none in a spreadsheet."""
    ask = make_ask(own_course, client := make_client(own_course))
    roster = ("roster.csv", "username;name\ncem;=1+1\n".encode("utf-8-sig"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMS, "/course/people", {"files": {"roster": roster}})
        ask(("/course/people", "POST"), "ines")
    own_course.people.make_secret("bob", CredentialKind.TOKEN)
    own_course.people.revoke(name="ada")
    table = list(csv.DictReader(io.StringIO(own(ask, "/course/people/links").text)))
    links = {line["username"]: line["link"] for line in table}
    assert [line["name"] for line in table if line["username"] == "cem"] == ["'=1+1"]
    assert "bob" not in links
    assert client.post(links["cem"]).status_code == 303
    assert own(ask, "/course/people/links").text.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("points", {"exercise": "double", "points": "nan", "why": "x"}, "above or below zero"),
        ("points", {"exercise": "double", "points": "1", "why": " "}, "comment"),
        ("points", {"exercise": "none", "points": "1", "why": "x"}, "exercise"),
        ("points", {"exercise": "double", "points": "many", "why": "x"}, "points"),
        ("extension", {"exercise": "double", "due": "tomorrow"}, "2026-10-05T20:00"),
        ("extension", {"exercise": "double"}, "due"),
    ],
)
def test_a_form_that_cannot_be_used_says_why(ask, course, path, data, said, monkeypatch):
    """And changes nothing."""
    route = f"/course/learners/{{name}}/{path}"
    monkeypatch.setitem(FORMS, route, {"data": data})
    before = course.audit()
    answer = ask((route, "POST"), "ines")
    assert answer.status_code == 422
    assert said in answer.text
    assert course.audit() == before


def test_what_an_instructor_grants_counts(own_course):
    """More time and points by hand are in the learner's standing and in the file for Canvas."""
    ask = make_ask(own_course, make_client(own_course))
    own(ask, "/course/learners/{name}/points"), own(ask, "/course/learners/{name}/extension")
    [standing] = own_course.standings("ada")
    assert standing.grade.points == 0.5
    assert standing.policy.due.year == 2030
    assert "a good idea" in ask(("/my", "GET"), "ada").text
    assert "ada,,,ada,,0.5" in ask(("/course/grades/{kind}", "GET"), "ines").text


@pytest.mark.parametrize("raw", [b"", b"[" * 100_000, b"[]", b'{"cells": 3}', b"\xff"])
def test_a_notebook_that_is_none_is_no_page_of_errors(own_course, raw):
    """It can be downloaded."""
    number = hand_in(own_course, raw, "no notebook")
    answer = make_ask(own_course, make_client(own_course))((f"/course/hand-ins/{number}", "GET"), "ines")
    assert answer.status_code == 200
    assert "cannot be read" in answer.text


def test_a_notebook_is_shown_as_text(own_course):
    """Whatever is in its cells; their outputs are left out."""
    cells = [
        {"cell_type": "markdown", "source": [SCRIPT]},
        {"cell_type": "code", "source": "x = 1", "outputs": [SCRIPT]},
    ]
    number = hand_in(own_course, json.dumps({"cells": cells}).encode(), "no")
    text = make_ask(own_course, make_client(own_course))((f"/course/hand-ins/{number}", "GET"), "ines").text
    assert "x = 1" in text
    assert text.count("alert(1)") == 1
    assert "<script" not in text
    assert "the key&#39;s own 4" in text


def own(ask, path):
    """Send a form as the instructor."""
    return ask((path, "POST"), "ines")


@pytest.mark.parametrize("route", [each for each in FOR_LEARNERS if "{number}" in each[0]], ids=name)
@pytest.mark.parametrize("who", ["bob", "ines"])
def test_what_is_someone_elses_is_not_there(route, who, ask):
    """The same answer as for a number that nobody has; an instructor has pages of their own for it."""
    answer, none = ask(route, who), ask((route[0].replace("{number}", "99999"), route[1]), who)
    assert (answer.status_code, answer.text) == (404, none.text)


@pytest.mark.parametrize("route", FOR_INSTRUCTORS, ids=name)
def test_a_learner_is_no_instructor(route, ask, course):
    """Refused, and nothing is written."""
    before = course.audit()
    assert ask(route, "ada").status_code == 403
    assert course.audit() == before


@pytest.mark.parametrize("route", POSTS, ids=name)
def test_another_sites_page_cannot_press_buttons(route, ask):
    """Whichever of the two headers a browser sends."""
    who = "ines" if route in FOR_INSTRUCTORS else "ada"
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
    ):
        assert ask(route, who, **headers).status_code == 403


@pytest.mark.parametrize("route", ROUTES, ids=name)
def test_every_answer_is_strict(route, ask):
    """Also an error's: nothing inline runs, and nothing is kept in a cache."""
    for who in ("", "ada", "ines"):
        headers = ask(route, who).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


def test_a_link_is_good_once_and_looking_does_not_use_it_up(client, course):
    """The browser is let in by a cookie that scripts cannot read."""
    secret = course.people.make_secret("ada", CredentialKind.LINK)
    for _ in range(2):
        assert "Come in as ada" in client.get(f"/link/{secret}").text
    answer = client.post(f"/link/{secret}")
    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 303
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert client.get(f"/link/{secret}").status_code == client.post(f"/link/{secret}").status_code == 404
    assert client.get("/my").status_code == 200
    client.post("/leave")
    client.cookies.set(COOKIE, answer.cookies[COOKIE])
    assert client.get("/my").status_code == 401


def test_the_cookie_of_an_encrypted_service_stays_encrypted(course):
    """As where a proxy has the certificate."""
    client = TestClient(make_app(course, url="https://course.example"), follow_redirects=False)
    answer = client.post(f"/link/{course.people.make_secret('ada', CredentialKind.LINK)}")
    assert "secure" in answer.headers["set-cookie"].lower()


def test_a_hand_in_shows_messages_as_text_and_nothing_of_the_key(ask, course):
    """And what changed since the attempt before."""
    first, second = hand_in(course, b"{}", SCRIPT), hand_in(course, b"{ }", "expected 2, found 3")
    text = ask((f"/my/hand-ins/{second}", "GET"), "ada").text
    assert "No test and no cell comes out otherwise" in text
    first = ask((f"/my/hand-ins/{first}", "GET"), "ada").text
    assert "&lt;script&gt;alert(1)" in first
    assert "<script" not in first
    assert "the key" not in text + first


@pytest.mark.parametrize("size", [(16 << 20) + 1, 18 << 20])
def test_a_notebook_too_large_is_refused(ask, size, monkeypatch):
    """In a page, though it comes as a form; nothing is kept."""
    monkeypatch.setitem(FORMS, "/my/hand-ins", {"files": {"notebook": ("a.ipynb", b"x" * size)}})
    answer = ask(("/my/hand-ins", "POST"), "ada")
    assert answer.status_code == 413
    assert "at most 16 MiB" in answer.text


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("path", ["/nothing", "/my/hand-ins/abc", "/my/hand-ins/0", "/api/hand-ins/1?wait=x", "/leave"])
def test_every_error_speaks_as_the_course_does(ask, path, accept):
    """To a browser in a page, to a program as JSON, in the same sentence."""
    answer = ask((path, "GET"), "ada", accept=accept)
    assert answer.status_code in (404, 405, 422)
    said = answer.json()["error"] if accept.endswith("json") else answer.text
    assert "xpected" in said
    assert "detail" not in said


def test_who_deletes_themselves_is_gone(own_course):
    """With their notebooks, unless someone else handed in the same; another learner's marks stay."""
    course, client = own_course, make_client(own_course)
    ask = make_ask(course, client)
    hand_in(course, b"shared", "no"), hand_in(course, b"shared", "no", learner="bob")
    own, shared = (next(each for each in course.hand_ins.of("ada", "double")[::step]) for step in (-1, 1))
    course.extend("ada", "double", datetime.now(UTC))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMS, "/my/delete", {"data": {"sure": "yes"}})
        assert ask(("/my/delete", "POST"), "ada").status_code == 200
    assert client.get("/my").status_code == 401
    assert course.people.find("ada") is None
    assert course.hand_ins.of("ada") == course.book.attempts(learner="ada") == []
    assert course.hand_ins.notebook(own.notebook_hash) is None
    assert course.hand_ins.notebook(shared.notebook_hash) == b"shared"
    assert [each.report.learner for each in course.book.attempts(exercise="double")] == ["bob"]
