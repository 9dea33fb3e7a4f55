"""The whole service under load, while its web server, its workers and its database are killed at random moments."""

import contextlib
import itertools
import json
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service.tables import CredentialKind, State
from tests.service.processes import DEADLINE_SECONDS, Process, start, until

LEARNERS = 4
ANSWER_SECONDS, AGAIN_SECONDS, WAIT_SECONDS = 40, 0.2, 2
LONGEST, EARLY = 1.5, 0.3  # until the next kill; so many come before anything else was handed in
WRONG = "def halve(x): return x"


@dataclass
class Learner:
    """One who hands in one notebook after another, and tries again where no answer came, as ``hand_in()`` does."""

    name: str
    token: str
    find_address: Callable[[], str]
    make: Callable[[int], bytes]
    over: threading.Event
    accepted: dict[str, int] = field(default_factory=dict)  # hash of a notebook -> number of the hand-in
    errors: list[str] = field(default_factory=list)

    def go(self) -> None:
        """Hand in until told to stop, each when the one before is through."""
        for number in itertools.count():
            if self.over.is_set():
                return
            raw = self.make(number)
            found = self.ask("hand-ins/double", raw)
            if found is not None and self.accepted.setdefault(hash_notebook(raw), found["id"]) != found["id"]:
                self.errors.append(f"{number} was two hand-ins")
            while found is not None and found["state"] == State.WAITING and not self.over.is_set():
                found = self.ask(f"hand-ins/{found['id']}?wait={WAIT_SECONDS}")

    def ask(self, path: str, body: bytes | None = None) -> dict | None:
        """Return the answer, when one comes; None, and an error noted, if it is a refusal."""
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end:
            request = urllib.request.Request(
                f"{self.find_address()}/api/{path}", data=body, headers={"Authorization": f"Bearer {self.token}"}
            )
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    self.errors.append(f"{error.code}: {error.read()[:300]}")
                    return None
            except (OSError, ValueError):
                pass
            time.sleep(AGAIN_SECONDS)
        self.errors.append("never answered")
        return None


class Service:
    """A web server and two workers, each started again when it was killed, as systemd would."""

    def __init__(self, address: str, exercises: Path, postgresql) -> None:
        self._words = {
            "web": ["serve", "--database", address, "--no-worker", "--port", "0"],
            "worker": ["work", "--database", address, "--exercises", str(exercises), "--jobs", "1"],
        }
        self._postgresql, self._all = postgresql, list[Process]()
        self.running = {name: self._start(name) for name in ("web", "worker 1", "worker 2")}
        self.kills: Counter[str] = Counter()

    def _start(self, name: str) -> Process:
        kind = name.split()[0]
        self._all.append(start(*self._words[kind], quick=kind == "worker"))
        return self._all[-1]

    def address(self) -> str:
        """Return where the web server listens: another port each time."""
        line = self.running["web"].has_said("hand in at")
        return line.split()[-1] if line else "http://127.0.0.1:1"

    def kill(self, name: str) -> None:
        """Kill a process as nothing can be caught, and start it again."""
        self.kills[name.split()[0]] += 1
        if name == "database":
            self._kill_database()
            return
        self.running[name].end(signal.SIGKILL)
        self.running[name] = self._start(name)

    def keep(self) -> None:
        """Start what has ended by itself, since the database was away as it started."""
        for name, each in self.running.items():
            if each.process.poll() is not None:
                self.running[name] = self._start(name)

    def is_up(self) -> bool:
        """Tell whether all processes do what they are for."""
        self.keep()
        lines = {"web": "hand in at", "worker 1": "grading", "worker 2": "grading"}
        return all(self.running[name].has_said(line) for name, line in lines.items())

    def _kill_database(self) -> None:
        pid = int(Path(self._postgresql.folder, "data", "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

        def started() -> bool:
            with contextlib.suppress(AssertionError):  # its other processes may take a moment to notice
                self._postgresql.start()
                return True
            return False

        until(started)

    def end(self) -> None:
        """Stop all, and fail if one does not end well."""
        until(self.is_up)
        statuses = {name: each.end() for name, each in self.running.items()}
        said = "\n".join(line for each in self._all for line in each.said)
        assert set(statuses.values()) == {0}, (statuses, said)
        assert "Traceback" not in said, said


@pytest.fixture
def service(address, exercises, postgresql, course):
    """The service, with all exercises known."""
    service = Service(address, exercises, postgresql)
    until(course.hand_ins.exercises)
    yield service
    for each in service.running.values():
        each.process.kill()


@pytest.mark.parametrize(
    "kills",
    [
        6,
        # each start of a process is a second on an idle core, and many on busy ones
        pytest.param(30, marks=[pytest.mark.more, pytest.mark.timeout(1800)]),
    ],
)
def test_nothing_is_lost_or_doubled_whatever_is_killed(service, course, notebook, address, kills):
    """Each notebook that a learner saw taken has exactly one attempt, with the points of one left alone."""
    rng, over = random.Random(kills), threading.Event()
    names = [f"learner{number}" for number in range(LEARNERS)]
    course.people.add(RosterEntry(name) for name in names)
    right, wrong = notebook(), notebook(halve=WRONG)

    def make(learner: int) -> Callable[[int], bytes]:
        return lambda number: (wrong if number % 3 == 2 else right) + b"\n" * (learner + LEARNERS * number)

    learners = [
        Learner(name, course.people.make_secret(name, CredentialKind.TOKEN), service.address, make(number), over)
        for number, name in enumerate(names)
    ]
    threads = [threading.Thread(target=learner.go) for learner in learners]
    for thread in threads:
        thread.start()
    try:
        victims = itertools.cycle(["web", "worker 1", "database", "web", "worker 2", "database"])
        for victim in itertools.islice(victims, kills):
            before = sum(len(learner.accepted) for learner in learners)
            if rng.random() > EARLY:
                until(lambda before=before: service.keep() or sum(len(each.accepted) for each in learners) > before)
            time.sleep(rng.uniform(0, LONGEST))
            service.kill(victim)
        until(service.is_up)
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert not [error for learner in learners for error in learner.errors]
    numbers = [number for learner in learners for number in learner.accepted.values()]
    assert len(numbers) == len(set(numbers)) >= kills / 2
    until(lambda: service.keep() or not course.watch.waiting(), seconds=5 * DEADLINE_SECONDS)
    for learner in learners:
        states = {found.id: found.state for found in course.hand_ins.of(learner.name)}
        assert set(states.values()) == {State.GRADED}
        assert set(learner.accepted.values()) == set(states)
        attempts = course.book.attempts(exercise="double", learner=learner.name)
        assert Counter(each.notebook_hash for each in attempts) == Counter(list(learner.accepted))
        right_points = {
            hash_notebook(learner.make(number)): 2 if number % 3 == 2 else 3 for number in range(len(states))
        }
        assert {each.notebook_hash: each.report.points for each in attempts} == right_points
    with psycopg.connect(address) as connection:
        until(lambda: not connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()[0])
    service.end()
    assert sum(service.kills.values()) == kills
