"""A hand-in is graded once, as ``course grade`` does it, whatever becomes of the processes and of the database."""

import contextlib
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import event

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import Attempt, Gradebook
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.service.class_overview import overview_of
from course_grader.service.course import Course
from course_grader.service.database import open_service_database
from course_grader.service.refusals import NoMoreAttemptsError, NotReadyError, TooSoonError
from course_grader.service.tables import ExerciseRow, Role, State
from course_lib.errors import InputError
from tests.grading.conftest import TESTS
from tests.service.conftest import POISON, lay_out
from tests.service.processes import until

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
ANY = Policy()
WRONG = "def halve(x): return x"


@pytest.fixture
def hand_ins(course):
    """The course's hand-ins, with an exercise that no worker grades."""
    course.hand_ins.publish([ExerciseRow(slug="double", title="Twice as much", max_points=3, key_hash="k")])
    return course.hand_ins


def count(address, what):
    """Return how many rows there are of a table, or under a condition."""
    with psycopg.connect(address) as connection:
        return connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]


def graded(course, number):
    """Wait until a hand-in is through, and return it."""
    return until(lambda: (found := course.hand_ins.find(number)).state is not State.WAITING and found)


def attempts(course, learner="ada"):
    """Return a learner's attempts, the oldest first."""
    return course.book.attempts(exercise="double", learner=learner)


# --- what comes in


def test_a_hand_in_and_its_job_are_there_together_or_not_at_all(hand_ins, address):
    """Whatever goes wrong between the two."""

    def fail(*_: object) -> None:
        raise RuntimeError("between")

    event.listen(hand_ins._engine, "commit", fail)
    with pytest.raises(RuntimeError):
        hand_ins.accept("ada", "double", b"one", at=NOON, policy=ANY)
    event.remove(hand_ins._engine, "commit", fail)
    assert [count(address, table) for table in ("hand_ins", "procrastinate_jobs", "notebooks")] == [0, 0, 0]
    number = hand_ins.accept("ada", "double", b"one", at=NOON, policy=ANY)
    assert [count(address, table) for table in ("hand_ins", "procrastinate_jobs", "notebooks")] == [1, 1, 1]
    assert hand_ins.find(number).place == 1


def test_the_same_bytes_twenty_times_at_once_are_one_hand_in(hand_ins, address):
    """With one job; the same bytes of someone else are another."""
    with ThreadPoolExecutor(20) as pool:
        took = [pool.submit(hand_ins.accept, "ada", "double", b"one", at=NOON, policy=ANY) for _ in range(20)]
        others = [pool.submit(hand_ins.accept, "bob", "double", b"one", at=NOON, policy=ANY) for _ in range(5)]
    assert len({each.result() for each in took}) == len({each.result() for each in others}) == 1
    assert count(address, "hand_ins") == count(address, "procrastinate_jobs") == 2


def test_two_at_once_are_not_both_the_last_attempt(hand_ins):
    """Ten different notebooks come together, where two are allowed."""
    policy = Policy(max_attempts=2)

    def accept(number: int) -> bool:
        try:
            return bool(hand_ins.accept("ada", "double", b"%d" % number, at=NOON, policy=policy))
        except NoMoreAttemptsError:
            return False

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(accept, range(10))) == 2
    assert hand_ins.accept("bob", "double", b"0", at=NOON, policy=policy)


def test_a_notebook_that_could_not_be_read_uses_up_no_attempt(hand_ins, course):
    """The grader has told its learner so."""
    policy = Policy(max_attempts=1)
    first = hand_ins.find(hand_ins.accept("ada", "double", b"{", at=NOON, policy=policy))
    report = SubmissionReport("ada", "double", "rejected", 0, 3, ("no notebook",))
    course.book.record(Attempt(report, first.notebook_hash, "k", NOON, NOON, NOON))
    assert hand_ins.accept("ada", "double", b"{}", at=NOON, policy=policy) != first.id


def test_the_pause_between_attempts_is_kept(hand_ins):
    """The same bytes again are no attempt."""
    policy = Policy(pause=timedelta(minutes=10))
    first = hand_ins.accept("ada", "double", b"one", at=NOON, policy=policy)
    with pytest.raises(TooSoonError, match="10 minutes"):
        hand_ins.accept("ada", "double", b"two", at=NOON + timedelta(minutes=9), policy=policy)
    assert hand_ins.accept("ada", "double", b"one", at=NOON + timedelta(minutes=9), policy=policy) == first
    assert hand_ins.accept("ada", "double", b"two", at=NOON + timedelta(minutes=10), policy=policy) != first


def test_an_unknown_exercise_is_named_with_those_there_are(hand_ins, new_database):
    """Before a worker has said which there are, one is asked to wait."""
    with pytest.raises(InputError, match=r"(?s)found .*nothing.*double"):
        hand_ins.accept("ada", "nothing", b"one", at=NOON, policy=ANY)
    with contextlib.closing(Course(new_database())) as empty:
        empty.people.add([RosterEntry("ada")])
        with pytest.raises(NotReadyError):
            empty.hand_in("ada", "double", b"one")


def test_a_failed_hand_in_is_queued_again_when_it_comes_again(hand_ins, address):
    """Without the message that it had."""
    number = hand_ins.accept("ada", "double", b"one", at=NOON, policy=ANY)
    with psycopg.connect(address) as connection:
        connection.execute("DELETE FROM procrastinate_jobs")
    hand_ins.finish(number, State.FAILED, "no key")
    assert hand_ins.find(number).message == "no key"
    assert hand_ins.accept("ada", "double", b"one", at=NOON, policy=Policy(max_attempts=1)) == number
    assert (hand_ins.find(number).state, hand_ins.find(number).message) == (State.WAITING, "")
    assert count(address, "procrastinate_jobs") == 1


def test_an_older_notebook_that_comes_again_is_the_last_attempt(hand_ins, course):
    """Also where it comes again while it is graded."""
    for minute, raw in enumerate((b"one", b"two")):
        found = hand_ins.find(hand_ins.accept("ada", "double", raw, at=NOON + timedelta(minutes=minute), policy=ANY))
        if raw == b"two":
            hand_ins.accept("ada", "double", raw, at=NOON + timedelta(minutes=2), policy=ANY)
        report = SubmissionReport("ada", "double", "graded", 1, 3)
        course.book.record(Attempt(report, found.notebook_hash, "k", found.submitted_at, found.submitted_at, NOON))
        hand_ins.finish(found.id, State.GRADED)
    assert [each.last_submitted_at.minute for each in attempts(course)] == [0, 2]
    hand_ins.accept("ada", "double", b"one", at=NOON + timedelta(minutes=3), policy=ANY)
    assert [each.last_submitted_at.minute for each in attempts(course)] == [3, 2]


def test_a_hand_in_that_lost_its_job_gets_another(hand_ins, address):
    """And one that has a job gets none."""
    for number in range(3):
        hand_ins.accept("ada", "double", b"%d" % number, at=NOON, policy=ANY)
    assert hand_ins.sweep() == 0
    with psycopg.connect(address) as connection:
        connection.execute("DELETE FROM procrastinate_jobs WHERE (args->>'hand_in')::int <> 2")
    assert hand_ins.sweep() == 2
    assert hand_ins.sweep() == 0
    assert count(address, "procrastinate_jobs") == 3


def test_places_are_counted_among_those_that_wait(hand_ins, course):
    """In the order they came."""
    numbers = [hand_ins.accept("ada", "double", b"%d" % number, at=NOON, policy=ANY) for number in range(3)]
    hand_ins.finish(numbers[0], State.GRADED)
    assert course.watch.waiting() == numbers[1:]
    assert [hand_ins.find(number).place for number in numbers] == [0, 1, 2]


def test_a_long_queue_is_looked_through_by_its_index(hand_ins, course, address):
    """A place among 20,000, and a sweep of all, read no table row by row."""
    with psycopg.connect(address) as connection:
        columns = "learner, exercise, notebook_hash, submitted_at, last_submitted_at, state, message"
        connection.execute(
            f"INSERT INTO hand_ins ({columns}) SELECT 'l' || n, 'double', n::text, now(), now(),"
            " CASE WHEN n % 10 = 0 THEN 'waiting' ELSE 'graded' END, '' FROM generate_series(1, 20000) n"
        )
        connection.execute("ANALYZE hand_ins")
        query = "EXPLAIN SELECT count(*) FROM hand_ins WHERE state = 'waiting' AND id <= 15000"
        assert "hand_ins_waiting" in str(connection.execute(query).fetchall())
    assert len(course.watch.waiting()) == 2000
    assert hand_ins.sweep() == 2000


def test_a_roster_of_thirty_thousand_comes_in(course):
    """More than one statement may hold; those that were there keep their role, and get their name."""
    course.people.add([RosterEntry("teacher")], role=Role.INSTRUCTOR)
    roster = [RosterEntry(f"learner{number:05}") for number in range(30_000)]
    assert course.people.add([*roster, RosterEntry("teacher", "T. Eacher")]) == 30_000
    assert course.people.find("teacher").role is Role.INSTRUCTOR
    assert course.people.find("teacher").full_name == "T. Eacher"
    assert course.people.add(roster[:3]) == 0


def test_two_services_may_start_at_once_on_an_empty_database(address):
    """Each makes what is missing, and neither what the other has made."""
    with ThreadPoolExecutor(4) as pool:
        for engine in pool.map(open_service_database, [address] * 4):
            engine.dispose()
    assert count(address, "service_version") == 1


# --- what a worker makes of it


def test_a_worker_grades_as_the_command_does(course, work, notebook, exercises, tmp_path):
    """A right one, a wrong one, one that is cut off: the same points, verdicts and messages; then SIGTERM ends it."""
    worker = work()
    raws = {"ada": notebook(), "bob": notebook(halve=WRONG), "eve": notebook()[:300], "fay": b""}
    course.people.add(RosterEntry(learner) for learner in raws)
    numbers = {learner: course.hand_in(learner, "double", raw) for learner, raw in raws.items()}
    for learner, raw in raws.items():
        (tmp_path / "class" / learner).mkdir(parents=True)
        (tmp_path / "class" / learner / "double.ipynb").write_bytes(raw)
    words = ["grade", str(tmp_path / "class"), "--exercise", "double", "--exercises", str(exercises)]
    words += ["--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-m", "course_grader.cli", *words], check=True, capture_output=True)
    with Gradebook(str(tmp_path / "out" / "gradebook.sqlite")) as book:
        for learner, number in numbers.items():
            assert graded(course, number).state is State.GRADED
            [served], [commanded] = attempts(course, learner), book.attempts(exercise="double", learner=learner)
            assert comparable(served) == comparable(commanded)
    assert attempts(course, "ada")[0].report.points == 3
    assert worker.end() == 0
    assert not worker.has_said("Traceback")


def comparable(attempt):
    """Return what must be equal of two gradings; tracebacks hold paths of temporary folders."""
    rows = tuple(
        replace(row, detail="", seconds=0) if hasattr(row, "seconds") else replace(row, detail="")
        for row in attempt.report.rows
    )
    return replace(attempt.report, rows=rows, sandbox=""), attempt.notebook_hash, attempt.key_hash


def test_a_worker_told_to_stop_finishes_what_it_has_begun(course, work, notebook, address):
    """And begins nothing more: the rest waits for another worker."""
    slow = "import time\ndef double(x):\n    time.sleep(0.5)\n    return 2 * x"
    worker = work()
    numbers = [course.hand_in("ada", "double", notebook(number, double=slow)) for number in range(6)]
    until(lambda: count(address, "procrastinate_jobs WHERE status = 'doing'"))
    assert worker.end() == 0
    states = [course.hand_ins.find(number).state for number in numbers]
    assert State.GRADED in states
    assert State.WAITING in states
    assert count(address, "procrastinate_jobs WHERE status = 'doing'") == 0
    assert count(address, "procrastinate_jobs") == states.count(State.WAITING)
    work()
    assert all(graded(course, number).state is State.GRADED for number in numbers)
    assert len(attempts(course)) == len(numbers)


def test_what_a_killed_worker_had_begun_is_graded_by_another(course, work, notebook, address):
    """Once; no job is left."""
    slow = "import time\ndef double(x):\n    time.sleep(0.5)\n    return 2 * x"
    killed = work()
    numbers = [course.hand_in("ada", "double", notebook(number, double=slow)) for number in range(3)]
    until(lambda: count(address, "procrastinate_jobs WHERE status = 'doing'"))
    killed.end(signal.SIGKILL)
    other = work()
    assert all(graded(course, number).state is State.GRADED for number in numbers)
    assert other.has_said("left by a worker")
    assert len(attempts(course)) == len(numbers)
    until(lambda: not count(address, "procrastinate_jobs"))


def test_an_instructor_sees_which_test_is_slow(course, work, notebook):
    """Of attempts that were graded before anyone looked at a clock, it is not known."""
    report = SubmissionReport("bob", "double", "graded", 1, 1, (), (Row("test_old", "test", "passed", 1, 1, "Old."),))
    course.book.record(Attempt(report, "b" * 64, "k", NOON, NOON, NOON))
    work()
    graded(course, course.hand_in("ada", "double", notebook()))
    overview = overview_of(course.grades("double"), max_points=3)
    assert {test.title for test in overview.hardest if test.median_seconds is None} == {"Old."}
    timed = [test for test in overview.hardest if test.title != "Old."]
    assert all(0 < test.median_seconds <= test.most_seconds for test in timed)
    assert overview.slowest.median_seconds == max(test.median_seconds for test in timed)


def test_two_workers_share_the_jobs(course, work, notebook, address):
    """Both grade, and no notebook twice."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE done (job bigint, worker bigint)")
        connection.execute(
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " INSERT INTO done VALUES (OLD.id, OLD.worker_id); RETURN OLD; END $$"
        )
        connection.execute(
            "CREATE TRIGGER note BEFORE DELETE ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION note()"
        )
    work(), work()
    numbers = [course.hand_in("ada", "double", notebook(number)) for number in range(12)]
    assert all(graded(course, number).state is State.GRADED for number in numbers)
    until(lambda: not count(address, "procrastinate_jobs"))
    assert count(address, "done") == len(numbers)
    assert count(address, "(SELECT DISTINCT worker FROM done)") == 2


def test_a_mended_key_changes_the_marks_of_those_that_are_graded_again(course, work, notebook, exercises):
    """The worker sees by itself that a key has changed, also when it was no key for a while."""
    hidden = exercises / "double" / "key" / "test_hidden.py"
    hidden.write_text(TESTS.replace("!= SECRET", "!= 2 * SECRET"))  # which takes `return x` for right
    worker = work()
    right, wrong = course.hand_in("ada", "double", notebook()), course.hand_in("bob", "double", notebook(halve=WRONG))
    assert [graded(course, number).state for number in (right, wrong)] == [State.GRADED] * 2
    assert [attempts(course, learner)[0].report.points for learner in ("ada", "bob")] == [2, 3]
    lay_out(exercises, "other", TESTS)
    hidden.write_text("this is no Python")
    until(lambda: worker.has_said("is left out"))
    hidden.write_text(TESTS)
    assert course.hand_ins.regrade("double") == 2
    for number in (right, wrong):
        found = graded(course, number)
        if found.state is State.FAILED:  # it was taken while there was no key
            course.hand_ins.regrade("double")
            until(lambda number=number: course.hand_ins.find(number).state is State.GRADED)
    until(lambda: [attempts(course, learner)[0].report.points for learner in ("ada", "bob")] == [3, 2])
    assert [len(attempts(course, learner)) for learner in ("ada", "bob")] == [1, 1]
    assert "other" in course.hand_ins.exercises()


def test_what_is_being_graded_while_the_key_changes_is_graded_by_the_new_one(
    course, work, notebook, exercises, address
):
    """It is regraded without having been put into the queue again."""
    slow = "import time\ndef double(x):\n    time.sleep(1)\n    return 2 * x"
    hidden = exercises / "double" / "key" / "test_hidden.py"
    work()
    number = course.hand_in("ada", "double", notebook(double=slow))
    until(lambda: count(address, "procrastinate_jobs WHERE status = 'doing'"))
    hidden.write_text(TESTS.replace("@points(2)", "@points(5)"))
    course.hand_ins.regrade("double")
    assert graded(course, number).state is State.GRADED
    assert attempts(course)[0].report.points == 6


def test_a_restart_of_the_database_costs_a_wait_and_nothing_more(course, work, notebook, postgresql):
    """Hand-ins that come meanwhile are taken when it is back, by the same web process and the same worker."""
    worker = work()
    first = course.hand_in("ada", "double", notebook())
    postgresql.stop()
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(course.hand_in, "ada", "double", notebook(1))
        postgresql.start()
        numbers = [first, second.result()]
    assert [graded(course, number).state for number in numbers] == [State.GRADED] * 2
    assert len(attempts(course)) == 2
    assert worker.end() == 0


def test_a_notebook_that_kills_its_worker_each_time_is_given_up(course, work, notebook, exercises):
    """Those graded beside it are not."""
    lay_out(exercises, "poison", POISON)
    poison_text = json.loads(notebook())
    poison_text["metadata"]["course"]["exercise"] = "poison"
    worker = work("--jobs", "2")
    numbers = [course.hand_in("ada", "double", notebook(number)) for number in range(3)]
    poison = course.hand_in("ada", "poison", json.dumps(poison_text).encode())
    beside = [course.hand_in("bob", "double", notebook(number)) for number in range(3)]

    def over() -> bool:
        nonlocal worker
        if worker.process.poll() is not None:
            worker = work("--jobs", "2")
        return course.hand_ins.find(poison).state is State.FAILED

    until(over)
    assert "several times" in course.hand_ins.find(poison).message
    assert all(graded(course, number).state is State.GRADED for number in (*numbers, *beside))


def test_notebooks_that_cannot_be_compared_are_not_waited_for(course, work, hand_ins):
    """No worker has the key of one exercise; of the other it is there."""
    hand_ins.publish([ExerciseRow(slug="halve", title="Half as much", max_points=3, key_hash="k")])
    work()
    for slug in ("halve", "double"):
        course.comparisons.ask(slug)
    found = {
        slug: until(lambda slug=slug: (seen := course.comparisons.find(slug)) and not seen.is_waiting and seen)
        for slug in ("halve", "double")
    }
    assert (found["halve"].pairs, found["double"].pairs) == (None, [])
