"""A hand-in service to be measured: its processes, requests to it, and the CPU time of its parts."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service.course import Course
from course_grader.service.tables import CredentialKind, State

__all__ = ["RunningService"]

ROOT = Path(__file__).parents[1]
WAIT_SECONDS, ANSWER_SECONDS, START_SECONDS = 20, 120, 120
TICKS = os.sysconf("SC_CLK_TCK")


class RunningService:
    """A web server, workers, and a course in their database."""

    def __init__(self, address: str, workers: int, stack: ExitStack) -> None:
        self.course = stack.enter_context(_opened(address))
        self.web = _start(stack, "serve", "--database", address, "--no-worker", "--port", "0")
        assert self.web.stdout is not None
        self.url = self.web.stdout.readline().split()[-1]
        words = ("work", "--database", address, "--exercises", str(ROOT / "exercises"), "--jobs", "1")
        self.workers = [_start(stack, *words) for _ in range(workers)]
        end = time.monotonic() + START_SECONDS
        with psycopg.connect(address, autocommit=True) as connection:
            while connection.execute("SELECT count(*) FROM procrastinate_workers").fetchone() != (workers,):
                assert time.monotonic() < end, "the workers have not started"
                time.sleep(0.2)
            found = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert found is not None
            self.postgres = _read_parent(found[0])

    def ask(self, token: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Send one request."""
        headers = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{self.url}/api/{path}", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return dict(json.load(answer))

    def hand_in(self, token: str, slug: str, raw: bytes) -> tuple[float, str]:
        """Hand in, and return how many seconds it took to the marks, and the state."""
        start = time.perf_counter()
        found = self.ask(token, f"hand-ins/{slug}", raw)
        while found["state"] == State.WAITING:
            found = self.ask(token, f"hand-ins/{found['id']}?wait={WAIT_SECONDS}")
        return time.perf_counter() - start, found["state"]

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU time that each part has taken so far."""
        worker = sum(_tree_cpu(each.pid) for each in self.workers)
        return {"worker": worker, "web": _tree_cpu(self.web.pid), "database": _tree_cpu(self.postgres)}

    def tokens(self, names: Sequence[str]) -> list[str]:
        """Let people in."""
        self.course.people.add(RosterEntry(name) for name in names)
        return [self.course.people.make_secret(name, CredentialKind.TOKEN) for name in names]


@contextmanager
def _opened(address: str) -> Iterator[Course]:
    course = Course(address)
    try:
        yield course
    finally:
        course.close()


def _start(stack: ExitStack, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "course_grader.cli", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def _read_parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _tree_cpu(pid: int) -> float:
    """Return the CPU seconds of a process, of those below it, and of those it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        tasks = [*Path(f"/proc/{pid}/task").glob("*/children")]
        children = {int(child) for path in tasks for child in path.read_text().split()}
    except OSError:  # it has just ended; its parent counts it
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(_tree_cpu, children))
