"""The service's processes as its tests start them: workers and web servers, which can be stopped and killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

DEADLINE_SECONDS, POLL_SECONDS = 90, 0.05
# A worker that died is missed after two seconds, where a course waits for twenty.
QUICK_WORKER = """
from course_grader.service import worker
worker.HEARTBEAT_SECONDS, worker.STALLED_SECONDS, worker.SWEEP_SECONDS = 0.5, 2.0, 0.5
worker.AGAIN_SECONDS = 0.2
from course_grader.cli import main
main()
"""


def until(holds: Callable[[], object], *, seconds: float = DEADLINE_SECONDS, why: Callable[[], object] = lambda: ""):
    """Return what ``holds`` returns as soon as it is true of something; fail if it is not in time."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, why() or "not in time"
        time.sleep(POLL_SECONDS)
    return found


@dataclass
class Process:
    """A process of the service, and what it has said."""

    process: subprocess.Popen
    said: list[str] = field(default_factory=list)

    def has_said(self, words: str) -> str | None:
        """Return the first line with these words."""
        return next((line for line in list(self.said) if words in line), None)

    def await_line(self, words: str) -> str:
        """Return the first line with these words, when it comes; fail if the process ends before."""
        return until(
            lambda: self.has_said(words) or (self.process.poll() is not None and "ended"), why=lambda: self.said
        )

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


def start(*words: str, quick: bool = False) -> Process:
    """Start ``course`` with these words."""
    program = ["-c", QUICK_WORKER] if quick else ["-m", "course_grader.cli"]
    command = [sys.executable, *program, *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    started = Process(process)

    def read() -> None:
        with process.stdout:
            for line in process.stdout:
                started.said.append(line.rstrip())

    threading.Thread(target=read, daemon=True).start()
    return started
