"""What memory one submission takes costs nobody else points, and what may be another's doing is no one's grade."""

import itertools
from dataclasses import replace

import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.sandbox import cgroups, machine_memory
from course_grader.grading.sandbox.bubblewrap import WARM
from course_grader.grading.sandbox.limits import KernelStopped
from course_grader.grading.sandbox.processes import Sandboxed
from course_grader.grading.warm_start.zygote_client import Zygotes

HELD = 192 << 20  # three times what a kernel with NumPy has
FILES = """
import os
came = 0
try:
    for place in ("/tmp", "/dev/shm", os.path.expanduser("~")):
        for came in range(came, 1_000_000):
            os.mknod(f"{place}/{came}")
except OSError as error:
    came = f"after {came} {error.strerror}"
"""
SOCKETS = """
import os, signal, socket
for _ in range(4):
    if os.fork() == 0:
        kept = [socket.socketpair() for _ in range(100)]
        signal.pause()
signal.pause()
"""
STREAMS = """
import signal, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    kept = [(socket.create_connection(server.getsockname()), server.accept()[0]) for _ in range(50)]
    signal.pause()
"""
LARGE = """
import time
def double(x):
    hoard = bytearray(b"x") * (400 << 20)
    time.sleep(1)
    return 2 * x
"""
WRONG = "def double(x):\n    return x\n"


@pytest.fixture(scope="module", params=["cold", "warm"])
def start(request, hasty):
    """Return a function that starts a kernel that may hold little, by itself or from a zygote."""
    with Zygotes() as zygotes:
        zygotes.load([hasty.imports] if request.param == "warm" else [])
        zygote = zygotes.ready.get(hasty.imports)
        limits = replace(hasty.limits, held_bytes=HELD, cell_seconds=20)
        yield lambda: Kernel(limits=limits, zygote=zygote)


def run(kernel, code):
    """Run code in a kernel."""
    kernel.await_reply(kernel.execute_cell_input(code))


def test_empty_files_count(start):
    """They have no bytes, and the operating system keeps one kilobyte for each; a forked kernel may make few at all."""
    with start() as kernel:
        if kernel.place == WARM:
            run(kernel, FILES)
            said = kernel.request({"name": "came"})["value"]
            assert said.startswith("after 99"), said
            assert said.endswith("No space left on device"), said
        else:
            with pytest.raises(KernelStopped, match="used more than"):
                run(kernel, FILES)


@pytest.mark.parametrize("code", [SOCKETS, STREAMS], ids=["pairs", "streams"])
def test_what_may_lie_in_sockets_counts(start, code):
    """It belongs to no process and to no file, and each socket takes some."""
    with start() as kernel, pytest.raises(KernelStopped, match="used more than"):
        run(kernel, code)


def test_a_control_group_limits_memory_where_it_can(tmp_path, monkeypatch):
    """It ends as a whole, nothing of it is swapped out, and where it has no say, processes are limited all the same."""
    monkeypatch.setattr(cgroups, "TREES", [tmp_path])
    group = cgroups.make_group(5, memory_bytes=7)
    said = {path.name: path.read_text() for path in group.path.iterdir()}
    group.unlock()
    assert said == {"pids.max": "5", "memory.max": "7", "memory.swap.max": "0", "memory.oom.group": "1"}


@pytest.fixture
def container(tmp_path):
    """A machine with 8 GiB to be had, and in it a control group with 4 GiB: 2 of them are used, 1 by files."""
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB\n")
    (proc / "vmstat").write_text("pgfault 12\noom_kill 3\n")

    def limit(line, folder, names, spare):
        (proc / "self" / "cgroup").write_text(line)
        (here := groups / folder).mkdir(parents=True)
        for name, gib in zip(names, (4, 2), strict=True):
            (here / name).write_text(f"{gib << 30}\n")
        (here / "memory.stat").write_text(f"anon 1\n{spare} {1 << 30}\n")
        return machine_memory.available_bytes(proc, groups)

    return limit


@pytest.mark.parametrize("folder", ["", "a", "a/b"], ids=["all", "above", "own"])
def test_a_containers_limit_is_one_in_either_version_of_control_groups(container, folder, tmp_path):
    """What it has left counts, wherever above this process it stands; files that were read can be dropped."""
    names = ("memory.max", "memory.current")
    assert container("0::/a/b\n", folder, names, "inactive_file") == 3 << 30
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    line = "5:cpu:/c\n4:memory:/a/b\n0::/\n"
    assert container(line, f"memory/{folder}", names, "total_inactive_file") == 3 << 30


def test_a_machine_without_containers_has_what_it_says(container, tmp_path):
    """What has no limit, and what is not there, is none."""
    assert container("0::/a\n", "elsewhere", ("memory.max", "memory.current"), "inactive_file") == 8 << 30
    assert machine_memory.count_oom_kills(tmp_path / "proc") == 3
    assert machine_memory.available_bytes(tmp_path / "none") > 1 << 60
    assert machine_memory.count_oom_kills(tmp_path / "none") == 0


@pytest.fixture
def tasks(exercise, hand_in, tmp_path):
    """Return a function that hands in an answer of eve's, and then right ones."""

    def make(code, exercise=exercise):
        found = []
        for learner, answer in (("eve", code), ("ada", "def double(x): return 2 * x")):
            path = tmp_path / f"{learner}.ipynb"
            path.write_bytes(hand_in(double=answer).read_bytes())
            found.append(Task(learner, exercise, path))
        return found

    return make


def test_who_loses_points_while_memory_runs_out_is_graded_again_alone(tasks, hand_in, monkeypatch):
    """What comes the second time counts, after all others; who lost nothing is through."""
    monkeypatch.setattr(
        machine_memory, "count_oom_kills", itertools.count().__next__
    )  # no machine is to run out for a test
    handed_in = tasks("import os; os._exit(0)")
    came = []
    with Graders(jobs=1, warm=False) as graders:
        graders.prepare(handed_in)
        for task, report in graders.grade(handed_in):
            came.append((task.learner, report.status, report.points))
            handed_in[0].path.write_bytes(hand_in().read_bytes())
    assert came == [("ada", "graded", 3), ("eve", "graded", 3)]


def test_what_happens_alone_is_its_own_doing(tasks, monkeypatch):
    """There is no third time."""
    monkeypatch.setattr(machine_memory, "count_oom_kills", itertools.count().__next__)
    handed_in = tasks("import os; os._exit(0)")
    with Graders(jobs=1, warm=False) as graders:
        graders.prepare(handed_in)
        came = [(task.learner, report.status, report.points) for task, report in graders.grade(handed_in)]
    assert came == [("ada", "graded", 3), ("eve", "stopped", 1)]


def test_who_loses_points_while_memory_is_enough_is_graded_once(tasks):
    """In the order in which they were handed in."""
    handed_in = tasks(WRONG)
    with Graders(jobs=1, warm=False) as graders:
        graders.prepare(handed_in)
        assert [(task.learner, report.points) for task, report in graders.grade(handed_in)] == [("eve", 1), ("ada", 3)]


def test_who_is_late_for_want_of_a_processor_is_graded_again_alone(tasks, hasty, hand_in, monkeypatch):
    """Others may have started a hundred processes; who had one, and is late, is through."""
    waits = itertools.chain([1e9], itertools.repeat(0.0))
    monkeypatch.setattr(Sandboxed, "measure_wait_seconds", lambda self: next(waits))  # nor is it to be kept busy
    handed_in = tasks("while True: pass", hasty)
    came = []
    with Graders(jobs=1, warm=False) as graders:
        graders.prepare(handed_in)
        for task, report in graders.grade(handed_in):
            came.append((task.learner, report.points))
            handed_in[0].path.write_bytes(hand_in().read_bytes())
    assert came == [("ada", 3), ("eve", 3)]


def test_who_is_late_with_a_processor_is_graded_once(tasks, hasty, monkeypatch):
    """It is slow by itself."""
    monkeypatch.setattr(Sandboxed, "measure_wait_seconds", lambda self: 0.1)
    handed_in = tasks("while True: pass", hasty)
    with Graders(jobs=1, warm=False) as graders:
        graders.prepare(handed_in)
        assert [(task.learner, report.points) for task, report in graders.grade(handed_in)] == [("eve", 1), ("ada", 3)]


def test_a_share_that_is_too_small_costs_nobody_points(tasks, monkeypatch):
    """Who needs more than the machine has for each at a time gets it alone."""
    monkeypatch.setattr(machine_memory, "share_memory", lambda jobs: HELD if jobs > 1 else 6 << 30)
    handed_in = tasks(LARGE)
    with Graders(jobs=2, warm=False) as graders:
        graders.prepare(handed_in)
        came = [(task.learner, report.points, report.messages) for task, report in graders.grade(handed_in)]
    assert came == [("ada", 3, ()), ("eve", 3, ())]
