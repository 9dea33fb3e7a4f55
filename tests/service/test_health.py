"""What watches the service learns: whether it is up, how long the queue is; and how many can wait for their marks."""

import asyncio
import re
import time
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.service.tables import CredentialKind, ExerciseRow, Role, State
from course_grader.service.web.app import make_app
from course_grader.service.web.queue_places import LOOK_SECONDS, QueuePlaces

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
WAITING = 60


@pytest.fixture
def hand_ins(course):
    """The course's hand-ins, with an exercise that no worker grades."""
    course.hand_ins.publish([ExerciseRow(slug="double", title="Twice as much", max_points=3, key_hash="k")])
    return course.hand_ins


@pytest.fixture
def client(course):
    """A browser without cookies."""
    with TestClient(make_app(course, url="http://testserver")) as client:
        yield client


def bearer(course, name):
    """Return the headers of a program that has this person's token."""
    return {"Authorization": f"Bearer {course.people.make_secret(name, CredentialKind.TOKEN)}"}


def test_metrics_are_for_instructors(client, course, hand_ins):
    """Prometheus' format; a stranger and a learner get nothing."""
    course.people.add([RosterEntry("teacher")], role=Role.INSTRUCTOR)
    for number in range(3):
        last = hand_ins.accept("ada", "double", b"%d" % number, at=NOON, policy=Policy())
    hand_ins.finish(last, State.FAILED, "why")
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers=bearer(course, "ada")).status_code == 403
    answer = client.get("/metrics", headers=bearer(course, "teacher"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert float(values.pop("course_oldest_job_seconds")) > 0
    assert values == {
        'course_hand_ins{state="waiting"}': "2",
        'course_hand_ins{state="graded"}': "0",
        'course_hand_ins{state="failed"}': "1",
        "course_jobs_waiting": "3",
        "course_jobs_begun": "0",
        "course_workers": "0",
    }
    assert all(re.fullmatch(r"# (HELP|TYPE) \w+ .+|[\w{}=\"]+ [\d.e+-]+", line) for line in answer.text.splitlines())


def test_health_tells_strangers_that_the_database_is_away_and_no_more(client, postgresql):
    """At once, so that what watches does not wait."""
    assert client.get("/health").json() == {"status": "up"}
    postgresql.stop()
    try:
        answer = client.get("/health")
    finally:
        postgresql.start()
    assert answer.status_code == 503
    assert "postgres" not in answer.text
    assert "/" not in answer.json()["error"]
    assert client.get("/health").status_code == 200


def test_a_page_made_while_a_comparison_ends_shows_it_or_follows_it(client, course, hand_ins):
    """One that did neither would be waited at in vain."""
    course.people.add([RosterEntry("teacher")], role=Role.INSTRUCTOR)
    course.comparisons.ask("double")
    looked = []

    def end_it(*args):
        if "FROM comparisons" in args[2] and not looked:
            looked.append(args[2])
            course.comparisons.write("double", [])

    event.listen(hand_ins._engine, "after_cursor_execute", end_it)
    page = client.get("/course/exercises/double", headers=bearer(course, "teacher")).text
    assert not course.comparisons.find("double").is_waiting
    assert "data-progress" in page or "No two are more alike" in page


@pytest.fixture
def asked(hand_ins):
    """The statements that the database was sent, as they come."""
    statements = []
    event.listen(hand_ins._engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    return statements


async def until_asked(asked, times):
    """Wait until the database was asked so often for all that wait."""
    async with asyncio.timeout(30):
        while len(asked) < times:
            await asyncio.sleep(0.01)


def test_many_wait_at_the_price_of_one(hand_ins, course, asked):
    """The database is asked for all of them together, and each hears of its own marks."""
    numbers = [hand_ins.accept("ada", "double", b"%d" % number, at=NOON, policy=Policy()) for number in range(WAITING)]

    async def wait_for_all() -> float:
        progress, start = QueuePlaces(course), time.monotonic()
        asked.clear()
        waiting = [asyncio.create_task(progress.wait(number, seconds=60)) for number in numbers]
        await until_asked(asked, 3)
        assert not any(task.done() for task in waiting)
        await asyncio.to_thread(hand_ins.finish, numbers[0], State.GRADED)
        await waiting[0]
        for number in numbers[1:]:
            await asyncio.to_thread(hand_ins.finish, number, State.GRADED)
        await asyncio.gather(*waiting)
        return time.monotonic() - start

    seconds = asyncio.run(wait_for_all())
    assert len([each for each in asked if each.startswith("SELECT")]) <= 1 + seconds / LOOK_SECONDS


def test_what_came_after_the_last_look_is_waiting(hand_ins, course, monkeypatch):
    """It is in no list yet; nor is what is through, as the next look shows."""
    monkeypatch.setattr("course_grader.service.web.queue_places.LOOK_SECONDS", 3600)

    def hand_in(raw: bytes) -> int:
        return hand_ins.accept("ada", "double", raw, at=NOON, policy=Policy())

    async def places() -> list[int]:
        first, progress = await asyncio.to_thread(hand_in, b"1"), QueuePlaces(course)
        start = time.monotonic()
        found = [await progress.place(first, since=start)]
        second, came = await asyncio.to_thread(hand_in, b"2"), time.monotonic()
        found.append(await progress.place(second, since=came))
        await asyncio.to_thread(hand_ins.finish, second, State.GRADED)
        return [*found, await progress.place(second, since=start)]

    assert asyncio.run(places()) == [1, 2, 0]


def test_a_hand_in_that_moves_on_says_so(hand_ins, course, asked):
    """It need not be through."""
    first, _, third = [hand_ins.accept("ada", "double", raw, at=NOON, policy=Policy()) for raw in (b"1", b"2", b"3")]

    async def wait() -> None:
        asked.clear()
        waiting = asyncio.create_task(QueuePlaces(course).wait(third, seconds=3600))
        await until_asked(asked, 1)
        await asyncio.sleep(LOOK_SECONDS)
        await asyncio.to_thread(hand_ins.finish, first, State.GRADED)
        async with asyncio.timeout(60):
            await waiting

    assert hand_ins.find(third).place == 3
    asyncio.run(wait())
    assert hand_ins.find(third).place == 2
