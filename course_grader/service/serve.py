"""Run the service on this machine: its database, its web server, and a worker that is started again if it dies."""

import functools
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.learner_side.bootstrap import die_with
from course_grader.service.course import Course
from course_grader.service.embedded_postgres import embedded_postgres
from course_grader.service.tables import CredentialKind, Role
from course_lib.errors import InputError

__all__ = ["Settings", "run_service"]

log = logging.getLogger("course.serve")
AGAIN_SECONDS = 2.0
LAST_REQUESTS_SECONDS = 5


@dataclass(frozen=True)
class Settings:
    """How a service runs; see ``course serve --help``."""

    host: str
    port: int
    exercises: Path
    url: str | None = None
    rules: Path | None = None
    key: Path | None = None
    instructor: str = "instructor"
    worker: bool = True
    jobs: int | None = None


def run_service(settings: Settings, *, data: Path, database: str | None, say: Callable[[str], None]) -> None:
    """Run until Ctrl-C or SIGTERM.

    Parameters
    ----------
    settings : Settings
        How.
    data : Path
        The folder of the database, if none is given.
    database : str, optional
        The address of another.
    say : callable
        Is given the lines that the instructor is to see.

    Raises
    ------
    InputError
        If the port is taken, or the database or the course's rules cannot be used.
    """
    import uvicorn

    from course_grader.service.web.app import make_app

    started = nullcontext(database) if database else embedded_postgres(data)
    # Told to stop, uvicorn ends as it should, and then sends itself the signal once more.
    with suppress(KeyboardInterrupt), _listen(settings) as listener, started as address:
        course = Course(address, rules=settings.rules)
        try:
            host, port = listener.getsockname()[:2]
            url = (settings.url or f"http://{host}:{port}").rstrip("/")
            config = uvicorn.Config(
                make_app(course, url=url),
                log_level="warning",
                access_log=False,  # addresses of links are secrets
                server_header=False,
                timeout_graceful_shutdown=LAST_REQUESTS_SECONDS,
            )
            say(f"hand in at {url}")
            say(f"for the instructor, good once: {url}/link/{_make_instructor_link(course, settings.instructor)}")
            with _worker(settings, address) if settings.worker else nullcontext():
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            course.close()


def _listen(settings: Settings) -> socket.socket:
    try:
        return socket.create_server((settings.host, settings.port), backlog=1024)
    except OSError as error:
        wrong = f"expected to listen on {settings.host}, port {settings.port}, found: {error.strerror}"
        raise InputError(f"{wrong}; name another with --port or --host") from error


def _make_instructor_link(course: Course, name: str) -> str:
    """Make a one-time link for the instructor; one that was printed before and not used is void."""
    known = course.people.find(name)
    if known is not None and known.role is not Role.INSTRUCTOR:
        raise InputError(f"expected an instructor's name, found that of a learner, {name}; give another --instructor")
    course.people.add([RosterEntry(name)], role=Role.INSTRUCTOR)
    course.people.revoke(name=name, kind=CredentialKind.LINK)
    return course.people.make_secret(name, CredentialKind.LINK)


@contextmanager
def _worker(settings: Settings, address: str) -> Iterator[None]:
    """Keep a worker running; at the end it finishes what it has begun."""
    command = [sys.executable, "-m", "course_grader.cli", "work", "--database", address]
    command += ["--exercises", str(settings.exercises)]
    command += ["--key", str(settings.key)] if settings.key else []
    command += ["--jobs", str(settings.jobs)] if settings.jobs else []
    ending, running = threading.Event(), threading.Lock()
    # A process group of its own, so that Ctrl-C ends it after the web server; killed with this process all the same.
    start = functools.partial(
        subprocess.Popen, command, process_group=0, preexec_fn=functools.partial(die_with, os.getpid())
    )
    process = start()

    def watch() -> None:
        nonlocal process
        while (status := process.wait()) is not None and not ending.wait(AGAIN_SECONDS):
            log.warning("the worker ended with status %s; starting another", status)
            with running:
                if not ending.is_set():
                    process = start()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        with running:
            ending.set()
        process.terminate()
        watcher.join()
