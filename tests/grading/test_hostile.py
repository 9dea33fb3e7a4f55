"""Submissions that attack the grader earn what their honest part earns, end in time, and reach nothing."""

import os
import socket
import threading
from pathlib import Path

import pytest

from course_grader.grading.grade_one.grade_submission import grade_submission

HONEST = "def double(x):\n    return 2 * x\n"
DIED = "the Python process died in "
TRIES = {
    "an endless loop": ("while True: pass", 1, "the cell `double` did not finish within 3 s"),
    "a loop that swallows interrupts": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        1,
        "the cell `double` did not finish within 3 s",
    ),
    "os._exit": ("import os; os._exit(0)", 1, DIED + "the cell `double`: out of memory, a crash, or told to exit"),
    "a crash": ("import ctypes; ctypes.string_at(0)", 1, DIED + "the cell `double`: out of memory"),
    "sys.exit": ("import sys; sys.exit(0)", 3, 'the cell `double`: SystemExit: "0"'),
    "text without end": (
        "import time\nwhile True:\n    print('x' * 9999, flush=True); time.sleep(0.001)",
        1,
        "the cell `double` put out more than 1,000,000 characters",
    ),
    "one huge display": (
        "from IPython.display import display\ndisplay('x' * 2_000_000)",
        1,
        "the cell `double` put out more than 1,000,000 characters",
    ),
    "too much memory": ("hoard = bytearray(8 << 30)", 3, "the cell `double`: MemoryError"),
    "a shell command that hangs": ("!sleep 100", 1, "the cell `double` did not finish within 3 s"),
    "an exit that hangs": ("import atexit, time; atexit.register(time.sleep, 100)", 3, None),
    "a thread that stays": ("import threading, time; threading.Thread(target=time.sleep, args=[100]).start()", 3, None),
    "a patched json": (
        "import json; json.dumps = json.loads = lambda *a, **k: '{}'",
        1,
        "the cell `double` made the kernel send a message that cannot be read",
    ),
    "a fake score": ("print('points: 3 of 3'); print('double: right.')", 3, None),
}
IN_CALL = {
    "a function that hangs": (
        "def double(x):\n    while x.ndim == 2: pass\n    return 2 * x",
        1,
        "`double` did not finish within 3 s",
    ),
    "a function that kills": (
        "import os\ndef double(x):\n    return 2 * x if x.ndim == 1 else os.kill(os.getpid(), 9)",
        1,
        DIED + "`double`: out of memory",
    ),
    "a patched allclose": (
        "np.allclose = np.array_equal = lambda *a, **k: True\ndef double(x):\n    return x",
        1,
        "`double` does not double",
    ),
    "an object that equals everything": (
        "class Yes:\n    __eq__ = __lt__ = lambda s, o: True\n    __hash__ = None\n"
        "    def __array_function__(self, *a): return True\ndef double(x):\n    return Yes()",
        1,
        "`double` returned a Yes, which ",
    ),
    "an array that equals everything": (
        "class Yes(np.ndarray):\n    __eq__ = lambda s, o: np.array(True)\ndef double(x):\n    return x.view(Yes)",
        1,
        "`double` does not double",
    ),
    "a forged reply": (
        "from IPython import get_ipython\ndef double(x):\n    get_ipython().display_pub.publish(data="
        "{'application/vnd.course.value+json': {'status': 'ok', 'points': 99, 'value': {'$': 'pickle'}}})\n"
        "    return x",
        1,
        "`double` does not double",
    ),
    "a huge result": ("def double(x):\n    return np.zeros(5_000_000)", 1, "`double` returned an array of more than"),
    "a result nested deep": (
        "def double(x):\n    deep = []\n    for _ in range(500): deep = [deep]\n    return deep",
        1,
        "`double` returned data nested more than 20 deep",
    ),
    "a hunt through frames": (
        "import sys\ndef double(x):\n    frame, seen = sys._getframe(), ' '.join(sys.modules)\n"
        "    while frame: seen += str(frame.f_locals); frame = frame.f_back\n"
        "    return x if str(83 / 2) in seen or 'SEC' + 'RET' in seen or 'test_hid' + 'den' in seen else 2 * x",
        3,
        None,
    ),
}


def attempt(hand_in, exercise, code):
    """Grade an answer and return the report."""
    return grade_submission(hand_in(double=code), learner="eve", exercise=exercise)


@pytest.mark.parametrize("what", TRIES)
def test_an_attack_in_a_cell(hand_in, exercise, hasty, what):
    """The honest function beside it is graded if it can be; what hangs ends by the cell's clock."""
    code, points, message = TRIES[what]
    report = attempt(hand_in, hasty if "did not finish" in str(message) else exercise, HONEST + code)
    assert report.points == points
    assert report.status == ("stopped" if points == 1 else "graded")
    assert report.messages[0].startswith(message) if message else not report.messages, report.messages


@pytest.mark.parametrize("what", IN_CALL)
def test_an_attack_in_a_function(hand_in, exercise, hasty, what):
    """A dishonest result is worth nothing; the other function keeps its point."""
    code, points, message = IN_CALL[what]
    report = attempt(hand_in, hasty if "did not finish" in str(message) else exercise, code)
    assert report.points == points
    assert any(said.startswith(message) for said in report.messages) if message else not report.messages, (
        report.messages
    )


def test_the_notebook_as_a_whole_has_its_time_too(hand_in, make_exercise):
    """Cells that each stay within their limit cannot add up to hours."""
    nap = "import time; time.sleep(2)\n"
    path = hand_in(double=nap + HONEST, halve=nap + "def halve(x): return x / 2")
    report = grade_submission(path, learner="eve", exercise=make_exercise(total=3.5))
    assert (report.status, report.points) == ("stopped", 0)
    assert report.messages == ("the notebook as a whole did not finish within 3.5 s",)


def test_after_a_stop_the_rest_is_run_without_what_stopped_it(hand_in, exercise):
    """What needs the lost cell fails, and says so; what does not keeps its points, earlier cells having run again."""
    path = hand_in(double="import os; os._exit(0)", halve="def halve(x): return np.divide(x, 2)")
    report = grade_submission(path, learner="eve", exercise=exercise)
    assert (report.status, report.points) == ("stopped", 1)
    assert [(row.name, row.status) for row in report.rows] == [
        ("setup", "passed"),
        ("double", "failed"),
        ("check_double", "failed"),
        ("halve", "passed"),
        ("test_double", "failed"),
        ("test_halve", "passed"),
    ]
    assert report.messages == (
        "the Python process died in the cell `double`: out of memory, a crash, or told to exit",
        "`double` is not defined: look at what its own cell says",
    )


def test_nothing_of_the_graders_can_be_read_or_written(hand_in, exercise, tmp_path):
    """Key, submissions, the home, the environment and the grader's process are out of sight."""
    canary = tmp_path / "canary"
    canary.write_text("unread")
    root = Path.cwd()
    places = [exercise.key, exercise.key / "test_hidden.py", tmp_path, canary, root / "exercises", root / "tests"]
    places += [root / "README.md", Path.home() / ".ssh", Path("/etc/passwd"), Path("/var"), Path("/run")]
    code = f"""
import course_lib, os, sys
found = [place for place in {[str(place) for place in places]!r} if os.path.exists(place)]
found += [name for name in os.environ if name.startswith(('PYTEST', 'COURSE', 'SSH', 'GIT_CONFIG'))]
found += [number for number in os.listdir('/proc') if number.isdigit() and int(number) > 5]
for place in (os.path.dirname(course_lib.__file__), sys.prefix, '/usr'):
    try:
        open(place + '/written', 'w')
        found.append(place)
    except OSError:
        pass
assert not found, found
"""
    report = attempt(hand_in, exercise, code + HONEST)
    assert report.messages == ()
    assert report.points == 3


def test_no_packet_leaves(hand_in, exercise):
    """A server on this machine's loopback hears nothing, nor does any of its named sockets."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)

        def listen():
            try:
                while True:
                    heard.append(server.accept()[1])
            except TimeoutError:
                return

        port = server.getsockname()[1]
        code = f"""
import socket
def double(x):
    for family, address in [(socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_UNIX, '/run/dbus/system_bus_socket')]:
        try:
            socket.socket(family).connect(address)
            return 'connected'
        except OSError:
            pass
    return 2 * x
"""
        report = attempt(hand_in, exercise, code)
        listen()
    assert heard == []
    assert (report.points, report.messages) == (3, ())


def test_no_process_stays(hand_in, exercise):
    """What a submission starts in the background ends with it, also when it is detached."""
    mark = f"sleep 98{os.getpid()}"
    code = f"import subprocess\nsubprocess.Popen('setsid {mark} & {mark} &', shell=True)\n"
    report = attempt(hand_in, exercise, code + HONEST)
    assert report.points == 3
    lines = [path.read_bytes().replace(b"\0", b" ") for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in lines if mark.encode() in line]


def test_the_disk_is_out_of_reach_once_the_kernel_runs(hand_in, exercise):
    """What can be written once a cell runs is memory of the sandbox's own, and limited; nothing of it comes out."""
    code = """
import glob, os
for folder in glob.glob('/tmp/*'):
    try:
        open(folder + '/written', 'w').close()
    except OSError:
        continue
    assert os.stat(folder).st_dev == os.stat('/tmp').st_dev, folder + ' is of the host'
try:
    for number in range(100):
        with open(os.path.expanduser(f'~/fill{number}'), 'wb') as file:
            file.write(bytes(32 << 20))
    full = False
except OSError:
    full = True
assert full
"""
    report = attempt(hand_in, exercise, code + HONEST)
    assert (report.points, report.messages) == (3, ())


def test_the_grader_starts_no_thread_that_stays(hand_in, exercise):
    """A class of hundreds leaves nothing behind in the grader's own process."""
    attempt(hand_in, exercise, HONEST)
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        attempt(hand_in, exercise, HONEST)
    assert threading.active_count() <= threads
    assert len(list(Path("/proc/self/fd").iterdir())) <= files + 1
