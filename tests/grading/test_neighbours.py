"""One submission costs another nothing: what all share is limited for each, or what was lost is graded again alone."""

import errno
import os

import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.protocol.codec import decode
from course_grader.grading.sandbox.limits import Limits, StopCause
from course_grader.grading.warm_start.zygote_client import Zygotes

HONEST = "\ndef double(x):\n    return 2 * x\n"
# Each goes on until it is refused, or far beyond its limit, and keeps what it has: a number, and the refusal's.
ATTACKS = {
    "timers": """
import ctypes
librt, held, came = ctypes.CDLL("librt.so.1", use_errno=True), 0, 0
while held < 1000 and not came:
    if librt.timer_create(1, None, ctypes.byref(ctypes.c_void_p())):
        came = ctypes.get_errno()
    else:
        held += 1
""",
    "queued signals": """
import ctypes, os, signal
reader, writer = os.pipe()
if not os.fork():  # with one thread, which takes none of them
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    libc, held, came = ctypes.CDLL(None, use_errno=True), 0, 0
    while held < 1000 and not came:
        if libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p()):
            came = ctypes.get_errno()
        else:
            held += 1
    os.write(writer, f"{held} {came}".encode())
    signal.pause()
held, came = map(int, os.read(reader, 99).split())
""",
    "terminals": """
import os
held, came = 0, 0
while held < 100 and not came:
    try:
        kept = os.openpty()
        held += 1
    except OSError as error:
        came = error.errno
""",
}
LIMITS = {
    "timers": (Limits.queued_signals, errno.EAGAIN),
    "queued signals": (Limits.queued_signals, errno.EAGAIN),
    "terminals": (Limits.terminals, errno.ENOSPC),
}
# Its own processes may be refused what they ask for, and it says so as the operating system does.
IN_FLIGHT = """
import socket
def double(x):
    one, other = socket.socketpair()
    for _ in range(20):
        socket.send_fds(one, [b"x"], [0] * 100)
"""
REFUSED_ONCE = """
import errno, os
def double(x):
    if x.min() < 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return 2 * x
"""
DIES_ONCE = """
import os
def double(x):
    return 2 * x if x.min() >= 0 else os._exit(1)
"""
# The number is below zero at the first call on this machine, and above it from then on.
ONCE = '''
from pathlib import Path
import numpy as np
from course_grader import Mistake, points
@points(1)
def test_double(learner):
    """Doubling works."""
    first, seen = -1.0, Path({folder!r}) / learner.source("double").split()[-1]
    if seen.exists():
        first = 1.0
    seen.touch()
    {worker}
    if learner.call("double", np.full(3, first))[0] != 2 * first:
        raise Mistake("`double` does not double")
'''


def ask(kernel, code):
    """Run code in a kernel and return how much of it there was, and the number of what refused more."""
    kernel.await_reply(kernel.execute_cell_input(code))
    return tuple(decode(kernel.request({"name": name})["value"]) for name in ("held", "came"))


@pytest.mark.parametrize("what", ATTACKS)
def test_a_pool_that_all_share_is_not_one_submissions(exercise, what):
    """Whoever takes all there is of something leaves as much for the kernel beside it."""
    with Zygotes() as zygotes:
        zygotes.load([exercise.imports])
        zygote = zygotes.ready[exercise.imports]
        with Kernel(limits=exercise.limits, zygote=zygote) as eve, Kernel(limits=exercise.limits, zygote=zygote) as ada:
            assert [ask(kernel, ATTACKS[what]) for kernel in (eve, ada)] == [LIMITS[what]] * 2


def test_a_kernel_started_cold_has_as_few_timers(exercise):
    """Signals and timers are limited whatever starts it."""
    with Kernel(limits=exercise.limits) as kernel:
        assert ask(kernel, ATTACKS["timers"]) == LIMITS["timers"]


def test_what_the_operating_system_refuses_is_told_from_other_faults(grade):
    """Descriptors in flight are counted for all sandboxes of a user: more than one may open, and it is refused."""
    assert grade(double=IN_FLIGHT).was_refused
    assert not grade(double="def double(x):\n    raise ValueError(28)").was_refused
    assert not grade(double="def double(x):\n    return x").was_refused
    assert not grade().was_refused


@pytest.mark.parametrize(
    "said",
    [
        f"OSError: [Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}",  # of epoll_ctl
        f"BlockingIOError: [Errno {errno.EAGAIN}] {os.strerror(errno.EAGAIN)}",  # of fork
        "RuntimeError: can't start new thread",
    ],
)
def test_a_refusal_is_read_off_what_a_test_says(said):
    """It may stand in what the learner is told, or in what only the instructor is."""
    for row in (Row("f", "test", "failed", message=said), Row("f", "test", "failed", detail=f"E   {said}\n")):
        assert SubmissionReport("ada", "double", "graded", 0, 3, rows=(row,)).was_refused


def test_a_kernel_that_died_may_have_been_refused_something():
    """zmq ends its process when it is refused a watch; one that is late by itself was refused nothing."""
    report = SubmissionReport("ada", "double", "stopped", 0, 3, causes=(StopCause.DIED,))
    assert report.was_refused
    assert not SubmissionReport("ada", "double", "stopped", 0, 3, causes=(StopCause.LATE_CELL,)).was_refused


@pytest.mark.parametrize(
    ("answer", "worker"),
    [(REFUSED_ONCE, ""), (DIES_ONCE, ""), (HONEST, "import os; first > 0 or os._exit(1)")],
    ids=["refused", "kernel dies", "worker dies"],
)
def test_who_is_refused_something_beside_others_is_graded_again_alone(make_exercise, hand_in, tmp_path, answer, worker):
    """Then nobody else can have taken it; who lost nothing is through."""
    exercise = make_exercise(tests=ONCE.format(folder=str(tmp_path), worker=worker))
    tasks = []
    for learner in ("ada", "bob"):
        path = hand_in(double=f"{answer}# {learner}")
        tasks.append(Task(learner, exercise, path.rename(tmp_path / f"{learner}.ipynb")))
    with Graders(jobs=2) as graders:
        graders.prepare(tasks)
        came = {task.learner: (report.status, report.points) for task, report in graders.grade(tasks)}
    assert came == {"ada": ("graded", 1), "bob": ("graded", 1)}


def test_who_is_refused_something_alone_is_graded_once(make_exercise, hand_in, tmp_path):
    """It can have taken it itself alone."""
    exercise = make_exercise(tests=ONCE.format(folder=str(tmp_path), worker=""))
    report = grade_submission(hand_in(double=f"{REFUSED_ONCE}# ada"), learner="ada", exercise=exercise)
    assert report.points == 0
    (tmp_path / "ada").unlink()
    tasks = [Task("ada", exercise, tmp_path / "double.ipynb")]
    with Graders(jobs=1) as graders:
        graders.prepare(tasks)
        assert [report.points for _, report in graders.grade(tasks)] == [0]
