"""The grader killed at any moment: no grade that was written down is lost, none is there twice, no process is left."""

import contextlib
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest

from course_grader.grading.sandbox import cgroups, scratch_dirs
from tests.grading.conftest import read_details

LANES = 2
RIGHT, WRONG, BROKEN = 8, 4, 6
EARLY = 0.15  # this share of the kills comes before the first grade
POLL_SECONDS, GONE_SECONDS, LONGEST = 0.02, 30, 0.7


@pytest.fixture(scope="module")
def classroom(exercise, tmp_path_factory):
    """A class of right, wrong and broken notebooks, mixed."""
    folder = tmp_path_factory.mktemp("class")
    right, wrong = exercise.reference(), exercise.reference()
    next(cell for cell in wrong.cells if cell.id == "halve").source = "def halve(x): return x"
    texts = [nbformat.writes(right)] * RIGHT + [nbformat.writes(wrong)] * WRONG + ["broken"] * BROKEN
    random.Random(1).shuffle(texts)
    for number, text in enumerate(texts):
        # Each with bytes of its own, so that one taken for another would show.
        (folder / f"learner{number:02}.ipynb").write_text(text + "\n" * number)
    return folder


def command(classroom, exercise, out, *more):
    """Return the command an instructor types."""
    exercises = str(exercise.key.parents[1])
    words = ["grade", str(classroom), "--exercise", "double", "--exercises", exercises, "--out", str(out)]
    return [sys.executable, "-m", "course_grader.cli", *words, *more]


def recorded(out):
    """Return all that the gradebook holds but times, one entry an attempt, in a list, so that two of one would show."""
    if not (path := out / "gradebook.sqlite").exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as book:
        if not book.execute("SELECT 1 FROM sqlite_master").fetchone():
            return []
        attempts = book.execute(
            "SELECT id, learner, exercise, notebook_hash, key_hash, status, points, max_points, messages"
            " FROM attempts ORDER BY learner"
        ).fetchall()
        rows = "SELECT position, name, kind, status, points, max_points, message FROM results WHERE attempt_id = ?"
        return [(*rest, tuple(book.execute(rows, [number]).fetchall())) for number, *rest in attempts]


def descendants(pid):
    """Return every process below one."""
    with contextlib.suppress(OSError):
        text = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
        return [below for child in map(int, text.split()) for below in (child, *descendants(child))]
    return []


def kill(process):
    """Kill the grader as nothing can be caught; assert that all it started is gone with it. Return its groups."""
    process.send_signal(signal.SIGSTOP)  # so that it starts nothing between the look and the blow
    handles, groups = [], groups_below(process.pid)
    for pid in descendants(process.pid):
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
    process.kill()
    process.wait()
    for handle in handles:
        gone, _, _ = select.select([handle], [], [], GONE_SECONDS)
        os.close(handle)
        assert gone, "a process outlived the grader"
    return groups


def groups_below(pid):
    """Return the control groups of our own making that the processes below one are in."""
    names = set()
    for process in descendants(pid):
        with contextlib.suppress(OSError):
            names |= {Path(line).name for line in Path(f"/proc/{process}/cgroup").read_text().splitlines()}
    return {tree / name for name in names if name.startswith(scratch_dirs.PREFIX) for tree in cgroups.TREES}


def await_change(process, out):
    """Wait until a grade has been written by this run, or the run is over."""
    before = changes(out)
    while process.poll() is None and changes(out) == before:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)


def changes(out):
    """Return a number that every write to the gradebook changes."""
    path = out / "gradebook.sqlite"
    return int.from_bytes(path.read_bytes()[24:28], "big") if path.exists() else 0


@dataclass
class Lane:
    """One gradebook that is graded into and killed over and over."""

    classroom: Path
    exercise: object
    out: Path
    rng: random.Random
    env: dict
    wanted_kills: int
    kills: int = 0
    last: list | None = None
    groups: set = field(default_factory=set)

    def go(self, wanted):
        """Start and kill until there have been so many kills; then finish."""
        while self.kills < self.wanted_kills:
            self.once(wanted)
        words = command(self.classroom, self.exercise, self.out)
        done = subprocess.run(words, capture_output=True, text=True, env=self.env)
        assert done.returncode == 0, done.stderr
        return self.kills

    def once(self, wanted):
        """Start the command, kill it at a random moment, and look at what is written down."""
        complete = len(recorded(self.out)) == len(wanted)
        more = ["--regrade"] if complete else []
        more += ["-j", "2" if self.rng.random() < 0.2 else "1"]
        words = command(self.classroom, self.exercise, self.out, *more)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=self.env)
        if self.rng.random() > EARLY:
            await_change(process, self.out)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self.rng.uniform(0, LONGEST))
        if process.returncode is None:
            self.groups |= kill(process)
            self.kills += 1
        self.look(wanted)

    def look(self, wanted):
        """Assert that what was there is there still, and that all that is there is right."""
        now = recorded(self.out)
        learners = [entry[0] for entry in now]
        assert len(set(learners)) == len(learners), "recorded twice"
        assert set(now) <= set(wanted), "not the grade of an undisturbed run"
        assert set(self.last or []) <= set(now), "a recorded grade was lost"
        self.last = now


@pytest.mark.parametrize(
    "kills",
    [
        2,
        # fifty starts of the command: a minute on two idle cores, many on busy ones
        pytest.param(50, marks=[pytest.mark.more, pytest.mark.timeout(1800)]),
    ],
)
def test_a_grader_killed_again_and_again_has_the_grades_of_one_left_alone(
    classroom, exercise, tmp_path, short_folder, kills
):
    """At random moments, before the first grade and after, grading anew and going on; then it is let finish.

    After the last run nothing is left of all those before.
    """
    done = subprocess.run(command(classroom, exercise, tmp_path / "alone"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = recorded(tmp_path / "alone")
    assert len(wanted) == RIGHT + WRONG + BROKEN
    env = os.environ | {"TMPDIR": str(short_folder)}
    lanes = [
        Lane(classroom, exercise, tmp_path / str(lane), random.Random(lane), env, kills // LANES)
        for lane in range(LANES)
    ]
    with ThreadPoolExecutor(LANES) as pool:
        assert sum(pool.map(lambda lane: lane.go(wanted), lanes)) == kills
    for lane in lanes:
        assert recorded(lane.out) == wanted
        assert grades(lane.out) == grades(tmp_path / "alone")
        before = changes(lane.out)
        subprocess.run(command(classroom, exercise, lane.out), check=True, capture_output=True, env=env)
        assert changes(lane.out) == before, "something known was graded again"
    assert not list(short_folder.iterdir())
    assert not [group for lane in lanes for group in lane.groups if group.exists()]


def grades(out):
    """Return what the details say, but for when it was graded."""
    submissions = read_details(out)
    for entry in submissions:
        del entry["grade"]["graded_at"], entry["sandbox"]  # warm, or the last one alone: the grades are the same
        for row in entry["rows"]:
            del row["detail"]  # tracebacks hold paths of temporary folders
    return submissions
