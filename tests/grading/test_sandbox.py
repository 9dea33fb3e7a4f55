"""What the walls of a sandbox keep in, whether its kernel was started afresh or forked from one that waits."""

import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course_grader.grading.grade_class.find_submissions import find_submissions
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.protocol.codec import decode
from course_grader.grading.sandbox import bubblewrap
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, WARM, find_folders_to_hide
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.warm_start.zygote_client import Zygotes
from course_lib.errors import InputError
from tests.grading.conftest import read_details

VSOCK = 40
HERE = 0xFFFFFFFF  # VMADDR_CID_ANY


@pytest.fixture(scope="module", params=["cold", "warm"])
def start(request, exercise):
    """Return a function that starts a kernel, by itself or from a zygote."""
    with Zygotes() as zygotes:
        zygotes.load([exercise.imports] if request.param == "warm" else [])
        zygote = zygotes.ready.get(exercise.imports)
        assert (zygote is not None) == (request.param == "warm")
        yield lambda limits=exercise.limits: Kernel(limits=limits, zygote=zygote)


def ask(kernel, code, name="came"):
    """Run code in a kernel and return the plain data that a name then stands for."""
    kernel.await_reply(kernel.execute_cell_input(code))
    return decode(kernel.request({"name": name})["value"])


def test_a_socket_is_of_a_family_that_ends_at_the_sandbox(start):
    """Every other family is refused, also those that the network namespace knows nothing of; a kernel needs none."""
    code = """
import errno, os, socket
came = {}
def try_one(opener, family, kind):
    try:
        for one in [opened] if not isinstance(opened := opener(family, kind), tuple) else opened:
            one.close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "opened"
for family in range(64):
    said = {try_one(socket.socket, family, kind) for kind in (1, 2, 3, 5)}
    said |= {try_one(socket.socketpair, family, kind) for kind in (1, 2, 3, 5)}
    came[str(family)] = sorted(said)
"""
    with start() as kernel:
        came = ask(kernel, code)
    opened = {int(family) for family, said in came.items() if "opened" in said}
    assert opened == {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK} - _lacking()
    assert {said for family, said in came.items() if int(family) not in (1, 2, 10, 16) for said in said} == {
        "EAFNOSUPPORT"
    }


def _lacking():
    """Return the families that this machine itself has no sockets of."""
    return set() if socket.has_ipv6 else {socket.AF_INET6}


def test_a_port_of_the_virtual_machine_is_not_to_be_had(start):
    """One that is taken inside would be seen by others, who could be told something by it."""
    code = f"""
import socket
try:
    with socket.socket({VSOCK}, socket.SOCK_STREAM) as one:
        one.bind(({HERE}, 47012))
    came = "bound"
except OSError as error:
    came = error.strerror
"""
    with start() as kernel:
        assert ask(kernel, code) == "Address family not supported by protocol"


def test_the_high_half_of_a_familys_number_counts_for_nothing(start):
    """The operating system reads an int, and so does the wall."""
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = {{"x86_64": 41, "aarch64": 198}}[__import__("platform").machine()]
came = [libc.syscall(number, ctypes.c_ulong(1 << 32 | family), 1, 0) for family in ({VSOCK}, 38, 17)]
"""
    with start() as kernel:
        assert ask(kernel, code) == [-1, -1, -1]


def test_how_long_a_process_waited_for_a_processor_is_told(start):
    """Four of them share one, and each of them does the same work."""
    code = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
others = []
for _ in range(3):
    if not (child := os.fork()):
        while time.process_time() < 0.4:
            pass
        os._exit(0)
    others.append(child)
begun = time.process_time()
while time.process_time() < begun + 0.4:
    pass
came = 0
"""
    with start() as kernel:
        before = kernel.km.provisioner.measure_wait_seconds()
        ask(kernel, code)
        assert kernel.km.provisioner.measure_wait_seconds() - before > 0.2


def test_a_kernel_may_still_talk_to_itself(start):
    """Over its loopback, and by a pair of sockets with a process it starts."""
    code = """
import socket, socketserver, threading
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()) as one:
        other = server.accept()[0]
        one.sendall(b"heard")
        came = other.recv(5).decode()
"""
    with start() as kernel:
        assert ask(kernel, code) == "heard"


@pytest.fixture
def course(exercise, hand_in):
    """A course that lies in the virtual environment, which the sandbox shows, with submissions that list its files."""
    with tempfile.TemporaryDirectory(dir=sys.prefix) as name:
        folder = Path(name)
        shutil.copytree(exercise.key.parents[1], folder / "exercises")
        for place in ("exercises/other/key/source.md", "grades/gradebook.sqlite", ".git/packed", "README.md"):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).touch()
        code = f"""
import os
seen = sorted(name for _, _, names in os.walk({name!r}) for name in names)
assert seen == ["README.md"], seen
def double(x):
    return 2 * x
"""
        for learner in ("ada", "eve"):
            (folder / "submissions" / learner).mkdir(parents=True)
            shutil.copy(hand_in(double=code), folder / "submissions" / learner)
        yield folder


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_what_lies_in_a_folder_that_is_shown_is_covered(course, warm):
    """Keys, submissions, grades and what the repository remembers of them; the rest of the folder is there."""
    tasks = find_submissions(course / "submissions", exercises=course / "exercises")
    with Graders(jobs=1, warm=warm) as graders:
        graders.prepare(tasks)
        graders.hide([course / "grades", course / "exercises"])
        reports = [report for _, report in graders.grade(tasks)]
    where = WARM if warm else BUBBLEWRAP
    assert [(report.points, report.messages, report.sandbox) for report in reports] == [(3, (), where)] * 2


def test_the_command_says_what_is_to_be_covered(course):
    """``course grade`` names every folder it reads from or writes to."""
    words = ["grade", "submissions", "--exercises", "exercises", "--out", "grades", "--gradebook", "books/one.sqlite"]
    (course / "books").mkdir()
    command = [sys.executable, "-m", "course_grader.cli", *words]
    done = subprocess.run(command, cwd=course, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    submissions = read_details(course / "grades")
    assert [(entry["points"], entry["messages"]) for entry in submissions] == [(3, [])] * 2


@pytest.mark.parametrize("installed", [True, False])
def test_the_keys_that_the_wheel_brings_are_covered(monkeypatch, installed):
    """They lie in the package, which the sandbox shows; another folder of it stands for them here."""
    folder = bubblewrap.GRADER / "cli"
    monkeypatch.setattr(bubblewrap, "KEYS", {folder if installed else folder / "none"})
    command = [*bubblewrap.bubblewrap_command(limits=Limits()), "ls", str(folder)]
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert ("entry_point.py" in seen) is not installed


def test_what_the_interpreter_needs_is_not_covered():
    """Where one lies in the other, nobody is graded."""
    with pytest.raises(InputError, match=r"apart from what learners' code needs, found .*; move one of them"):
        find_folders_to_hide([Path(sys.prefix)])


def test_nothing_is_covered_that_is_not_seen(tmp_path):
    """A course elsewhere is out of sight as it is, and one that is not there yet as well."""
    assert find_folders_to_hide([tmp_path, Path(sys.prefix) / "nothing"]) == ()
