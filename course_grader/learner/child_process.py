"""Mark a notebook file in a process of its own, in a sandbox where one can be made: what the command runs."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import course_grader
import course_lib
from course_grader.grading.exercises.submitted_notebook import Submission, parse_submission, read_notebook_bytes
from course_grader.grading.text import one_line
from course_grader.learner.mark import Mark
from course_grader.learner.public_key import PUBLIC_EXERCISES, PublicKey, exercise_of, find_key
from course_grader.learner.run_notebook import VISIBLE, mark_with
from course_lib import extras
from course_lib.errors import CourseError, InputError, NotebookError

__all__ = ["check_file", "main", "mark_file"]

PACKAGES = str(course_grader.__file__), str(course_lib.__file__)
PROGRAM = "import sys; sys.path[:0] = {!r}; from course_grader.learner.child_process import main; main()"
UNPROTECTED = (
    "run without a sandbox, which this machine cannot make; grading has one, without your files and the network"
)


def check_file(path: Path) -> Mark:
    """Run the visible checks of a notebook as it is, in the folder where it lies.

    Raises
    ------
    InputError
        If the file is not the notebook of an exercise, or Python did not come to its end.
    """
    return _run(path, _read(path)[0], None)


def mark_file(path: Path, exercises: Path = PUBLIC_EXERCISES) -> Mark:
    """Mark a notebook by its exercise's key in ``exercises``, in a sandbox if there can be one, as grading does.

    Where that key is not to be had, run its visible checks.

    Raises
    ------
    InputError
        As :func:`check_file`.
    MissingExtraError
        If pytest is not installed.
    """
    raw, submission = _read(path)
    key, why = find_key(submission, exercises)
    if key is None:
        mark = _run(path, raw, None)
        return replace(mark, notes=(VISIBLE.format(why), *mark.notes))
    extras.load("pytest", extra="check")
    prefix = _sandbox()
    mark = _run(path, raw, key, prefix=prefix)
    return mark if prefix else replace(mark, notes=(*mark.notes, UNPROTECTED))


def _read(path: Path) -> tuple[bytes, Submission]:
    """Read a notebook file, and refuse what is not that of an exercise."""
    try:
        submission = parse_submission(raw := read_notebook_bytes(path.resolve()))  # one's own link is fine
        exercise_of(submission)
        return raw, submission
    except NotebookError as error:
        raise InputError(f"{path}: {error}") from error


def _sandbox() -> list[str]:
    """Return the command that puts a sandbox around another; empty if this machine cannot make one."""
    from course_grader.grading.sandbox.bubblewrap import bubblewrap_command, require_sandbox
    from course_grader.grading.sandbox.limits import Limits

    try:
        require_sandbox()
    except InputError:
        return []
    return bubblewrap_command(limits=Limits())


def _run(path: Path, raw: bytes, key: PublicKey | None, prefix: Sequence[str] = ()) -> Mark:
    """Run the notebook in a new process, below the command ``prefix``, and return what it says."""
    program = PROGRAM.format([str(Path(place).resolve().parents[1]) for place in PACKAGES])
    request = {"notebook": raw.decode("utf-8-sig", "replace"), "key": asdict(key) if key else None}
    done = subprocess.run(  # noqa: S603 - every word of the command is ours
        [*prefix, sys.executable, "-c", program],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
        cwd=path.resolve().parent,
    )
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(
            f"{path}: expected to run it to its end, but Python ended before ({one_line(last)}): out of memory, a "
            "crash, or told to exit; run the cells one by one to find out where"
        ) from None
    if "error" in reply:
        raise InputError(f"{path}: {reply['error']}")
    return Mark.from_dict(reply["mark"])


def main() -> None:
    """Run the notebook that comes on the standard input, and write its mark to the standard output."""
    request = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else the notebook's code writes is no part of the answer
    try:
        key = PublicKey(**request["key"]) if request["key"] else None
        reply: dict[str, Any] = {"mark": mark_with(parse_submission(request["notebook"].encode()), key).as_dict()}
    except CourseError as error:
        reply = {"error": str(error)}
    json.dump(reply, answer)
    answer.flush()
