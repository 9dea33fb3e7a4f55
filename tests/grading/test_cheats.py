"""Submissions made to harm: each earns what its honest part earns, reaches nothing, and costs nobody else anything.

Each file in ``cheats/`` says what it tries, the points it must get, how what it is told begins (``|`` parts what
differs between versions of Python) and, if it means to outlast its time, how many seconds it gets. Then comes the
answer it hands in under ``# %% <cell>``, or under ``# %% [file]`` what is done to the notebook it hands in. They are no
Python modules, so that nothing but the sandbox can come to run them.
"""

import ast
import json
import os
import re
import secrets
import socket
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import grade_class
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, WARM

FOLDER = Path(__file__).parent / "cheats"
FIELD = re.compile(r"^(points|says|seconds): (.+)$", re.MULTILINE)
PATIENCE = 60  # what does not hang is not hurried: the machine may be slow
HONEST = ("ada", "mia", "zoe")


@dataclass(frozen=True)
class Cheat:
    """What is handed in, and what must come of it."""

    cell: str
    code: str
    points: float
    says: str
    seconds: float


def read(path):
    """Read one file of the bank."""
    text = path.read_text(encoding="utf-8")
    head, cell, code = re.split(r"^# %% (\S+)\n", text, maxsplit=1, flags=re.MULTILINE)
    said = dict(FIELD.findall(ast.literal_eval(head.strip())))
    return Cheat(cell, code, float(said["points"]), said.get("says", ""), float(said.get("seconds", PATIENCE)))


CHEATS = {path.stem: read(path) for path in sorted(FOLDER.glob("*.txt"))}


def hand_in(cheat, exercise, places):
    """Return the bytes of a notebook with this in it."""
    notebook, code = json.loads(nbformat.writes(exercise.reference())), cheat.code
    for name, value in places.items():
        code = code.replace(f"@{name}@", str(value))
    if cheat.cell != "[file]":
        next(cell for cell in notebook["cells"] if cell["id"] == cheat.cell)["source"] = code
        return json.dumps(notebook).encode()
    names = {"notebook": notebook, "raw": (before := json.dumps(notebook).encode())}
    exec(code, names)  # ours: it edits the data that is handed in, and nothing of it is the submission's
    return names["raw"] if names["raw"] != before else json.dumps(notebook).encode()


def bystanders(where):
    """Return what lies in a folder and in the folders of everyone, by path and size."""
    return {path: path.stat().st_size for path in sorted(where.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Outcome:
    """What one run over the whole bank left behind."""

    where: str
    reports: dict
    mark: str
    canary: str
    heard: int
    before: dict
    after: dict
    alone: object


COLD = pytest.param(BUBBLEWRAP, id="cold", marks=pytest.mark.more)  # in short, test_hostile.py is cold, too


@pytest.fixture(scope="module", params=[COLD, pytest.param(WARM, id="warm")])
def outcome(request, make_exercise, tmp_path_factory):
    """Grade the whole bank once each way, honest submissions first, last and in between, two at a time."""
    where = request.param
    exercise, folder = make_exercise(seconds=PATIENCE, total=600), tmp_path_factory.mktemp("class")
    mark, canary = str(secrets.randbelow(10**9)), secrets.token_hex(16)
    (folder / "canary").write_text(canary)
    with ExitStack() as stack:
        stream, datagrams = (stack.enter_context(socket.socket(type=kind)) for kind in (1, 2))
        stream.bind(("127.0.0.1", 0))
        datagrams.bind(stream.getsockname())
        stream.listen()
        places = {"KEY": exercise.key, "CLASS": folder, "HOME": Path.home(), "CANARY": canary, "MARK": mark}
        places["PORT"] = stream.getsockname()[1]
        raw = {name: hand_in(cheat, exercise, places) for name, cheat in CHEATS.items()}
        raw |= {name: nbformat.writes(exercise.reference()).encode() for name in HONEST}
        for name, data in raw.items():
            (folder / f"{name}.ipynb").write_bytes(data)
        before = bystanders(folder) | bystanders(exercise.key)
        tasks = [Task(name, _hurried(exercise, name), folder / f"{name}.ipynb") for name in sorted(raw)]
        reports = {report.learner: report for report in grade_class(tasks, jobs=2, warm=where == WARM)}
        heard = sum(_waiting(each) for each in (stream, datagrams))
    after = bystanders(folder) | bystanders(exercise.key)
    alone = grade_submission(folder / "zoe.ipynb", learner="zoe", exercise=exercise)
    return Outcome(where, reports, mark, canary, heard, before, after, alone)


def _hurried(exercise, name):
    """Return the exercise with the time this submission gets for a cell."""
    seconds = CHEATS[name].seconds if name in CHEATS else PATIENCE
    return replace(exercise, limits=replace(exercise.limits, cell_seconds=seconds))


def _waiting(listener):
    """Return whether something has come to a socket, without waiting for it."""
    listener.setblocking(False)
    try:
        listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()
    except BlockingIOError:
        return 0
    return 1


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_earns_what_its_honest_part_earns(outcome, name):
    """Exactly its points, and the sentence that is its due; nothing of the instructor's is in what it is told."""
    report, cheat = outcome.reports[name], CHEATS[name]
    assert (report.points, report.max_points) == (cheat.points, 3), report.messages
    assert report.status in ("graded", "stopped", "rejected"), report.rows
    assert report.sandbox == ("" if report.status == "rejected" else outcome.where)
    said = any(message.startswith(tuple(cheat.says.split(" | "))) for message in report.messages)
    assert said if cheat.says else not report.messages, report.messages
    told = "\n".join([*report.messages, *(row.message for row in report.rows)])
    ours = (outcome.canary, "SECRET", "41.5", "Traceback", "course_lib", "course_grader")
    assert not [word for word in ours if word in told], told
    assert told.replace("\n", "").isprintable()


def test_the_bank_is_large_enough():
    """Every kind of attempt that graders are known to have fallen for is in it."""
    assert len(CHEATS) >= 40


def test_the_honest_are_graded_as_if_alone(outcome):
    """Among all of these, a right submission gets the very report it gets by itself."""
    assert outcome.alone.points == 3
    assert replace(outcome.reports["zoe"], sandbox=outcome.alone.sandbox) == outcome.alone
    assert {(outcome.reports[name].points, outcome.reports[name].messages) for name in HONEST} == {(3, ())}


def test_nothing_is_written_and_nothing_sent(outcome):
    """Submissions, key and canary are as they were, nothing lies about, no packet came."""
    assert outcome.after == outcome.before
    here = [Path.cwd(), Path.cwd() / "course_lib", Path.cwd() / "course_grader"]
    places = [Path(tempfile.gettempdir()), Path("/var/tmp"), Path.home(), *here]
    assert not [
        path for place in places for path in place.glob("*") if outcome.mark in path.name or path.name == "pwned"
    ]
    assert outcome.heard == 0


def test_no_process_is_left(outcome):
    """What was started in the background, detached or not, ended with its submission."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    assert not [line for line in lines if outcome.mark.encode() in line and str(os.getpid()).encode() not in line]
