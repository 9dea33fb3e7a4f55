"""Workers do what they are given, die alone, and outlive nobody."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_grader.grading.grade_class.worker_pool import Lost, WorkerPool
from course_lib.errors import GradingError, InputError
from tests.grading.test_kill import descendants, kill

LONG, SHORT = 60.0, 0.5
ENDING = {4: 0, 5: 1}


def double(number):
    """Return a number's double; raise at 3, end the process at 4 and 5, and never come to an end at 6."""
    if number in ENDING:
        os._exit(ENDING[number])
    if number == 3:
        raise InputError("not 3")
    while number == 6:
        time.sleep(LONG)
    return 2 * number


def seconds(number):
    """Return how long that may take."""
    return SHORT if number == 6 else LONG


@pytest.fixture(scope="module")
def pool():
    """Two workers."""
    with WorkerPool(2) as workers:
        yield workers


def test_a_worker_that_dies_or_is_late_costs_its_own_task(pool):
    """With whatever status it ends; the others are done by workers that live, or by new ones."""
    results = dict(pool.run(double, [1, 4, 6, 5, 2, 7], seconds=seconds, jobs=2))
    assert results == {1: 2, 2: 4, 4: Lost.DIED, 5: Lost.DIED, 6: Lost.LATE, 7: 14}


def test_what_a_task_raises_is_raised(pool):
    """And so is a time-out of its own, which is not the worker's."""
    with pytest.raises(InputError, match="not 3"):
        list(pool.run(double, [3], seconds=seconds, jobs=1))
    with pytest.raises(TimeoutError, match="its own"):
        list(pool.run(raise_timeout, [1], seconds=seconds, jobs=1))
    assert list(pool.run(double, [1], seconds=seconds, jobs=1)) == [(1, 2)]


def raise_timeout(_):
    """Fail as the pool does when a task is late."""
    raise TimeoutError("its own")


def test_as_many_are_done_at_a_time_as_was_asked_for(pool, tmp_path):
    """With one job, one after the other."""
    (log := tmp_path / "log").touch()
    list(pool.run(write_begin_and_end, [log] * 3, seconds=seconds_of_path, jobs=1))
    assert log.read_text().split() == ["begin", "end"] * 3


def write_begin_and_end(path):
    """Write down when this begins and ends."""
    for word in ("begin", "end"):
        with path.open("a") as log:
            print(word, file=log)
        time.sleep(0.05)


def seconds_of_path(_):
    """Return how long writing may take."""
    return LONG


def test_a_run_that_is_broken_off_ends_what_it_started(pool, tmp_path):
    """Its workers are free for others."""
    results = pool.run(double, [1, 6, 6], seconds=lambda _: LONG, jobs=2)
    assert next(results) == (1, 2)
    results.close()
    assert list(pool.run(double, [1, 2], seconds=seconds, jobs=2)) != []


def write_pid(path):
    """Write this process's number, and a file of its own, and wait to be interrupted."""
    import tempfile

    tempfile.mkstemp(dir=tempfile.gettempdir())
    path.write_text(f"{os.getpid()}\n")
    try:
        time.sleep(LONG)
    finally:
        path.with_name("cleaned").touch()


def pid_in(path):
    """Wait for a number to be written, and return a descriptor of that process."""
    while not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.02)
    return os.pidfd_open(int(path.read_text()))


def is_gone(descriptor):
    """Return whether a process ends in time, and let go of it."""
    gone = select.select([descriptor], [], [], LONG)[0]
    os.close(descriptor)
    return bool(gone)


def test_what_works_when_the_pool_ends_cleans_up(tmp_path):
    """It is interrupted as by Ctrl-C, and gone when the pool is."""
    with WorkerPool(1) as pool:
        pool.run(write_pid, [tmp_path / "pid"], seconds=seconds_of_path, jobs=1)
        worker = pid_in(tmp_path / "pid")
    assert (tmp_path / "cleaned").exists()
    assert is_gone(worker)


GRADER = """
import sys
from pathlib import Path
from tests.grading import test_worker_pool as work
with work.WorkerPool(1) as pool:
    list(pool.run(work.write_pid, [Path(sys.argv[1])], seconds=work.seconds_of_path, jobs=1))
"""


def test_no_worker_outlives_a_killed_grader(tmp_path, short_folder):
    """Nor does the process it was forked from; what they leave goes with the grader's own folder."""
    env = os.environ | {"TMPDIR": str(short_folder)}
    words = [sys.executable, "-c", GRADER, tmp_path / "pid"]
    process = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
    worker = pid_in(tmp_path / "pid")
    kill(process)
    assert is_gone(worker)
    assert not (tmp_path / "cleaned").exists()
    assert len(list(short_folder.iterdir())) == 1


def forkserver_of(pid):
    """Return the number of the process that workers are forked from."""
    for child in descendants(pid):
        with contextlib.suppress(OSError):
            if b"multiprocessing.forkserver" in Path(f"/proc/{child}/cmdline").read_bytes():
                return child
    raise LookupError("expected a forkserver, found none")


@pytest.mark.parametrize(("busy", "pause"), [(True, 0), (False, 0), (False, 0.05), (False, 0.1), (False, SHORT)])
def test_a_forkserver_that_was_killed_is_started_again(busy, pause):
    """By a system that is out of memory, say: its workers die with it, and new ones are forked from the next."""
    with WorkerPool(1) as pool:
        assert list(pool.run(double, [1], seconds=seconds, jobs=1)) == [(1, 2)]
        results = pool.run(double, [6] if busy else [], seconds=lambda _: LONG, jobs=1)
        time.sleep(SHORT)
        os.kill(forkserver_of(os.getpid()), signal.SIGKILL)
        assert list(results) == ([(6, Lost.DIED)] if busy else [])
        time.sleep(pause)
        assert list(pool.run(double, [2], seconds=seconds, jobs=1)) == [(2, 4)]


def test_a_forkserver_that_ends_with_its_thread_is_started_again():
    """It is still dying when the next pool asks it for a worker."""
    with contextlib.suppress(LookupError):  # the one of an earlier test
        os.kill(forkserver_of(os.getpid()), signal.SIGKILL)

    def start_and_end():
        with WorkerPool(1) as pool:
            assert list(pool.run(double, [1], seconds=seconds, jobs=1)) == [(1, 2)]

    with ThreadPoolExecutor(1) as thread:
        thread.submit(start_and_end).result()
    start_and_end()


def test_a_pool_that_cannot_start_says_what_to_do(monkeypatch):
    """As an error that the command puts into one line."""
    monkeypatch.setattr("multiprocessing.forkserver.connect_to_new_process", refuse)
    with WorkerPool(1) as pool, pytest.raises(GradingError, match="no room; fix that, or pass -j 1"):
        list(pool.run(double, [1], seconds=seconds, jobs=1))


def refuse(_):
    """Fail as a system does that is full."""
    raise OSError("no room")


def test_workers_answer_to_the_grader_alone(pool):
    """Ctrl-C on the terminal goes to its foreground group, and they are in another."""
    [(_, group)] = pool.run(group_of_worker, [0], seconds=seconds_of_path, jobs=1)
    assert group != os.getpgrp()


def group_of_worker(_):
    """Return this process's group."""
    return os.getpgrp()
